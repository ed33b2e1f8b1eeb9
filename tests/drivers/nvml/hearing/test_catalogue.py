"""The whole catalogue, and real lines of the kernel's log: what comes of each.

catalogue.json is NVIDIA's, and lines.tsv has lines that others have met or tell of, each with its source (the file in
their tests, or the issue). Neither was made from the driver's tables.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from cmgr.config.tables.table import parse_table
from cmgr.drivers.kernel_log import Record
from cmgr.drivers.nvml.codes import code_of
from cmgr.drivers.nvml.hearing import kernel_log, nvlink5
from cmgr.drivers.nvml.hearing.kernel_log import parse
from cmgr.drivers.nvml.hearing.nvlink5 import Decision
from cmgr.drivers.nvml.hearing.xids import NAME, Xids
from cmgr.drivers.nvml.library import abi
from cmgr.model.values.faults import FaultCode
from tests.drivers.test_vendors import PACKAGE

HERE = Path(__file__).parent
CATALOGUE: dict[str, Any] = json.loads((HERE / "catalogue.json").read_text())
LINES = [line.split("\t") for line in (HERE / "lines.tsv").read_text().splitlines()]

OTHERWISE = {109: "RestartBusiness", 175: "RestartNPU"}
"""109: NVIDIA's plugin for Kubernetes takes it for a program's. 175: fatal in the driver's source, in no sheet yet."""

BIT = 0x80000
"""A bit of intrInfo that no row asks for: the firmware has its own use for it."""

LEVELS = {
    code: handling.level.name
    for (_, handling), of in parse_table(
        (PACKAGE / "drivers" / "nvml" / "tables" / "levels.json").read_text(), "levels.json"
    ).levels.items()
    for code in of
}


def xids(tmp_path: Path, release: int = 580) -> Xids:
    return Xids(release, tmp_path / NAME, boot="one")


def line(row: dict[str, Any], unit: str, info: int) -> str:
    word = "Nonfatal" if row["severity"].startswith("Non") else "Fatal"
    words = f"{unit} {word} XC0 i0 Link 00 (0x{info:08x} {row['errorStatus']} 0x00000000 0x00000000)"
    return f"NVRM: Xid (PCI:0000:04:00): {row['xid']}, {words}"


def test_every_xid_every_sxid_and_every_row_of_the_decode_has_its_consequence(tmp_path: Path) -> None:
    numbers = {xid: level for level, of in CATALOGUE["xids"].items() for xid in of}
    assert {xid: LEVELS[FaultCode(code_of(xid))] for xid in numbers} == numbers | OTHERWISE
    for sxid in (sxid for of in CATALOGUE["sxids"].values() for sxid in of):
        assert LEVELS[FaultCode(f"SXid {sxid}")] == "NotHandleFault", "it names no GPU, and is the machine's"
        said = parse(Record(f"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): {sxid:05}, Fatal, Link 30 words"))
        assert isinstance(said, kernel_log.SwitchXid)
        assert (said.number, said.fatal) == (sxid, True)
    means = {"IGNORE": Decision.IGNORE, "XID_154_EVAL": Decision.ASK, "RESET_GPU": Decision.LEVEL}
    for row in CATALOGUE["decode"]:
        for unit in {*row["unit"], "/".join(row["unit"])}:
            for info in (int(row["v1"]["value"], 16), int(row["v2"]["value"], 16), int(row["v2"]["value"], 16) | BIT):
                said = parse(Record(line(row, unit, info)))
                assert isinstance(said, kernel_log.Xid)
                assert xids(tmp_path).decision(said, abi.HOPPER) is means[row["resolution"]], line(row, unit, info)
    assert (len(numbers), len(CATALOGUE["decode"])) == (177, 94)


# NVIDIA/NVSentinel#364: the bits of each register that NVIDIA's procedure names, and those of them that it lets be.
NAMED = {0: {0, 1, 4, 5, 8, 9, 12, 16, 17, 20, 21, 22, 23, 24, 27, 28, 29, 30}, 2: {0, 1, 2, 6, 13, 16, 17, 18, 19}}
NAMED |= {3: {16, 17, 18}, 4: set(range(18, 30))}
LET_BE = {0: {0, 23, 30}, 4: {20, 23, 26, 29}}


def of_bits(bits: dict[int, set[int]]) -> kernel_log.Xid:
    registers = ", ".join(f"0x{sum(1 << bit for bit in bits.get(register, ())):x}" for register in range(7))
    # The head is of older drivers, which fill in a pid and a name that are not known.
    head = "NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, "
    said = parse(Record(f"{head}NVLink: fatal error detected on link 14({registers})"))
    assert isinstance(said, kernel_log.Xid)
    assert said.nvlink is not None
    assert said.nvlink.where == "link 14"
    return said


def test_every_bit_of_an_nvlink_error_has_its_consequence(tmp_path: Path) -> None:
    known, older = xids(tmp_path), xids(tmp_path, 550)
    for register in range(7):
        for bit in range(32):
            said, let_be = of_bits({register: {bit}}), bit in LET_BE.get(register, ())
            assert not let_be or bit in NAMED[register]
            assert known.decision(said, abi.HOPPER) is (Decision.IGNORE if let_be else Decision.ASK), (register, bit)
            assert older.decision(said, abi.HOPPER) is (Decision.IGNORE if let_be else Decision.LEVEL), (register, bit)
            assert known.decision(said, abi.AMPERE) is Decision.ASK, "the bits of other GPUs are others"
            beside = of_bits({register: {bit}, 4: {23}, 0: {30}} if register not in LET_BE else {**LET_BE, 3: {18}})
            assert known.decision(beside, abi.HOPPER) is Decision.ASK, "one that is let be hides no other"
    assert known.decision(of_bits(LET_BE), abi.HOPPER) is Decision.IGNORE
    assert known.decision(of_bits({}), abi.HOPPER) is Decision.ASK


def consequence(text: str, known: Xids) -> str:
    match parse(Record(text)):
        case None:
            return "-"
        case kernel_log.SwitchXid(fatal=fatal):
            return "the switch, fatal" if fatal else "the switch"
        case kernel_log.Loaded():
            return "the module was loaded"
        case kernel_log.NotBegun():
            return "it did not begin"
        case kernel_log.NotProbed():
            return "it was not probed"
        case kernel_log.Xid(number=154):
            return "the driver decides"
        case kernel_log.Xid() as said:
            words = {Decision.IGNORE: "nothing is done", Decision.ASK: "the driver decides"}
            return words.get(known.decision(said, abi.HOPPER)) or LEVELS.get(FaultCode(code_of(said.number)), "unknown")
        case other:
            raise AssertionError(other)


def test_every_real_line_has_its_consequence(tmp_path: Path) -> None:
    known = xids(tmp_path)
    assert len({text for _, source, text in LINES if source}) == len(LINES) >= 200
    wrong = [(expected, found, text) for expected, _, text in LINES if (found := consequence(text, known)) != expected]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        # NVIDIA/NVSentinel#1357: columns, and a line that is cut off.
        (
            "NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000 0x000",
            nvlink5.Error("NETIR_LINK_EVT", True, 9, 0x25525C6, 0),
        ),
        (
            "pid='<unknown>', name=<unknown>, RLW_RXPIPE Nonfatal XC1 i0 Link -1 (0x0409a0c2 0x00000008)",
            nvlink5.Error("RLW_RXPIPE", False, -1, 0x409A0C2, 8),
        ),
        (
            "name=SAW Fatal XC0, TLW_RX_PIPE0 Nonfatal XC0 i0 Link 13 (0x00000143 0x00000001)",
            nvlink5.Error("TLW_RX_PIPE0", False, 13, 0x143, 1),
        ),
        ("NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x025525c6", None),
        ("NVLink: fatal error detected on link 1", None),
        ("Placeholder message", None),
        ("", None),
    ],
)
def test_the_words_of_a_line_are_read(text: str, read: nvlink5.Error | None) -> None:
    assert nvlink5.said(text) == read


@pytest.mark.parametrize(
    ("xid", "said", "decision"),
    [
        # Two bits at once: the graver one counts.
        (145, nvlink5.Error("RLW_RXPIPE", False, 0, 0x6, 0x9), Decision.IGNORE),
        (145, nvlink5.Error("RLW_REMAP", False, 0, 0x4, 0x101), Decision.ASK),
        (145, nvlink5.Error("RLW_REMAP", False, 0, 0x4, 0x41), Decision.LEVEL),
        # In no row: the word decides, and of a fatal one the driver is asked. So it is with a number that is no bits.
        (145, nvlink5.Error("RLW_REMAP", False, 0, 0x4, 0x1001), Decision.IGNORE),
        (149, nvlink5.Error("NETIR_BER_EVENT", False, 0, 0x13, 0x8), Decision.IGNORE),
        (149, nvlink5.Error("NETIR_MFDE_EVENT", True, 0, 0x14, 0x8), Decision.ASK),
        (149, None, Decision.ASK),
        (74, None, Decision.ASK),
        (79, None, Decision.LEVEL),
    ],
)
def test_errors_that_no_row_has_alone_are_decided(
    tmp_path: Path, xid: int, said: nvlink5.Error | None, decision: Decision
) -> None:
    told = kernel_log.Xid("0000:04:00.0", xid, nvlink=said)
    assert xids(tmp_path).decision(told, abi.HOPPER) is decision
    older = Decision.LEVEL if decision is Decision.ASK else decision
    assert xids(tmp_path, 550).decision(told, abi.HOPPER) is older, "a driver without an action cannot be asked"
