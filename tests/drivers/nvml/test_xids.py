"""The meaning of Xids: the table, which of them last, and until when."""

import json

import pytest

from cmgr.config.tables.rules import checked
from cmgr.config.tables.table import parse_table
from cmgr.drivers.nvml import codes
from cmgr.drivers.nvml.codes import code_of
from cmgr.drivers.nvml.hearing.xids import Xids
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.catalog import normal_code
from tests.drivers.test_vendors import PACKAGE

TABLES = PACKAGE / "drivers" / "nvml" / "tables"
GPU = ChipId(3)


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def level_of(code: str) -> Level:
    table = parse_table((TABLES / "levels.json").read_text(), "levels.json")
    (handling,) = (word for (_, word), of in table.levels.items() if code in of)
    return handling.level


def test_the_built_in_table_is_one_that_an_operator_could_bring() -> None:
    table = parse_table((TABLES / "levels.json").read_text(), "levels.json")
    assert table.warnings == ()
    assert {word.level for _, word in table.levels} == set(Level)
    assert checked(json.loads((TABLES / "rules.json").read_text()), "rules.json").warnings == ()


def test_every_code_of_the_table_has_a_meaning_and_its_spelling() -> None:
    table = parse_table((TABLES / "levels.json").read_text(), "levels.json")
    meanings = json.loads((TABLES / "meanings.json").read_text())
    all_codes = {code for of in table.levels.values() for code in of}
    assert all_codes == meanings.keys()
    assert all(normal_code(code) == code for code in all_codes)
    advice = json.loads((TABLES / "advice.json").read_text())
    advised = {code: advice[told["advice"]]["en"] for code, told in meanings.items()}
    assert {told["advice"] for told in meanings.values()} == advice.keys()
    # Of the rest NVIDIA's catalogue says nothing.
    assert all(code.startswith("Xid ") for code, text in advised.items() if text.startswith("NVIDIA says "))


def test_faults_of_a_switch_name_no_gpu_and_are_only_told() -> None:
    for code in ("SXid 20034", "SXid 10001", "SXid 11012"):
        assert level_of(code) is Level.NotHandleFault


@pytest.mark.parametrize(
    ("xid", "level"),
    [
        (13, Level.RestartRequest),
        (31, Level.RestartRequest),
        (43, Level.NotHandleFault),
        (45, Level.NotHandleFault),
        (48, Level.RestartNPU),
        (64, Level.SeparateNPU),
        (79, Level.SeparateNPU),
        (94, Level.RestartBusiness),
        (119, Level.RestartNPU),
        (154, Level.NotHandleFault),
        (155, Level.FreeRestartNPU),
    ],
)
def test_an_xid_has_its_level_and_lasts_if_that_asks_for_a_reset(xid: int, level: Level) -> None:
    assert level_of(code_of(xid)) is level
    assert codes.lasts(xid) == (level >= Level.FreeRestartNPU)


def test_every_condition_that_can_be_told_is_in_the_table() -> None:
    told = {*codes.ACTIONS.values(), *codes.ANSWERS.values(), codes.ROWS_PENDING, codes.ROWS_FAILED}
    told |= {codes.PAGES_PENDING, codes.SRAM_WORN, codes.UNREPAIRABLE, codes.REPAIR_PENDING, codes.FABRIC}
    assert {level_of(code) for code in told} <= set(Level)
    assert level_of(codes.ACTIONS[1]) is Level.RestartNPU
    assert level_of(codes.LOST) is Level.SeparateNPU


def test_an_xid_counts_until_its_gpu_was_reset() -> None:
    xids = Xids(release=535)
    xids.add(GPU, 48)
    xids.add(ChipId(4), 119)
    assert xids.codes(GPU, None) == ("Xid 48",)
    xids.cured([GPU])
    assert xids.codes(GPU, None) == ()
    assert xids.codes(ChipId(4), None) == ("Xid 119",)


def test_a_driver_that_asks_for_nothing_takes_an_xid_back_once_it_had_time_to_ask() -> None:
    clock = Clock()
    xids = Xids(release=580, settle=2, now=clock)
    xids.add(GPU, 48)
    assert xids.codes(GPU, 0) == ("Xid 48",)
    clock.time = 2
    assert xids.codes(GPU, 1) == ("Xid 48",)
    assert xids.codes(GPU, 0) == ()
    assert xids.codes(GPU, 1) == ()


@pytest.mark.parametrize(("release", "xid"), [(535, 48), (565, 109), (580, 119)])
def test_an_xid_of_which_the_driver_says_nothing_stays(release: int, xid: int) -> None:
    clock = Clock()
    xids = Xids(release, settle=2, now=clock)
    xids.add(GPU, xid)
    clock.time = 100
    assert xids.codes(GPU, 0) == (code_of(xid),)


def test_an_unknown_xid_lasts_where_no_driver_says_what_it_asks_for() -> None:
    assert not codes.is_known(899)
    assert Xids(release=535).lasts(899)
    assert not Xids(release=580).lasts(899)
