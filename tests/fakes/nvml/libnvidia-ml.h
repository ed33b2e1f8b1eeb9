/* The part of NVML's interface that cmgr uses; docs/nvml.md has its sources. Sizes are asserted when it is compiled. */
#include <stdint.h>

#define SIZE(name, bytes, alignment) \
    _Static_assert(sizeof(struct name) == (bytes), "size of " #name); \
    _Static_assert(_Alignof(struct name) == (alignment), "alignment of " #name)

typedef void *device;

struct event_data {
    device device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
};
SIZE(event_data, 32, 8);

struct field_value {
    uint32_t field, scope;
    int64_t timestamp, latency;
    uint32_t type;
    int32_t result;
    union {
        double d;
        uint32_t u32;
        uint64_t u64;
    } value;
};
SIZE(field_value, 40, 8);

struct process_info {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance, compute_instance;
};
SIZE(process_info, 24, 8);

struct pci_info {
    char legacy[16];
    uint32_t domain, bus, device, id, subsystem;
    char text[32];
};
SIZE(pci_info, 68, 4);

struct memory {
    uint64_t total, free, used;
};
SIZE(memory, 24, 8);

struct memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};
SIZE(memory_v2, 40, 8);

struct utilization {
    uint32_t gpu, memory;
};
SIZE(utilization, 8, 4);

struct fabric_v1 {
    uint8_t cluster[16];
    uint32_t status, clique;
    uint8_t state;
};
SIZE(fabric_v1, 28, 4);

struct fabric_v2 {
    uint32_t version;
    uint8_t cluster[16];
    uint32_t status, clique;
    uint8_t state;
    uint32_t mask;
};
SIZE(fabric_v2, 36, 4);

struct fabric_v3 {
    uint32_t version;
    uint8_t cluster[16];
    uint32_t status, clique;
    uint8_t state;
    uint32_t mask;
    uint8_t summary;
};
SIZE(fabric_v3, 40, 4);

struct sram {
    uint32_t version;
    uint64_t counter[11];
    uint32_t exceeded;
};
SIZE(sram, 104, 8);

struct repair {
    uint32_t version, channel, tpc;
};
SIZE(repair, 12, 4);

struct attributes {
    uint32_t multiprocessors, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices;
    uint64_t megabytes;
};
SIZE(attributes, 40, 8);

struct unrepairable {
    uint32_t flag;
};
SIZE(unrepairable, 4, 4);
