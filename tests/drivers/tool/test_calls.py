"""Calls of the program: each is bounded, and what it says is believed only as a whole."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.settings import Config, Drivers
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.tool import kept
from cmgr.drivers.tool.settings import Tool
from cmgr.drivers.tool.turns import NAME, Turns
from cmgr.errors import DriverError, DriverMissing, ResetRefused
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import FaultCode, Handling
from tests.drivers.tool.driver import open_tool
from tests.fakes.tool.standin import ISOLATES, NOTHING, RESETS, Speaker
from tests.support.waiting import eventually

RING = (ChipId(0), ChipId(1))


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


def test_a_chip_is_known_by_all_that_is_said_of_it(speaker: Speaker) -> None:
    chip = open_tool(speaker).chips()[3]
    assert (chip.id, chip.ring, chip.serial, chip.bus, chip.model) == (3, 2, "S0003", "0000:13:00.0", "Standin 1")
    assert chip.aliases == {"/dev/standin3", "/dev/char/240:3"}


def test_rings_are_closed_whoever_names_whom(speaker: Speaker) -> None:
    about = '{"version":1,"name":"x"}\n'
    chips = '{"chip":0}\n{"chip":1,"reset_with":[2]}\n{"chip":2}\n{"chip":3,"reset_with":[0,2]}\n{"chip":4}\n'
    speaker.put("say.describe", about + chips)
    assert [chip.ring for chip in open_tool(speaker).chips()] == [0, 0, 0, 0, 4]


@pytest.mark.parametrize(
    ("said", "mistake"),
    [
        ("", "one line has version and name: there are 0 lines of that kind"),
        ('{"version":1,"name":"x"}\n', "there is no chip"),
        ('{"version":1,"name":"x"}\n{"chip":0}\n{"chip":0}\n', "chip 0 stands twice"),
        ('{"version":1,"name":"X Y"}\n{"chip":0}\n', "line 1: name: must be a word of small letters"),
        ('{"version":1,"name":"x"}\n{"chip":-1}\n', "line 2: chip: must be from 0 to 9999"),
        ('{"version":1,"name":"x"}\n{"chip":0,"reset_with":[1]}\n', "reset_with names chip 1, which is not described"),
        (
            '{"version":1,"name":"x"}\n{"chip":0}\n{"code":"79","level":"RestartNPU","text":"t"}',
            "line 3: code: must be 8",
        ),
        (
            '{"version":1,"name":"x"}\n{"chip":0}\n{"code":"0000A001","level":"Reset","text":""}',
            "level: must be one of",
        ),
        (
            '{"version":1,"name":"x"}\n{"chip":0,"devices":[{"path":"/etc/passwd"}]}\n',
            "must be the path of a device file",
        ),
        ('{"version":1,"name":"x"}\n{"chip":0,"bus":"3B:00.0"}\n', "bus: must be a PCI address"),
        ('{"version":1,"name":"x"}\n{"chip":0', "line 2: "),
        ('{"version":1,"name":"x"}\n{"odd":0}\n', "line 2: it must have one of version, chip, code"),
        ('{"version":2,"name":"x"}\n{"chip":0}\n', "it speaks version 2, and cmgr version 1"),
    ],
)
def test_a_description_with_mistakes_is_refused_with_its_words(speaker: Speaker, said: str, mistake: str) -> None:
    speaker.put("say.describe", said)
    with pytest.raises(DriverError) as refused:
        open_tool(speaker)
    assert refused.value.message.startswith(f"cannot use {speaker.program}: ")
    assert mistake in refused.value.message
    assert refused.value.hint


def test_names_of_a_newer_program_are_passed_over(speaker: Speaker) -> None:
    speaker.put("say.describe", '{"version":1,"name":"x","colour":"red"}\n{"chip":0,"height":3}\n')
    assert len(open_tool(speaker).chips()) == 1


def test_a_program_that_others_may_write_is_not_run(speaker: Speaker) -> None:
    speaker.program.chmod(0o777)
    with pytest.raises(DriverError, match="others can write the file"):
        open_tool(speaker)


def test_a_program_in_a_folder_that_only_its_sticky_bit_protects_is_not_run(speaker: Speaker) -> None:
    speaker.folder.chmod(0o1777)
    with pytest.raises(DriverError, match="others can write the directory") as refused:
        open_tool(speaker)
    assert "chmod" not in refused.value.hint, "without its bits /tmp breaks the machine"


def test_a_program_that_others_come_to_own_is_not_run_again(speaker: Speaker) -> None:
    driver = open_tool(speaker)
    speaker.folder.chmod(0o777)
    assert "others can write the directory" in driver.read(RING)[0].error
    speaker.occur(0, RESETS)
    with pytest.raises(ResetRefused):
        driver.reset(RING, [RING[0]], frozenset({RESETS}))
    assert speaker.resets == []


def test_without_a_program_the_driver_is_missing() -> None:
    gone = Speaker()
    gone.program.unlink()
    with pytest.raises(DriverMissing, match="is not there"):
        open_tool(gone)


def test_a_call_that_fails_says_why_in_the_programs_words(speaker: Speaker) -> None:
    driver = open_tool(speaker)
    speaker.put("exit.read", "3")
    assert "ended with 3" in driver.read(RING)[0].error


def test_a_call_that_hangs_is_given_up_and_each_chip_is_asked_alone_then(speaker: Speaker) -> None:
    driver = open_tool(speaker, call=1)
    speaker.put("hang.read.1")
    assert all("has not ended within 1 s" in report.error for report in driver.read(RING))
    well, hangs = driver.read(RING)
    assert (well.error, "has not ended" in hangs.error) == ("", True)
    speaker.take_away("hang.read.1")
    assert [report.error for report in driver.read(RING)] == ["", ""]


@pytest.mark.parametrize("said", ["oh\n", '{"chip":0,"faults":[7]}\n', '{"chip":"0"}\n', "[" * 5000])
def test_an_answer_that_is_not_understood_is_none_and_is_told(speaker: Speaker, said: str) -> None:
    driver = open_tool(speaker)
    speaker.put("say.read", said)
    assert "cannot be understood: line 1" in driver.read(RING)[0].error
    assert "read says what cannot be understood" in driver.trouble()[0]
    speaker.take_away("say.read")
    assert driver.read(RING)[0].error == ""
    assert driver.trouble() == ()


def test_a_chip_that_is_left_out_has_not_answered(speaker: Speaker) -> None:
    driver = open_tool(speaker)
    speaker.put("say.read", '{"chip":1}\n')
    left_out, there = driver.read(RING)
    assert left_out.error.endswith("read does not say")
    assert there.error == ""


def test_without_lists_of_processes_chips_are_read_as_such(speaker: Speaker) -> None:
    speaker.set(can=["reset"])
    driver = open_tool(speaker)
    assert all(report.blind for report in driver.read(RING))
    assert "it lists no processes" in driver.doubts()[0].text


def test_a_chip_whose_processes_are_not_told_does_not_answer(speaker: Speaker) -> None:
    driver = open_tool(speaker)
    speaker.put("say.processes", '{"chip":1,"processes":[]}\n')
    assert driver.read(RING)[0].error.endswith("processes does not say")


def test_a_program_that_resets_nothing_has_its_chips_isolated(speaker: Speaker) -> None:
    speaker.set(can=[])
    driver = open_tool(speaker)
    with pytest.raises(ResetRefused, match="resets no chips"):
        driver.reset(RING, [RING[0]], frozenset())
    entries = kept.codes(speaker.folder)
    assert entries[FaultCode(RESETS)].handling is Handling.SeparateNPU
    assert "which resets no chips" in entries[FaultCode(RESETS)].origin


def test_a_reset_that_the_program_refuses_is_refused_in_its_words(speaker: Speaker) -> None:
    speaker.set(refuses="somebody has it open")
    speaker.occur(0, RESETS)
    with pytest.raises(ResetRefused, match="cannot reset chips 0-1: somebody has it open"):
        open_tool(speaker).reset(RING, [RING[0]], frozenset({RESETS}))


def test_a_refusal_counts_whatever_the_exit_code(speaker: Speaker) -> None:
    speaker.set(refuses="somebody has it open")
    speaker.put("exit.reset", "3")
    speaker.occur(0, RESETS)
    with pytest.raises(ResetRefused, match="somebody has it open"):
        open_tool(speaker).reset(RING, [RING[0]], frozenset({RESETS}))


def test_a_reset_that_could_not_be_begun_is_refused(speaker: Speaker) -> None:
    driver = open_tool(speaker)
    speaker.occur(0, RESETS)
    (speaker.folder / NAME.format(0)).mkdir()
    with pytest.raises(ResetRefused, match="cannot be opened: Is a directory"):
        driver.reset(RING, [RING[0]], frozenset({RESETS}))
    (speaker.folder / NAME.format(0)).rmdir()
    speaker.program.chmod(0o777)
    with pytest.raises(ResetRefused, match="others can write the file"):
        driver.reset(RING, [RING[0]], frozenset({RESETS}))
    assert speaker.resets == []


def test_a_reset_that_fails_says_why(speaker: Speaker) -> None:
    speaker.set(fails="the firmware says no")
    speaker.occur(0, RESETS)
    with pytest.raises(DriverError, match="ended with 1: the firmware says no") as failed:
        open_tool(speaker).reset(RING, [RING[0]], frozenset({RESETS}))
    assert not isinstance(failed.value, ResetRefused)


def test_a_reset_that_lasts_is_left_alone_and_none_is_begun_beside_it(speaker: Speaker) -> None:
    driver = open_tool(speaker, reset_timeout=timedelta(milliseconds=10))
    speaker.occur(0, RESETS)
    speaker.put("hang.reset")
    with pytest.raises(DriverError, match="cannot tell how the reset of chips 0-1 went"):
        driver.reset(RING, [RING[0]], frozenset({RESETS}))
    assert all(report.in_reset and not report.booted for report in driver.read(RING))
    another = open_tool(speaker)  # As the next life would.
    assert another.read(RING)[0].in_reset
    assert not another.read([ChipId(2)])[0].in_reset
    with pytest.raises(ResetRefused, match="an earlier reset is under way"):
        another.reset(RING, [RING[0]], frozenset({RESETS}))
    speaker.take_away("hang.reset")
    eventually(lambda: not another.read(RING)[0].in_reset)
    assert speaker.resets == [[0, 1]]


def test_the_turn_ends_with_who_had_it(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    assert not turns.is_taken(RingId(0))
    with turns.taken(RingId(0)) as held:
        program = subprocess.Popen([sys.executable, "-c", "input()"], stdin=held)
    assert turns.is_taken(RingId(0))
    program.kill()
    program.wait()
    assert not turns.is_taken(RingId(0))
    assert (tmp_path / NAME.format(0)).stat().st_mode & 0o777 == 0o640


def test_its_codes_are_in_the_catalog_with_text_and_level(speaker: Speaker) -> None:
    open_tool(speaker)
    drivers = Drivers(tool=Tool(program=str(speaker.program)))
    config = Config(driver="tool", drivers=drivers, state_dir=str(speaker.folder))
    entries = load_catalog(config).entries
    handled = {code: entries[FaultCode(code)].handling for code in (RESETS, ISOLATES, NOTHING)}
    assert handled == {
        RESETS: Handling.RestartNPU, ISOLATES: Handling.SeparateNPU, NOTHING: Handling.NotHandleFault
    }  # fmt: skip
    assert (entries[FaultCode(RESETS)].meaning, entries[FaultCode(RESETS)].origin) == (
        "it is ill", "table of the program standin"
    )  # fmt: skip
    assert FaultCode(RESETS) not in load_catalog(Config(state_dir=str(speaker.folder))).entries


def test_an_operators_table_counts_before_the_programs(speaker: Speaker) -> None:
    open_tool(speaker)
    table = speaker.folder / "own.json"
    table.write_text(f'{{"NotHandleFaultCodes": ["{RESETS}"]}}')
    table.chmod(0o640)
    config = Config(driver="tool", state_dir=str(speaker.folder))
    config = Config(driver="tool", state_dir=str(speaker.folder), faults=type(config.faults)(file=str(table)))
    entry = load_catalog(config).entries[FaultCode(RESETS)]
    assert entry.handling is Handling.NotHandleFault


@pytest.mark.parametrize("text", ["", "{", "[]", '{"said":{}}', '{"said":{"about":{}},"devices":[]}'])
def test_a_broken_file_of_codes_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / kept.NAME).write_text(text)
    (tmp_path / kept.NAME).chmod(0o640)
    assert kept.codes(tmp_path) == {}
    assert kept.notations(tmp_path) == ()
