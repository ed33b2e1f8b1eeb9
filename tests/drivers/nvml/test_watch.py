"""Hearing of faults: from the library, from the kernel's log, and when either fails."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.looks import APART
from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.hearing.xids import NAME, Xids
from cmgr.drivers.nvml.library import abi
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, Severity
from cmgr.model.values.messages.facts import FaultReported, MachineTold, ReadNeeded, Remarked
from cmgr.ports import DriverFact
from tests.drivers.contract import Told, reported
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeGpu, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

LINE = "NVRM: Xid (PCI:{bus}): {xid}, pid=1234, name=python, words"


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(3))


def line(gpu: FakeGpu, xid: int) -> str:
    return LINE.format(bus=gpu.address.removesuffix(".0"), xid=xid)


def codes(driver: NvmlDriver, chip: int) -> list[str]:
    (report,) = driver.read([ChipId(chip)])
    assert not report.error
    return [fault.code for fault in report.faults]


def xids(told: Told) -> list[tuple[ChipId, str, Assertion]]:
    return reported(told.facts)


def test_an_xid_of_a_program_is_a_moment_and_one_that_asks_for_a_reset_lasts(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(1, 13)
    machine.xid(2, 140)
    told.has(ChipId(1), Assertion.ONCE, "Xid 13")
    assert told.has(ChipId(2), Assertion.OCCURRED, "Xid 140").severity is Severity.major
    assert codes(driver, 1) == []
    assert codes(driver, 2) == ["Xid 140"]


def test_an_xid_that_both_sources_tell_and_one_that_comes_twice_are_told_once(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.set("twice", 1)
    machine.xid(1, 13)
    told.has(ChipId(1), Assertion.ONCE, "Xid 13")
    machine.log(line(machine.gpus[1], 13))
    machine.log(line(machine.gpus[1], 62))
    told.has(ChipId(1), Assertion.OCCURRED, "Xid 62")
    machine.xid(1, 43)
    told.has(ChipId(1), Assertion.ONCE, "Xid 43")
    assert [code for _, code, _ in xids(told)] == ["Xid 13", "Xid 62", "Xid 43"]


@pytest.mark.parametrize(("xid", "fact"), [(140, FaultReported), (119, Remarked)])
def test_no_xid_waits_for_the_file_that_it_is_noted_in(
    machine: Standin, opened: Open, xid: int, fact: type[FaultReported | Remarked]
) -> None:
    driver, noted = opened(machine), list[bool]()

    def tell(said: DriverFact) -> None:
        if isinstance(said, fact):
            noted.append(f"[{xid}]" in file.read_text())

    file = machine.library.with_name(NAME)
    driver.watch(tell)
    machine.xid(1, xid)
    eventually(lambda: noted)
    assert noted == [False]
    eventually(lambda: f"[{xid}]" in file.read_text())


def test_an_xid_that_only_the_kernel_tells_is_heard(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log("usb 1-1: new device")
    machine.log(line(machine.gpus[2], 140))
    told.has(ChipId(2), Assertion.OCCURRED, "Xid 140")
    machine.log("NVRM: Xid (PCI:0000:99:00): 79, of a GPU that nobody knows")
    machine.log(line(machine.gpus[2], 169))
    told.has(ChipId(2), Assertion.OCCURRED, "Xid 169")
    assert codes(driver, 2) == ["Xid 140", "Xid 169"]


@pytest.mark.parametrize(("words", "code"), [("RST: Yes, D-RST: No", "E0010001"), ("RST: No, D-RST: Yes", "E0010004")])
def test_where_the_driver_has_no_action_the_reset_that_a_line_asks_for_counts_until_it_is_made(
    nvidia: Make, opened: Open, words: str, code: str
) -> None:
    machine = nvidia(hosts.host_h100(2), 535)
    driver, told = opened(machine), Told()
    driver.watch(told)
    said = f"NVRM: Xid (PCI:0000:{machine.gpus[1].bus:02x}:00): 94, pid=7, Contained: SM (0x1). {words}"
    machine.log(said)
    told.has(ChipId(1), Assertion.ONCE, "Xid 94")
    told.has(ChipId(1), Assertion.OCCURRED, code)
    assert codes(driver, 1) == [code]
    driver.close()
    eventually(lambda: not machine.is_open(1))
    again = opened(machine)
    again.watch(Told())
    eventually(lambda: codes(again, 1) == [code])
    again.reset([ChipId(1)], [ChipId(1)], frozenset({code}))
    eventually(lambda: codes(again, 1) == [])


def test_a_driver_with_actions_of_its_own_is_not_told_twice_which_it_asks_for(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log(f"{line(machine.gpus[1], 94)} RST: Yes, D-RST: No")
    machine.log(line(machine.gpus[1], 43))
    told.has(ChipId(1), Assertion.ONCE, "Xid 43")
    assert [code for _, code, _ in xids(told)] == ["Xid 94", "Xid 43"]


def other_life(machine: Standin, line: int) -> None:
    """Leave what a life of cmgr leaves that has read the log up to this line, and has heard of nothing that lasts."""
    Xids(0, machine.library.parent / NAME).begin(line)


def test_what_happened_while_nobody_listened_is_known_from_the_log(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2), 535)
    first, second = machine.gpus[0], machine.gpus[1]
    other_life(machine, 2)
    machine.log(line(second, 62), at=2)
    machine.log(line(first, 119))
    machine.log(line(second, 13))
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: codes(driver, 0) == ["Xid 119"])
    machine.log(line(second, 43))
    told.has(ChipId(1), Assertion.ONCE, "Xid 43")
    assert codes(driver, 1) == []
    assert xids(told) == [(1, "Xid 43", Assertion.ONCE)]


@pytest.mark.parametrize("release", [535, 580])
def test_a_first_installation_believes_the_gpus_and_not_an_old_log(nvidia: Make, opened: Open, release: int) -> None:
    machine = nvidia(hosts.host_h100(2), release)
    for gpu in machine.gpus:
        machine.log(line(gpu, 119))
        machine.log(line(gpu, 140))
    machine.field(1, abi.REMAP_PENDING_FIELD, 1)
    driver, told = opened(machine), Told()
    driver.watch(told)
    told.asks(ChipId(0), 1)
    assert codes(driver, 0) == []
    assert codes(driver, 1) == ["E0030001", *(["Xid 119", "Xid 140"] if release < 565 else [])]
    assert xids(told) == []


def test_a_module_that_is_loaded_anew_ends_what_was_before(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2), 535)
    other_life(machine, 0)
    machine.log(line(machine.gpus[0], 119))
    # kernel-open/nvidia/nv.c:982
    machine.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.10.01")
    machine.log(line(machine.gpus[1], 62))
    driver, told = opened(machine), Told()
    driver.watch(told)
    assert (codes(driver, 0), codes(driver, 1)) == ([], ["Xid 62"])
    machine.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.10.01")
    eventually(lambda: codes(driver, 1) == [])


def test_the_same_xid_soon_after_a_reset_is_another_one(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(1), 535)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 119)
    told.has(ChipId(0), Assertion.OCCURRED, "Xid 119")
    driver.reset([ChipId(0)], [ChipId(0)], frozenset({"Xid 119"}))
    eventually(lambda: codes(driver, 0) == [])
    machine.xid(0, 119)
    eventually(lambda: codes(driver, 0) == ["Xid 119"])


def test_a_timeout_of_the_gsp_is_left_to_a_driver_that_counts_them(machine: Standin, opened: Open) -> None:
    # gpu/gsp/kernel_gsp.c, _kgspRpcRecvPoll: the GPU is marked for a reset at the third in a row.
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log(line(machine.gpus[0], 119))
    eventually(lambda: any(isinstance(fact, Remarked) and "Xid 119" in fact.text for fact in told.facts))
    assert (codes(driver, 0), xids(told)) == ([], [])
    machine.act(0, 1)
    told.has(ChipId(0), Assertion.OCCURRED, "E0010001")
    assert codes(driver, 0) == ["E0010001", "Xid 119"]


LOST = "NVRM: GPU {}: GPU has fallen off the bus."
UNPROBED = (
    r"NVRM: The NVIDIA GPU {}\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\x0aNVRM: fallen off the bus and"
    " is not responding to commands."
)


@pytest.mark.parametrize("text", [LOST, UNPROBED])
def test_a_lost_gpu_that_no_xid_tells_of_is_heard(machine: Standin, opened: Open, text: str) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log(text.format(machine.gpus[1].address))
    told.has(ChipId(1), Assertion.OCCURRED, "Xid 79")


def test_a_gpu_that_the_driver_cannot_begin_with_is_heard_once_however_often_it_is_tried(
    machine: Standin, opened: Open
) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    for _ in range(3):
        machine.log(f"NVRM: GPU {machine.gpus[1].address}: RmInitAdapter failed! (0x62:0x65:2084)")
    machine.xid(1, 43)
    machine.log(line(machine.gpus[1], 44))
    told.has(ChipId(1), Assertion.ONCE, "Xid 44")
    assert [code for _, code, _ in xids(told) if code == "E0020004"] == ["E0020004"]


def test_a_gpu_that_is_taken_out_is_let_go_of(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    assert machine.is_open(1)
    machine.set("listed", 0, gpu=1)
    machine.log(f"NVRM: Attempting to remove device {machine.gpus[1].address} with non-zero usage count!")
    eventually(lambda: not machine.is_open(1))
    eventually(lambda: driver.read([ChipId(1)])[0].error == "the driver lists it no more")
    machine.xid(0, 13)
    told.has(ChipId(0), Assertion.ONCE, "Xid 13")


def of_machine(told: Told) -> list[str]:
    """Return what is wrong with the driver for all GPUs, as it was told last."""
    facts = [fact for fact in told.facts if isinstance(fact, MachineTold) and fact.source == "nvidia-driver"]
    return [symptom.code for symptom in facts[-1].found] if facts else []


def test_a_restart_that_all_gpus_ask_for_is_the_machines_and_no_gpus(machine: Standin, opened: Open) -> None:
    # osinit.c:385-394, kernel_rc_notification.c:255-262, core/system.c:848-887: one lost GPU is enough.
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.set("lost", 1, gpu=1)
    for gpu in (0, 2):
        machine.act(gpu, 2)
    told.has(ChipId(1), Assertion.OCCURRED, "E0020001")
    eventually(lambda: of_machine(told) == ["restart-wanted"])
    assert codes(driver, 0) == codes(driver, 2) == []
    assert codes(driver, 1) == ["E0020001"]
    assert "E0010002" not in [code for _, code, _ in xids(told)]
    machine.set("lost", 0, gpu=1)
    for gpu in (0, 2):
        machine.act(gpu, 0)
    eventually(lambda: codes(driver, 0) == codes(driver, 1) == codes(driver, 2) == of_machine(told) == [])


def test_a_gpu_that_the_driver_did_not_take_is_told_of_until_it_is_listed(machine: Standin, opened: Open) -> None:
    # osapi.c:3658, nv-pci.c:2048, and the kernel's own word of it (drivers/base/dd.c): such a GPU is in no list.
    machine.log("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build")
    machine.log(
        r"NVRM: The NVIDIA GPU 0000:99:00.0\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\x0a"
        "NVRM: fallen off the bus and is not responding to commands."
    )
    machine.log(f"nvidia: probe of {machine.gpus[1].address} failed with error -1")  # It came later.
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: of_machine(told) == ["gpu-not-probed"])
    machine.log("nvidia 0000:98:00.0: probe with driver nvidia failed with error -1")
    eventually(lambda: of_machine(told) == ["gpu-not-probed"] * 2)
    assert codes(driver, 1) == []


def test_a_restart_that_is_asked_for_beside_a_lost_gpu_is_the_machines(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_l40(2))
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.set("lost", 1, gpu=1)
    told.has(ChipId(1), Assertion.OCCURRED, "E0020001")
    machine.act(0, 2)
    eventually(lambda: of_machine(told) == ["restart-wanted"])
    assert codes(driver, 0) == []


def test_a_restart_that_one_gpu_alone_asks_for_is_its_own(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: codes(driver, 1) == [])
    machine.act(0, 2)
    eventually(lambda: codes(driver, 0) == ["E0010002"])
    assert of_machine(told) == []


def test_shared_memory_that_failed_is_the_machines_until_the_driver_is_loaded_anew(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2), 535)
    # kernel-open/nvidia-uvm/uvm_global.c:425
    machine.log(
        "nvidia-uvm: uvm_global.c:425 uvm_global_set_fatal_error_impl[pid:1] Encountered a global fatal error: X"
    )
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: of_machine(told) == ["restart-wanted"])
    machine.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.10.01")
    eventually(lambda: of_machine(told) == [])
    assert xids(told) == []


def test_a_changed_recovery_action_is_told_by_either_source(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.act(0, 1)
    told.has(ChipId(0), Assertion.OCCURRED, "E0010001")
    machine.act(0, 5)
    told.has(ChipId(0), Assertion.OCCURRED, "E0010005")
    told.has(ChipId(0), Assertion.CLEARED, "E0010001")
    machine.field(1, abi.ACTION_FIELD, 4)
    machine.log(line(machine.gpus[1], 154))
    told.has(ChipId(1), Assertion.OCCURRED, "E0010004")
    assert "Xid 154" not in [code for _, code, _ in xids(told)]


def test_a_driver_that_asks_for_nothing_after_an_xid_has_the_gpu_read_again(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    told.asks(ChipId(0), 1)
    machine.xid(0, 95)
    told.has(ChipId(0), Assertion.OCCURRED, "Xid 95")
    told.asks(ChipId(0), 2)
    assert codes(driver, 0) == []


@pytest.mark.parametrize(
    ("release", "assertion", "severity"), [(535, Assertion.OCCURRED, None), (580, Assertion.ONCE, Severity.minor)]
)
def test_an_unknown_xid_is_as_grave_as_the_driver_can_say(
    nvidia: Make, opened: Open, release: int, assertion: Assertion, severity: Severity | None
) -> None:
    machine = nvidia(hosts.host_h100(1), release)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 899)
    assert told.has(ChipId(0), assertion, "Xid 899").severity is severity


def test_a_part_of_a_gpu_is_named_where_only_its_program_is_hit(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 31, instance=5)
    machine.xid(0, 140, instance=5)
    assert told.has(ChipId(0), Assertion.ONCE, "Xid 31").module == "GPU instance 5"
    assert told.has(ChipId(0), Assertion.OCCURRED, "Xid 140").module == "GPU"


def test_a_lost_gpu_is_found_and_the_others_go_on_being_heard(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.set("lost", 1, gpu=1)
    told.has(ChipId(1), Assertion.OCCURRED, "E0020001")
    machine.xid(2, 13)
    told.has(ChipId(2), Assertion.ONCE, "Xid 13")
    # A wait for the events of a lost GPU answers at once, for ever: nobody waits any more, and it does not spin.
    assert machine.get("lost_answers") == 1
    assert driver.trouble() == ()


def test_what_happens_while_a_lost_gpu_is_left_out_is_heard_all_the_same(machine: Standin, opened: Open) -> None:
    # kernel-open/nvidia/nv.c:4070: events wait in the file of the set that is registered for them.
    driver, told = opened(machine, retry=timedelta(seconds=1)), Told()
    driver.watch(told)
    machine.set("lost", 1, gpu=1)
    told.has(ChipId(1), Assertion.OCCURRED, "E0020001")
    machine.xid(2, 31)
    machine.log(line(machine.gpus[1], 79))
    told.has(ChipId(2), Assertion.ONCE, "Xid 31")


def test_a_library_that_tells_of_no_faults_is_a_trouble_until_it_does(machine: Standin, opened: Open) -> None:
    machine.answer(0, Purpose.WAIT, 999)
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: any("NVML tells of no faults" in text for text in driver.trouble()))
    machine.answer(0, Purpose.WAIT, 0)
    eventually(lambda: driver.trouble() == ())
    machine.xid(0, 13)
    told.has(ChipId(0), Assertion.ONCE, "Xid 13")


def test_a_driver_that_was_loaded_anew_is_begun_with_again_by_itself(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 13)
    told.has(ChipId(0), Assertion.ONCE, "Xid 13")
    machine.reload()
    eventually(lambda: not any(report.error for report in driver.read([ChipId(0), ChipId(1), ChipId(2)])))
    eventually(lambda: driver.trouble() == ())
    machine.xid(2, 31)
    told.has(ChipId(2), Assertion.ONCE, "Xid 31")
    # Nobody was told of what happened meanwhile: every GPU is read.
    told.asks(ChipId(1), 2)


@pytest.mark.parametrize("code", [abi.UNINITIALIZED, abi.DRIVER_NOT_LOADED])
def test_as_long_as_the_driver_is_away_it_is_tried_again(machine: Standin, opened: Open, code: int) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.answer(0, Purpose.INIT, code)
    machine.reload()
    eventually(lambda: any("NVML tells of no faults" in text for text in driver.trouble()))
    assert driver.read([ChipId(1)])[0].error
    machine.answer(0, Purpose.INIT, 0)
    eventually(lambda: driver.trouble() == ())
    eventually(lambda: not driver.read([ChipId(1)])[0].error)
    machine.xid(1, 13)
    told.has(ChipId(1), Assertion.ONCE, "Xid 13")


def test_a_gpu_that_cannot_be_registered_keeps_no_other_from_being_heard(machine: Standin, opened: Open) -> None:
    machine.answer(0, Purpose.REGISTER, 999)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(1, 13)
    told.has(ChipId(1), Assertion.ONCE, "Xid 13")


def test_a_kernel_log_that_cannot_be_read_is_a_trouble(machine: Standin, opened: Open) -> None:
    driver = opened(machine, kernel_log="/nowhere/kmsg")
    (trouble,) = driver.trouble()
    assert trouble.startswith("Xids that only the kernel tells are missed: cannot read the kernel log /nowhere/kmsg")
    assert "CAP_SYSLOG" in trouble


def test_errors_of_a_switch_are_faults_of_the_machine(machine: Standin, opened: Open) -> None:
    machine.log("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up", at=7)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 11012, Non-fatal, Link 01", at=8)

    def found() -> list[tuple[str, str, bool, str]]:
        facts = [fact for fact in told.facts if isinstance(fact, MachineTold) and fact.source == "nvswitch"]
        return [(s.code, s.part, s.grave, s.mark.rpartition(":")[2]) for s in facts[-1].found] if facts else []

    both = [("SXid 20034", "nvidia-nvswitch3", True, "7"), ("SXid 11012", "nvidia-nvswitch3", False, "8")]
    eventually(lambda: found() == both)
    machine.log("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up", at=9)
    eventually(lambda: ("SXid 20034", "nvidia-nvswitch3", True, "9") in found())
    assert driver.trouble() == ()


def test_what_gpus_say_before_they_are_watched_is_to_be_read(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, sweep=timedelta(hours=1)), Told()
    machine.act(2, 1)
    driver.watch(told)
    told.asks(ChipId(2), 1)
    assert not any(isinstance(fact, FaultReported) for fact in told.facts)
    assert ReadNeeded(ChipId(0)) in told.facts


def test_a_sweep_that_one_gpu_holds_up_asks_the_others_all_the_same(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, sweep=timedelta(milliseconds=20), call_timeout=timedelta(hours=1)), Told()
    machine.hang(0, Purpose.FIELD)
    machine.field(2, abi.REMAP_PENDING_FIELD, 1)
    driver.watch(told)
    told.asks(ChipId(2), 2)  # As it begins, and by the sweep.
    assert codes(driver, 2) == ["E0030001"]
    machine.hang(0, Purpose.FIELD, hangs=False)


def test_it_is_watched_once(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    driver.watch(Told())
    with pytest.raises(DriverError, match="watched already"):
        driver.watch(Told())


def test_a_gpu_that_is_asked_for_and_absent_makes_no_look_each_time(machine: Standin, opened: Open) -> None:
    driver = opened(machine, relist=timedelta(hours=1))
    driver.watch(Told())
    began, before = time.monotonic(), machine.get("lists")
    for _ in range(100):
        assert driver.read([ChipId(7)])[0].error == "there is no such chip"
    eventually(lambda: machine.get("lists") > before)
    assert machine.get("lists") - before <= 1 + (time.monotonic() - began) / APART
    # A look that was put off is made all the same.
    machine.set("listed", 0, gpu=2)
    driver.read([ChipId(7)])
    eventually(lambda: driver.read([ChipId(2)])[0].error == "the driver lists it no more")
