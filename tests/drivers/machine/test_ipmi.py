"""The BMC asked by ipmitool: a stand-in, and the program itself against a simulated BMC."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cmgr.drivers.machine.ipmi import Ipmi, entries, moment, sensed
from cmgr.drivers.machine.source import Off
from cmgr.errors import DriverError
from tests.fakes.machine.tree import Program, Tree
from tests.support.waiting import PATIENCE, eventually

SENSORS = """\
Inlet Temp       | 05h | ok  |  7.1 | 24 degrees C
CPU1 Temp        | 0Eh | cr  |  3.1 | 98 degrees C
Fan1A RPM        | 30h | nr  |  7.1 | 120 RPM
Fan2A RPM        | 31h | ok  |  7.1 | 5520 RPM
Voltage 1        | 6Dh | cr  | 10.1 | 180 Volts
Current 1        | 6Ah | nc  | 10.1 | 0.80 Amps
Status           | 85h | ok  | 10.1 | Presence detected
Status           | 86h | ok  | 10.2 | Presence detected, Power Supply AC lost
PS Redundancy    | 77h | ok  |  7.1 | Redundancy Lost
Fan Redundancy   | 75h | ok  |  7.1 | Fully Redundant
Disk Bay 3       | 90h | ok  | 26.1 | Drive Present, Drive Fault
GPU Power        | 91h | ns  | 11.1 | No Reading
Intrusion        | 73h | ok  |  7.1 |
"""
LOG = """\
1,11/20/26,06:00:00 UTC,Memory #0x53,Uncorrectable ECC,Asserted
2,11/24/26,05:00:00 UTC,Memory #0x53,Uncorrectable ECC,Asserted
a,11/24/2026,05:30:00,Processor #0x60,IERR,Asserted
b,11/24/26,05:31:00 UTC,Critical Interrupt #0x10,Bus Uncorrectable error,Asserted
c,11/24/26,05:32:00 UTC,Critical Interrupt #0x10,Bus Uncorrectable error,Deasserted
d, Pre-Init ,0000001516,Critical Interrupt #0x11,Bus Fatal Error,Asserted
e,11/24/26,05:33:00 UTC,Power Supply #0xc8,Power Supply AC lost,Asserted
"""


@pytest.fixture
def program(tree: Tree) -> Program:
    tree.put("dev/ipmi0", "")
    made = tree.program("ipmitool")
    made.answers("sdr elist", SENSORS.replace("98", "40").splitlines()[0])
    made.answers("sel time get", "11/24/26 06:00:00 UTC\n")
    made.answers("sel list", "")
    return made


def source(tree: Tree, program: Program, seconds: float = 20) -> Ipmi:
    return Ipmi(tree.root, str(program.path), seconds)


def test_sensors_tell_what_is_so_now() -> None:
    assert [(s.code, s.part, s.text) for s in sensed(SENSORS)] == [
        ("temperature-critical", "BMC CPU1 Temp", "98 degrees C"),
        ("fan-failed", "BMC Fan1A RPM", "120 RPM"),
        ("sensor-critical", "BMC Voltage 1 10.1", "180 Volts"),
        ("psu-failed", "BMC Status 10.2", "Presence detected, Power Supply AC lost"),
        ("redundancy-lost", "BMC PS Redundancy", "Redundancy Lost"),
        ("disk-failing", "BMC Disk Bay 3", "Drive Present, Drive Fault"),
    ]


def test_of_the_log_the_last_of_each_kind_counts_and_what_is_over_does_not() -> None:
    assert [(s.code, s.part, s.text, s.mark.split(" ")[0]) for s, _ in entries(LOG)] == [
        ("memory-uncorrected", "BMC Memory #0x53", "Uncorrectable ECC", "2"),
        ("processor-failed", "BMC Processor #0x60", "IERR", "a"),
        ("pci-fatal", "BMC Critical Interrupt #0x11", "Bus Fatal Error", "d"),
    ]


@pytest.mark.parametrize(
    ("date", "time", "at"),
    [
        ("11/24/26", "06:34:47 UTC", datetime(2026, 11, 24, 6, 34, 47, tzinfo=UTC)),
        ("11/24/2026", " 06:34:47", datetime(2026, 11, 24, 6, 34, 47, tzinfo=UTC)),
        (" Pre-Init ", "0000001516", None),
        ("S+", "00:25:19", None),
        ("99/99/99", "1:1:1", None),
        ("", "", None),
    ],
)
def test_times_as_ipmitool_writes_them(date: str, time: str, at: datetime | None) -> None:
    assert moment(date, time) == at


def test_the_age_of_an_entry_is_by_the_bmc_s_own_clock(tree: Tree, program: Program) -> None:
    program.answers("sel list", LOG)
    ages = {s.code: s.age for s in source(tree, program).look() if s.mark}
    assert ages == {"memory-uncorrected": timedelta(hours=1), "processor-failed": timedelta(minutes=30)}


def test_an_entry_without_a_time_is_new_where_it_was_not_there_at_first(tree: Tree, program: Program) -> None:
    bmc = source(tree, program)
    assert bmc.look() == []
    program.answers("sel list", LOG)
    assert [s.age for s in bmc.look() if s.code == "pci-fatal"] == [timedelta()]


def test_without_a_bmc_or_the_program_it_is_off(tree: Tree, program: Program, tmp_path: Path) -> None:
    with pytest.raises(Off, match="ipmitool is not there"):
        Ipmi(tree.root, str(tmp_path / "ipmitool"), 1).look()
    tree.take("dev/ipmi0")
    with pytest.raises(Off, match="there is no BMC"):
        source(tree, program).look()


def test_one_that_hangs_dies_or_fails_says_so(tree: Tree, program: Program) -> None:
    program.hangs()
    with pytest.raises(DriverError, match=r"ipmitool elist has not ended within 0.2 s"):
        source(tree, program, 0.2).look()
    program.hangs(on=False)
    program.dies()
    with pytest.raises(DriverError, match=r"ipmitool sdr elist failed: it does not say why"):
        source(tree, program).look()
    program.dies(on=False)
    program.ends(1)
    with pytest.raises(DriverError, match="ipmitool sdr elist failed"):
        source(tree, program).look()


BMC = """\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
sel_add 0x20 0x02 0x10 0x00 0x00 0x60 0x20 0x00 0x04 0x0c 0x53 0x6f 0xa1 0xff 0x01
sel_add 0x20 0x02 0x30 0x00 0x00 0x60 0x20 0x00 0x04 0x07 0x60 0x6f 0x00 0xff 0xff
sel_add 0x20 0x02 0x31 0x00 0x00 0x60 0x20 0x00 0x04 0x13 0x60 0x6f 0x08 0xff 0xff
"""
"""A BMC with three entries in its log: memory, processor, bus."""

LAN = """\
name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 2 true "admin" "test" admin 10 none md2 md5 straight
"""


@pytest.fixture
def bmc(tmp_path: Path, tree: Tree) -> Iterator[Program]:
    """Give ipmitool itself, which speaks with a simulated BMC."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "lan.conf").write_text(LAN.format(port=port))
    (tmp_path / "bmc.emu").write_text(BMC)
    (tmp_path / "state").mkdir()
    words = ["ipmi_sim", "-n", "-c", "lan.conf", "-f", "bmc.emu", "-s", "state"]
    made = tree.program("ipmitool")
    made.path.write_text(f'#!/bin/sh\nexec ipmitool -I lan -H 127.0.0.1 -p {port} -U admin -P test "$@"\n')
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as simulated:
        try:
            ask = [str(made.path), "sel", "info"]
            eventually(lambda: subprocess.run(ask, capture_output=True, timeout=PATIENCE).returncode == 0)
            yield made
        finally:
            simulated.kill()


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("ipmi_sim") is None or shutil.which("ipmitool") is None, reason="no simulated BMC")
def test_ipmitool_itself_says_it_in_the_form_that_is_read(bmc: Program, tree: Tree) -> None:
    tree.put("dev/ipmi0", "")
    source = Ipmi(tree.root, str(bmc.path), PATIENCE)
    # Its clock was not set yet: nobody knows how old these are.
    assert source.look() == []
    said = subprocess.run([str(bmc.path), "-c", "sel", "list"], capture_output=True, text=True, timeout=PATIENCE)
    assert [symptom.code for symptom, _ in entries(said.stdout)] == [
        "memory-uncorrected",
        "processor-failed",
        "pci-uncorrected",
    ]
