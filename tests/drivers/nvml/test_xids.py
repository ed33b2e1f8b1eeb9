"""The meaning of Xids: the table, which of them last, and until when."""

import json
from pathlib import Path

import pytest

from cmgr.config.tables.rules import checked
from cmgr.config.tables.table import parse_table
from cmgr.drivers.nvml import codes
from cmgr.drivers.nvml.codes import code_of
from cmgr.drivers.nvml.hearing.kernel_log import Xid
from cmgr.drivers.nvml.hearing.nvlink5 import Decision
from cmgr.drivers.nvml.hearing.xids import NAME, SETTLE, Asked, Xids
from cmgr.model.values.faults import Handling, Level
from cmgr.model.values.handling.catalog import normal_code
from tests.drivers.test_vendors import PACKAGE

TABLES = PACKAGE / "drivers" / "nvml" / "tables"
BUS, OTHER = "0000:3b:00.0", "0000:3c:00.0"


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
    for code in ("SXid 20034", "SXid 10001", "SXid 11012", "SXid 10006", "SXid 26006"):
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
        (175, Level.RestartNPU),
    ],
)
def test_an_xid_has_its_level_and_lasts_if_that_asks_for_a_reset(xid: int, level: Level) -> None:
    assert level_of(code_of(xid)) is level
    assert codes.lasts(xid) == (level >= Level.FreeRestartNPU)


def test_every_condition_that_can_be_told_is_in_the_table() -> None:
    told = {*codes.ACTIONS.values(), *codes.ANSWERS.values(), codes.ROWS_PENDING, codes.ROWS_FAILED}
    told |= {codes.PAGES_PENDING, codes.SRAM_WORN, codes.UNREPAIRABLE, codes.REPAIR_PENDING, codes.FABRIC}
    told |= {codes.NOT_BEGUN, "restart-wanted", "driver-replaced"}
    assert {level_of(code) for code in told} <= set(Level)
    assert level_of(codes.ACTIONS[1]) is Level.RestartNPU
    # No ordinary reset does what 6 asks for, and which GPUs are behind the bridge that it means is not known.
    assert level_of(codes.LOST) is level_of(codes.ACTIONS[6]) is Level.SeparateNPU
    # Planned states, which pass: kernel_nvlink_gb100.c:463-478 and 738-757, gpu_fabric_probe.c:108-121.
    assert level_of(codes.ACTIONS[3]) is level_of(codes.ACTIONS[4]) is Level.NotHandleFault
    lasting = checked(json.loads((TABLES / "rules.json").read_text()), "rules.json").rules.duration
    handled = {code: rule.handling for code, rule in lasting.items()}
    assert handled == {codes.ACTIONS[3]: Handling.SubHealthFault, codes.ACTIONS[4]: Handling.FreeRestartNPU}


def xids_of(tmp_path: Path, release: int = 580, *, clock: Clock | None = None, boot: str = "one") -> Xids:
    """Return those of another life of cmgr."""
    return Xids(release, tmp_path / NAME, clock or Clock(), boot)


def asked(action: int | None, began: float = 0.0, *, is_well: bool = True) -> Asked:
    return Asked(action, began, is_well)


def test_an_xid_counts_until_its_gpu_was_reset(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 535)
    xids.add(BUS, 48)
    xids.add(OTHER, 119)
    assert xids.codes(BUS, asked(None)) == ("Xid 48",)
    xids.cured([BUS])
    assert xids.codes(BUS, asked(None)) == ()
    assert xids.codes(OTHER, asked(None)) == ("Xid 119",)


def test_an_answer_that_began_too_early_takes_no_xid_back_however_late_it_comes(tmp_path: Path) -> None:
    clock = Clock()
    xids = xids_of(tmp_path, clock=clock)
    xids.add(BUS, 48)
    clock.time = 50  # A dead GSP keeps the driver's locks for 45 s.
    assert xids.codes(BUS, asked(0, began=1)) == ("Xid 48",)
    assert xids.codes(BUS, asked(1, began=40)) == ("Xid 48",)
    assert xids.codes(BUS, asked(0, began=40)) == ()
    assert xids.codes(BUS, asked(1, began=45)) == ()


@pytest.mark.parametrize("xid", [79, 119, 120])
def test_nor_does_one_that_began_while_somebody_waited_for_a_gpu_that_answers_no_more(tmp_path: Path, xid: int) -> None:
    xids = xids_of(tmp_path, 595)
    xids.add(BUS, xid)
    # gpu.c:7277-7312: the action is raised once the locks are free, of which a dead GSP has them for 45 s.
    assert (xids.codes(BUS, asked(0, began=46)), xids.hushed(BUS)) == (() if xid == 119 else (code_of(xid),), True)
    assert (xids.codes(BUS, asked(0, began=61)), xids.hushed(BUS)) == ((), False)


@pytest.mark.parametrize(("release", "xid"), [(535, 48), (565, 109), (570, 119), (580, 140), (590, 175)])
def test_an_xid_of_which_the_driver_says_nothing_stays(tmp_path: Path, release: int, xid: int) -> None:
    xids = xids_of(tmp_path, release)
    xids.add(BUS, xid)
    assert xids.codes(BUS, asked(0, began=100)) == (code_of(xid),)


@pytest.mark.parametrize(("release", "left"), [(535, False), (570, False), (575, True), (595, True)])
def test_one_timeout_of_the_gsp_asks_for_nothing_where_the_driver_counts_them(
    tmp_path: Path, release: int, left: bool
) -> None:
    xids = xids_of(tmp_path, release)
    xids.add(BUS, 119)
    assert (xids.decision(Xid(BUS, 119), 0) is Decision.ASK) == left
    assert xids.codes(BUS, asked(0)) == (() if left else ("Xid 119",))
    assert xids.is_ill(BUS)
    assert xids.codes(BUS, asked(1)) == ("Xid 119",)


def test_an_unknown_xid_lasts_where_no_driver_says_what_it_asks_for(tmp_path: Path) -> None:
    assert not codes.is_known(899)
    assert xids_of(tmp_path, 535).lasts(899)
    assert not xids_of(tmp_path, 580).lasts(899)


def test_the_next_life_knows_what_counts_and_what_is_over(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 535)
    xids.begin(line=3)
    xids.add(BUS, 48)
    xids.heard(5)
    xids.add(OTHER, 119)
    xids.cured([OTHER])
    again = xids_of(tmp_path, 535)
    again.recall(OTHER, 119, line=4)
    again.recall(OTHER, 62, line=6)  # While nobody listened.
    again.begin(line=6)
    assert again.codes(BUS, asked(None)) == ("Xid 48",)
    assert again.codes(OTHER, asked(None)) == ("Xid 62",)


def test_another_boot_ends_all_that_was_known_and_nothing_that_came_since(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 535)
    xids.begin(line=900)
    xids.add(BUS, 48)
    xids.keep()
    again = xids_of(tmp_path, 535, boot="two")
    again.recall(OTHER, 119, line=7)
    assert again.codes(BUS, asked(None)) == ()
    assert again.codes(OTHER, asked(None)) == ("Xid 119",)


def test_where_cmgr_is_new_an_old_xid_counts_only_on_a_gpu_that_is_ill(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 535)
    xids.recall(BUS, 119, line=7)
    xids.begin(line=8)
    assert xids.codes(BUS, asked(None)) == ()
    assert xids.codes(BUS, asked(None, is_well=False)) == ("Xid 119",)
    again = xids_of(tmp_path, 535)
    again.recall(BUS, 119, line=7)
    assert again.codes(BUS, asked(None, is_well=False)) == ()


def test_the_word_of_a_newer_driver_is_better_than_what_is_remembered(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 580)
    xids.begin(line=1)
    xids.add(BUS, 140)
    assert xids.codes(BUS, asked(0, began=100)) == ("Xid 140",)
    xids.keep()
    again = xids_of(tmp_path, 580)
    again.recall(OTHER, 169, line=2)
    again.begin(line=2)
    assert again.codes(BUS, asked(1)) == ("Xid 140",)
    assert again.codes(BUS, asked(0)) == again.codes(OTHER, asked(0)) == ()


def test_a_module_that_was_loaded_anew_ends_every_xid_before(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 535)
    xids.begin(line=1)
    xids.add(BUS, 48)
    xids.keep()
    again = xids_of(tmp_path, 535)
    again.recall(OTHER, 119, line=2)
    again.loaded(line=3)
    again.recall(OTHER, 62, line=4)
    assert again.codes(BUS, asked(None)) == ()
    assert again.codes(OTHER, asked(None)) == ("Xid 62",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot": "one", "line": 5}', '{"boot": "one", "xids": 7, "line": 5}'])
def test_a_file_that_says_nothing_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    xids = xids_of(tmp_path, 535)
    xids.recall(BUS, 48, line=3)
    assert xids.codes(BUS, asked(None)) == ()
    assert xids.codes(BUS, asked(None, is_well=False)) == ("Xid 48",)


def test_only_the_life_that_listens_writes(tmp_path: Path) -> None:
    xids = xids_of(tmp_path)
    xids.add(BUS, 48)
    xids.keep()
    assert not (tmp_path / NAME).exists()
    xids.begin(line=0)
    assert (tmp_path / NAME).exists()


@pytest.mark.parametrize("beside", [63, 94])
@pytest.mark.parametrize("first", [True, False])
def test_a_memory_error_that_was_contained_or_mended_asks_for_no_reset_at_once(
    tmp_path: Path, beside: int, first: bool
) -> None:
    clock = Clock()
    xids = xids_of(tmp_path, 550, clock=clock)
    xids.begin(line=1)
    assert xids.decision(Xid(BUS, 48), 0) is Decision.ASK
    if first:
        xids.eases(BUS, beside)
    xids.add(BUS, 48, asks=True)
    xids.eases(OTHER, beside)
    if not first:
        clock.time = SETTLE
        xids.eases(BUS, beside)
    xids.keep()
    assert xids.codes(BUS, asked(None, began=100)) == ()
    assert xids_of(tmp_path, 550).codes(BUS, asked(None, began=100)) == ()


@pytest.mark.parametrize("beside", [45, 64, 95, 171, 172])
def test_alone_it_asks_for_one_once_nothing_has_come_with_it(tmp_path: Path, beside: int) -> None:
    clock = Clock()
    xids = xids_of(tmp_path, 550, clock=clock)
    xids.eases(BUS, 63)
    clock.time = 10
    xids.add(BUS, 48, asks=True)
    xids.eases(BUS, beside)
    assert xids.codes(BUS, asked(None, began=10 + SETTLE / 2)) == ()
    assert xids.codes(BUS, asked(None, began=10 + SETTLE)) == ("Xid 48",)
    clock.time = 20
    xids.eases(BUS, 63)  # Of another one: what was decided stays.
    assert xids.codes(BUS, asked(None, began=20)) == ("Xid 48",)


def test_a_driver_that_says_what_it_asks_for_has_the_word_whatever_came_with_it(tmp_path: Path) -> None:
    xids = xids_of(tmp_path, 580)
    assert xids.decision(Xid(BUS, 48), 0) is Decision.ASK
    xids.add(BUS, 48, asks=True)
    xids.eases(BUS, 63)
    assert xids.codes(BUS, asked(4, began=SETTLE)) == ()  # The action has a code of its own.
    assert xids.codes(BUS, asked(None, began=SETTLE)) == ("Xid 48",)
