"""The alarms of Huawei's BMC, in the bytes of its own command: a stand-in for ipmitool."""

import json
from pathlib import Path

import pytest

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.machine.ibmc import Ibmc, read
from cmgr.drivers.machine.source import Off
from cmgr.errors import DriverError
from cmgr.model.values.faults import FaultCode, Handling
from tests.fakes.machine.tree import Program, Tree

ASKED = "raw 0x30 0x94 0xdb 0x07 0x00 0x40 0x00 {} 0x00 0x0e 0xff"
"""NodeD's question (component/noded/pkg/monitoring/ipmimonitor/ipmi_monitor.go), from the alarm of this number on."""


def record(code: str, kind: int, number: int) -> bytes:
    """Return an alarm as NodeD takes it: the code with its least byte first, severity, kind of part, part."""
    return bytes.fromhex(code)[::-1] + bytes(4) + bytes([2, kind, number]) + bytes(4)


def answer(total: int, *records: bytes) -> str:
    """Return what ipmitool prints of an answer: sixteen bytes a line, without the completion code."""
    told = bytes.fromhex("db0700") + total.to_bytes(2, "little") + bytes([len(records), 0]) + b"".join(records)
    lines = [told[at : at + 16] for at in range(0, len(told), 16)]
    return "\n".join("".join(f" {byte:02x}" for byte in line) for line in lines) + "\n"


PSU, CABLE, OTHER = record("0300000D", 3, 2), record("28000053", 0x28, 1), record("6200000C", 0x62, 0)


@pytest.fixture
def program(tree: Tree) -> Program:
    tree.put("dev/ipmi0", "")
    return tree.program("ipmitool")


def source(tree: Tree, program: Program) -> Ibmc:
    return Ibmc(tree.root, str(program.path), 20)


def test_alarms_are_asked_for_until_all_are_told(tree: Tree, program: Program) -> None:
    program.answers(ASKED.format("0x00"), answer(3, PSU, CABLE))
    program.answers(ASKED.format("0x02"), answer(3, OTHER))
    assert [(s.code, s.part, s.mark) for s in source(tree, program).look()] == [
        ("ALM-0x0300000D", "PSU 2", ""), ("ALM-0x28000053", "Cable 1", ""), ("ALM-0x6200000C", "UNKNOWN 0", ""),
    ]  # fmt: skip
    program.answers(ASKED.format("0x00"), answer(0))
    assert source(tree, program).look() == []


def test_one_that_never_comes_to_an_end_is_given_up(tree: Tree, program: Program) -> None:
    program.answers("raw 0x30", answer(9999, PSU))
    with pytest.raises(DriverError, match="more than 100 alarms"):
        source(tree, program).look()


@pytest.mark.parametrize("text", ["", "db 07 00", "nonsense", answer(1, PSU)[:-4], "00" + answer(1, PSU), " ff" * 40])
def test_an_answer_in_another_form_is_none(text: str) -> None:
    with pytest.raises(DriverError, match="cannot be read"):
        read(text)


def test_another_makers_bmc_is_asked_once(tree: Tree, program: Program) -> None:
    # The words of ipmitool 1.8.19 (lib/ipmi_raw.c); 0xc1: IPMI 2.0, table 5-2.
    complaint = "Unable to send RAW command (channel=0x0 netfn=0x30 lun=0x0 cmd=0x94 rsp=0xc1): Invalid command"
    count = program.path.with_name("asked")
    program.path.write_text(f"#!/bin/sh\necho >>{count}\necho '{complaint}' >&2\nexit 1\n")
    bmc = source(tree, program)
    for _ in range(3):
        with pytest.raises(Off, match="does not know Huawei's command"):
            bmc.look()
    assert count.read_text() == "\n"


def test_one_that_does_not_answer_is_asked_again(tree: Tree, program: Program) -> None:
    program.ends(1)
    bmc = source(tree, program)
    with pytest.raises(DriverError, match="failed"):
        bmc.look()
    program.ends(0)
    program.answers("raw 0x30", answer(1, PSU))
    assert len(bmc.look()) == 1


def test_without_a_bmc_it_is_off(tree: Tree, program: Program) -> None:
    tree.take("dev/ipmi0")
    with pytest.raises(Off, match="there is no BMC"):
        source(tree, program).look()


def test_every_code_of_noded_has_nodeds_level_and_a_meaning() -> None:
    table = json.loads(Path(__file__).with_name("noded.json").read_text())
    entries = load_catalog(Config()).entries
    levels = {"NotHandleFault": "NotHandleFault", "PreSeparateFault": "PreSeparateNPU", "SeparateFault": "SeparateNPU"}
    for level, codes in table["codes"].items():
        for code in codes:
            entry = entries[FaultCode(f"ALM-0x{code}")]
            assert entry.handling is Handling[levels[level]], code
            assert all((entry.meaning, entry.advice, *entry.chinese)), code
    assert sum(map(len, table["codes"].values())) == 59
    assert {c for c in entries if c.startswith("ALM-")} == {f"ALM-0x{c}" for of in table["codes"].values() for c in of}
