/* A libascend_hal.so as far as it raises faults by itself. A part of libdcmi.c: to the loader it is another library, over
 * the same world.
 *
 * Reviews of the maker's driver of 2026-07 (pkg_inc/ascend_hal_base.h 1042-1091, fms/soft_fault/dms_sensor_interface.c
 * 46-61 and 693-714, drv_kernel_soft.c 30-37 and 145): a process registers sensors of node types 0x600 to 0x625 and sensor
 * types 0x27 and 0xD0, of which only a host process may be one; the kernel looks at them every 300 ms, and frees them when
 * their process ends. Bit 30, the node's type << 17, the sensor's type << 9 and the state make the code.
 */
#define SCAN 300000000LL

/* A GUESS: nobody has told how this structure is laid out. cmgr/drivers/dcmi/library/soft_fault.py guesses the same. */
struct sensor_cfg {
    char name[20];
    uint16_t node_type;
    uint8_t sensor_type, reserved;
    uint32_t assert_mask, deassert_mask;
    uint8_t more[256];
};

SIZE(sensor_cfg, 288, 4);
AT(sensor_cfg, node_type, 20);
AT(sensor_cfg, sensor_type, 22);
AT(sensor_cfg, assert_mask, 24);
AT(sensor_cfg, deassert_mask, 28);
AT(sensor_cfg, more, 32);

/* The errors are guesses, but that these are none. */
enum { HAL_INVALID = 3, HAL_NO_MORE = 6, HAL_NOT_PERMITTED = 46 };

/* A guess: it is the kernel's of the host, so that a reset of the chip does not end it. */
static struct fault fault_of(const struct sensor *s) { return (struct fault){s->code, 2, 1, 0, {0x25, 0, 0xFF, 0xFF}}; }

/* Whether a sensor that goes leaves its fault is a switch: nobody knows. */
static void free_sensor(struct sensor *s) {
    struct fault fault = fault_of(s);
    if (s->standing && !W->sensors_leave) {
        happen(&W->chip[s->chip], &fault, 0);
        tell(s->chip, &fault, 0);
    }
    *s = (struct sensor){0};
}

static void scan_sensors(void) {
    for (int i = 0; i < SENSORS; i++) {
        struct sensor *s = &W->sensor[i];
        if (s->pid && kill(s->pid, 0) && errno == ESRCH)
            free_sensor(s);
        if (!s->pid || !s->scanned || s->scanned > now())
            continue;
        struct fault fault = fault_of(s);
        s->scanned = 0;
        if (s->state != s->standing) {
            happen(&W->chip[s->chip], &fault, s->state);
            tell(s->chip, &fault, s->state);
        }
        s->standing = s->state == 1;
    }
}

/* The kernel has a clock of its own for it; here the threads that tell of events have one. */
static int64_t next_scan(int64_t before) {
    for (int i = 0; i < SENSORS; i++)
        if (W->sensor[i].pid && (!before || before > now() + SCAN))
            before = now() + SCAN;
    return before;
}

#ifdef HAL
static struct sensor *own_sensor(uint32_t chip, uint64_t handle) {
    struct sensor *s = handle && handle <= SENSORS ? &W->sensor[handle - 1] : NULL;
    return s && s->pid == getpid() && s->chip == (int32_t)chip ? s : NULL;
}

int halSensorNodeRegister(uint32_t chip, const struct sensor_cfg *cfg, uint64_t *handle) {
    int answer = HAL_NO_MORE;
    if (open_world() || chip >= (uint32_t)W->chips || cfg->node_type < 0x600 || cfg->node_type > 0x625)
        return HAL_INVALID;
    if (cfg->sensor_type != 0x27 && cfg->sensor_type != 0xD0)
        return HAL_INVALID;
    if (who() == PLAIN)
        return HAL_NOT_PERMITTED;
    lock();
    scan_sensors();
    for (int i = 0; i < SENSORS && answer; i++) {
        if (W->sensor[i].pid)
            continue;
        uint32_t type = 0x40000000u | (uint32_t)cfg->node_type << 17 | (uint32_t)cfg->sensor_type << 9;
        W->sensor[i] = (struct sensor){.pid = getpid(), .chip = (int32_t)chip, .type = type, .mask = cfg->assert_mask};
        W->sensor[i].mask &= cfg->deassert_mask;
        *handle = (uint64_t)i + 1;
        answer = 0;
    }
    ring_the_bell();
    unlock();
    return answer;
}

/* Assertion 0: it is over, 1: it stands, 2: it happens. */
int halSensorNodeUpdateState(uint32_t chip, uint64_t handle, int value, int assertion) {
    if (open_world())
        return HAL_INVALID;
    lock();
    struct sensor *s = own_sensor(chip, handle);
    int is_known = s && value >= 0 && value < 32 && s->mask >> value & 1 && assertion >= 0 && assertion <= 2;
    if (W->refuse_updates) {
        W->refuse_updates--;
        is_known = 0;
    }
    W->resumed += is_known && !assertion;
    if (is_known) {
        s->code = s->type | (uint32_t)value;
        s->state = assertion;
        s->scanned = now() + SCAN;
    }
    ring_the_bell();
    unlock();
    return is_known ? 0 : HAL_INVALID;
}

int halSensorNodeUnregister(uint32_t chip, uint64_t handle) {
    if (open_world())
        return HAL_INVALID;
    lock();
    scan_sensors();
    struct sensor *s = own_sensor(chip, handle);
    if (s)
        free_sensor(s);
    unlock();
    return s ? 0 : HAL_INVALID;
}
#endif
