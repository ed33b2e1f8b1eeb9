/* A libdcmi.so without hardware: the C interface of the real one over a machine that tests make up.
 *
 * The machine lies in the file `world` beside the library, so that it outlives the program that uses it, as chips do,
 * and so that a test in another process can change it: it loads the same library and calls the functions `standin_*`.
 * -DONE gives the functions dcmi_*, -DTWO the functions dcmiv2_*, -DHAL those of libascend_hal.so. The names of calls, the purposes, are those of
 * tests/fakes/dcmi/standin.py.
 */
#define _GNU_SOURCE
#include "libdcmi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHIPS 64
#define FAULTS 128
#define PROCESSES 64 /* What the library writes at most; further ones are cut (dcmi_common.h:139). */
#define EVENTS 256 /* DMS_MAX_EVENT_NUM: what the kernel keeps for a subscriber (dms_event_converge.h 48). */
#define RESETS 256
#define VDEVICES 16
#define VDEVICE_COMMANDS 52
#define POD_COMMANDS 12
#define HCCS_COMMANDS 16
#define SIO_COMMANDS 56
#define BY_HAND (-1)
#define BOOTED 16
#define REMOVED 2 /* How a chip has dropped: not only is its bus dead. */

enum purpose {
    INIT, LIST, IDS, INFO, BOARD, PRODUCT, BROTHER, CODES, HEALTH, PROCESS, RESET, BOOT, SUBSCRIBE, GAUGE, CHANNEL,
    PRE_RESET, RESCAN, VDEVICE, MAKE_VDEVICE, ADDRESS, NETWORK, CONTROLLER, PRESENT, TOPOLOGY, DESTROY_VDEVICE, PURPOSES
};

struct fault {
    uint32_t code;
    int32_t severity, incurable, curing;
    uint8_t module[4];
};

struct vdevice {
    uint32_t id, group, used;
    char template[16];
};

struct chip {
    int32_t listed, card, device, group, brother, in_reset, prepared;
    uint32_t physical, board, main_board;
    char name[32], type[32], product[65];
    int32_t faults, processes, dropped;
    int32_t asked, controller_asked; /* How often something was asked of it, and of its card's controller on the way. */
    int32_t vanishing, lingering; /* A process that ends; whether one holds the chip that is in no list any more. */
    int64_t boot_at; /* Nanoseconds; 0: has booted. */
    struct fault fault[FAULTS];
    struct proc_mem_info process[PROCESSES];
    int32_t answer[PURPOSES]; /* What a call returns in the place of its own answer; 0: its own. */
    int32_t hangs[PURPOSES];
    int32_t temperature, power, card_power, voltage, network;
    uint32_t health;
    int32_t vdevices;
    struct vdevice vdevice[VDEVICES];
    uint64_t occupied; /* The mount namespace of the ordinary container that has it, for as long as this process lives. */
    int32_t occupant;
};

struct told {
    uint32_t code;
    int32_t serial;
    uint16_t chip;
    uint8_t module[4], severity, assertion;
};

struct reset {
    int32_t chip, channel, answer;
};

#define SENSORS 16

/* What a process has registered to raise a fault by itself: soft_faults.h. No pid: it is free. */
struct sensor {
    int32_t pid, chip, state, standing;
    uint32_t type, mask, code;
    int64_t scanned; /* When the kernel looks next; 0: nothing is new. */
};

struct world {
    pthread_mutex_t lock;
    uint32_t bell;
    int32_t ready, chips, reset_ms, boot_ms, boot_by_hand, fail_resets, fail_with, refuse_subscriptions, subscriptions;
    int32_t tellers_end; /* Changed: the threads that tell of events end. */
    int32_t init_ms;
    int32_t lose, twice, channel, finished, mortal, calls, resets, storm_chip, storm_left, storm_rate, storm_distinct, storm_at;
    int32_t old_counters; /* HCCS is counted in 32 bits. */
    int32_t unsupported; /* How often that was answered: each time the real one writes a line into its log of errors. */
    int32_t addresses; /* Of which kind: 4, 6, or 0: none. */
    int32_t no_pcie, no_die, no_label, in_no_pod;
    int32_t either_family; /* Unlike the real one: chips with mates, which the contract needs, by the second family too. */
    int32_t read_ms; /* What it takes to tell a chip's codes, which each look at a chip asks for once. */
    int32_t keep_vdevices, vdevices_block, made_vdevices; /* A reset leaves them; is refused while there are any. */
    int32_t os_loaded; /* Chips that boot have come so far that they are in the driver's tables again. */
    int32_t amp; /* The work mode is AMP, else SMP. */
    int32_t told_s, told_us; /* When the subscriber was called last, on the monotonic clock. */
    int32_t by_board; /* A guess: older drivers of 910As in SMP reset the board with any chip of it, as MindCluster does. */
    int32_t rescans; /* How many there were. */
    int32_t hanging; /* So many calls do not come back. */
    int32_t late_process; /* The process that is on the chip when the next reset is ordered, and not before. */
    int32_t queries; /* So many resets come while some program asks a chip of theirs something. */
    int32_t storm_code, storm_flaps; /* The first code, 0: the usual one; every other event clears it. */
    int32_t sensors_leave; /* A sensor that goes leaves its fault. */
    int32_t refuse_updates; /* So often a process cannot say what became of its fault. */
    int32_t resumed; /* So often a process has said that its own fault is over. */
    _Atomic int32_t inside, most_inside, writers;
    int32_t overwritten; /* So often two threads wrote which vNPUs there are at the same time. */
    int32_t serial; /* One counter for every event of every chip. */
    uint32_t last; /* The number of the event that comes next. */
    struct told event[EVENTS];
    struct chip chip[CHIPS];
    struct reset reset[RESETS];
    struct sensor sensor[SENSORS];
};

static struct world *W;
static fault_callback Callback;

/* The subscription of this process. `Asked` is given back when the thread ends, and not when the first try is refused; a
 * result of 0 stays 0 (the maker's driver of 2026-07: dsmi_fault_event.c 159-167, 251). */
static int Asked, Subscribed;
static uint32_t Next; /* The number of the event that it hears next. */

/* What this process found when it began; nothing renews it (the maker's driver of 2026-07: uda_user_kernel_api.c uda_init
 * caches the devices at the first success; dcmi_init_for_server.c 133-242 and dcmi_init_basic.c 1439 make the table of
 * cards, in which the card of a chip whose health or board call fails is -1; dcmi_basic_info_intf.c 212 copies it). */
static int Begun, Enumerated[CHIPS], Ready[CHIPS];
static int Boardless; /* Whether one of them had no board info then. */

/* ---- who asks, as the kernel's module sees it ---- */

/* The host: the mount namespace of init. Else an "admin container": root of init's user namespace with all capabilities
 * from 0 to 37, while cgroup v1's memory is not mounted read-only. Else an ordinary container. No file, no cgroup and no variable counts.
 * The maker's driver of 2026-07: docker_query.c 26-147, uda_access.c 123-187, ka_system.c 177-213. */
enum who { HOST = 1, ADMIN, PLAIN };

static long first_word(const char *path, long wanted) { /* The first number of a line, or of that with this number. */
    char line[4096];
    long found = 0, number;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        if (sscanf(line, "%ld ", &number) == 1 && (!wanted || number == wanted))
            found = number;
    if (file)
        fclose(file);
    return found;
}

/* The kernel compares two pointers. Mounts have their number in one namespace only; /proc/1/ns is not everybody's. */
static int in_inits_mounts(void) {
    struct stat ours, inits;
    if (!stat("/proc/self/ns/mnt", &ours) && !stat("/proc/1/ns/mnt", &inits))
        return ours.st_ino == inits.st_ino;
    long mount = first_word("/proc/self/mountinfo", 0);
    return access("/proc/1/mountinfo", R_OK) || first_word("/proc/1/mountinfo", mount) == mount;
}

static int has_every_capability(void) {
    char line[256];
    unsigned long long effective = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "CapEff: %llx", &effective) != 1)
        ;
    if (file)
        fclose(file);
    return (~effective & ((1ULL << 38) - 1)) == 0;
}

/* In its map each number is its own. */
static int in_inits_users(void) {
    unsigned long inside = 1, outside = 1, many = 0;
    FILE *file = fopen("/proc/self/uid_map", "re");
    int read = file ? fscanf(file, "%lu %lu %lu", &inside, &outside, &many) : 0;
    if (file)
        fclose(file);
    return read == 3 && !inside && !outside && many == 4294967295UL;
}

static enum who who(void) {
    static enum who found;
    struct statvfs groups;
    if (found)
        return found;
    int sealed = !statvfs("/sys/fs/cgroup/memory", &groups) && groups.f_flag & ST_RDONLY;
    int root = !geteuid() && in_inits_users();
    return found = in_inits_mounts() ? HOST : root && has_every_capability() && !sealed ? ADMIN : PLAIN;
}

static uint64_t mounts(void) {
    struct stat ours;
    return stat("/proc/self/ns/mnt", &ours) ? 0 : ours.st_ino;
}

/* ---- time, lock and bell ---- */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* One clock for every process of the machine. */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lock(void) {
    if (pthread_mutex_lock(&W->lock) == EOWNERDEAD) /* A process was killed in here. */
        pthread_mutex_consistent(&W->lock);
}

static void unlock(void) { pthread_mutex_unlock(&W->lock); }

static void ring_the_bell(void) {
    W->bell++;
    syscall(SYS_futex, &W->bell, FUTEX_WAKE, CHIPS * 16, NULL, NULL, 0);
}

/* Waits, with the lock given away, until the bell rings or the time has come (0: never). A condition variable in shared
 * memory would not survive that a process waiting on it is killed. */
static void wait_for_bell(int64_t until) {
    uint32_t seen = W->bell;
    int64_t left = until - now();
    struct timespec t = {left / 1000000000, left % 1000000000};
    unlock();
    if (until == 0 || left > 0)
        syscall(SYS_futex, &W->bell, FUTEX_WAIT, seen, until ? &t : NULL, NULL, 0);
    lock();
}

/* ---- what happens on the machine; the lock is held ---- */

/* The part of the chip that a code names, in its bits 27 to 17: reviews of the maker's driver of 2026-07,
 * dms_event_converge.h. */
static unsigned part_of(uint32_t code) { return code >> 17 & 0x7FF; }

/* Whether it is a code of the card's own controller (MCU), which a 950 adds to the chip's list. Events come from the
 * kernel, which knows nothing of these: reviews, dcmi_fault_manage_intf.c 70-104. */
static int is_of_controller(uint32_t code) { return part_of(code) == 0x78C; }

static void tell(int chip, const struct fault *fault, int assertion) {
    int times = W->twice > 0 ? 2 : 1;
    if (is_of_controller(fault->code))
        return;
    if (W->lose > 0) {
        W->lose--;
        return;
    }
    if (W->twice > 0)
        W->twice--;
    /* The oldest event that a subscriber has not fetched is overwritten, without a word (dms_event_distribute.c 285). */
    while (times-- > 0) {
        struct told *event = &W->event[W->last++ % EVENTS];
        event->serial = ++W->serial;
        event->code = fault->code;
        event->chip = (uint16_t)chip;
        memcpy(event->module, fault->module, 4);
        event->severity = (uint8_t)fault->severity;
        event->assertion = (uint8_t)assertion;
    }
    ring_the_bell();
}

static void scan_sensors(void);
static int64_t next_scan(int64_t before);
static int open_world(void);

static void settle(void) {
    scan_sensors();
    for (int i = 0; i < W->chips; i++) {
        struct chip *c = &W->chip[i];
        if (c->boot_at <= 0 || c->boot_at > now())
            continue;
        c->boot_at = 0;
        for (int f = c->faults - 1; f >= 0; f--) {
            struct fault gone = c->fault[f];
            if (!gone.curing)
                continue;
            c->fault[f] = c->fault[--c->faults];
            tell(i, &gone, 0);
        }
        c->dropped = 0;
    }
}

static void forget_the_dead(struct chip *c) {
    for (int p = c->processes - 1; W->mortal && p >= 0; p--)
        if (kill(c->process[p].proc_id, 0) && errno == ESRCH)
            c->process[p] = c->process[--c->processes];
}

static int64_t next_boot(void) {
    int64_t next = 0;
    for (int i = 0; i < W->chips; i++)
        if (W->chip[i].boot_at > 0 && (next == 0 || W->chip[i].boot_at < next))
            next = W->chip[i].boot_at;
    return next;
}

/* ---- telling, on a thread of the library's own ---- */

/* Types of nodes are 11 bits wide, and cut in the older two bytes: reviews, part 3, "Bits". */
static struct event event_of(const struct told *told) {
    struct event event;
    memset(&event, 0, sizeof event);
    event.u.dms.event_id = told->code;
    event.u.dms.deviceid = told->chip;
    event.u.dms.node_type = told->module[0];
    event.u.dms.node_id = told->module[1];
    event.u.dms.sub_node_type = told->module[2];
    event.u.dms.sub_node_id = told->module[3];
    event.u.dms.node_type_ex = (uint16_t)((part_of(told->code) & 0x700) | told->module[0]);
    event.u.dms.sub_node_type_ex = told->module[2];
    event.u.dms.severity = told->severity;
    event.u.dms.assertion = told->assertion;
    return event;
}

static void callback(const struct told *told) {
    struct event event = event_of(told);
    event.u.dms.notify_serial_num = told->serial;
    int64_t at = now();
    W->told_s = (int32_t)(at / 1000000000);
    W->told_us = (int32_t)(at % 1000000000 / 1000);
    Callback(&event);
    memset(&event, 0xa5, sizeof event); /* It is valid during the call only. */
}

static void happen(struct chip *c, const struct fault *fault, int assertion) {
    for (int f = c->faults - 1; f >= 0; f--)
        if (c->fault[f].code == fault->code && !memcmp(c->fault[f].module, fault->module, 4))
            c->fault[f] = c->fault[--c->faults];
    if (assertion == 1 && c->faults < FAULTS)
        c->fault[c->faults++] = *fault;
}

/* As many as one thread hears before the kernel's queue is full. */
static int storm_burst(void) {
    int burst = W->storm_rate / 100 > 0 ? W->storm_rate / 100 : 1;
    return burst < EVENTS ? burst : EVENTS;
}

static void storm(void) {
    int burst = storm_burst();
    uint32_t first = W->storm_code ? (uint32_t)W->storm_code : 0x80F00000u;
    for (; burst > 0 && W->storm_left > 0; burst--, W->storm_left--, W->storm_at++) {
        struct fault fault = {first + (uint32_t)(W->storm_at % W->storm_distinct), 1, 0, 0, {1, 2, 3, 4}};
        int assertion = !(W->storm_flaps && W->storm_at % 2);
        if (W->storm_flaps)
            happen(&W->chip[W->storm_chip], &fault, assertion);
        tell(W->storm_chip, &fault, assertion);
    }
}

/* Until the next part of a storm is due. */
static int64_t storm_pause(void) { return 1000000000LL * storm_burst() / W->storm_rate; }

static void *teller(void *nothing) {
    lock();
    for (int ends = W->tellers_end; ends == W->tellers_end;) {
        settle();
        if (W->storm_left > 0 && Next == W->last)
            storm();
        if (Next != W->last) {
            if (W->last - Next > EVENTS)
                Next = W->last - EVENTS;
            struct told told = W->event[Next++ % EVENTS];
            /* An ordinary container hears of its own chips only (dms_event_distribute.c 510-531, 653-670). */
            if (who() == PLAIN && told.chip < CHIPS && W->chip[told.chip].occupied != mounts())
                continue;
            unlock();
            callback(&told);
            lock();
        } else {
            wait_for_bell(next_scan(next_boot()));
        }
        if (W->storm_left > 0 && Next == W->last)
            wait_for_bell(now() + storm_pause());
    }
    Asked = 0;
    unlock();
    return nothing;
}

#include "soft_faults.h"

static int is(const struct chip *c, const char *name) { return !strncmp(c->name, name, strlen(name)); }

/* ---- the calls: each is between enter and leave, which hold the lock ---- */

static struct chip *enter(int chip, enum purpose purpose, int *answer) {
    static struct chip none;
    int inside = atomic_fetch_add(&W->inside, 1) + 1;
    lock();
    if (inside > W->most_inside)
        W->most_inside = inside;
    W->calls++;
    W->chip[chip < 0 || chip >= CHIPS ? 0 : chip].asked++;
    settle();
    if (purpose != LIST && (chip < 0 || chip >= W->chips || !Enumerated[chip])) {
        *answer = DCMI_NO_DEVICE;
        return &none;
    }
    struct chip *c = &W->chip[chip];
    if (c->hangs[purpose]) {
        atomic_fetch_sub(&W->inside, 1);
        W->hanging++;
        while (c->hangs[purpose])
            wait_for_bell(0);
        W->hanging--;
        atomic_fetch_add(&W->inside, 1);
    }
    if (purpose == CODES && W->read_ms)
        for (int64_t done = now() + (int64_t)W->read_ms * 1000000; now() < done;)
            wait_for_bell(done);
    *answer = c->answer[purpose];
    /* Guesses: what it says that has left the bus; and that a reset of it begins, which MindCluster orders. */
    if (*answer == 0 && c->dropped && purpose > PROCESS && purpose != BOOT && purpose != RESET)
        *answer = DCMI_NOT_READY;
    return c;
}

static int leave(int answer) {
    W->unsupported += answer == DCMI_UNSUPPORTED;
    unlock();
    atomic_fetch_sub(&W->inside, 1);
    return answer;
}

#define CALL(logic, purpose)                         \
    int answer;                                      \
    struct chip *c = enter(logic, purpose, &answer); \
    (void)c;                                         \
    if (answer)                                      \
    return leave(answer)

static void put_text(uint8_t *to, size_t size, const char *from) {
    memset(to, 0, size);
    strncpy((char *)to, from, size - 1);
}

static int chip_info(int chip, struct chip_info_v2 *info) {
    CALL(chip, INFO);
    put_text(info->type, 32, c->type);
    put_text(info->name, 32, c->name);
    put_text(info->ver, 32, "V1");
    put_text(info->npu_name, 32, c->name);
    info->aicore_cnt = 20;
    return leave(0);
}

static int board_info(int chip, struct board_info *info) {
    CALL(chip, BOARD);
    *info = (struct board_info){c->board, 1, 2, (uint32_t)c->card};
    return leave(0);
}

static int main_board(int chip, uint32_t *id) {
    CALL(chip, BOARD);
    *id = c->main_board;
    return leave(0);
}

/* A 950 asks the controller of its card, too. It is asked through the chip's management, ten times a minute where that is
 * dead: so it is in the library's init on 910B and A3 (dcmi_mcu_intf.c 566), and for a 950 it is a guess. */
static int controller(struct chip *c) {
    if (!is(c, "Ascend950"))
        return 0;
    c->controller_asked++;
    while (c->hangs[CONTROLLER])
        wait_for_bell(0);
    return c->answer[CONTROLLER];
}

/* A code is there once for each part that has it: reviews, part 3, "Small". The list fails as a whole when the controller
 * does not answer (dcmi_fault_manage_intf.c 70-104). */
static int codes(int chip, int *count, uint32_t *list, uint32_t size) {
    CALL(chip, CODES);
    if (c->boot_at || c->dropped || controller(c))
        return leave(DCMI_INNER); /* A list that fails fails with this one (dcmi_fault_manage_intf.c 70-104). */
    *count = 0;
    for (int f = 0; f < c->faults && (uint32_t)*count < size; f++)
        list[(*count)++] = c->fault[f].code;
    return leave(0);
}

/* The gravest of all faults, the controller's included, which a 950 asks for it, too: reviews, dms_event.c 1101 and
 * get_ext.c 1551-1567. */
static int health(int chip, uint32_t *value) {
    CALL(chip, HEALTH);
    if (c->boot_at) /* In no table first, then not ready (dsmi_common_interface.c:360-371). */
        return leave(W->os_loaded ? DCMI_NOT_READY : DCMI_IOCTL_FAILED);
    if (c->dropped) /* What is read over a dead bus is no "up" (dsmi_common_interface.c:360-371). */
        return leave(c->dropped == REMOVED ? DCMI_IOCTL_FAILED : DCMI_NOT_READY);
    if (controller(c))
        return leave(DCMI_INNER);
    /* 3 with a lost heartbeat while the bus lives (:372-383); 0xFFFFFFFF: no chip among the living (:342-346). */
    *value = c->health;
    for (int f = 0; f < c->faults; f++)
        if ((uint32_t)c->fault[f].severity > *value)
            *value = (uint32_t)c->fault[f].severity;
    return leave(0);
}

#ifdef TWO
/* Present faults with severity and module, on a 950 alone (reviews, part 3, "Small"). The arguments are those of the
 * published header. A guess: it is the kernel's list, and asks no controller. */
static int present(int chip, struct event *events, int size, int *count) {
    CALL(chip, PRESENT);
    *count = 0;
    for (int f = 0; f < c->faults && *count < size; f++) {
        struct told told = {
            .code = c->fault[f].code, .chip = (uint16_t)chip, .severity = (uint8_t)c->fault[f].severity, .assertion = 1
        };
        memcpy(told.module, c->fault[f].module, 4);
        if (!is_of_controller(told.code))
            events[(*count)++] = event_of(&told);
    }
    return leave(0);
}
#endif

static int remove_process(struct chip *c, int pid) {
    int there = c->processes;
    for (int p = c->processes - 1; p >= 0; p--)
        if (c->process[p].proc_id == pid)
            c->process[p] = c->process[--c->processes];
    return there != c->processes;
}

static int is_off_the_tables(const struct chip *c);

static int processes(int chip, struct proc_mem_info *list, int *count) {
    CALL(chip, PROCESS);
    if (is_off_the_tables(c))
        return leave(DCMI_WRONG_PARAMETER); /* EINVAL (dcmi_hot_reset_intf.c:1449-1512). */
    /* Of vNPUs the kernel looks at the first alone, and what is on that has no memory to be told of, which makes the
     * whole call "not supported" (dms_process_info.c:46-51, 233-236). The readers differ about the 910B. */
    if (c->vdevices && c->vdevice[0].used)
        return leave(DCMI_UNSUPPORTED);
    forget_the_dead(c);
    /* First the ids, then the memory of each: one that ends in between makes the whole call fail
     * (dcmi_inner_info_get_ext.c 658-705). Its code is a guess. */
    if (c->vanishing) {
        remove_process(c, c->vanishing);
        c->vanishing = 0;
        return leave(DCMI_INNER);
    }
    /* An ordinary container is told of processes of its own namespace only (dms_process_info.c 36-130). */
    *count = who() == PLAIN ? 0 : c->processes;
    memcpy(list, c->process, sizeof(struct proc_mem_info) * (size_t)*count);
    return leave(0);
}

static int boot_status(int chip, int *status) {
    CALL(chip, BOOT);
    /* 1 and 2 are folded into 0; 3: its OS runs, its service not yet (dsmi_common_interface.c:1688-1737). */
    *status = c->boot_at ? 3 * !!W->os_loaded : W->finished;
    if (!c->boot_at && c->dropped) /* The last one, or 0 once it was removed (:1713-1731). */
        *status = c->dropped == REMOVED ? 0 : 3;
    return leave(0);
}

static const char *beside(char *path, const char *name);

#include "resets.h"

static int channel_state(int chip, int *state) {
    CALL(chip, CHANNEL);
    *state = W->channel;
    return leave(0);
}

/* Once in a process. The codes of the first refusal are a guess, but for that of a 310 (see `Asked`). */
static int subscribe(int chip, struct event_filter filter, fault_callback call) {
    static const struct event_filter everything;
    int answer = 0;
    if (chip != -1 || memcmp(&filter, &everything, offsetof(struct event_filter, reserved) + 32))
        return DCMI_WRONG_PARAMETER;
    lock();
    while (W->chip[0].hangs[SUBSCRIBE])
        wait_for_bell(0);
    if (Asked) {
        answer = DCMI_OCCUPIED;
    } else if (W->refuse_subscriptions || !strcmp(W->chip[0].name, "310")) {
        Asked = !Subscribed;
        answer = Subscribed ? 0 : W->refuse_subscriptions ? DCMI_OCCUPIED : DCMI_UNSUPPORTED;
    } else {
        pthread_t thread;
        Callback = call;
        Asked = Subscribed = 1;
        W->subscriptions++;
        Next = W->last; /* What nobody listened to is told to nobody. */
        pthread_create(&thread, NULL, teller, NULL);
        pthread_setname_np(thread, "fault_event_sub");
        pthread_detach(thread);
    }
    unlock();
    return answer;
}

static int find_vdevice(const struct chip *c, uint32_t id) {
    for (int v = 0; v < c->vdevices; v++)
        if (c->vdevice[v].id == id)
            return v;
    return -1;
}

static int put_vdevice(struct chip *c, uint32_t id, uint32_t group, const char *template) {
    uint32_t first = 100 + 16 * c->physical;
    if (id < first || id >= first + VDEVICES || find_vdevice(c, id) >= 0 || !*template)
        return DCMI_WRONG_PARAMETER;
    if (c->vdevices == VDEVICES)
        return DCMI_OCCUPIED;
    struct vdevice *made = &c->vdevice[c->vdevices++];
    made->id = id;
    made->used = 0;
    made->group = group;
    put_text((uint8_t *)made->template, sizeof made->template, template);
    return 0;
}

/* Links 1 to 7 are there; old drivers know 32 bits only. */
static int hccs(const struct chip *c, unsigned about, void *buffer, unsigned size) {
    if (strncmp(c->name, "910B", 4) || (about == 5 && W->old_counters))
        return DCMI_UNSUPPORTED;
    if (about == 5 && size == sizeof(struct hccs_statistic_u64)) {
        struct hccs_statistic_u64 *found = buffer;
        memset(found, 0, sizeof *found);
        for (int i = 1; i < 8; i++)
            found->tx[i] = (1ULL << 40) + (unsigned)i, found->rx[i] = 200u + (unsigned)i, found->crc_err[i] = (unsigned)i;
        return 0;
    }
    if (about == 3 && size == sizeof(struct hccs_statistic)) {
        struct hccs_statistic *found = buffer;
        memset(found, 0, sizeof *found);
        for (int i = 1; i < 8; i++)
            found->tx[i] = 100u + (unsigned)i, found->rx[i] = 200u + (unsigned)i, found->retry[i] = (unsigned)i;
        return 0;
    }
    return DCMI_WRONG_PARAMETER;
}

static int device_info(int chip, int command, uint32_t about, void *buffer, uint32_t *size) {
    CALL(chip, VDEVICE);
    if (c->boot_at)
        return leave(DCMI_NOT_READY);
    if (command == POD_COMMANDS && about == 1 && *size == sizeof(struct spod_info)) {
        uint32_t pod = W->in_no_pod ? 0xffffffffu : 7;
        *(struct spod_info *)buffer = (struct spod_info){.sdid = c->physical << 16, .super_pod_id = pod, .server_id = 3};
        return leave(c->brother < 0 && !is(c, "Ascend950") ? DCMI_UNSUPPORTED : 0);
    }
    if (command == HCCS_COMMANDS)
        return leave(hccs(c, about, buffer, *size));
    /* Only chips with two dies have this: MindCluster's documents on NPU Exporter, section SIO. */
    if (command == SIO_COMMANDS && about == 0 && *size == sizeof(struct sio_crc_err_statistic_info)) {
        *(struct sio_crc_err_statistic_info *)buffer = (struct sio_crc_err_statistic_info){.tx = 5, .rx = 6};
        return leave(c->brother < 0 && !is(c, "Ascend950") ? DCMI_UNSUPPORTED : 0);
    }
    if (command != VDEVICE_COMMANDS)
        return leave(DCMI_UNSUPPORTED);
    if (about == 1 && *size == sizeof(struct soc_total_resource)) {
        struct soc_total_resource *total = buffer;
        memset(total, 0, sizeof *total);
        total->vdev_num = (uint32_t)c->vdevices;
        for (int v = 0; v < c->vdevices; v++)
            total->vdev_id[v] = c->vdevice[v].id;
        return leave(0);
    }
    if (about == 0 && *size == sizeof(struct vdev_query)) {
        struct vdev_query *query = buffer;
        int v = find_vdevice(c, query->vdev_id);
        if (v < 0)
            return leave(DCMI_NO_DEVICE);
        memcpy(query->name, c->vdevice[v].template, sizeof query->name);
        query->vfg_id = c->vdevice[v].group;
        query->is_container_used = c->vdevice[v].used;
        return leave(0);
    }
    return leave(DCMI_WRONG_PARAMETER);
}

#ifdef ONE
/* 10.0.7.N, or fd00::N where that is said. A port without an address of the kind that is asked for says so: reviews of
 * the maker's driver of 2026-07, dcmi_inner_info_get_ext.c; that IPv6 answers as IPv4 does is a guess. */
static int device_ip(int chip, int port_type, int port, struct ip_addr *ip, struct ip_addr *mask) {
    CALL(chip, ADDRESS);
    if (port_type != 1 || port != 0)
        return leave(DCMI_WRONG_PARAMETER);
    int six = ip->type == 1;
    if (W->addresses != (six ? 6 : 4))
        return leave(DCMI_NOT_SET);
    memset(ip, 0, sizeof *ip);
    memset(mask, 0, sizeof *mask);
    ip->type = six;
    memcpy(ip->address, six ? "\xfd" : "\x0a\x00\x07", six ? 1 : 3);
    ip->address[six ? 15 : 3] = (uint8_t)c->physical;
    return leave(0);
}

/* vNPUs are written into /etc/vnpu.cfg as they come and go, under a lock that keeps no thread of the same process out: of
 * what two write at once one is lost (reviews, part 2, H1, and part 3; dcmi_inner_cfg_persist.c:84-99, 544-590). */
static void writing(int begins) {
    W->overwritten += atomic_fetch_add(&W->writers, begins ? 1 : -1) > 0 && begins;
}

static int make_vdevice(int chip, const struct create_vdev_res *wish, struct create_vdev_out *made) {
    CALL(chip, MAKE_VDEVICE);
    if (c->boot_at)
        return leave(DCMI_NOT_READY);
    answer = put_vdevice(c, wish->vdev_id, wish->vfg_id, wish->template_name);
    W->made_vdevices += !answer;
    memset(made, 0, sizeof *made);
    made->vdev_id = wish->vdev_id;
    return leave(answer);
}

static int destroy_vdevice(int chip, uint32_t id) {
    CALL(chip, DESTROY_VDEVICE);
    int v = find_vdevice(c, id);
    if (v < 0)
        return leave(DCMI_NO_DEVICE);
    c->vdevice[v] = c->vdevice[--c->vdevices];
    return leave(0);
}
#endif

/* ---- gauges: what each product has, and how it says that there is no value, is from reviews of the maker's driver of
 * 2026-07 and of its manuals: custom/include/dcmi_interface_api.h, dcmi_inner_info_get.c, npu_chip_info.c. ---- */

/* 0x7ffd to 0x7fff stand for values that are invalid or cannot be read: npu-smi prints NA. */
static int voltage(int chip, uint32_t *value) {
    CALL(chip, GAUGE);
    *value = (uint32_t)c->voltage;
    return leave(0);
}

static int frequency(int chip, int type, uint32_t *value) {
    CALL(chip, GAUGE);
    *value = 100u * (uint32_t)type;
    return leave(type == 2 || type == 6 || type == 7 || type == 9 ? 0 : DCMI_UNSUPPORTED);
}

static int network(int chip, int *state) {
    CALL(chip, NETWORK);
    *state = c->network;
    return leave(strncmp(c->name, "910", 3) ? DCMI_UNSUPPORTED : 0);
}

#ifdef ONE
/* Each counter is its place in the structure, so that a wrong order is seen. */
static int port(int chip, int number, struct port_counters *found) {
    CALL(chip, GAUGE);
    memset(found, 0, sizeof *found);
    for (int i = 0; i < 48; i++)
        found->counter[i] = (uint64_t)i;
    return leave(number ? DCMI_WRONG_PARAMETER : strncmp(c->name, "910", 3) ? DCMI_UNSUPPORTED : 0);
}
#endif

/* A 950's is read as an unsigned char. */
static int temperature(int chip, int *value) {
    CALL(chip, GAUGE);
    *value = is(c, "Ascend950") ? (uint8_t)c->temperature : c->temperature;
    return leave(0);
}

/* The second die of an A3 has none of its own: npu-smi prints "-". That the call tells the card's there is a guess, and
 * so is the refusal of a 310P, of whose chips npu-smi prints NA. */
static int power(int chip, int *value) {
    CALL(chip, GAUGE);
    *value = c->power;
    return leave(is(c, "310P") ? DCMI_UNSUPPORTED : 0);
}

static int hbm(int chip, struct hbm_info *info) {
    CALL(chip, GAUGE);
    *info = (struct hbm_info){65536, 1600, 4096, 45, 7};
    return leave(is(c, "910") || is(c, "Ascend950") ? 0 : DCMI_UNSUPPORTED);
}

#ifdef ONE
static int memory(int chip, struct memory_info_v3 *info) {
    CALL(chip, GAUGE);
    *info = (struct memory_info_v3){.memory_size = 24576, .memory_available = 20000, .utiliza = 18};
    return leave(strncmp(c->name, "310P", 4) ? DCMI_UNSUPPORTED : 0);
}
#endif

/* 2 AI core, 3 and 4 its CPUs, 6 HBM in use, 10 the bandwidth of HBM, 12 vector, 13 all of it, 14 cube: a 950 alone. */
static int utilisation(int chip, int type, uint32_t *value) {
    CALL(chip, GAUGE);
    static const int types[] = {2, 3, 4, 6, 10, 12, 13, 14};
    int last = is(c, "Ascend950") ? 14 : is(c, "910") ? 13 : 2, known = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        known |= types[t] == type && type <= last;
    *value = (uint32_t)(type * 3);
    return leave(known ? 0 : DCMI_UNSUPPORTED);
}

/* 0 DDR, 2 HBM: 910A has both, 310P the first, the others the second. Nobody has 1 and 3, SRAM and NPU. Pages that were
 * isolated for errors of one bit are not counted. */
static int ecc(int chip, int type, struct ecc_info *info) {
    CALL(chip, GAUGE);
    int hbm = is(c, "910") || is(c, "Ascend950"), ddr = is(c, "910A") || is(c, "310P");
    *info = (struct ecc_info){1, 3, 1, 30, 10, 0, 1, 0, 0};
    return leave((type == 2 && hbm) || (type == 0 && ddr) ? 0 : DCMI_UNSUPPORTED);
}

/* Boards whose chips are linked by UB have no PCIe: reviews of the maker's driver of 2026-07. */
static int bus(int chip, struct pcie_info_all *info) {
    CALL(chip, IDS);
    if (W->no_pcie)
        return leave(DCMI_UNSUPPORTED);
    memset(info, 0, sizeof *info);
    info->domain = chip / 8;
    info->bus = 0x80u + (uint32_t)chip;
    return leave(0);
}

/* A 950 has only type 2 (DDIE), 910B and A3 have type 1 (VDIE) and no type 0: dcmi_inner_info_get.c of 2026-07. */
static int die(int chip, int type, struct die_id *id) {
    CALL(chip, IDS);
    if (type != (is(c, "Ascend950") ? 2 : 1))
        return leave(DCMI_UNSUPPORTED);
    /* That one which is not burnt in is told as zeros is a guess. */
    *id = W->no_die ? (struct die_id){{0}} : (struct die_id){{0x1234u, (uint32_t)type, 0xABCDEF01u, 0, c->physical}};
    return leave(0);
}

/* The label of the board, which all chips on it share; a default text, and success, where none is known: the maker's
 * driver of 2026-07. That the text is this one is a guess. */
static int label(int chip, struct elabel_info *info) {
    CALL(chip, IDS);
    memset(info, 0, sizeof *info);
    if (W->no_label)
        strcpy(info->serial, "NA");
    else
        snprintf(info->serial, sizeof info->serial, "2102314%03d", c->card);
    return leave(0);
}

/* Puts the path of what lies beside the library into `path`, which has room for 4096. */
static const char *beside(char *path, const char *name) {
    Dl_info here;
    if (!dladdr((void *)beside, &here))
        return "";
    const char *slash = strrchr(here.dli_fname, '/');
    snprintf(path, 4096, "%.*s%s", slash ? (int)(slash + 1 - here.dli_fname) : 0, here.dli_fname, name);
    return path;
}

static int open_world(void) {
    char path[4096];
    if (W)
        return 0;
    int file = open(beside(path, "world"), O_RDWR | O_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(struct world)))
        return DCMI_NOT_READY;
    void *at = mmap(NULL, sizeof(struct world), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED)
        return DCMI_NOT_READY;
    W = at;
    return 0;
}

static int answers_at_start(const struct chip *c) {
    return !c->boot_at && !c->dropped && !c->answer[HEALTH] && !c->answer[BOARD];
}

static void make_tables(void) {
    Boardless = 0;
    for (int i = 0; i < W->chips; i++) {
        if (!Begun)
            Enumerated[i] = W->chip[i].listed;
        Boardless |= Enumerated[i] && W->chip[i].answer[BOARD];
        Ready[i] = Enumerated[i];
        /* One die takes its whole card along. */
        for (int k = 0; k < W->chips; k++)
            Ready[i] &= W->chip[k].card != W->chip[i].card || answers_at_start(&W->chip[k]);
    }
    Begun = 1;
}

/* Opens every chip's device file and holds it: to the kernel the chip is then that of the ordinary container that opened
 * it, and no other's, until that container's processes are gone; the host and admin containers take nothing from anybody.
 * The maker's driver of 2026-07: uda_user_kernel_api.c 85-120 and 264-300, uda_access.c 1022-1112. */
static int Held[CHIPS]; /* Descriptors; 0: none. */

static int hold_devices(void) {
    int refused = 0;
    for (int i = 0; i < W->chips; i++) {
        struct chip *c = &W->chip[i];
        char path[4096], name[32];
        if (!c->listed || Held[i])
            continue;
        if (who() == PLAIN) {
            int taken = c->occupied && c->occupied != mounts() && !(kill(c->occupant, 0) && errno == ESRCH);
            refused |= taken;
            if (taken)
                continue;
            c->occupied = mounts();
            c->occupant = getpid();
        }
        snprintf(name, sizeof name, "dev/davinci%u", !strncmp(c->name, "Ascend950", 9) ? (unsigned)i : c->physical);
        int file = open(beside(path, name), O_RDWR | O_CLOEXEC);
        Held[i] = file < 0 ? 0 : file;
    }
    return refused;
}

/* Opening the library does that already (uda/dc/CMakeLists.txt 33: CFG_FEATURE_UDA_CONSTRUCT_INIT). */
__attribute__((constructor)) static void constructed(void) {
    if (open_world() || !W->ready)
        return;
    lock();
    hold_devices();
    unlock();
}

/* Only a 950 has the second family, and none of the first: reviews of the maker's driver of 2026-07, dcmi_init_basic.c.
 * That the second refuses with the same code is a guess. */
static int init(int family) {
    if (open_world() || !W->ready)
        return DCMI_NOT_READY;
    Prepared = -1; /* As in a new process. */
    lock();
    settle();
    while (W->chip[0].hangs[INIT])
        wait_for_bell(0);
    /* Half a minute for each chip that nothing can be sent to, ten for one that does not answer (dcmi_mcu_intf.c 566). */
    for (int64_t done = now() + (int64_t)W->init_ms * 1000000; now() < done;)
        wait_for_bell(done);
    int answer = hold_devices() ? DCMI_OCCUPIED : W->chip[0].answer[INIT];
    if (!answer && !W->either_family && (family == 2) != is(&W->chip[0], "Ascend950"))
        answer = DCMI_UNSUPPORTED;
    if (!answer)
        make_tables();
    unlock();
    return answer;
}

static int physical(unsigned chip, uint32_t *id) {
    CALL((int)chip, IDS);
    *id = c->physical;
    return leave(0);
}

#ifdef ONE
static int at(int card, int device) {
    for (int i = 0; i < W->chips; i++)
        if (Ready[i] && W->chip[i].card == card && W->chip[i].device == device)
            return i;
    return -1;
}

/* What the card's own controller measures, for all its chips together. */
int dcmi_mcu_get_power_info(int card, int *value) {
    CALL(at(card, 0), GAUGE);
    *value = c->card_power;
    return leave(is(c, "310P") ? 0 : DCMI_UNSUPPORTED);
}

int dcmi_init(void) { return init(1); }

int dcmi_get_card_list(int *count, int *list, int size) {
    CALL(0, LIST);
    *count = 0;
    for (int i = 0; i < W->chips; i++) {
        int known = !Enumerated[i];
        for (int k = 0; k < i; k++)
            known |= Enumerated[k] && W->chip[k].card == W->chip[i].card;
        if (!known && *count < size)
            list[(*count)++] = Ready[i] ? W->chip[i].card : -1;
    }
    return leave(0);
}

int dcmi_get_device_num_in_card(int card, int *count) {
    CALL(0, LIST);
    *count = 0;
    for (int i = 0; i < W->chips; i++)
        *count += W->chip[i].card == card && Ready[i];
    return leave(*count ? 0 : DCMI_NO_DEVICE);
}

int dcmi_get_device_logic_id(int *logic, int card, int device) {
    CALL(at(card, device), IDS);
    *logic = at(card, device);
    return leave(0);
}

int dcmi_get_device_phyid_from_logicid(unsigned chip, unsigned *id) { return physical(chip, id); }
int dcmi_get_device_chip_info_v2(int k, int d, struct chip_info_v2 *i) { return chip_info(at(k, d), i); }
int dcmi_get_device_board_info(int k, int d, struct board_info *i) { return board_info(at(k, d), i); }
int dcmi_get_mainboard_id(int k, int d, unsigned *i) { return main_board(at(k, d), i); }

int dcmi_get_product_type(int card, int device, char *text, int size) {
    CALL(at(card, device), PRODUCT);
    if (!c->product[0])
        return leave(DCMI_UNSUPPORTED);
    snprintf(text, (size_t)size, "%s", c->product);
    return leave(0);
}

/* HCCS is 3 (manual of the 910B); which number other links have is a guess. What is in no table gets the kernel's own
 * error, positive as it is (dcmi_inner_info_get.c:381-386). */
int dcmi_get_topo_info_by_device_id(int card, int device, int other_card, int other_device, int *kind) {
    CALL(at(card, device), TOPOLOGY);
    int other = at(other_card, other_device);
    if (other < 0 || !W->chip[other].listed)
        return leave(DCMI_NO_DEVICE);
    if (is_off_the_tables(c) || is_off_the_tables(&W->chip[other]))
        return leave(ENXIO);
    *kind = is_910b(c) && is_linked(c, &W->chip[other]) ? 3 : 5;
    return leave(0);
}

int dcmi_get_npu_work_mode(int card, unsigned char *mode) {
    CALL(at(card, 0), TOPOLOGY);
    *mode = !W->amp;
    return leave(0);
}

/* -1 on an Atlas 9000 A3 (dcmi_basic_info_intf.c:2064-2105, inner_cfg_manage.h:49); no other product has any. */
int dcmi_get_netdev_brother_device(int card, int device, int *brother) {
    CALL(at(card, device), BROTHER);
    *brother = c->brother;
    return leave(is_a3(c) ? 0 : DCMI_UNSUPPORTED);
}

int dcmi_get_device_errorcode_v2(int k, int d, int *n, unsigned *l, unsigned s) { return codes(at(k, d), n, l, s); }
int dcmi_get_device_health(int k, int d, unsigned *v) { return health(at(k, d), v); }
int dcmi_get_device_resource_info(int k, int d, struct proc_mem_info *l, int *n) { return processes(at(k, d), l, n); }
int dcmi_set_device_reset(int k, int d, int channel) { return reset(at(k, d), channel); }
int dcmi_get_device_boot_status(int k, int d, int *v) { return boot_status(at(k, d), v); }
int dcmi_get_device_outband_channel_state(int k, int d, int *v) { return channel_state(at(k, d), v); }
#ifndef OLD /* The newer names: dcmi_hot_reset_intf.c:41-54 has the older ones as aliases, on the way out by the manuals. */
int dcmi_set_device_pre_reset(int k, int d) { return step(at(k, d), PRE_RESET); }
int dcmi_set_device_rescan(int k, int d) { return step(at(k, d), RESCAN); }
#endif
#ifndef NEW
int dcmi_pre_reset_soc(int k, int d) { return step(at(k, d), PRE_RESET); }
int dcmi_rescan_soc(int k, int d) { return step(at(k, d), RESCAN); }
#endif
int dcmi_get_device_voltage(int k, int d, unsigned *v) { return voltage(at(k, d), v); }
int dcmi_get_device_frequency(int k, int d, int t, unsigned *v) { return frequency(at(k, d), t, v); }
int dcmi_get_device_network_health(int k, int d, int *v) { return network(at(k, d), v); }
int dcmi_get_netdev_pkt_stats_info(int k, int d, int p, struct port_counters *i) { return port(at(k, d), p, i); }
int dcmi_get_device_temperature(int k, int d, int *v) { return temperature(at(k, d), v); }
int dcmi_get_device_power_info(int k, int d, int *v) { return power(at(k, d), v); }
int dcmi_get_device_hbm_info(int k, int d, struct hbm_info *i) { return hbm(at(k, d), i); }
int dcmi_get_device_memory_info_v3(int k, int d, struct memory_info_v3 *i) { return memory(at(k, d), i); }
int dcmi_get_device_utilization_rate(int k, int d, int t, unsigned *v) { return utilisation(at(k, d), t, v); }
int dcmi_get_device_ecc_info(int k, int d, int t, struct ecc_info *i) { return ecc(at(k, d), t, i); }
int dcmi_get_device_pcie_info_v2(int k, int d, struct pcie_info_all *i) { return bus(at(k, d), i); }
int dcmi_get_device_ip(int k, int d, int t, int p, struct ip_addr *i, struct ip_addr *m) {
    return device_ip(at(k, d), t, p, i, m);
}
int dcmi_get_device_info(int k, int d, int m, unsigned s, void *b, unsigned *n) { return device_info(at(k, d), m, s, b, n); }
int dcmi_create_vdevice(int k, int d, struct create_vdev_res *w, struct create_vdev_out *o) {
    writing(1);
    int answer = make_vdevice(at(k, d), w, o);
    writing(0);
    return answer;
}
int dcmi_set_destroy_vdevice(int k, int d, unsigned id) {
    writing(1);
    int answer = destroy_vdevice(at(k, d), id);
    writing(0);
    return answer;
}
int dcmi_get_device_elabel_info(int k, int d, struct elabel_info *i) { return label(at(k, d), i); }
int dcmi_get_device_die_v2(int k, int d, int t, struct die_id *i) { return die(at(k, d), t, i); }

int dcmi_subscribe_fault_event(int card, int device, struct event_filter filter, fault_callback call) {
    return device == -1 ? subscribe(card, filter, call) : DCMI_WRONG_PARAMETER;
}
#endif

#ifdef TWO
int dcmiv2_init(void) { return init(2); }

int dcmiv2_get_all_device_count(int *count) {
    CALL(0, LIST);
    *count = 0;
    for (int i = 0; i < W->chips; i++)
        *count += Enumerated[i];
    return leave(0);
}

/* One card without board info when the library begins fails the whole list: dcmiv2_basic_info_intf.c of 2026-07. That
 * the count above goes on being told is a guess. */
int dcmiv2_get_device_list(int *list, int *count, int size) {
    CALL(0, LIST);
    *count = 0;
    if (Boardless)
        return leave(DCMI_WRONG_PARAMETER);
    for (int i = 0; i < W->chips && *count < size; i++)
        if (Ready[i])
            list[(*count)++] = i;
    return leave(0);
}

int dcmiv2_get_chip_phy_id_by_dev_id(unsigned chip, unsigned *id) { return physical(chip, id); }
int dcmiv2_get_device_chip_info(int d, struct chip_info_v2 *i) { return chip_info(d, i); }
int dcmiv2_get_device_board_info(int d, struct board_info *i) { return board_info(d, i); }
int dcmiv2_get_mainboard_id(int d, unsigned *i) { return main_board(d, i); }
int dcmiv2_get_device_error_code_list(int d, int *n, unsigned *l, unsigned s) { return codes(d, n, l, s); }
int dcmiv2_get_device_current_fault_event(int d, struct event *e, int s, int *n) { return present(d, e, s, n); }
int dcmiv2_get_device_health(int d, unsigned *v) { return health(d, v); }
int dcmiv2_get_device_proc_mem_info(int d, struct proc_mem_info *l, int *n) { return processes(d, l, n); }
int dcmiv2_reset_device(int d, int channel) { return reset(d, channel); }
int dcmiv2_get_device_boot_status(int d, int *v) { return boot_status(d, v); }
int dcmiv2_get_device_outband_channel_state(int d, int *v) { return channel_state(d, v); }
int dcmiv2_pre_reset_device(int d) { return step(d, PRE_RESET); }
int dcmiv2_rescan_device(int d) { return step(d, RESCAN); }
int dcmiv2_get_device_voltage(int d, unsigned *v) { return voltage(d, v); }
int dcmiv2_get_device_frequency(int d, int t, unsigned *v) { return frequency(d, t, v); }
int dcmiv2_get_device_network_health(int d, int *v) { return network(d, v); }
int dcmiv2_get_device_temperature(int d, int *v) { return temperature(d, v); }
int dcmiv2_get_device_power_info(int d, int *v) { return power(d, v); }
int dcmiv2_get_device_hbm_info(int d, struct hbm_info *i) { return hbm(d, i); }
int dcmiv2_get_device_utilization_rate(int d, int t, unsigned *v) { return utilisation(d, t, v); }
int dcmiv2_get_device_ecc_info(int d, int t, struct ecc_info *i) { return ecc(d, t, i); }
int dcmiv2_get_device_pcie_info(int d, struct pcie_info_all *i) { return bus(d, i); }
int dcmiv2_get_device_info(int d, int m, unsigned s, void *b, unsigned *n) { return device_info(d, m, s, b, n); }
int dcmiv2_get_device_elabel_info(int d, struct elabel_info *i) { return label(d, i); }
int dcmiv2_get_device_die_id(int d, int t, struct die_id *i) { return die(d, t, i); }

int dcmiv2_subscribe_fault_event(int d, struct event_filter filter, fault_callback call) {
    return subscribe(d, filter, call);
}
#endif

/* ---- what tests call; each changes the machine at once ---- */

int standin_open(void) { return open_world(); }

int standin_create(int chips) {
    pthread_mutexattr_t shared;
    if (open_world() || chips < 0 || chips > CHIPS)
        return -1;
    memset(W, 0, sizeof *W);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&W->lock, &shared);
    W->chips = chips;
    W->finished = BOOTED;
    W->addresses = 4;
    W->fail_with = DCMI_RESET_FAILED;
    W->ready = 1;
    return 0;
}

int standin_chip(int i, int card, int device, int physical_id, int group, int brother) {
    lock();
    struct chip *c = &W->chip[i];
    c->listed = 1;
    c->card = card;
    c->device = device;
    c->physical = (uint32_t)physical_id;
    c->group = group;
    c->brother = brother;
    c->temperature = 40 + i;
    c->power = c->card_power = 655;
    c->voltage = 85;
    unlock();
    return 0;
}

int standin_name(int i, const char *type, const char *name, const char *product, unsigned board, unsigned mainboard) {
    lock();
    struct chip *c = &W->chip[i];
    put_text((uint8_t *)c->type, sizeof c->type, type);
    put_text((uint8_t *)c->name, sizeof c->name, name);
    put_text((uint8_t *)c->product, sizeof c->product, product);
    c->board = board;
    c->main_board = mainboard;
    unlock();
    return 0;
}

int standin_fault(int i, unsigned code, int severity, unsigned module, int assertion, int incurable) {
    struct fault fault = {code, severity, incurable, 0, {0}};
    for (int m = 0; m < 4; m++)
        fault.module[m] = (uint8_t)(module >> (24 - 8 * m));
    lock();
    if (i >= 0 && i < W->chips && assertion != 2)
        happen(&W->chip[i], &fault, assertion);
    tell(i, &fault, assertion);
    unlock();
    return 0;
}

int standin_burst(int i, int events) { /* So many at once that happen and are over, each of another code. */
    lock();
    for (int e = 0; e < events; e++) {
        struct fault fault = {0x80F00000u + (uint32_t)e, 1, 0, 0, {1, 2, 3, 4}};
        tell(i, &fault, 2);
    }
    unlock();
    return 0;
}

int standin_process(int i, int pid, unsigned long bytes) { /* No bytes: it ends. */
    lock();
    struct chip *c = &W->chip[i];
    remove_process(c, pid);
    if (bytes && c->processes < PROCESSES)
        c->process[c->processes++] = (struct proc_mem_info){pid, bytes};
    unlock();
    return 0;
}

/* It ends: between the two questions of the next list, or so that it leaves the list and holds the chip until its memory
 * is released, which takes long on a sick one (svm_mmu_notifier.c 70-78, svm_master_proc_mng.c 225-240). */
int standin_end_process(int i, int pid, int lingers) {
    lock();
    struct chip *c = &W->chip[i];
    if (lingers)
        c->lingering = remove_process(c, pid);
    else
        c->vanishing = pid;
    unlock();
    return 0;
}

int standin_vdevice(int i, unsigned id, unsigned group, const char *template) { /* No template: it is destroyed. */
    lock();
    struct chip *c = &W->chip[i];
    int v = find_vdevice(c, id), answer = 0;
    if (*template)
        answer = put_vdevice(c, id, group, template);
    else if (v >= 0)
        c->vdevice[v] = c->vdevice[--c->vdevices];
    unlock();
    return answer;
}

int standin_use(int i, unsigned id, int used) { /* A container uses the vNPU, or does so no more. */
    lock();
    struct chip *c = &W->chip[i];
    int v = find_vdevice(c, id);
    if (v >= 0)
        c->vdevice[v].used = (uint32_t)used;
    unlock();
    return v < 0 ? -1 : 0;
}

int standin_vdevice_at(int i, int n, unsigned *id, char *template) {
    lock();
    const struct chip *c = &W->chip[i];
    int there = n < c->vdevices;
    if (there) {
        *id = c->vdevice[n].id;
        memcpy(template, c->vdevice[n].template, sizeof c->vdevice[n].template);
    }
    unlock();
    return there ? 0 : -1;
}

int standin_answer(int i, int purpose, int answer) {
    lock();
    W->chip[i].answer[purpose] = answer;
    unlock();
    return 0;
}

int standin_asked(int i, int of_controller) {
    lock();
    int times = of_controller ? W->chip[i].controller_asked : W->chip[i].asked;
    unlock();
    return times;
}

int standin_hang(int i, int purpose, int hangs) {
    lock();
    W->chip[i].hangs[purpose] = hangs;
    ring_the_bell();
    unlock();
    return 0;
}

int standin_list(int i, int is_listed) {
    lock();
    W->chip[i].listed = is_listed;
    unlock();
    return 0;
}

int standin_drop(int i, int dropped) {
    lock();
    W->chip[i].dropped = dropped; /* 1, or `REMOVED`. */
    unlock();
    return 0;
}

int standin_reset_by_other(int i, int under_way) {
    lock();
    set_in_reset(&W->chip[i], under_way);
    unlock();
    return 0;
}

int standin_finish_boots(int but) {
    lock();
    for (int i = 0; i < W->chips; i++)
        if (W->chip[i].boot_at && i != but)
            W->chip[i].boot_at = 1;
    settle();
    ring_the_bell();
    unlock();
    return 0;
}

int standin_storm(int i, int events, int per_second, int distinct) {
    lock();
    W->storm_chip = i;
    W->storm_rate = per_second;
    W->storm_distinct = distinct;
    W->storm_at = 0;
    W->storm_left = events;
    ring_the_bell();
    unlock();
    return 0;
}

int standin_gauge(int i, const char *name, int value) {
    lock();
    struct chip *c = &W->chip[i];
    struct {
        const char *name;
        int32_t *at;
    } all[] = {
        {"temperature", &c->temperature}, {"power", &c->power}, {"card_power", &c->card_power}, {"voltage", &c->voltage},
        {"network", &c->network}, {"health", (int32_t *)&c->health},
    };
    int answer = -1;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (!strcmp(all[n].name, name))
            *all[n].at = value, answer = 0;
    unlock();
    return answer;
}

static int32_t *setting(const char *name) {
    struct {
        const char *name;
        int32_t *at;
    } all[] = {
        {"os_loaded", &W->os_loaded}, {"queries", &W->queries}, {"late_process", &W->late_process}, {"rescans", &W->rescans}, {"amp", &W->amp}, {"by_board", &W->by_board},
        {"init_ms", &W->init_ms}, {"reset_ms", &W->reset_ms}, {"boot_ms", &W->boot_ms}, {"boot_by_hand", &W->boot_by_hand},
        {"fail_resets", &W->fail_resets}, {"fail_with", &W->fail_with}, {"lose", &W->lose}, {"twice", &W->twice},
        {"refuse_subscriptions", &W->refuse_subscriptions}, {"channel", &W->channel}, {"finished", &W->finished},
        {"subscriptions", &W->subscriptions}, {"tellers_end", &W->tellers_end}, {"calls", &W->calls}, {"resets", &W->resets},
        {"storm_left", &W->storm_left}, {"storm_code", &W->storm_code}, {"storm_flaps", &W->storm_flaps},
        {"keep_vdevices", &W->keep_vdevices}, {"vdevices_block", &W->vdevices_block}, {"addresses", &W->addresses},
        {"old_counters", &W->old_counters}, {"unsupported", &W->unsupported},
        {"no_pcie", &W->no_pcie}, {"no_die", &W->no_die}, {"no_label", &W->no_label}, {"either_family", &W->either_family}, {"in_no_pod", &W->in_no_pod}, {"read_ms", &W->read_ms},
        {"made_vdevices", &W->made_vdevices}, {"overwritten", &W->overwritten}, {"hanging", &W->hanging}, {"mortal", &W->mortal}, {"told_s", &W->told_s}, {"told_us", &W->told_us},
        {"sensors_leave", &W->sensors_leave}, {"resumed", &W->resumed},
        {"refuse_updates", &W->refuse_updates}, {"most_inside", (int32_t *)&W->most_inside},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (!strcmp(all[n].name, name))
            return all[n].at;
    return NULL;
}

int standin_set(const char *name, int value) {
    lock();
    int32_t *at = setting(name);
    if (at)
        *at = value;
    ring_the_bell();
    unlock();
    return at ? 0 : -1;
}

static int occupied(void) {
    int count = 0;
    for (int i = 0; i < W->chips; i++)
        count += W->chip[i].occupied && !(kill(W->chip[i].occupant, 0) && errno == ESRCH);
    return count;
}

/* The real library lets go of them at the end of its process: one that plays many machines would run out of numbers. */
int standin_let_go(void) {
    for (int i = 0; i < CHIPS; i++) {
        if (Held[i])
            close(Held[i]);
        Held[i] = 0;
    }
    return 0;
}

int standin_get(const char *name) {
    if (!strcmp(name, "occupied"))
        return occupied();
    lock();
    int32_t *at = setting(name);
    int value = at ? *at : -1;
    unlock();
    return value;
}

int standin_reset(int n, int *chip, int *channel, int *answer) {
    lock();
    int there = n < W->resets && n >= W->resets - RESETS;
    struct reset *r = &W->reset[n % RESETS];
    *chip = r->chip;
    *channel = r->channel;
    *answer = r->answer;
    unlock();
    return there ? 0 : -1;
}
