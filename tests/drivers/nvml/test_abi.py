"""The interface as the driver has it, compared with NVIDIA's own Python binding and with the C side of the stand-in."""

import ctypes
import os
import re
from types import ModuleType
from typing import Any

import pytest

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml.build import RELEASES, SOURCE, Workshop

STRUCTURES: dict[type[ctypes.Structure], str] = {
    abi.EventData: "c_nvmlEventData_t",
    abi.FieldValue: "c_nvmlFieldValue_t",
    abi.ProcessInfo: "c_nvmlProcessInfo_v2_t",
    abi.PciInfo: "nvmlPciInfo_t",
    abi.MemoryV2: "c_nvmlMemory_v2_t",
    abi.Utilization: "c_nvmlUtilization_t",
    abi.Attributes: "c_nvmlDeviceAttributes",
    abi.FabricInfo: "c_nvmlGpuFabricInfo_t",
    abi.FabricInfoV2: "c_nvmlGpuFabricInfo_v2_t",
    abi.FabricInfoV3: "c_nvmlGpuFabricInfo_v3_t",
    abi.SramStatus: "c_nvmlEccSramErrorStatus_v1_t",
    abi.RepairStatus: "c_nvmlRepairStatus_t",
    abi.UnrepairableMemory: "c_nvmlUnrepairableMemory_v1_t",
}

NUMBERS = {
    "NVML_ERROR_UNINITIALIZED": abi.UNINITIALIZED,
    "NVML_ERROR_INVALID_ARGUMENT": abi.INVALID_ARGUMENT,
    "NVML_ERROR_NOT_SUPPORTED": abi.NOT_SUPPORTED,
    "NVML_ERROR_NOT_FOUND": abi.NOT_FOUND,
    "NVML_ERROR_INSUFFICIENT_SIZE": abi.INSUFFICIENT_SIZE,
    "NVML_ERROR_INSUFFICIENT_POWER": abi.INSUFFICIENT_POWER,
    "NVML_ERROR_DRIVER_NOT_LOADED": abi.DRIVER_NOT_LOADED,
    "NVML_ERROR_TIMEOUT": abi.TIMEOUT,
    "NVML_ERROR_IRQ_ISSUE": abi.IRQ_ISSUE,
    "NVML_ERROR_FUNCTION_NOT_FOUND": abi.FUNCTION_NOT_FOUND,
    "NVML_ERROR_CORRUPTED_INFOROM": abi.CORRUPTED_INFOROM,
    "NVML_ERROR_GPU_IS_LOST": abi.GPU_IS_LOST,
    "NVML_ERROR_RESET_REQUIRED": abi.RESET_REQUIRED,
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": abi.LIB_RM_VERSION_MISMATCH,
    "NVML_ERROR_ARGUMENT_VERSION_MISMATCH": abi.ARGUMENT_VERSION_MISMATCH,
    "NVML_ERROR_NOT_READY": abi.NOT_READY,
    "NVML_ERROR_GPU_NOT_FOUND": abi.GPU_NOT_FOUND,
    "nvmlEventTypeXidCriticalError": abi.XID,
    "nvmlEventTypeDoubleBitEccError": abi.DOUBLE_BIT_ECC,
    "nvmlEventMigConfigChange": abi.MIG_CHANGED,
    "nvmlEventTypeDramRetirementEvent": abi.DRAM_RETIRED,
    "nvmlEventTypeDramRetirementFailure": abi.DRAM_RETIREMENT_FAILED,
    "nvmlEventTypeNonFatalPoisonError": abi.POISON,
    "nvmlEventTypeFatalPoisonError": abi.FATAL_POISON,
    "nvmlEventTypeGpuUnavailableError": abi.UNAVAILABLE,
    "nvmlEventTypeGpuRecoveryAction": abi.RECOVERY_ACTION,
    "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION": abi.ACTION_FIELD,
    "NVML_FI_DEV_RETIRED_PENDING": abi.PAGES_PENDING_FIELD,
    "NVML_FI_DEV_REMAPPED_PENDING": abi.REMAP_PENDING_FIELD,
    "NVML_FI_DEV_REMAPPED_FAILURE": abi.REMAP_FAILED_FIELD,
    "NVML_FI_DEV_NVLINK_LINK_COUNT": abi.LINK_COUNT_FIELD,
    "NVML_DEVICE_ARCH_AMPERE": abi.AMPERE,
    "NVML_CLOCK_SM": abi.SM_CLOCK,
    "NVML_CLOCK_MEM": abi.MEMORY_CLOCK,
    "NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH": abi.PASSED_THROUGH,
    "NVML_GPU_VIRTUALIZATION_MODE_VGPU": abi.VIRTUAL_GPU,
    "NVML_NVLINK_MAX_LINKS": abi.MOST_LINKS,
    "NVML_NVLINK_DEVICE_TYPE_GPU": abi.PEER_GPU,
    "NVML_NVLINK_DEVICE_TYPE_SWITCH": abi.PEER_SWITCH,
    "NVML_GPU_FABRIC_STATE_NOT_SUPPORTED": abi.FABRIC_NOT_SUPPORTED,
    "NVML_GPU_FABRIC_STATE_NOT_STARTED": abi.FABRIC_NOT_STARTED,
    "NVML_GPU_FABRIC_STATE_IN_PROGRESS": abi.FABRIC_IN_PROGRESS,
    "NVML_GPU_FABRIC_STATE_COMPLETED": abi.FABRIC_COMPLETED,
    "NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY": abi.SUMMARY_UNHEALTHY,
}


@pytest.fixture(scope="module")
def theirs() -> ModuleType:
    """NVIDIA's binding. Where it is not installed: skipped, but a failure when CI=true."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("pynvml")
    import pynvml

    assert isinstance(pynvml, ModuleType)
    return pynvml


def layout(structure: Any) -> list[int]:
    """Return where each field lies. Names are each binding's own; theirs has four bytes where the header has one."""
    return [getattr(structure, field[0]).offset for field in structure._fields_]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.__name__)
def test_a_structure_lies_in_memory_as_nvidias_does(theirs: ModuleType, structure: type[ctypes.Structure]) -> None:
    real = getattr(theirs, STRUCTURES[structure])
    assert ctypes.sizeof(structure) == ctypes.sizeof(real)
    # Their eleven counters are one array here.
    if structure is not abi.SramStatus:
        assert layout(structure) == layout(real)
    assert abi.SramStatus.bThresholdExceeded.offset == theirs.c_nvmlEccSramErrorStatus_v1_t.bThresholdExceeded.offset


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_the_one_that_nvidia_uses(theirs: ModuleType, name: str) -> None:
    assert getattr(theirs, name) == NUMBERS[name]


def test_a_versioned_structure_says_the_version_that_the_library_wants(theirs: ModuleType) -> None:
    versions = {
        abi.MemoryV2: theirs.nvmlMemory_v2,
        abi.FabricInfoV2: theirs.nvmlGpuFabricInfo_v2,
        abi.FabricInfoV3: theirs.nvmlGpuFabricInfo_v3,
        abi.SramStatus: theirs.nvmlEccSramErrorStatus_v1,
        abi.RepairStatus: theirs.nvmlRepairStatus_v1,
        abi.UnrepairableMemory: theirs.nvmlUnrepairableMemory_v1,
    }
    assert {structure: abi.versioned(structure).version for structure in abi.VERSIONS} == versions


def test_nvidias_binding_calls_every_function_that_the_driver_calls(theirs: ModuleType) -> None:
    source = (theirs.__file__ or "").replace(".pyc", ".py")
    with open(source, encoding="utf-8") as file:
        text = file.read()
    # The binding calls one version of each function; the older one is what it was in an older binding.
    called = set(re.findall(r"\"(nvml\w+)\"", text)) | {f"{n}_v3" for n in re.findall(r"(nvml\w+Processes)\b", text)}
    missing = {symbol for symbol in (*abi.NEEDED, *abi.OFFERED) if symbol not in called}
    missing.discard("nvmlInit_v2")  # It begins with flags, of which none is set.
    assert missing <= {symbol for symbol in abi.OFFERED if symbol.endswith("Processes_v2")}


def test_the_c_side_asserts_every_structure_that_the_driver_uses() -> None:
    header = SOURCE.with_name("libnvidia-ml.h").read_text()
    sizes = {int(size) for size in re.findall(r"^SIZE\(\w+, (\d+),", header, re.MULTILINE)}
    assert {ctypes.sizeof(structure) for structure in STRUCTURES} <= sizes


@pytest.mark.parametrize("release", RELEASES)
def test_the_stand_in_of_each_release_has_what_is_needed(gpu_workshop: Workshop, release: int) -> None:
    library = ctypes.CDLL(str(gpu_workshop.library(str(release))))
    assert {symbol for symbol in abi.NEEDED if not hasattr(library, symbol)} == set()
    lacking = {symbol for symbol in abi.OFFERED if not hasattr(library, symbol)}
    newer = {
        "nvmlDeviceGetGpuFabricInfoV": 550,
        "nvmlDeviceGetRepairStatus": 580,
        "nvmlDeviceGetUnrepairableMemoryFlag_v1": 590,
    }
    assert lacking == {symbol for symbol, since in newer.items() if since > release}
