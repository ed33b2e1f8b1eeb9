"""A `watch` that ends, hangs, floods or says nonsense: cmgr is deaf then, says so, and hears again."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cmgr.drivers.tool.driver import ToolDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, Remarked
from tests.drivers.contract import Told
from tests.drivers.nvml.host import process
from tests.drivers.tool.driver import open_tool
from tests.fakes.tool.standin import NOTHING, RESETS, Speaker
from tests.support.waiting import eventually

Open = Callable[..., ToolDriver]


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


@pytest.fixture
def opened(speaker: Speaker) -> Iterator[Open]:
    drivers: list[ToolDriver] = []

    def make(**settings: object) -> ToolDriver:
        drivers.append(open_tool(speaker, **settings))  # type: ignore[arg-type]
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.close()


DEEP = "it nests too deeply" if sys.version_info < (3, 14) else "it says what cannot be understood"
"""From Python 3.14 on a line is too short for what nests too deeply."""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "it has ended, with exit code 0"),
        (b"oh\n", "it says what cannot be understood"),
        (b"{}\n[]\n", "it must be an object"),
        (b'{}\n{"fault":"0000A001"}\n', "chip: is missing"),
        (b'{}\n{"fault":"Xid 79","chip":0,"state":"occurred"}\n', "fault: must be 8 hexadecimal digits"),
        (b'{}\n{"fault":"0000A001","chip":"0","state":"occurred"}\n', "chip: must be a whole number"),
        (b'{}\n{"fault":"0000A001","chip":0,"state":"gone"}\n', "state: must be one of occurred, cleared, once"),
        (b"{}\n" + b"[" * 100_000 + b"\n", "a line of more than 65536 bytes"),
        (b"[" * 60_000 + b"\n", DEEP),
        (b"{}\n\xff\xfe\n", "cannot be understood"),
    ],
)
def test_one_that_says_nonsense_is_told_and_begun_again(speaker: Speaker, opened: Open, said: bytes, why: str) -> None:
    (speaker.folder / "say.watch").write_bytes(said)
    driver, told = opened(), Told()
    driver.watch(told)
    (trouble,) = eventually(lambda: [each for each in driver.trouble() if why in each])
    assert trouble.startswith(f"faults are not heard: {speaker.program} watch: ")
    speaker.take_away("say.watch")
    eventually(lambda: driver.trouble() == ())
    speaker.occur(1, RESETS)
    told.has(ChipId(1), Assertion.OCCURRED, RESETS)


def test_what_happened_while_nobody_heard_is_read(speaker: Speaker, opened: Open) -> None:
    speaker.put("say.watch")
    driver, told = opened(), Told()
    driver.watch(told)
    eventually(driver.trouble)
    told.asks(ChipId(0), 0)
    speaker.take_away("say.watch")
    told.asks(ChipId(0), 1)
    told.asks(ChipId(2), 1)


def test_one_that_says_nothing_within_its_beat_is_killed_and_begun_again(speaker: Speaker, opened: Open) -> None:
    speaker.put("hang.watch")
    speaker.set(beat=0.05)
    driver = opened(call=0.5)
    driver.watch(Told())
    eventually(lambda: any("nothing for 0.05 s" in each for each in driver.trouble()))
    speaker.set(beat=60)
    speaker.take_away("hang.watch")


def test_one_that_floods_keeps_nobody_else_waiting(speaker: Speaker, opened: Open) -> None:
    line = b'{"fault":"0000A003","chip":0,"state":"once"}\n'
    (speaker.folder / "say.watch").write_bytes(b"{}\n" + 20_000 * line)
    driver, told = opened(), Told()
    driver.watch(told)
    assert driver.read([ChipId(0)])[0].error == ""
    told.wait(20_000)


def test_a_chip_that_comes_is_listed(speaker: Speaker, opened: Open) -> None:
    driver, told = opened(), Told()
    driver.watch(told)
    speaker.set(chips=6)
    speaker.tell(describe=True)
    eventually(lambda: any(isinstance(fact, ChipsListed) and len(fact.chips) == 6 for fact in told.facts))


def test_a_chip_that_goes_stays_known_and_does_not_answer(speaker: Speaker, opened: Open) -> None:
    driver = opened()
    driver.watch(Told())
    speaker.set(chips=2)
    speaker.tell(describe=True)
    eventually(lambda: driver.trouble() == ("the program describes it no more: chips 2-3",))
    assert driver.read([ChipId(2)])[0].error == "the program describes it no more"
    assert len(driver.chips()) == 4


def test_a_programs_fault_is_that_of_the_process_or_the_part_that_is_named(
    speaker: Speaker, opened: Open, tmp_path: Path
) -> None:
    for pid, container in ((7, "a" * 64), (8, "b" * 64)):
        process(tmp_path, pid, "python", f"0::/system.slice/docker-{container}.scope")
    driver, told = opened(proc=tmp_path / "proc"), Told()
    driver.watch(told)
    speaker.set(processes={"0": [7]})
    assert [each.container for each in driver.read([ChipId(0)])[0].processes] == ["a" * 64]
    shutil.rmtree(tmp_path / "proc/7")  # It has ended. Only on chip 0 it was listed.
    for chip, words in ((0, {"pid": 7}), (1, {"pid": 7}), (1, {"pid": 8, "share": "x"}), (1, {"share": "x"}), (1, {})):
        speaker.tell(fault=NOTHING, chip=chip, state="once", **words)
    facts = eventually(lambda: len(found := [f for f in told.facts if isinstance(f, FaultReported)]) == 5 and found)
    assert facts
    assert [fact.whose for fact in facts] == [
        frozenset({"a" * 64}), frozenset(), frozenset({"b" * 64}), frozenset({"x"}), None,
    ]  # fmt: skip


def test_a_fault_of_a_chip_that_is_not_known_has_the_chips_described(speaker: Speaker, opened: Open) -> None:
    driver, told = opened(), Told()
    driver.watch(told)
    speaker.set(chips=6)
    speaker.tell(fault=RESETS, chip=5, state="occurred")
    eventually(lambda: any(isinstance(fact, ChipsListed) for fact in told.facts))


def test_other_codes_are_told_with_what_takes_them(speaker: Speaker, opened: Open) -> None:
    driver, told = opened(), Told()
    driver.watch(told)
    speaker.set(codes=[("0000B001", "new", "RestartNPU")])
    speaker.tell(describe=True)

    def remarked() -> bool:
        return any(isinstance(fact, Remarked) and "systemctl reload cmgr" in fact.text for fact in told.facts)

    eventually(remarked)


def test_a_watch_does_not_outlive_the_driver(speaker: Speaker, opened: Open) -> None:
    driver = opened()
    driver.watch(Told())
    driver.close()
    mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(speaker.program) in _text(p)]
    assert mine == []


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
