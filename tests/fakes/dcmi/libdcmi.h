/* The C interface of Ascend's libdcmi.so as far as cmgr uses it, and the size and place of everything in it.
 *
 * Written from the facts of the interface alone (docs/dcmi.md); LP64, the same on x86-64 and aarch64.
 */
#ifndef STANDIN_LIBDCMI_H
#define STANDIN_LIBDCMI_H

#include <stddef.h>
#include <stdint.h>

#define DCMI_WRONG_PARAMETER (-8001)
#define DCMI_NOT_PERMITTED (-8002)
#define DCMI_INNER (-8005)
#define DCMI_TIMED_OUT (-8006)
#define DCMI_NO_DEVICE (-8008)
#define DCMI_IOCTL_FAILED (-8009)
#define DCMI_NOT_READY (-8012)
#define DCMI_FILE_FAILED (-8014)
#define DCMI_RESET_FAILED (-8015)
#define DCMI_NOT_SET (-8023)
#define DCMI_OCCUPIED (-8020)
#define DCMI_UNSUPPORTED (-8255)

struct chip_info {
    uint8_t type[32];
    uint8_t name[32];
    uint8_t ver[32];
    uint32_t aicore_cnt;
};

struct chip_info_v2 {
    uint8_t type[32];
    uint8_t name[32];
    uint8_t ver[32];
    uint32_t aicore_cnt;
    uint8_t npu_name[32];
};

struct board_info {
    uint32_t board_id, pcb_id, bom_id, slot_id;
};

struct event_filter {
    uint64_t flags;
    uint32_t event_id;
    uint8_t severity, node_type, reserved[32];
};

struct dms_fault_event {
    uint32_t event_id;
    uint16_t deviceid;
    uint8_t node_type, node_id, sub_node_type, sub_node_id, severity, assertion;
    int32_t event_serial_num, notify_serial_num;
    uint64_t alarm_raised_time;
    char event_name[256];
    char additional_info[32];
    uint16_t os_id, node_type_ex, sub_node_type_ex;
    uint8_t resv[26];
};

struct event {
    int type;
    union {
        struct dms_fault_event dms;
    } u;
};

struct proc_mem_info {
    int32_t proc_id;
    unsigned long proc_mem_usage;
};

struct hbm_info {
    uint64_t memory_size;
    uint32_t freq;
    uint64_t memory_usage;
    int32_t temp;
    uint32_t bandwidth_util;
};

struct memory_info_v3 {
    uint64_t memory_size, memory_available;
    uint32_t freq;
    unsigned long hugepagesize, hugepages_total, hugepages_free;
    uint32_t utiliza;
    uint8_t reserve[60];
};

struct ecc_info {
    int32_t enable;
    uint32_t single, twofold, total_single, total_twofold;
    uint32_t isolated_single, isolated_twofold, next_single, next_twofold;
};

struct pcie_info_all {
    uint32_t vendor, subvendor, device, subdevice;
    int32_t domain;
    uint32_t bus, dev, func;
    uint8_t reserve[32];
};

struct die_id {
    uint32_t words[5];
};

struct elabel_info {
    char product[256], model[256], maker[256], date[256], serial[256];
};

struct ip_addr {
    uint8_t address[16];
    int32_t type; /* 0: the first four bytes, 1: all. */
};

struct hccs_statistic {
    uint32_t tx[16], rx[16], crc_err[16], retry[16], reserved[64];
};

struct hccs_statistic_u64 {
    uint64_t tx[16], rx[16], crc_err[16], retry[16], reserved[64];
};

struct sio_crc_err_statistic_info {
    uint16_t tx, rx;
    uint8_t reserved[8];
};

/* dcmi_network_pkt_stats_info: 48 counters, a time. */
struct port_counters {
    uint64_t counter[48];
    long tv_sec, tv_usec;
    uint8_t reserved[64];
};

struct spod_info {
    uint32_t sdid, scale_type, super_pod_id, server_id, chassis_id, super_pod_type, reserve[6];
};

/* dcmi_base_resource (64 bytes), dcmi_computing_resource (96) and dcmi_media_resource (56) in a row. */
struct resources {
    uint64_t words[27];
};

struct soc_total_resource {
    uint32_t vdev_num, vdev_id[32], vfg_num, vfg_bitmap;
    struct resources resources;
};

struct vdev_query {
    uint32_t vdev_id, padding;
    char name[16];
    uint32_t status, is_container_used, vfid, vfg_id;
    uint64_t container_id;
    struct resources resources;
};

struct create_vdev_res {
    uint32_t vdev_id, vfg_id;
    char template_name[32];
    uint8_t reserved[64];
};

struct create_vdev_out {
    uint32_t vdev_id, pcie_bus, pcie_device, pcie_func, vfg_id;
    uint8_t reserved[32];
};

typedef void (*fault_callback)(struct event *);

#define SIZE(name, size, align) \
    _Static_assert(sizeof(struct name) == (size) && _Alignof(struct name) == (align), "size of " #name)
#define AT(name, field, offset) _Static_assert(offsetof(struct name, field) == (offset), #name "." #field)

SIZE(chip_info, 100, 4);
AT(chip_info, name, 32);
AT(chip_info, ver, 64);
AT(chip_info, aicore_cnt, 96);
SIZE(chip_info_v2, 132, 4);
AT(chip_info_v2, name, 32);
AT(chip_info_v2, ver, 64);
AT(chip_info_v2, aicore_cnt, 96);
AT(chip_info_v2, npu_name, 100);
SIZE(board_info, 16, 4);
AT(board_info, pcb_id, 4);
AT(board_info, bom_id, 8);
AT(board_info, slot_id, 12);
SIZE(event_filter, 48, 8);
AT(event_filter, event_id, 8);
AT(event_filter, severity, 12);
AT(event_filter, node_type, 13);
AT(event_filter, reserved, 14);
SIZE(dms_fault_event, 352, 8);
AT(dms_fault_event, deviceid, 4);
AT(dms_fault_event, node_type, 6);
AT(dms_fault_event, node_id, 7);
AT(dms_fault_event, sub_node_type, 8);
AT(dms_fault_event, sub_node_id, 9);
AT(dms_fault_event, severity, 10);
AT(dms_fault_event, assertion, 11);
AT(dms_fault_event, event_serial_num, 12);
AT(dms_fault_event, notify_serial_num, 16);
AT(dms_fault_event, alarm_raised_time, 24);
AT(dms_fault_event, event_name, 32);
AT(dms_fault_event, additional_info, 288);
AT(dms_fault_event, os_id, 320);
AT(dms_fault_event, node_type_ex, 322);
AT(dms_fault_event, sub_node_type_ex, 324);
AT(dms_fault_event, resv, 326);
SIZE(event, 360, 8);
AT(event, u, 8);
SIZE(proc_mem_info, 16, 8);
AT(proc_mem_info, proc_mem_usage, 8);
SIZE(hbm_info, 32, 8);
AT(hbm_info, freq, 8);
AT(hbm_info, memory_usage, 16);
AT(hbm_info, temp, 24);
AT(hbm_info, bandwidth_util, 28);
SIZE(memory_info_v3, 112, 8);
AT(memory_info_v3, memory_available, 8);
AT(memory_info_v3, freq, 16);
AT(memory_info_v3, hugepagesize, 24);
AT(memory_info_v3, hugepages_total, 32);
AT(memory_info_v3, hugepages_free, 40);
AT(memory_info_v3, utiliza, 48);
AT(memory_info_v3, reserve, 52);
SIZE(ecc_info, 36, 4);
AT(ecc_info, single, 4);
AT(ecc_info, twofold, 8);
AT(ecc_info, total_single, 12);
AT(ecc_info, total_twofold, 16);
AT(ecc_info, isolated_single, 20);
AT(ecc_info, isolated_twofold, 24);
AT(ecc_info, next_single, 28);
AT(ecc_info, next_twofold, 32);
SIZE(pcie_info_all, 64, 4);
AT(pcie_info_all, domain, 16);
AT(pcie_info_all, bus, 20);
AT(pcie_info_all, dev, 24);
AT(pcie_info_all, func, 28);
AT(pcie_info_all, reserve, 32);
SIZE(die_id, 20, 4);
SIZE(elabel_info, 1280, 1);
AT(elabel_info, serial, 1024);
SIZE(ip_addr, 20, 4);
AT(ip_addr, type, 16);
SIZE(hccs_statistic, 512, 4);
AT(hccs_statistic, rx, 64);
AT(hccs_statistic, crc_err, 128);
AT(hccs_statistic, retry, 192);
AT(hccs_statistic, reserved, 256);
SIZE(sio_crc_err_statistic_info, 12, 2);
AT(sio_crc_err_statistic_info, rx, 2);
SIZE(hccs_statistic_u64, 1024, 8);
AT(hccs_statistic_u64, rx, 128);
AT(hccs_statistic_u64, crc_err, 256);
AT(hccs_statistic_u64, retry, 384);
AT(hccs_statistic_u64, reserved, 512);
SIZE(port_counters, 464, 8);
AT(port_counters, tv_sec, 384);
AT(port_counters, reserved, 400);
SIZE(spod_info, 48, 4);
AT(spod_info, scale_type, 4);
AT(spod_info, super_pod_id, 8);
AT(spod_info, server_id, 12);
AT(spod_info, chassis_id, 16);
AT(spod_info, super_pod_type, 20);
AT(spod_info, reserve, 24);
SIZE(soc_total_resource, 360, 8);
AT(soc_total_resource, vdev_id, 4);
AT(soc_total_resource, vfg_num, 132);
AT(soc_total_resource, vfg_bitmap, 136);
AT(soc_total_resource, resources, 144);
SIZE(vdev_query, 264, 8);
AT(vdev_query, name, 8);
AT(vdev_query, status, 24);
AT(vdev_query, is_container_used, 28);
AT(vdev_query, vfid, 32);
AT(vdev_query, vfg_id, 36);
AT(vdev_query, container_id, 40);
AT(vdev_query, resources, 48);
SIZE(create_vdev_res, 104, 4);
AT(create_vdev_res, vfg_id, 4);
AT(create_vdev_res, template_name, 8);
AT(create_vdev_res, reserved, 40);
SIZE(create_vdev_out, 52, 4);
AT(create_vdev_out, vfg_id, 16);
AT(create_vdev_out, reserved, 20);

#endif
