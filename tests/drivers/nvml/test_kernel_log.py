"""The kernel's log: its lines, and reading it to its end and on."""

import os
import threading
from pathlib import Path

import pytest

from cmgr.drivers.kernel_log import Record, record
from cmgr.drivers.nvml.hearing.kernel_log import (
    Line,
    Loaded,
    MemoryFailed,
    NotBegun,
    NotProbed,
    SwitchXid,
    TakenOut,
    Xid,
    XidLog,
    parse,
)
from cmgr.errors import DriverError
from tests.support.waiting import PATIENCE, eventually

BUS = "0000:3b:00.0"
LINE = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."
NAME = "nvidia-nvswitch2"
SWITCH = f"{NAME}: SXid (PCI:0000:c1:00.0): "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LINE, Xid(BUS, 79, pid=1234)),
        ("NVRM: Xid (PCI:0000:3b:00): 31, Ch 8, pid=7, name=a", Xid(BUS, 31)),
        ("NVRM: Xid (PCI:0000:3B:00): 119, pid='<unknown>', name=<unknown>, Timeout after 6s", Xid(BUS, 119)),
        ("NVRM: Xid (0000:3b:00): 48, An uncorrectable double bit error", Xid(BUS, 48)),
        ("NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 94, pid=1, name=a, Contained", Xid(BUS, 94, pid=1, part=5)),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (Reset)", Xid(BUS, 154)),
        # ampere/kern_gpu_error_cont_ga100.c:334-342 (535, 550): the older form of recovery actions 1 and 4.
        ("NVRM: Xid (PCI:0000:3b:00): 94, pid=7, Contained: SM (0x1). RST: No, D-RST: No", Xid(BUS, 94, pid=7)),
        ("NVRM: Xid (PCI:0000:3b:00): 94, pid=7, Contained: SM (0x1). RST: No, D-RST: Yes", Xid(BUS, 94, 4, 7)),
        ("NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained: LTC TAG (0x2). RST: Yes, D-RST: No", Xid(BUS, 95, 1, 7)),
        # kernel_rc.c:370-395 (570): the other one has a line of its own.
        ("NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=a, Ch 8 caused by previous Xid 149", Xid(BUS, 45, pid=7)),
        # kernel_gsp.c:2477: after three time-outs in a row.
        (
            "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:3b:00 (printing 1 of every 30).  "
            "The GPU likely needs to be reset.",
            Xid(BUS, 119),
        ),
        # Words that a line quotes are not its own.
        (f"audit: a program said: {LINE}", None),
        (f"systemd[1]: {SWITCH}20034, Fatal, Link 28 LTSSM Fault Up", None),
        ("app: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01", None),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
            SwitchXid("nvidia-nvswitch3", 20034, fatal=True),
        ),
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 11012, Non-fatal, Link 01",
            SwitchXid("nvidia-nvswitch0", 11012, fatal=False),
        ),
        # ls10/therm_ls10.c:452-463, nvswitch.c:4961, ls10/ls10.c:159, ls10/soe_ls10.c:1311: fatal, without the word.
        (SWITCH + "10006, TSENSE OVERT Threshold reached. Shutting Down", SwitchXid(NAME, 10006, fatal=True)),
        (SWITCH + "10004, PMGR OVERT Threshold reached. Shutting Down", SwitchXid(NAME, 10004, fatal=True)),
        (SWITCH + "10007, IO failure", SwitchXid(NAME, 10007, fatal=True)),
        (SWITCH + "10008, Fatal, Firmware initialization failure (0x1/0x2", SwitchXid(NAME, 10008, fatal=True)),
        (SWITCH + "26006, SOE HALTED", SwitchXid(NAME, 26006, fatal=True)),
        # ls10/therm_ls10.c:409, intr_nvswitch.h:75, ls10/link_ls10.c:223, cci/cables/cci_error.c:236: not fatal.
        (SWITCH + "10004, NVSWITCH Temperature 90C | TSENSE WARN Threshold 88C", SwitchXid(NAME, 10004, fatal=False)),
        (SWITCH + "11012, Correctable, Link 01 ingress ECC", SwitchXid(NAME, 11012, fatal=False)),
        (SWITCH + "25010, ALI Training failure. Link 5", SwitchXid(NAME, 25010, fatal=False)),
        (SWITCH + "27005, Module 3 failed reset", SwitchXid(NAME, 27005, fatal=False)),
        # error_nvswitch.c:43-66: the second and third line of an error.
        (SWITCH + "20034, Severity 1 Engine instance 28 Sub-engine instance 00", None),
        (SWITCH + "20034, Data {0x00000001, 0x00000001}", None),
        # flcn/flcn_call_hal_nvswitch.c:112: data within the words.
        (SWITCH + "26003, Failed to post command to SOE. Data {0x1, 0x2}", SwitchXid(NAME, 26003, fatal=True)),
        # osinit.c:374, osapi.c:3658 (one record), osinit.c:2417, nv-pci.c:2326, nv.c:982, uvm_global.c:425.
        ("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", Xid(BUS, 79)),
        (
            r"NVRM: The NVIDIA GPU 0000:3b:00.0\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\x0a"
            r"NVRM: fallen off the bus and is not responding to commands.",
            NotProbed(BUS),
        ),
        # As an older driver words it: without the name in the middle.
        (
            r"NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:2330)\x0aNVRM: installed in this system has "
            "fallen off the bus and is not responding to commands.",
            NotProbed(BUS),
        ),
        # drivers/base/dd.c of the kernel, before 6.10 and since.
        ("nvidia: probe of 0000:3b:00.0 failed with error -1", NotProbed(BUS)),
        ("nvidia 0000:3b:00.0: probe with driver nvidia failed with error -1", NotProbed(BUS)),
        ("nouveau 0000:3b:00.0: probe with driver nouveau failed with error -12", None),
        ("NVRM: The NVIDIA probe routine was not called for 1 device(s).", None),
        ("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x65:2084)", NotBegun(BUS)),
        ("NVRM: Attempting to remove device 0000:3b:00.0 with non-zero usage count!", TakenOut(BUS)),
        ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build", Loaded()),
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01", Loaded()),
        (
            "nvidia-uvm: uvm_global.c:425 uvm_global_set_fatal_error_impl[pid:12] Encountered a global fatal error: "
            "NV_ERR_GPU_IS_LOST [0xf]",
            MemoryFailed(),
        ),
        ("NVRM: GPU 0000:3b:00.0: GPU serial number is 1653.", None),
        ("NVRM: GPU at PCI:0000:3b:00: GPU-1234", None),
        ("usb 1-1: new device", None),
        ("", None),
    ],
)
def test_a_line_says(text: str, said: Line | None) -> None:
    assert parse(Record(text)) == said


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("6,339,5140900,-;NET: up", Record("NET: up", 339, 5.1409)),
        ("6,339,5140900,-,caller=T1;a;b", Record("a;b", 339, 5.1409)),
        ("3,340,5140901,c;NVRM: x", Record("NVRM: x", 340, 5.140901, whole=False)),
        (r"3,340,5140901,-;a\x0aNVRM: b", Record(r"a\x0aNVRM: b", 340, 5.140901)),
        ("no record at all", None),
        (" SUBSYSTEM=pci", None),
        ("", None),
        (f"6,{'9' * 5000},1,-;x", None),
        ("6,\u0663,1,-;x", None),
    ],
)
def test_a_record_says_when_it_was_written(line: str, read: Record | None) -> None:
    assert record(line) == read


class Reader:
    """Reads on a thread of its own."""

    def __init__(self, log: XidLog) -> None:
        self.said: list[tuple[int, Line]] = []
        self._log = log
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._log.lines():
            self.said.append(line)

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "kmsg"
    os.mkfifo(path)
    return path


def put(file: int, text: str) -> None:
    os.write(file, f"4,7,1,-;{text}\n SUBSYSTEM=pci\n".encode())


def test_it_is_read_up_to_now_and_then_on(pipe: Path) -> None:
    file = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    put(file, LINE)
    log = XidLog(str(pipe))
    assert log.so_far() == ((7, Xid(BUS, 79, pid=1234)),)
    assert log.so_far() == ()
    reader = Reader(log)
    put(file, LINE)
    eventually(lambda: len(reader.said) == 1)
    put(file, LINE)
    eventually(lambda: len(reader.said) == 2)
    assert reader.said == [(7, Xid(BUS, 79, pid=1234))] * 2
    log.close()
    reader.join()
    log.close()
    os.close(file)


@pytest.mark.parametrize(
    ("priority", "heard"), [(0, True), (4, True), (7, True), (8, False), (12, False), (191, False)]
)
def test_only_the_kernel_is_heard(tmp_path: Path, priority: int, heard: bool) -> None:
    # Documentation/ABI/testing/dev-kmsg: what a program writes there never has the kernel's facility, which is 0.
    path = tmp_path / "log"
    path.write_text(f"{priority},1,1,-;{LINE}\n")
    assert bool(XidLog(str(path)).so_far()) == heard


def test_a_log_that_ends_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"4,1,1,-;{LINE}\n")
    assert list(XidLog(str(path)).lines()) == [(1, Xid(BUS, 79, pid=1234))]


def test_a_log_that_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match=r"cannot read the kernel log .*: No such file") as caught:
        XidLog(str(tmp_path / "none"))
    assert "CAP_SYSLOG" in caught.value.hint


def test_one_that_nobody_reads_can_be_closed(pipe: Path) -> None:
    log = XidLog(str(pipe))
    log.close()
    log.close()
    assert list(log.lines()) == []
