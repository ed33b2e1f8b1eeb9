"""The C interface of NVIDIA's libnvidia-ml.so.1: structures, constants, and the functions that the driver calls.

Nothing here was seen on hardware; docs/nvml.md says where each line comes from. A test compares names, numbers and
sizes with NVIDIA's own Python binding. Functions are named after the release that had them first (R510 is driver 510).
"""

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_int64, c_uint, c_uint8, c_uint32, c_uint64
from ctypes import c_void_p as pointer
from typing import Any

from cmgr.sentences.sentence import say

LIBRARY = "libnvidia-ml.so.1"

OK = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
INSUFFICIENT_POWER = 8
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
IRQ_ISSUE = 11
FUNCTION_NOT_FOUND = 13
CORRUPTED_INFOROM = 14
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
NOT_READY = 27
GPU_NOT_FOUND = 28

WORDS: Mapping[int, str] = {
    UNINITIALIZED: say("code.uninitialized"),
    INVALID_ARGUMENT: say("code.wrong-argument"),
    NOT_SUPPORTED: say("code.unsupported"),
    NO_PERMISSION: say("code.no-permission"),
    NOT_FOUND: say("code.not-found"),
    INSUFFICIENT_SIZE: say("code.small-buffer"),
    INSUFFICIENT_POWER: say("code.no-power"),
    DRIVER_NOT_LOADED: say("code.not-loaded"),
    TIMEOUT: say("code.timed-out"),
    IRQ_ISSUE: say("code.interrupts"),
    12: say("code.no-library"),
    FUNCTION_NOT_FOUND: say("code.no-function"),
    CORRUPTED_INFOROM: say("code.inforom"),
    GPU_IS_LOST: say("code.gpu-lost"),
    RESET_REQUIRED: say("code.needs-reset"),
    17: say("code.system-refused"),
    LIB_RM_VERSION_MISMATCH: say("code.versions"),
    19: say("code.in-use"),
    20: say("code.no-memory"),
    21: say("code.no-data"),
    23: say("code.no-resources"),
    ARGUMENT_VERSION_MISMATCH: say("code.argument-version"),
    26: say("code.deprecated"),
    NOT_READY: say("code.not-ready"),
    GPU_NOT_FOUND: say("code.no-gpu"),
    29: say("code.invalid-state"),
    30: say("code.no-such-reset"),
    999: say("code.unknown-error"),
}

ABSENT = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH})
"""This GPU, or this release of the driver, has no such thing."""

XID = 0x8
DOUBLE_BIT_ECC = 0x2
MIG_CHANGED = 0x100
DRAM_RETIRED = 0x400
DRAM_RETIREMENT_FAILED = 0x800
POISON = 0x1000
FATAL_POISON = 0x2000
UNAVAILABLE = 0x4000
RECOVERY_ACTION = 0x8000

WHOLE_GPU = 0xFFFFFFFF
UNKNOWN_MEMORY = 2**64 - 1

ACTION_FIELD = 230
PAGES_PENDING_FIELD = 31
LINK_COUNT_FIELD = 91
REMAP_PENDING_FIELD = 144
REMAP_FAILED_FIELD = 145

AMPERE = 7
HOPPER = 9

SM_CLOCK, MEMORY_CLOCK = 1, 2

PASSED_THROUGH, VIRTUAL_GPU = 1, 2
"""How a GPU is virtual."""


MOST_LINKS = 36
LINK_ACTIVE = 1
PEER_GPU, PEER_SWITCH = 0, 2

FABRIC_NOT_SUPPORTED, FABRIC_NOT_STARTED, FABRIC_IN_PROGRESS, FABRIC_COMPLETED = range(4)
SUMMARY_UNHEALTHY = 2

TEXT_ROOM = 96
RECORD_ROOM = 32
"""Bytes for each record of a process: early R535 writes 32 where its header says 24."""


class EventData(Structure):
    _fields_ = (
        ("device", pointer),
        ("eventType", c_uint64),
        ("eventData", c_uint64),
        ("gpuInstanceId", c_uint32),
        ("computeInstanceId", c_uint32),
    )


class _Value(ctypes.Union):
    _fields_ = (
        ("dVal", ctypes.c_double),
        ("uiVal", c_uint32),
        ("ulVal", ctypes.c_ulong),
        ("ullVal", c_uint64),
        ("sllVal", c_int64),
        ("siVal", c_int32),
        ("usVal", ctypes.c_ushort),
    )


VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The member of the union for each `valueType`."""


class FieldValue(Structure):
    _fields_ = (
        ("fieldId", c_uint32),
        ("scopeId", c_uint32),
        ("timestamp", c_int64),
        ("latencyUsec", c_int64),
        ("valueType", c_uint32),
        ("nvmlReturn", c_uint32),
        ("value", _Value),
    )


class ProcessInfo(Structure):
    """That of the functions _v2 and _v3. `usedGpuMemory` is in bytes, `UNKNOWN_MEMORY` with MIG."""

    _fields_ = (
        ("pid", c_uint32),
        ("usedGpuMemory", c_uint64),
        ("gpuInstanceId", c_uint32),
        ("computeInstanceId", c_uint32),
    )


class PciInfo(Structure):
    _fields_ = (
        ("busIdLegacy", c_char * 16),
        *((name, c_uint32) for name in ("domain", "bus", "device", "pciDeviceId", "pciSubSystemId")),
        ("busId", c_char * 32),
    )


class MemoryV2(Structure):
    """In bytes. `used` is without `reserved`."""

    _fields_ = (("version", c_uint32), *((name, c_uint64) for name in ("total", "reserved", "free", "used")))


class Attributes(Structure):
    """Of an instance of MIG. R450. `memorySizeMB` is less than the profile's name says, by what is reserved."""

    _fields_ = (
        *(
            (name, c_uint32)
            for name in (
                "multiprocessorCount", "sharedCopyEngineCount", "sharedDecoderCount", "sharedEncoderCount",
                "sharedJpegCount", "sharedOfaCount", "gpuInstanceSliceCount", "computeInstanceSliceCount",
            )
        ),
        ("memorySizeMB", c_uint64),
    )  # fmt: skip


class Utilization(Structure):
    """In percent."""

    _fields_ = (("gpu", c_uint32), ("memory", c_uint32))


_FABRIC = (("clusterUuid", c_uint8 * 16), ("status", c_uint32), ("cliqueId", c_uint32), ("state", c_uint8))


class FabricInfo(Structure):
    """R525."""

    _fields_ = _FABRIC


class FabricInfoV2(Structure):
    """R550."""

    _fields_ = (("version", c_uint32), *_FABRIC, ("healthMask", c_uint32))


class FabricInfoV3(Structure):
    """R580."""

    _fields_ = (("version", c_uint32), *_FABRIC, ("healthMask", c_uint32), ("healthSummary", c_uint8))


class SramStatus(Structure):
    """R535. `counters`: eleven of them, by place and kind."""

    _fields_ = (("version", c_uint32), ("counters", c_uint64 * 11), ("bThresholdExceeded", c_uint32))


class RepairStatus(Structure):
    """R580."""

    _fields_ = (("version", c_uint32), ("bChannelRepairPending", c_uint32), ("bTpcRepairPending", c_uint32))


class UnrepairableMemory(Structure):
    """R590. NVIDIA's binding has this one; their header has only the flag, which then lies where the version is."""

    _fields_ = (("version", c_uint32), ("flag", c_uint32))


VERSIONS: Mapping[type[Structure], int] = {
    MemoryV2: 2,
    FabricInfoV2: 2,
    FabricInfoV3: 3,
    SramStatus: 1,
    RepairStatus: 1,
    UnrepairableMemory: 1,
}


def versioned(structure: type[Structure]) -> Any:
    """Return a new structure that says its version as the library wants it."""
    made: Any = structure()
    made.version = ctypes.sizeof(structure) | VERSIONS[structure] << 24
    return made


Types = tuple[Any, ...]  # A type that ctypes takes in `argtypes`.

_DEVICE = pointer
_UINT, _ULONG = POINTER(c_uint), POINTER(c_uint64)
_TEXT = (_DEVICE, c_char_p, c_uint)
_NUMBER = (_DEVICE, _UINT)
_HOLDERS = (_DEVICE, _UINT, pointer)

NEEDED: Mapping[str, Types] = {
    "nvmlInit_v2": (),
    "nvmlShutdown": (),
    "nvmlSystemGetDriverVersion": (c_char_p, c_uint),
    "nvmlDeviceGetCount_v2": (_UINT,),
    "nvmlDeviceGetHandleByIndex_v2": (c_uint, POINTER(_DEVICE)),
    "nvmlDeviceGetHandleByPciBusId_v2": (c_char_p, POINTER(_DEVICE)),
    "nvmlDeviceGetUUID": _TEXT,
    "nvmlDeviceGetName": _TEXT,
    "nvmlDeviceGetPciInfo_v3": (_DEVICE, POINTER(PciInfo)),
    "nvmlDeviceGetMinorNumber": _NUMBER,
    "nvmlDeviceGetFieldValues": (_DEVICE, c_int, POINTER(FieldValue)),
    "nvmlDeviceGetComputeRunningProcesses_v3": _HOLDERS,
    "nvmlDeviceGetGraphicsRunningProcesses_v3": _HOLDERS,
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": _HOLDERS,
    "nvmlDeviceGetSupportedEventTypes": (_DEVICE, _ULONG),
    "nvmlEventSetCreate": (POINTER(pointer),),
    "nvmlEventSetFree": (pointer,),
    "nvmlDeviceRegisterEvents": (_DEVICE, c_uint64, pointer),
    "nvmlEventSetWait_v2": (pointer, POINTER(EventData), c_uint),
}
"""Without one of these the library is of no use. Every driver since R535 has them all."""

OFFERED: Mapping[str, Types] = {
    "nvmlDeviceGetArchitecture": _NUMBER,
    "nvmlDeviceGetPersistenceMode": _NUMBER,
    "nvmlDeviceGetVirtualizationMode": _NUMBER,
    "nvmlDeviceGetPowerManagementLimit": _NUMBER,
    "nvmlDeviceGetPowerManagementDefaultLimit": _NUMBER,
    "nvmlDeviceGetComputeMode": _NUMBER,
    "nvmlDeviceGetAccountingMode": _NUMBER,
    "nvmlDeviceGetComputeRunningProcesses_v2": _HOLDERS,
    "nvmlDeviceGetGraphicsRunningProcesses_v2": _HOLDERS,
    "nvmlDeviceGetMPSComputeRunningProcesses_v2": _HOLDERS,
    "nvmlDeviceGetMigMode": (_DEVICE, _UINT, _UINT),
    "nvmlDeviceGetMaxMigDeviceCount": _NUMBER,
    "nvmlDeviceGetMigDeviceHandleByIndex": (_DEVICE, c_uint, POINTER(_DEVICE)),
    "nvmlDeviceGetGpuInstanceId": _NUMBER,
    "nvmlDeviceGetComputeInstanceId": _NUMBER,
    "nvmlDeviceGetAttributes_v2": (_DEVICE, POINTER(Attributes)),
    "nvmlDeviceGetNvLinkState": (_DEVICE, c_uint, _UINT),
    "nvmlDeviceGetNvLinkRemoteDeviceType": (_DEVICE, c_uint, _UINT),
    "nvmlDeviceGetNvLinkRemotePciInfo_v2": (_DEVICE, c_uint, POINTER(PciInfo)),
    "nvmlDeviceGetSramEccErrorStatus": (_DEVICE, POINTER(SramStatus)),
    "nvmlDeviceGetGpuFabricInfo": (_DEVICE, POINTER(FabricInfo)),
    "nvmlDeviceGetGpuFabricInfoV": (_DEVICE, pointer),
    "nvmlDeviceGetRepairStatus": (_DEVICE, POINTER(RepairStatus)),
    "nvmlDeviceGetUnrepairableMemoryFlag_v1": (_DEVICE, POINTER(UnrepairableMemory)),
    "nvmlDeviceGetTemperature": (_DEVICE, c_uint, _UINT),
    "nvmlDeviceGetPowerUsage": _NUMBER,
    "nvmlDeviceGetClockInfo": (_DEVICE, c_uint, _UINT),
    "nvmlDeviceGetUtilizationRates": (_DEVICE, POINTER(Utilization)),
    "nvmlDeviceGetMemoryInfo_v2": (_DEVICE, POINTER(MemoryV2)),
}
"""A GPU, or an older driver, may lack these."""
