/* Resets, as the maker's driver makes and refuses them. A part of libdcmi.c; the lock is held.
 *
 * "Driver" is the maker's driver of 2026-07, read by people who wrote none of cmgr: its file and line stand beside each
 * behaviour. In band the kernel's error comes through as a code of another meaning: EBUSY as -8006, EINVAL as -8001,
 * EPERM and EAGAIN as -8008 (dms_power_hotreset.c:22-49, dcmi_fault_manage_intf.c:34-70). -8020 never comes from here.
 */

static int starts_with(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* Boards 0xB0 to 0xB3, 0xD1 and 0xD3 are A3s, whatever the name (dcmi_init_basic.c). */
static int is_a3(const struct chip *c) {
    return (c->board >= 0xB0 && c->board <= 0xB3) || c->board == 0xD1 || c->board == 0xD3;
}

static int is_910a(const struct chip *c) { return !is_a3(c) && starts_with(c->name, "910A"); }

static int is_910b(const struct chip *c) { return !is_a3(c) && starts_with(c->name, "910B"); }

/* 0x97 is the 300I Duo, 0x99 the DuoA: plain board ids, which need no card controller (dcmi_init_basic.c:273-277). */
static int is_duo(const struct chip *c) { return c->board == 0x97 || c->board == 0x99; }

/* From the unbind until its OS is loaded a chip is in no table (devdrv_pci.c:1036-1056, 1401, 2085); one whose bus is dead
 * is, until it is removed (dsmi_common_interface.c:1713-1731): its list of processes, too, needs no answer of it. */
static int is_off_the_tables(const struct chip *c) {
    return c->dropped == REMOVED || c->prepared || (c->boot_at && !W->os_loaded);
}

static int is_linked(const struct chip *c, const struct chip *d) { return c != d && d->listed && c->group == d->group; }

/* Whether a reset that is ordered for `c` resets `d`. For a 910B each reset asks the topology: with any HCCS link all
 * chips of the machine, also those without, else that chip alone (dcmi_hot_reset_intf.c:1583-1652). */
static int goes_with(const struct chip *c, const struct chip *d) {
    if (!is_910b(c))
        return W->amp ? c == d : c->group == d->group; /* 910A: the kernel's SMP brothers; in AMP each alone. */
    for (int i = 0; i < W->chips; i++)
        if (is_linked(c, &W->chip[i]))
            return 1;
    return c == d;
}

static int is_whole(const struct chip *c) {
    for (int i = 0; i < W->chips; i++)
        if (is_910b(c) && &W->chip[i] != c && goes_with(c, &W->chip[i]))
            return 1;
    return 0;
}

/* A chip that is divided is not reset (dms_hotreset.c:309-314), nor is a machine of which one is, where all are reset as
 * one (:334-359, 600). Nobody knows whether the builds for other chips than the 910B and the 950 look. */
static int is_divided(const struct chip *c) {
    int looks = is_910b(c) || starts_with(c->name, "Ascend950") || W->vdevices_block;
    for (int i = 0; looks && i < W->chips; i++)
        if (goes_with(c, &W->chip[i]) && W->chip[i].vdevices)
            return 1;
    return 0;
}

static int is_called(int pid, const char *name) {
    char path[64], comm[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    int read = fscanf(file, "%63[^\n]", comm);
    fclose(file);
    return read == 1 && !strcmp(comm, name);
}

/* Processes of this file that are on any chip of the machine are killed; it is opened for writing, and only one that is
 * missing is passed over (dcmi_hot_reset_intf.c:1345-1352, 1449-1495). In /etc there, beside the library here. */
static int kill_listed(void) {
    char path[4096], line[256], name[64];
    FILE *file = fopen(beside(path, "custom_process.cfg"), "r+e");
    if (!file)
        return errno == ENOENT ? 0 : DCMI_FILE_FAILED;
    for (int n = 0, pid; n < 10 && fgets(line, sizeof line, file);) {
        if (sscanf(line, "AllowKilledWhenResetNPU:%63[^:]:%d", name, &pid) != 2)
            continue;
        n++;
        for (int i = 0; i < W->chips; i++)
            for (int p = W->chip[i].processes - 1; p >= 0; p--)
                if (W->chip[i].process[p].proc_id == pid && is_called(pid, name)) {
                    kill(pid, SIGKILL);
                    W->chip[i].process[p] = W->chip[i].process[--W->chip[i].processes];
                }
    }
    fclose(file);
    return 0;
}

/* Return why an in-band reset ordered for this chip does not begin; 0 where it does. */
static int refusal(const struct chip *c) {
    if (is_duo(c) && c->device)
        return DCMI_UNSUPPORTED; /* dcmi_hot_reset_intf.c:365 */
    if (is_whole(c) && is_off_the_tables(c))
        return ENXIO; /* The topology's own error, positive and as it is (:1635); which number it is is a guess. */
    if (is_off_the_tables(c))
        return DCMI_WRONG_PARAMETER; /* EINVAL, as for all that is in no table. */
    for (int i = 0; i < W->chips && (is_910b(c) || is_a3(c)); i++)
        if (W->chip[i].listed && is_off_the_tables(&W->chip[i]))
            return DCMI_WRONG_PARAMETER; /* The processes of every chip of the machine are asked first (:1449-1512). */
    if ((is_910b(c) || is_a3(c)) && kill_listed())
        return DCMI_FILE_FAILED;
    for (int i = 0; i < W->chips && is_whole(c); i++)
        if (W->chip[i].boot_at)
            return DCMI_NO_DEVICE; /* One starts yet (pcie devdrv_ctrl.c:5913-5944). */
    if (is_divided(c))
        return DCMI_NO_DEVICE;
    if (is_910a(c) && !W->amp && !W->by_board)
        return DCMI_INNER; /* In SMP no single one is reset, EOPNOTSUPP (pcie devdrv_ctrl.c:6219-6259, 6370). */
    if (W->queries) { /* Any program is just asking one of the chips something (dms_hotreset.c:918-971). */
        W->queries -= W->queries > 0;
        return DCMI_WRONG_PARAMETER;
    }
    for (int i = 0; i < W->chips; i++) {
        struct chip *d = &W->chip[i];
        if (!goes_with(c, d))
            continue;
        if (d->in_reset || d->prepared || (is_a3(c) && d->boot_at))
            return DCMI_TIMED_OUT; /* Another reset is under way (:492-503, 647-653); of an A3, until the die is back. */
        forget_the_dead(d);
        if ((d->processes || d->lingering) && !is_a3(c))
            return DCMI_TIMED_OUT; /* trs_ts_inst.c:337-362, svm_hot_reset.c:241-262; an A3 looks at no processes. */
    }
    return 0;
}

/* A die of an A3 is unbound when no process is on it any more, which is waited for (svm_hot_reset.c:208-239). */
static int is_waited_for(const struct chip *c) {
    for (int i = 0; i < W->chips && is_a3(c); i++) {
        forget_the_dead(&W->chip[i]);
        if (goes_with(c, &W->chip[i]) && W->chip[i].processes)
            return 1;
    }
    return 0;
}

static void begin_boot(const struct chip *chip) {
    for (int i = 0; i < W->chips; i++) {
        struct chip *c = &W->chip[i];
        if (!c->in_reset || !goes_with(chip, c))
            continue;
        if (!W->keep_vdevices)
            c->vdevices = 0;
        c->dropped = 0;
        c->boot_at = W->boot_by_hand ? BY_HAND : now() + (int64_t)W->boot_ms * 1000000;
        for (int f = 0; f < c->faults; f++)
            c->fault[f].curing = !c->fault[f].incurable;
    }
}

static void set_in_reset(const struct chip *chip, int in_reset) {
    for (int i = 0; i < W->chips; i++)
        if (goes_with(chip, &W->chip[i]))
            W->chip[i].in_reset = in_reset;
}

static int reset(int chip, int channel) {
    CALL(chip, RESET);
    if (W->late_process && c->processes < PROCESSES) { /* It comes after the caller's last look. */
        c->process[c->processes++] = (struct proc_mem_info){W->late_process, 1 << 20};
        W->late_process = 0;
    }
    /* Every command of a reset is root's on the host, or an admin container's (dms_hotreset.c:49-118). */
    answer = who() == PLAIN ? DCMI_UNSUPPORTED : channel == 1 ? refusal(c) : 0;
    if (!answer) {
        set_in_reset(c, 1);
        for (int64_t done = now() + (int64_t)W->reset_ms * 1000000; now() < done || is_waited_for(c);)
            wait_for_bell(now() < done ? done : now() + 10000000);
    }
    if (!answer && channel == 1 && W->fail_resets) {
        W->fail_resets -= W->fail_resets > 0;
        answer = W->fail_with;
        set_in_reset(c, 0);
    }
    W->reset[W->resets++ % RESETS] = (struct reset){chip, channel, answer};
    if (!answer) {
        begin_boot(c);
        set_in_reset(c, 0);
    }
    ring_the_bell();
    return leave(answer);
}

/* The card whose brother this process has taken off the bus with it: what a new one does not know (:39, 755). */
static int Prepared = -1;

/* A pre-reset takes the card and its brother off the bus, a rescan brings the card back, and the brother where it is the
 * same process that asks. One that is divided is refused, but not of an A3 (:162-167, 267-315). */
static int step(int chip, enum purpose purpose) {
    CALL(chip, purpose);
    if (who() == PLAIN)
        return leave(DCMI_UNSUPPORTED);
    if (purpose == PRE_RESET && !is_a3(c) && is_divided(c))
        return leave(DCMI_NOT_PERMITTED);
    W->rescans += purpose == RESCAN;
    for (int i = 0; i < W->chips; i++) {
        struct chip *d = &W->chip[i];
        if (purpose == PRE_RESET && goes_with(c, d))
            d->prepared = 1;
        else if (purpose == RESCAN && (d->card == c->card || (Prepared == c->card && goes_with(c, d))))
            d->prepared = 0;
    }
    Prepared = purpose == PRE_RESET ? c->card : -1;
    return leave(0);
}
