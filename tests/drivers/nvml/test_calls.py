"""Opening the library and asking it, on four releases of the driver."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.libraries import Where, find
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.calls import Fabric, Handle, Library, Link, Refused
from cmgr.drivers.nvml.library.load import WANTED
from cmgr.drivers.processes import Holder
from cmgr.errors import DriverMissing, sentence
from tests.fakes.nvml import hosts
from tests.fakes.nvml.build import RELEASES
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Purpose, Standin
from tests.support.programs import program

Begun = tuple[Library, Standin]


@pytest.fixture(params=RELEASES)
def h100(request: pytest.FixtureRequest, nvidia: Make) -> Begun:
    machine = nvidia(hosts.host_h100(2), request.param)
    library = Library(str(machine.library))
    library.begin()
    return library, machine


def test_a_library_that_is_not_there_is_told_with_the_package_and_the_setting() -> None:
    with pytest.raises(DriverMissing, match=r"cannot find libnvidia-ml\.so\.1") as caught:
        find(Where(WANTED, environ={"LD_LIBRARY_PATH": "/nowhere"}, cache=""))
    assert "nvml.library" in caught.value.hint
    assert "libnvidia-ml1" in caught.value.hint


def test_a_file_that_is_no_library_is_told(tmp_path: Path) -> None:
    path = tmp_path / abi.LIBRARY
    path.write_text("text")
    with pytest.raises(DriverMissing, match="cannot open") as caught:
        Library(str(path))
    assert "nvml.library" in caught.value.hint


def test_a_library_of_an_old_driver_is_told_with_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / abi.LIBRARY
    source = "int nvmlInit_v2(void) { return 0; }"
    subprocess.run([program("gcc"), "-shared", "-xc", "-o", str(path), "-"], input=source, text=True, check=True)
    with pytest.raises(DriverMissing, match=r"it has no nvmlShutdown, .*nvmlEventSetWait_v2$") as caught:
        Library(str(path))
    assert "release 535" in caught.value.hint


@pytest.mark.parametrize(
    ("code", "why", "hint"),
    [
        (abi.DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded", "modprobe nvidia"),
        (
            abi.LIB_RM_VERSION_MISMATCH,
            "the library and the loaded driver have different versions",
            "restart the machine",
        ),
        (4, "no permission", "nvidia-smi"),
    ],
)
def test_a_library_that_does_not_begin_says_why_and_what_to_do(nvidia: Make, code: int, why: str, hint: str) -> None:
    machine = nvidia(hosts.host_l40())
    machine.answer(0, Purpose.INIT, code)
    with pytest.raises(DriverMissing) as caught:
        Library(str(machine.library)).begin()
    told = sentence(caught.value)
    assert told.startswith(f"cannot begin with {machine.library}: ")
    assert why in told
    assert hint in told


def test_a_gpu_that_cannot_be_opened_says_why(nvidia: Make) -> None:
    machine = nvidia(hosts.host_l40())
    machine.answer(1, Purpose.HANDLE, abi.INSUFFICIENT_POWER)
    library = Library(str(machine.library))
    library.begin()
    library.at(0)
    with pytest.raises(Refused, match=r"cannot open GPU 1: NVML says 8 \(the GPU's power cable is not connected\)"):
        library.at(1)


def test_a_gpu_says_what_it_is(h100: Begun) -> None:
    library, machine = h100
    assert library.count() == 2
    handle = library.by_bus("0000:3c:00.0")
    gpu = machine.gpus[1]
    assert (library.uuid(handle), library.name(handle)) == (gpu.uuid, "NVIDIA H100 80GB HBM3")
    assert (library.bus(handle), library.minor(handle)) == (gpu.address, 1)
    assert library.architecture(handle) == hosts.HOPPER
    assert library.links(handle) == (Link("0000:c1:00.0", is_switch=True),)
    assert library.settings(handle) == ()
    for name, value in {"persistent": 1, "power_limit": 450_000, "compute_mode": 3, "accounting_mode": 1}.items():
        machine.set(name, value, gpu=1)
    assert library.settings(handle) == ("-pm 1", "-pl 450", "-c 3", "-am 1")


def test_only_the_gpu_that_was_asked_for_is_opened_and_it_is_until_the_end(h100: Begun) -> None:
    library, machine = h100
    handle = library.by_bus("0000:3c:00.0")
    assert [machine.is_open(n) for n in range(2)] == [False, True]
    library.end()
    assert not machine.is_open(1)
    with pytest.raises(Refused, match="was not begun with"):
        library.uuid(handle)
    library.begin()
    with pytest.raises(Refused, match="wrong argument"):
        library.uuid(handle)


def test_links_to_gpus_have_the_bus_id_of_the_other_end(nvidia: Make) -> None:
    library = begun(nvidia(hosts.host_v100(3)))
    assert library.links(library.at(1)) == (Link("0000:3b:00.0", False), Link("0000:3d:00.0", False))


def test_fields_that_a_release_does_not_have_are_left_out(h100: Begun) -> None:
    library, machine = h100
    machine.field(0, abi.ACTION_FIELD, 1)
    machine.field(0, 83, 1 << 40)
    told = library.fields(library.at(0), (abi.ACTION_FIELD, 83, 9999))
    newer = not library.driver_version().startswith("535")
    assert told == ({abi.ACTION_FIELD: 1, 83: 1 << 40} if newer else {83: 1 << 40})


def test_the_fabric_is_asked_for_in_words_that_the_release_knows(h100: Begun) -> None:
    library, machine = h100
    machine.set("fabric_state", abi.FABRIC_COMPLETED)
    machine.set("fabric_status", 7)
    machine.set("fabric_summary", abi.SUMMARY_UNHEALTHY)
    release = int(library.driver_version().partition(".")[0])
    summary = abi.SUMMARY_UNHEALTHY if release >= 580 else 0
    assert library.fabric(library.at(0)) == Fabric(abi.FABRIC_COMPLETED, 7, summary)


@pytest.mark.parametrize(
    ("name", "since", "ask"),
    [
        ("sram", 535, Library.sram_worn),
        ("repair", 580, Library.repair_pending),
        ("unrepairable", 615, Library.unrepairable),
    ],
)
def test_health_is_told_by_the_releases_that_know_it(
    h100: Begun, name: str, since: int, ask: Callable[[Library, Handle], bool]
) -> None:
    library, machine = h100
    handle = library.at(0)
    assert not ask(library, handle)
    machine.set(name, 1)
    assert ask(library, handle) == (int(library.driver_version().partition(".")[0]) >= since)


def test_processes_of_every_kind_are_listed_once(h100: Begun) -> None:
    library, machine = h100
    machine.process(0, 30, 4096, kind=2)
    machine.process(0, 20, 4096, kind=1)
    machine.process(0, 10, 4096)
    machine.process(0, 10, 4096, kind=1)
    assert library.holders(library.at(0)) == (Holder(10, 4096), Holder(20, 4096), Holder(30, 4096))
    assert library.holders(library.at(1)) == ()


def test_without_the_right_to_monitor_each_part_of_a_divided_gpu_says_who_is_on_it(h100: Begun) -> None:
    library, machine = h100
    machine.set("no_monitor", 1)
    machine.process(1, 9, 4096)
    machine.divide(0, 2)
    for instance, pid in enumerate((20, 10)):
        machine.process(0, pid, 4096, instance=instance)
    assert [holder.pid for holder in library.holders(library.at(0))] == [10, 20]
    assert [holder.pid for holder in library.holders(library.at(1))] == [9]


def test_nobody_is_on_a_divided_gpu_without_parts(h100: Begun) -> None:
    library, machine = h100
    machine.set("no_monitor", 1)
    machine.set("mig", 1)
    assert library.holders(library.at(0)) == ()


def test_a_divided_gpu_that_tells_neither_its_processes_nor_its_parts_is_not_free(h100: Begun) -> None:
    library, machine = h100
    machine.set("no_monitor", 1)
    machine.divide(0, 2)
    handle = library.at(0)
    machine.answer(0, Purpose.INFO, abi.RESET_REQUIRED)
    with pytest.raises(Refused, match="no permission"):
        library.holders(handle)


def test_a_gpu_that_is_not_divided_and_does_not_tell_its_processes_is_not_free(h100: Begun) -> None:
    library, machine = h100
    machine.answer(0, Purpose.PROCESS, abi.NO_PERMISSION)
    with pytest.raises(Refused, match="no permission"):
        library.holders(library.at(0))


def test_records_of_the_wrong_size_are_seen_and_the_older_function_is_asked(h100: Begun) -> None:
    library, machine = h100
    for pid in (10, 11, 12):
        machine.process(0, pid, 4096)
    machine.set("wide_records", 1)
    assert [holder.pid for holder in library.holders(library.at(0))] == [10, 11, 12]


def test_a_memory_that_is_not_known_is_none(h100: Begun) -> None:
    library, machine = h100
    machine.process(0, 10, 2**64 - 1, instance=1)
    assert library.holders(library.at(0)) == (Holder(10, 0),)


def test_a_gpu_that_is_divided_says_so(h100: Begun) -> None:
    library, machine = h100
    assert not library.is_divided(library.at(0))
    machine.set("mig", 1)
    assert library.is_divided(library.at(0))


def test_an_event_names_its_gpu_and_comes_once(h100: Begun) -> None:
    library, machine = h100
    machine.xid(0, 43)
    events = library.new_set()
    handles = [library.at(n) for n in range(2)]
    for handle in handles:
        library.register(handle, abi.XID | abi.RECOVERY_ACTION | abi.UNAVAILABLE, events)
    machine.xid(1, 79, instance=3)
    told = library.wait(events, 1000)
    assert told is not None
    assert (told.handle, told.type, told.data, told.instance) == (handles[1], abi.XID, 79, 3)
    assert library.wait(events, 0) is None
    machine.set("lost", 1)
    with pytest.raises(Refused, match="the GPU is lost"):
        library.wait(events, 1000)
    library.free(events)


def begun(machine: Standin) -> Library:
    library = Library(str(machine.library))
    library.begin()
    return library


def test_what_the_library_says_is_read_at_its_full_width(nvidia: Make) -> None:
    library = begun(nvidia(hosts.host_l40()))
    memory = abi.versioned(abi.MemoryV2)
    library.measure("nvmlDeviceGetMemoryInfo_v2", library.at(0), memory)
    assert (memory.total, memory.used) == (80 << 30, 2 << 30)
    celsius = ctypes.c_uint()
    library.measure("nvmlDeviceGetTemperature", library.at(0), celsius, 0)
    assert celsius.value == 41
