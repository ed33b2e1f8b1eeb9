/* A libnvidia-ml.so.1 without hardware: the C interface of the real one over a machine that tests make up.
 *
 * The machine lies in the file `world` beside the library, so that it outlives the program that uses it, as GPUs do, and
 * so that the fake nvidia-smi and a test in another process share it: they load the same library and call `standin_*`.
 * -DRELEASE=535, 570, 580 or 615 gives what that driver release has. The names of calls, the purposes, are those of
 * tests/fakes/nvml/standin.py.
 */
#define _GNU_SOURCE
#include "libnvidia-ml.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GPUS 32
#define FIELDS 256
#define PROCESSES 32
#define LINKS 36
#define EVENTS 32768
#define RESETS 64
#define CLIENTS 32

#define OK 0
#define UNINITIALIZED 1
#define INVALID 2
#define UNSUPPORTED 3
#define NO_PERMISSION 4
#define NOT_FOUND 6
#define TOO_SMALL 7
#define TIMEOUT 10
#define LOST 15
#define WANTS_RESET 16
#define IN_USE 19
#define BAD_VERSION 25
#define NOT_READY 27

#define JOINS 2
#define JOINED 3

enum purpose { INIT, LIST, HANDLE, INFO, FIELD, HEALTH, PROCESS, REGISTER, WAIT, GAUGE, MIG, PURPOSES };

/* A GPU whose GSP is dead answers with WANTS_RESET whatever the GSP would have to be asked for (NVIDIA's open modules,
 * kernel_gsp.c, _kgspRpcSanityCheck): its MIG mode (subdevice_ctrl_gpu_kernel.c, GPU_SMC_MODE), and a handle opened anew
 * (rmapi/alloc_free.c). The CPU keeps the recovery action (gpu.c, gpuGetRecoveryAction) and the list of processes
 * (gpu_rmapi.c, gpuGetProcWithObject). That NVML asks the GSP for health and gauges each time is a guess. */

struct field {
    uint32_t id;
    int32_t link; /* -1: of the GPU, whatever scope is asked for. */
    uint64_t value;
};

struct process {
    int32_t pid, kind, instance; /* Kinds: 0 compute, 1 graphics, 2 MPS. Instance -1: the whole GPU. */
    uint64_t memory;
};

struct client {
    int32_t pid, count;
};

struct gpu {
    int32_t listed, removed, lost, gsp_dead, emerges, emerged, booting, registered, mig, instances, parts, generation, renames, no_parts, group, persistent, virtual, power_limit, default_limit, compute_mode, accounting_mode, forgets_parts;
    uint32_t minor, architecture, domain, bus, slot;
    char uuid[80], name[64], serial[30];
    int32_t fields, processes;
    struct field field[FIELDS];
    struct process process[PROCESSES];
    int32_t link_state[LINKS], link_type[LINKS], link_peer[LINKS]; /* State -1: no such link. */
    uint32_t sram, repair[2], unrepairable;
    uint32_t fabric_state, fabric_status, fabric_mask, fabric_summary;
    uint64_t supported;
    uint32_t registrations; /* Counted up by a reset: older ones are void. */
    int32_t answer[PURPOSES], hangs[PURPOSES];
    int32_t asked, actions; /* Calls about it; of these for the recovery action alone. */
    struct client client[CLIENTS];
};

struct told {
    int32_t gpu;
    uint64_t type, data;
    uint32_t instance;
};

struct reset {
    uint64_t gpus;
    int32_t answer;
};

struct world {
    pthread_mutex_t lock;
    uint32_t bell;
    int32_t ready, gpus, unmanaged, lose, twice, mortal, ghosts, boot_by_hand, persistence_holds, reset_answer, reset_hangs, hanging_resets, cures_nothing, wide_records, resets, waits, lost_answers, lists;
    int32_t no_monitor;
    int32_t opens; /* Milliseconds. */
    int32_t loads; /* Of the module. */
    uint64_t hanging;
    uint32_t last;
    struct told event[EVENTS];
    struct gpu gpu[GPUS];
    struct reset reset[RESETS];
};

struct set {
    uint32_t next;
    uint64_t mask[GPUS];
    uint32_t registration[GPUS];
};

static struct world *W;
static int Inits, Loaded;
static uintptr_t Epoch = 1; /* Handles of before the last shutdown are void. */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lock(void) {
    if (pthread_mutex_lock(&W->lock) == EOWNERDEAD) /* A process was killed in here. */
        pthread_mutex_consistent(&W->lock);
    if (Inits && Loaded != W->loads) { /* The module was loaded anew: what this process had of it is void. */
        Inits = 0;
        Epoch++;
    }
}

static void unlock(void) { pthread_mutex_unlock(&W->lock); }

static uint32_t of_gpu(int gpu) { return 1u << gpu % 32; }

static void ring_the_bell_of(uint32_t gpus) {
    W->bell++;
    syscall(SYS_futex, &W->bell, FUTEX_WAKE_BITSET, 1 << 20, NULL, NULL, gpus);
}

static void ring_the_bell(void) { ring_the_bell_of(FUTEX_BITSET_MATCH_ANY); }

/* Waits, with the lock given away, until the bell rings for one of these GPUs or the time has come (0: never). */
static void wait_for_bell(uint32_t gpus, int64_t until) {
    uint32_t seen = W->bell;
    struct timespec t = {until / 1000000000, until % 1000000000};
    unlock();
    syscall(SYS_futex, &W->bell, FUTEX_WAIT_BITSET, seen, until ? &t : NULL, NULL, gpus);
    lock();
}

/* ---- the machine, opened ---- */

static int open_world(void) {
    Dl_info info;
    char path[4096];
    if (W)
        return 0;
    if (!dladdr((void *)open_world, &info))
        return -1;
    snprintf(path, sizeof path, "%s", info.dli_fname);
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + 7 >= sizeof path)
        return -1;
    strcpy(slash + 1, "world");
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(struct world)) != 0)
        return -1;
    struct world *mapped = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        return -1;
    W = mapped;
    return 0;
}

int standin_open(void) { return open_world(); }

int standin_create(int gpus) {
    pthread_mutexattr_t how;
    memset(W, 0, sizeof *W);
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&W->lock, &how);
    W->gpus = gpus;
    W->ready = 1;
    return 0;
}

/* ---- who has a GPU open ---- */

static int alive(int pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

/* With `ghosts` set a process that does not live is listed on and holds nothing: nvitop 134, mxnet 4242, "no such
 * process", which only a reset ended. That the driver lets that reset begin is a guess. */
static int has_users(struct gpu *g) {
    for (int i = 0; i < g->processes; i++)
        if (!W->ghosts || alive(g->process[i].pid))
            return 1;
    return 0;
}

/* With `mortal` set a process is on its GPU for as long as it lives. */
static void bury(struct gpu *g) {
    for (int i = g->processes - 1; W->mortal && i >= 0; i--)
        if (!alive(g->process[i].pid))
            g->process[i] = g->process[--g->processes];
}

static void detach_all(void) {
    for (int i = 0; i < W->gpus; i++)
        for (int c = 0; c < CLIENTS; c++)
            if (W->gpu[i].client[c].pid == getpid())
                W->gpu[i].client[c] = (struct client){0, 0};
}

static int has_open(const struct gpu *g) {
    for (int c = 0; c < CLIENTS; c++)
        if (g->client[c].pid == getpid())
            return 1;
    return 0;
}

static int is_open(struct gpu *g) {
    for (int c = 0; c < CLIENTS; c++)
        if (g->client[c].pid && alive(g->client[c].pid))
            return 1;
    return 0;
}

/* ---- calls ---- */

/* Takes GPUs in again that were removed from the kernel's list, once somebody has written to sys/bus/pci/rescan: in the
 * order of their places, each with the lowest minor number that is free (open-gpu-kernel-modules 595.45.04, nv.c:5629;
 * removal frees it, nv-pci.c:2394). */
static void probe(void) {
    Dl_info info;
    struct stat seen;
    char path[4096];
    if (!dladdr((void *)probe, &info))
        return;
    snprintf(path, sizeof path, "%.*s/sys/bus/pci/rescan", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
    if (stat(path, &seen) != 0 || seen.st_size == 0 || truncate(path, 0) != 0)
        return;
    for (int i = 0; i < W->gpus; i++) {
        struct gpu *g = &W->gpu[i];
        if (!g->removed)
            continue;
        g->minor = 0;
        for (int other = 0; other < W->gpus; other++)
            if (other != i && W->gpu[other].listed && W->gpu[other].minor == g->minor) {
                g->minor++;
                other = -1;
            }
        g->removed = 0;
        g->listed = 1;
    }
}

static device handle_of(int gpu, int instance) {
    return (device)(Epoch << 16 | (uintptr_t)(instance + 1) << 8 | (uintptr_t)(gpu + 1));
}

static void add_client(struct gpu *g, int pid) {
    int empty = -1;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &g->client[i];
        if (c->pid == pid) {
            c->count++;
            return;
        }
        if (empty < 0 && (c->pid == 0 || !alive(c->pid)))
            empty = i;
    }
    if (empty >= 0)
        g->client[empty] = (struct client){pid, 1};
}

static void attach(struct gpu *g) { add_client(g, getpid()); }

/* A process in state D cannot be killed, and keeps what it has open (issues 1333 and 971 of
 * open-gpu-kernel-modules). No test can make one: a child that has inherited every descriptor stands for it. It goes when
 * the call may come back. */
static void stay_behind(int gpu, enum purpose purpose) {
    static int left;
    int parent = getpid();
    if (left++)
        return;
    int child = fork();
    for (int i = 0; child > 0 && i < W->gpus; i++)
        for (int c = 0; c < CLIENTS; c++)
            if (i == gpu || W->gpu[i].client[c].pid == parent) {
                add_client(&W->gpu[i], child);
                break;
            }
    if (child != 0)
        return;
    lock();
    while (W->gpu[gpu].hangs[purpose])
        wait_for_bell(FUTEX_BITSET_MATCH_ANY, 0);
    detach_all();
    unlock();
    _exit(0);
}

static int hold(int gpu, enum purpose purpose) {
    struct gpu *g = &W->gpu[gpu];
    g->asked++;
    while (g->hangs[purpose]) {
        if (g->hangs[purpose] > 1)
            stay_behind(gpu, purpose);
        wait_for_bell(FUTEX_BITSET_MATCH_ANY, 0);
    }
    return g->answer[purpose];
}

/* Begins a call about a device, and returns the error to return, if any; the lock is held either way. */
static int enter(device handle, enum purpose purpose, struct gpu **found) {
    uintptr_t number = (uintptr_t)handle;
    int gpu = (int)(number & 0xFF) - 1;
    lock();
    if (!Inits)
        return UNINITIALIZED;
    if (number >> 16 != Epoch || gpu < 0 || gpu >= W->gpus)
        return INVALID;
    *found = &W->gpu[gpu];
    int said = hold(gpu, purpose);
    if (said)
        return said;
    if ((*found)->lost)
        return LOST;
    if ((*found)->gsp_dead && (purpose == MIG || purpose == HEALTH || purpose == GAUGE))
        return WANTS_RESET;
    return (*found)->booting ? NOT_READY : OK;
}

static int leave(int result) {
    unlock();
    return result;
}

static int instance_of(device handle) { return (int)((uintptr_t)handle >> 8 & 0xFF) - 1; }

const char *nvmlErrorString(int code) { return code == OK ? "Success" : "Stand-in's error"; }

int nvmlInit_v2(void) {
    if (open_world() != 0 || !W->ready)
        return 9;
    lock();
    int said = hold(0, INIT);
    if (!said)
        Inits++, Loaded = W->loads;
    return leave(said);
}

int nvmlShutdown(void) {
    lock();
    if (!Inits)
        return leave(UNINITIALIZED);
    if (--Inits == 0) {
        detach_all();
        Epoch++;
    }
    return leave(OK);
}

int nvmlSystemGetDriverVersion(char *text, unsigned int room) {
    snprintf(text, room, "%d.10.01", RELEASE);
    return OK;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned int room) {
    snprintf(text, room, "13.%d.10.01", RELEASE);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
    lock();
    if (!Inits)
        return leave(UNINITIALIZED);
    int said = hold(0, LIST);
    probe();
    W->lists++;
    *count = 0;
    for (int i = 0; i < W->gpus; i++)
        *count += W->gpu[i].listed != 0;
    return leave(said);
}

static int opened(int gpu, device *handle) {
    struct gpu *g = &W->gpu[gpu];
    int said = hold(gpu, HANDLE);
    if (said)
        return said;
    if (g->lost)
        return LOST;
    if (g->gsp_dead && !has_open(g))
        return WANTS_RESET;
    if (g->booting)
        return NOT_READY;
    /* Without persistence mode whoever opens a GPU first waits until it is initialised, under the lock of the whole
     * driver: NVIDIA's page on driver persistence (1 to 3 s a GPU); open modules 595.45.04, osapi.c:1727. */
    if (W->opens && !g->persistent && !is_open(g))
        nanosleep(&(struct timespec){W->opens / 1000, W->opens % 1000 * 1000000L}, NULL);
    attach(g);
    *handle = handle_of(gpu, -1);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device *handle) {
    lock();
    if (!Inits)
        return leave(UNINITIALIZED);
    for (int i = 0; i < W->gpus; i++)
        if (W->gpu[i].listed && index-- == 0)
            return leave(opened(i, handle));
    return leave(INVALID);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *text, device *handle) {
    unsigned int domain = 0, bus = 0, slot = 0;
    lock();
    if (!Inits)
        return leave(UNINITIALIZED);
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return leave(INVALID);
    for (int i = 0; i < W->gpus; i++) {
        struct gpu *g = &W->gpu[i];
        if (g->listed && g->domain == domain && g->bus == bus && g->slot == slot)
            return leave(opened(i, handle));
    }
    return leave(NOT_FOUND);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, device *handle) {
    lock();
    for (int i = 0; i < W->gpus; i++)
        if (W->gpu[i].lost)
            return leave(LOST); /* It touches every GPU on its way. */
    for (int i = 0; i < W->gpus; i++)
        if (W->gpu[i].listed && strcmp(W->gpu[i].uuid, uuid) == 0)
            return leave(opened(i, handle));
    return leave(NOT_FOUND);
}

#define TEXT(symbol, value) \
    int symbol(device handle, char *text, unsigned int room) { \
        struct gpu *g = NULL; \
        int said = enter(handle, INFO, &g); \
        if (said) \
            return leave(said); \
        const char *told = value; \
        if (!*told) \
            return leave(UNSUPPORTED); \
        if (strlen(told) >= room) \
            return leave(TOO_SMALL); \
        strcpy(text, told); \
        return leave(OK); \
    }

static const char *uuid_of(const struct gpu *g, device handle) {
    static __thread char text[96];
    if (instance_of(handle) < 0)
        return g->uuid;
    snprintf(text, sizeof text, "MIG-%d-%.80s", instance_of(handle) + 16 * g->generation, g->uuid + 4);
    return text;
}

TEXT(nvmlDeviceGetUUID, uuid_of(g, handle))
TEXT(nvmlDeviceGetName, g->name)
TEXT(nvmlDeviceGetSerial, g->serial)
TEXT(nvmlDeviceGetVbiosVersion, "96.00.00.00.01")
TEXT(nvmlDeviceGetBoardPartNumber, "692-2G506-0200-000")

#define NUMBER(symbol, purpose, type, value) \
    int symbol(device handle, type *number) { \
        struct gpu *g = NULL; \
        int said = enter(handle, purpose, &g); \
        if (!said) \
            *number = (value); \
        return leave(said); \
    }

static uint64_t field_of(const struct gpu *g, uint32_t id, uint32_t scope, int *result) {
    for (int i = 0; i < g->fields; i++)
        if (g->field[i].id == id && (g->field[i].link < 0 || (uint32_t)g->field[i].link == scope))
            return g->field[i].value;
    *result = UNSUPPORTED;
    return 0;
}

/* Links of NVLink 5 count other errors than older ones do, and tell of these since R560. */
static int has_field(const struct gpu *g, uint32_t id) {
    if (id == 230)
        return RELEASE >= 565;
    if (id >= 201 && id <= 225)
        return RELEASE >= 560 && g->architecture >= 10;
    return id < 161 || id > 163 || g->architecture < 10;
}

static uint32_t watts(const struct gpu *g) {
    int ignored = OK;
    return (uint32_t)field_of(g, 186, 0, &ignored);
}

NUMBER(nvmlDeviceGetMinorNumber, INFO, uint32_t, g->minor)
NUMBER(nvmlDeviceGetArchitecture, INFO, uint32_t, g->architecture)
static uint32_t index_of(const struct gpu *g) {
    uint32_t index = 0;
    for (const struct gpu *other = W->gpu; other < g; other++)
        index += other->listed != 0;
    return index;
}

NUMBER(nvmlDeviceGetIndex, INFO, uint32_t, index_of(g))
NUMBER(nvmlDeviceGetVirtualizationMode, INFO, uint32_t, (uint32_t)g->virtual)
NUMBER(nvmlDeviceGetPersistenceMode, INFO, uint32_t, (uint32_t)g->persistent)
NUMBER(nvmlDeviceGetPowerManagementLimit, GAUGE, uint32_t, (uint32_t)g->power_limit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, GAUGE, uint32_t, (uint32_t)g->default_limit)
NUMBER(nvmlDeviceGetComputeMode, GAUGE, uint32_t, (uint32_t)g->compute_mode)
NUMBER(nvmlDeviceGetAccountingMode, GAUGE, uint32_t, (uint32_t)g->accounting_mode)
NUMBER(nvmlDeviceGetSupportedEventTypes, REGISTER, uint64_t, g->supported)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, GAUGE, uint64_t, 0)
NUMBER(nvmlDeviceGetPowerUsage, GAUGE, uint32_t, watts(g))

int nvmlDeviceGetPciInfo_v3(device handle, struct pci_info *info) {
    struct gpu *g = NULL;
    int said = enter(handle, INFO, &g);
    if (!said) {
        memset(info, 0, sizeof *info);
        info->domain = g->domain, info->bus = g->bus, info->device = g->slot;
        snprintf(info->text, sizeof info->text, "%08X:%02X:%02X.0", g->domain, g->bus, g->slot);
    }
    return leave(said);
}

int nvmlDeviceGetMigMode(device handle, uint32_t *current, uint32_t *pending) {
    struct gpu *g = NULL;
    int said = enter(handle, MIG, &g);
    if (!said && g->architecture < 7)
        said = UNSUPPORTED;
    if (!said)
        *current = *pending = (uint32_t)g->mig;
    return leave(said);
}

int nvmlDeviceGetMaxMigDeviceCount(device handle, uint32_t *count) {
    struct gpu *g = NULL;
    int said = enter(handle, MIG, &g);
    *count = 7;
    return leave(said);
}

int nvmlDeviceGetMigDeviceHandleByIndex(device handle, unsigned int index, device *part) {
    struct gpu *g = NULL;
    int said = enter(handle, MIG, &g);
    if (!said && (!g->mig || (int)index >= g->instances))
        said = NOT_FOUND;
    if (!said)
        *part = handle_of((int)(g - W->gpu), (int)index);
    return leave(said);
}

NUMBER(nvmlDeviceGetGpuInstanceId, MIG, uint32_t, (uint32_t)instance_of(handle))
NUMBER(nvmlDeviceGetComputeInstanceId, MIG, uint32_t, (uint32_t)instance_of(handle))

int nvmlDeviceGetAttributes_v2(device handle, struct attributes *attributes) {
    struct gpu *g = NULL;
    int said = enter(handle, MIG, &g);
    if (!said && instance_of(handle) < 0)
        said = INVALID;
    if (!said)
        *attributes = (struct attributes){16, 1, 1, 0, 1, 0, 1, 1, 9728};
    return leave(said);
}

int nvmlDeviceGetNvLinkState(device handle, unsigned int link, uint32_t *state) {
    struct gpu *g = NULL;
    int said = enter(handle, INFO, &g);
    if (said)
        return leave(said);
    if (link >= LINKS || g->link_state[link] < 0)
        return leave(link >= LINKS ? INVALID : UNSUPPORTED);
    *state = (uint32_t)g->link_state[link];
    return leave(OK);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(device handle, unsigned int link, uint32_t *type) {
    struct gpu *g = NULL;
    int said = enter(handle, INFO, &g);
    if (!said && (link >= LINKS || g->link_state[link] != 1))
        said = INVALID;
    if (!said)
        *type = (uint32_t)g->link_type[link];
    return leave(said);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device handle, unsigned int link, struct pci_info *info) {
    struct gpu *g = NULL;
    int said = enter(handle, INFO, &g);
    if (!said && (link >= LINKS || g->link_state[link] != 1))
        said = INVALID;
    if (said)
        return leave(said);
    memset(info, 0, sizeof *info);
    if (g->link_type[link] == 0) {
        const struct gpu *peer = &W->gpu[g->link_peer[link]];
        info->domain = peer->domain, info->bus = peer->bus, info->device = peer->slot;
    } else {
        info->bus = 0xC1;
    }
    return leave(OK);
}

/* ---- state ---- */

int nvmlDeviceGetFieldValues(device handle, int count, struct field_value *values) {
    struct gpu *g = NULL;
    int said = enter(handle, FIELD, &g);
    if (g && count == 1 && values->field == 230)
        g->asked--, g->actions++; /* The CPU keeps it (gpuGetRecoveryAction_IMPL of gpu/gpu.c). */
    for (int i = 0; !said && i < count; i++) {
        struct field_value *v = &values[i];
        v->result = OK;
        v->value.u64 = field_of(g, v->field, v->scope, &v->result);
        if (!has_field(g, v->field))
            v->result = UNSUPPORTED;
        else if (g->gsp_dead && v->field != 230)
            v->result = WANTS_RESET;
        v->type = v->value.u64 >> 32 ? 3 : 1;
    }
    return leave(said);
}

int nvmlDeviceGetSramEccErrorStatus(device handle, struct sram *status) {
    struct gpu *g = NULL;
    int said = enter(handle, HEALTH, &g);
    if (!said && status->version != 0x1000068)
        said = BAD_VERSION;
    if (!said)
        status->exceeded = g->sram;
    return leave(said);
}

#define FABRIC(info) \
    (info)->state = (uint8_t)g->fabric_state, (info)->status = g->fabric_status

int nvmlDeviceGetGpuFabricInfo(device handle, struct fabric_v1 *info) {
    struct gpu *g = NULL;
    int said = enter(handle, HEALTH, &g);
    if (!said)
        FABRIC(info);
    return leave(said);
}

#if RELEASE >= 550
int nvmlDeviceGetGpuFabricInfoV(device handle, void *info) {
    struct gpu *g = NULL;
    int said = enter(handle, HEALTH, &g);
    uint32_t version = *(uint32_t *)info;
    if (!said && version == 0x2000024) {
        FABRIC((struct fabric_v2 *)info);
        ((struct fabric_v2 *)info)->mask = g->fabric_mask;
    } else if (!said && version == 0x3000028 && RELEASE >= 580) {
        FABRIC((struct fabric_v3 *)info);
        ((struct fabric_v3 *)info)->mask = g->fabric_mask;
        ((struct fabric_v3 *)info)->summary = (uint8_t)g->fabric_summary;
    } else if (!said) {
        said = BAD_VERSION;
    }
    return leave(said);
}
#endif

#if RELEASE >= 580
int nvmlDeviceGetRepairStatus(device handle, struct repair *status) {
    struct gpu *g = NULL;
    int said = enter(handle, HEALTH, &g);
    if (!said && status->version != 0x100000C)
        said = BAD_VERSION;
    if (!said)
        status->channel = g->repair[0], status->tpc = g->repair[1];
    return leave(said);
}
#endif

#if RELEASE >= 590
int nvmlDeviceGetUnrepairableMemoryFlag_v1(device handle, struct unrepairable *status) {
    struct gpu *g = NULL;
    int said = enter(handle, HEALTH, &g);
    if (!said)
        status->flag = g->unrepairable;
    return leave(said);
}
#endif

static int processes(device handle, int kind, uint32_t *count, char *records, size_t stride) {
    struct gpu *g = NULL;
    int said = enter(handle, PROCESS, &g), instance = instance_of(handle);
    uint32_t found = 0, room = *count;
    /* Of a divided GPU as a whole only MIG's monitor hears, which root is where there are no capability files: open
     * modules 595.45.04, subdevice_ctrl_gpu_kernel.c:2296-2308, mig_monitor_session.c:60-83. */
    if (!said && g->mig && instance < 0 && W->no_monitor)
        said = NO_PERMISSION;
    if (!said)
        bury(g);
    for (int i = 0; !said && i < g->processes; i++) {
        const struct process *p = &g->process[i];
        if (p->kind != kind || (instance >= 0 && p->instance != instance))
            continue;
        if (found++ < room) {
            uint32_t id = p->instance < 0 ? 0xFFFFFFFF : (uint32_t)p->instance;
            struct process_info info = {(uint32_t)p->pid, p->memory, id, id};
            memset(records + (found - 1) * stride, 0, stride);
            memcpy(records + (found - 1) * stride, &info, sizeof info);
        }
    }
    if (!said && found > room)
        said = TOO_SMALL;
    *count = found;
    return leave(said);
}

#define LISTED(name, kind) \
    int nvmlDeviceGet##name##RunningProcesses_v3(device handle, uint32_t *count, void *records) { \
        return processes(handle, kind, count, records, W->wide_records ? 32 : 24); \
    } \
    int nvmlDeviceGet##name##RunningProcesses_v2(device handle, uint32_t *count, void *records) { \
        return processes(handle, kind, count, records, 24); \
    }

LISTED(Compute, 0)
LISTED(Graphics, 1)
LISTED(MPSCompute, 2)

int nvmlDeviceGetClockInfo(device handle, unsigned int type, uint32_t *megahertz) {
    struct gpu *g = NULL;
    int said = enter(handle, GAUGE, &g);
    if (!said && type > 3)
        said = INVALID;
    if (!said)
        *megahertz = type == 1 ? 1980 : 2619;
    return leave(said);
}

int nvmlDeviceGetTemperature(device handle, uint32_t sensor, uint32_t *celsius) {
    struct gpu *g = NULL;
    int said = enter(handle, GAUGE, &g);
    if (!said && sensor != 0)
        said = INVALID;
    if (!said)
        *celsius = 41;
    return leave(said);
}

int nvmlDeviceGetUtilizationRates(device handle, struct utilization *rates) {
    struct gpu *g = NULL;
    int said = enter(handle, GAUGE, &g);
    if (!said && g->mig)
        said = UNSUPPORTED;
    if (!said)
        *rates = (struct utilization){37, 12};
    return leave(said);
}

int nvmlDeviceGetMemoryInfo_v2(device handle, struct memory_v2 *memory) {
    struct gpu *g = NULL;
    int said = enter(handle, GAUGE, &g);
    if (!said && memory->version != 0x2000028)
        said = BAD_VERSION;
    if (!said)
        memory->total = 80ull << 30, memory->reserved = 1ull << 30, memory->used = 2ull << 30, memory->free = 77ull << 30;
    return leave(said);
}

/* ---- events ---- */

int nvmlEventSetCreate(struct set **set) {
    lock();
    if (!Inits)
        return leave(UNINITIALIZED);
    *set = calloc(1, sizeof **set);
    (*set)->next = W->last; /* What happened before is never told. */
    return leave(OK);
}

int nvmlEventSetFree(struct set *set) {
    free(set);
    return OK;
}

int nvmlDeviceRegisterEvents(device handle, uint64_t types, struct set *set) {
    struct gpu *g = NULL;
    int said = enter(handle, REGISTER, &g);
    if (!said && (types & ~g->supported))
        said = UNSUPPORTED;
    if (!said) {
        g->registered++;
        set->mask[g - W->gpu] |= types;
        set->registration[g - W->gpu] = g->registrations;
    }
    return leave(said);
}

/* An event wakes only whoever registered for it (kernel-open/nvidia/nv.c, nv_post_event: one file's queue). */
int nvmlEventSetWait_v2(struct set *set, struct event_data *data, unsigned int milliseconds) {
    int64_t until = now() + (int64_t)milliseconds * 1000000;
    lock();
    W->waits++;
    for (;;) {
        uint32_t heard = 0;
        if (!Inits)
            return leave(UNINITIALIZED);
        for (int i = 0; i < W->gpus; i++) {
            const struct gpu *g = &W->gpu[i];
            if (set->mask[i])
                heard |= of_gpu(i);
            if (!set->mask[i] || set->registration[i] != g->registrations)
                continue;
            if (g->answer[WAIT])
                return leave(g->answer[WAIT]);
            if (g->lost) {
                W->lost_answers++;
                return leave(LOST);
            }
        }
        if (W->last - set->next > EVENTS)
            set->next = W->last - EVENTS;
        while (set->next != W->last) {
            const struct told *e = &W->event[set->next++ % EVENTS];
            int valid = set->registration[e->gpu] == W->gpu[e->gpu].registrations;
            if (valid && set->mask[e->gpu] & e->type) {
                *data = (struct event_data){handle_of(e->gpu, -1), e->type, e->data, e->instance, e->instance};
                return leave(OK);
            }
        }
        if (now() >= until)
            return leave(TIMEOUT);
        wait_for_bell(heard ? heard : FUTEX_BITSET_MATCH_ANY, until);
    }
}

/* ---- what tests do to the machine ---- */

int standin_gpu(int gpu, int bus, int minor, int architecture, int group) {
    struct gpu *g = &W->gpu[gpu];
    memset(g, 0, sizeof *g);
    g->listed = 1;
    g->bus = (uint32_t)bus, g->minor = (uint32_t)minor, g->architecture = (uint32_t)architecture, g->group = group;
    g->power_limit = g->default_limit = 700000;
    g->supported = 0x19F | (RELEASE >= 560 ? 0x3E00 : 0) | (RELEASE >= 565 ? 0xC000 : 0);
    for (int link = 0; link < LINKS; link++)
        g->link_state[link] = -1;
    return 0;
}

int standin_name(int gpu, const char *uuid, const char *name, const char *serial) {
    struct gpu *g = &W->gpu[gpu];
    snprintf(g->uuid, sizeof g->uuid, "%s", uuid);
    snprintf(g->name, sizeof g->name, "%s", name);
    snprintf(g->serial, sizeof g->serial, "%s", serial);
    return 0;
}

int standin_link(int gpu, int link, int type, int peer) {
    struct gpu *g = &W->gpu[gpu];
    g->link_state[link] = 1, g->link_type[link] = type, g->link_peer[link] = peer;
    return 0;
}

/* Link -1: it is the GPU's. */
int standin_field(int gpu, int link, uint32_t id, uint64_t value) {
    struct gpu *g = &W->gpu[gpu];
    lock();
    int i = 0;
    while (i < g->fields && (g->field[i].id != id || g->field[i].link != link))
        i++;
    if (i == FIELDS)
        return leave(-1);
    g->field[i] = (struct field){id, link, value};
    g->fields += i == g->fields;
    return leave(0);
}

int standin_event(int gpu, uint64_t type, uint64_t data, int instance) {
    lock();
    if (W->lose > 0) {
        W->lose--;
        return leave(0);
    }
    int times = W->twice > 0 ? 2 : 1;
    W->twice -= W->twice > 0;
    while (times-- > 0)
        W->event[W->last++ % EVENTS] = (struct told){gpu, type, data, instance < 0 ? 0xFFFFFFFF : (uint32_t)instance};
    ring_the_bell_of(of_gpu(gpu));
    return leave(0);
}

int standin_process(int gpu, int pid, int kind, int instance, uint64_t memory) {
    struct gpu *g = &W->gpu[gpu];
    lock();
    int i = 0;
    while (i < g->processes && (g->process[i].pid != pid || g->process[i].kind != kind))
        i++;
    if (memory == 0 && i < g->processes)
        g->process[i] = g->process[--g->processes];
    else if (memory != 0 && i < PROCESSES) {
        g->process[i] = (struct process){pid, kind, instance, memory};
        g->processes += i == g->processes;
    }
    return leave(0);
}

static int *number(int gpu, const char *name) {
    struct gpu *g = &W->gpu[gpu];
    const struct {
        const char *name;
        void *at;
    } all[] = {
        {"lost", &g->lost}, {"minor", &g->minor}, {"gsp_dead", &g->gsp_dead}, {"emerges", &g->emerges}, {"unmanaged", &W->unmanaged}, {"listed", &g->listed}, {"removed", &g->removed}, {"registered", &g->registered}, {"booting", &g->booting}, {"mig", &g->mig}, {"renames", &g->renames}, {"no_parts", &g->no_parts}, {"virtual", &g->virtual},
        {"instances", &g->instances}, {"parts", &g->parts}, {"persistent", &g->persistent}, {"power_limit", &g->power_limit}, {"compute_mode", &g->compute_mode}, {"accounting_mode", &g->accounting_mode}, {"forgets_parts", &g->forgets_parts}, {"sram", &g->sram},
        {"repair", &g->repair[0]}, {"unrepairable", &g->unrepairable}, {"fabric_state", &g->fabric_state},
        {"fabric_status", &g->fabric_status}, {"fabric_mask", &g->fabric_mask}, {"asked", &g->asked}, {"actions", &g->actions},
        {"no_monitor", &W->no_monitor}, {"opens", &W->opens},
        {"fabric_summary", &g->fabric_summary}, {"lost_answers", &W->lost_answers},
        {"lose", &W->lose}, {"mortal", &W->mortal}, {"ghosts", &W->ghosts}, {"twice", &W->twice}, {"boot_by_hand", &W->boot_by_hand}, {"persistence_holds", &W->persistence_holds},
        {"reset_answer", &W->reset_answer}, {"reset_hangs", &W->reset_hangs}, {"hanging_resets", &W->hanging_resets}, {"cures_nothing", &W->cures_nothing},
        {"wide_records", &W->wide_records}, {"resets", &W->resets}, {"lists", &W->lists}, {"waits", &W->waits},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].at;
    return NULL;
}

int standin_set(int gpu, const char *name, int value) {
    int *at = number(gpu, name);
    if (!at)
        return -1;
    lock();
    *at = value;
    ring_the_bell();
    return leave(0);
}

int standin_get(int gpu, const char *name) {
    const int *at = number(gpu, name);
    return at ? *at : -1;
}

int standin_answer(int gpu, int purpose, int code) {
    lock();
    W->gpu[gpu].answer[purpose] = code;
    ring_the_bell();
    return leave(0);
}

int standin_hang(int gpu, int purpose, int hangs) {
    lock();
    W->gpu[gpu].hangs[purpose] = hangs;
    ring_the_bell();
    return leave(0);
}

/* Lets the driver's module be loaded anew: every process's library has to be begun with again. */
int standin_reload(void) {
    lock();
    W->loads++;
    for (int i = 0; i < W->gpus; i++) {
        W->gpu[i].registrations++;
        memset(W->gpu[i].client, 0, sizeof W->gpu[i].client);
    }
    ring_the_bell();
    return leave(0);
}

/* Lets resets of any of these GPUs not come back until they may. */
int standin_hang_resets(uint64_t gpus) {
    lock();
    W->hanging = gpus;
    ring_the_bell();
    return leave(0);
}

int standin_is_open(int gpu) {
    lock();
    return leave(is_open(&W->gpu[gpu]));
}

/* The number of a process that has it open; 0: none. */
int standin_opener(int gpu) {
    int found = 0;
    lock();
    for (int c = 0; c < CLIENTS; c++)
        if (W->gpu[gpu].client[c].pid && alive(W->gpu[gpu].client[c].pid))
            found = W->gpu[gpu].client[c].pid;
    return leave(found);
}

int standin_finish_boots(void) {
    lock();
    for (int i = 0; i < W->gpus; i++)
        W->gpu[i].booting = 0;
    ring_the_bell();
    return leave(0);
}

int standin_find(const char *bus) {
    unsigned int domain = 0, number = 0, slot = 0;
    if (sscanf(bus, "%x:%x:%x", &domain, &number, &slot) != 3)
        return -1;
    for (int i = 0; i < W->gpus; i++)
        if (W->gpu[i].listed && W->gpu[i].domain == domain && W->gpu[i].bus == number && W->gpu[i].slot == slot)
            return i;
    return -1;
}

static int refusal(uint64_t gpus) {
    if (W->reset_answer)
        return W->reset_answer;
    for (int i = 0; i < W->gpus; i++) {
        struct gpu *g = &W->gpu[i];
        if (!(gpus >> i & 1))
            continue;
        if (g->lost)
            return LOST;
        bury(g);
        if (is_open(g) || has_users(g) || (g->persistent && W->persistence_holds))
            return IN_USE;
        for (int peer = 0; peer < W->gpus; peer++)
            if (W->gpu[peer].group == g->group && !(gpus >> peer & 1))
                return INVALID; /* Its peers have to be named with it. */
    }
    return OK;
}

/* Names the GPUs that have to be reset with these, as nvidia-smi writes bus ids. That it names them is a guess. */
int standin_peers(uint64_t gpus, char *text, unsigned int room) {
    int length = 0;
    *text = 0;
    for (int i = 0; i < W->gpus; i++)
        for (int peer = 0; peer < W->gpus; peer++)
            if (gpus >> i & 1 && !(gpus >> peer & 1) && W->gpu[peer].group == W->gpu[i].group && length < (int)room)
                length += snprintf(text + length, room - (unsigned)length, " %08X:%02X:%02X.0", W->gpu[peer].domain,
                                   W->gpu[peer].bus, W->gpu[peer].slot);
    return 0;
}

int standin_minor(int gpu) { return (int)W->gpu[gpu].minor; }

int standin_probe(void) {
    lock();
    probe();
    return leave(0);
}

/* Resets these GPUs together, as nvidia-smi has the driver do; returns as an NVML call would. They are removed from the
 * kernel's list then (nv.c:2191-2220: a GPU that is drained and idle), and come back by a rescan only. */
int standin_reset(uint64_t gpus) {
    lock();
    W->hanging_resets++;
    while (W->reset_hangs || W->hanging & gpus)
        wait_for_bell(FUTEX_BITSET_MATCH_ANY, 0);
    W->hanging_resets--;
    int said = refusal(gpus);
    if (W->resets < RESETS)
        W->reset[W->resets++] = (struct reset){gpus, said};
    for (int i = 0; said == OK && i < W->gpus; i++) {
        struct gpu *g = &W->gpu[i];
        if (!(gpus >> i & 1))
            continue;
        g->registrations++;
        g->listed = 0;
        g->removed = 1;
        if (g->forgets_parts) { /* Whether nvidia-smi destroys them first nobody knows. The driver makes them again, by */
            g->instances = 0;   /* the same ids and so with the same UUIDs (kernel_mig_manager.c, gpu_uuid.c). */
            g->generation += g->renames; /* What is made after it has other UUIDs: a guess. */
        }
        g->persistent = 0; /* This and the following are what software had set: a flag of the probed device, ... */
        g->power_limit = g->default_limit; /* ... the manual of nvidia-smi, "Power Limit", ... */
        g->compute_mode = 0; /* ... and gpu_registry.c; ... */
        g->accounting_mode = 0; /* ... a guess, for the driver keeps it as long as it has the GPU. */
        g->booting = W->boot_by_hand;
        if (g->fabric_state == JOINED && W->unmanaged)
            g->fabric_state = JOINS; /* Until the Fabric Manager answers: subdevice_ctrl_gpu_kernel.c, the probe's state. */
        for (int p = HANDLE; (g->emerges || g->emerged) && p < PURPOSES; p++)
            g->answer[p] = g->emerges; /* It cannot be initialised again, of which no Xid tells: osinit.c, RmInitAdapter. */
        g->emerged = g->emerges;
        if (W->cures_nothing)
            continue;
        g->gsp_dead = 0;
        g->repair[0] = g->repair[1] = 0;
        for (int f = 0; f < g->fields; f++)
            if (g->field[f].id == 230 || g->field[f].id == 144 || g->field[f].id == 31 || g->field[f].id == 4)
                g->field[f].value = 0;
    }
    ring_the_bell();
    return leave(said);
}

int standin_reset_at(int number, uint64_t *gpus, int *answer) {
    *gpus = W->reset[number].gpus;
    *answer = W->reset[number].answer;
    return 0;
}
