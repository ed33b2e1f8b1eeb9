"""A program that drives chips ends, hangs, grows stale or says nonsense: another serves, and nothing is lost."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from cmgr.drivers.program.driver import MOST_PAST, Pace, ProgramDriver
from cmgr.drivers.program.launch import child
from cmgr.drivers.program.link import Link
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.facts import ChipsListed, Remarked
from cmgr.ports import Doubt
from tests.drivers.contract import HOUR, Told
from tests.support.waiting import PATIENCE, eventually

PROGRAM = Path(__file__).parents[2] / "fakes/program.py"
QUICK = Pace(beat=0.02, first=0.02)


class Programs:
    """Starts programs in a folder, and knows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.links: list[Link] = []
        self.pids: list[int] = []
        (folder / "chips").write_text("2")

    def launch(self) -> Link:
        before = children()
        self.links.append(child([sys.executable, str(PROGRAM), str(self.folder)]))
        self.pids += sorted(children() - before)
        return self.links[-1]

    def put(self, name: str, text: str | bytes = "") -> None:
        # As a whole or not at all: the program may read it at any moment.
        (self.folder / f"{name}.new").write_bytes(text.encode() if isinstance(text, str) else text)
        (self.folder / f"{name}.new").rename(self.folder / name)

    @property
    def begun(self) -> int:
        return len((self.folder / "begun").read_text().splitlines())


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # The thread has ended.
            found |= set(map(int, (task / "children").read_text().split()))
    return found


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture
def opened(programs: Programs) -> Iterator[Callable[[], ProgramDriver]]:
    made: list[ProgramDriver] = []

    def make(pace: Pace = QUICK) -> ProgramDriver:
        made.append(ProgramDriver(programs.launch, "", pace, "named"))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def begun(opened: Callable[..., ProgramDriver]) -> Callable[..., ProgramDriver]:
    """Return what opens a driver whose chips are known."""

    def make(pace: Pace = QUICK) -> ProgramDriver:
        driver = opened(pace)
        assert driver.begins(PATIENCE), driver.refusal()
        return driver

    return make


@pytest.fixture
def told() -> Told:
    return Told()


def test_one_that_is_killed_has_a_successor_and_every_ring_is_read(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    os.kill(programs.pids[0], signal.SIGKILL)
    told.asks(ChipId(0), 1)
    (remark,) = [fact for fact in told.facts if isinstance(fact, Remarked)]
    assert "killed by SIGKILL" in remark.text
    assert remark.loud
    assert [report.error for report in driver.read([ChipId(0), ChipId(1)])] == ["", ""]
    eventually(lambda: driver.trouble() == ())


def test_a_reset_during_which_it_is_killed_is_one_of_which_nobody_can_tell_how_it_went(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("resetting")
    with ThreadPoolExecutor(1) as pool:
        reset = pool.submit(driver.reset, [ChipId(0), ChipId(1)], [ChipId(0)], frozenset({"80E24E00"}))
        eventually(lambda: not driver.read([ChipId(0)])[0].booted, why="a chip in a reset is not booted")
        os.kill(programs.pids[0], signal.SIGKILL)
        with pytest.raises(DriverError, match=r"cannot tell how the reset of chips 0-1 went"):
            reset.result()
    told.asks(ChipId(0), 1)
    assert driver.read([ChipId(0)])[0].booted
    assert not (programs.folder / "reset").exists()


def test_a_reset_for_which_none_could_be_asked_has_not_failed(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("refuses", "cannot open libnone.so: it is not there")
    os.kill(programs.pids[0], signal.SIGKILL)
    eventually(lambda: driver.read([ChipId(0)])[0].error)
    with pytest.raises(ResetRefused, match="cannot reset chips 0-1"):
        driver.reset([ChipId(0), ChipId(1)], [ChipId(0)], frozenset({"80E24E00"}))


def test_chips_that_its_successor_numbers_anew_are_known_by_their_new_numbers_alone(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    programs.put("chips", "3")
    programs.put("pieces", "a b c")
    driver = begun()
    driver.watch(told)
    programs.put("chips", "2")
    programs.put("pieces", "a c")
    os.kill(programs.pids[0], signal.SIGKILL)
    told.asks(ChipId(0), 1)
    assert [(chip.id, chip.serial) for chip in driver.chips()] == [(0, "a"), (1, "c")]
    assert [chip.serial for fact in told.facts if isinstance(fact, ChipsListed) for chip in fact.chips] == ["a", "c"]


def test_one_that_is_stale_serves_until_its_successor_does(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    programs.put("chips", "1")
    driver = begun()
    driver.watch(told)
    programs.put("chips", "2")
    programs.put("slow")
    programs.put("stale", "the library began without a card")
    eventually(lambda: programs.begun == 2, why="a successor begins")
    assert [report.error for report in driver.read([ChipId(0)])] == [""]
    assert programs.begun == 2
    (programs.folder / "stale").unlink()
    (programs.folder / "slow").unlink()
    eventually(lambda: len(driver.chips()) == 2)
    told.asks(ChipId(0), 1)
    (listed,) = [fact for fact in told.facts if isinstance(fact, ChipsListed)]
    assert listed.chips == driver.chips()
    eventually(lambda: children().isdisjoint(programs.pids[:1]), why="the first one has ended")


def test_one_that_is_stale_is_not_replaced_while_it_resets(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("resetting")
    with ThreadPoolExecutor(1) as pool:
        reset = pool.submit(driver.reset, [ChipId(0), ChipId(1)], [ChipId(0)], frozenset[str]())
        eventually(lambda: not driver.read([ChipId(0)])[0].booted)
        (programs.folder / "resetting").unlink()
        reset.result()
    assert (programs.folder / "reset").read_text() == "done"
    programs.put("stale", "its thread has ended")
    eventually(lambda: programs.begun >= 2)


def test_a_chip_that_only_its_predecessor_knew_has_not_booted(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("chips", "1")
    os.kill(programs.pids[0], signal.SIGKILL)
    told.asks(ChipId(0), 1)
    first, second = driver.read([ChipId(0), ChipId(1)])
    assert (first.booted, first.error) == (True, "")
    assert (second.booted, second.error) == (False, "")
    assert [chip.id for chip in driver.chips()] == [0, 1]


def test_when_no_program_has_known_it_for_long_it_is_gone_until_one_does(
    programs: Programs, begun: Callable[..., ProgramDriver], told: Told
) -> None:
    driver = begun(Pace(beat=0.02, first=0.02, gone=0))
    driver.watch(told)
    programs.put("chips", "1")
    os.kill(programs.pids[0], signal.SIGKILL)
    told.asks(ChipId(0), 1)
    assert [report.error for report in driver.read([ChipId(0), ChipId(1)])] == ["", "the driver lists it no more"]
    programs.put("chips", "2")
    os.kill(programs.pids[1], signal.SIGKILL)
    eventually(lambda: driver.read([ChipId(1)])[0].is_up)


def test_one_that_is_in_a_reset_is_not_gone(
    programs: Programs, begun: Callable[..., ProgramDriver], told: Told
) -> None:
    driver = begun(Pace(beat=0.02, first=0.02, gone=0))
    driver.watch(told)
    programs.put("chips", "1")
    os.kill(programs.pids[0], signal.SIGKILL)
    told.asks(ChipId(0), 1)
    programs.put("resetting")
    with ThreadPoolExecutor(1) as pool:
        reset = pool.submit(driver.reset, [ChipId(0), ChipId(1)], [ChipId(0)], frozenset[str]())
        eventually(lambda: not driver.read([ChipId(0)])[0].booted)
        assert (driver.read([ChipId(1)])[0].booted, driver.read([ChipId(1)])[0].error) == (False, "")
        (programs.folder / "resetting").unlink()
        reset.result()


@pytest.mark.parametrize(
    "said",
    [b"hello\n", b"[1]\n", b"{}\n", b'{"tell": "weather"}\n', b'{"tell": "fault", "chip": true}\n', b"\xff\n"],
)
def test_one_that_says_what_nobody_understands_has_a_successor(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told, said: bytes
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("odd", said)
    (report,) = driver.read([ChipId(0)])
    assert report.error
    (programs.folder / "odd").unlink()
    told.asks(ChipId(0), 1)
    assert driver.read([ChipId(0)])[0].error == ""


def test_a_successor_that_cannot_begin_is_a_trouble_until_one_does(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("chips", "none")
    os.kill(programs.pids[0], signal.SIGKILL)
    eventually(driver.trouble)
    assert "does not serve" in driver.trouble()[0]
    assert driver.read([ChipId(0)])[0].error
    programs.put("chips", "2")
    told.asks(ChipId(0), 1)
    eventually(lambda: driver.trouble() == ())


def test_that_no_successor_can_begin_is_told_until_the_next_try(
    programs: Programs, begun: Callable[..., ProgramDriver], told: Told
) -> None:
    driver, asked = begun(Pace(beat=0.02, first=2.0)), programs.folder / "asked"
    driver.watch(told)
    programs.put("chips", "none")
    programs.put("stale", "a card has come")
    eventually(lambda: any("no other program can drive the chips" in trouble for trouble in driver.trouble()))
    before = len(asked.read_text())
    eventually(lambda: len(asked.read_text()) > before + 30, why="it has looked several times")
    assert "no other program can drive the chips" in driver.trouble()[0]


def test_the_trouble_of_one_whose_successor_cannot_begin_ends_when_it_is_stale_no_more(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("chips", "none")
    programs.put("stale", "a card has come")
    eventually(lambda: any("no other program can drive the chips" in trouble for trouble in driver.trouble()))
    assert driver.read([ChipId(0)])[0].error == ""
    (programs.folder / "stale").unlink()
    eventually(lambda: driver.trouble() == (), why="it serves, and needs no successor any more")


def test_a_library_that_takes_long_to_begin_is_waited_for_and_named_as_the_reason(
    programs: Programs, opened: Callable[[], ProgramDriver], told: Told
) -> None:
    programs.put("slow")
    driver = opened()
    assert not driver.begins(0.05)
    assert driver.chips() == ()
    assert driver.name == "named"
    assert "the library of the chips has not begun for" in driver.trouble()[0]
    with pytest.raises(ResetRefused, match="cannot reset chip 0"):
        driver.reset([ChipId(0)], [ChipId(0)], frozenset[str]())
    (programs.folder / "slow").unlink()
    eventually(lambda: driver.begins(1))
    assert driver.refusal() is None
    assert (driver.name, driver.concurrency, len(driver.chips())) == ("fake", 2, 2)
    driver.watch(told)
    eventually(lambda: driver.trouble() == ())


def test_a_library_that_refuses_is_asked_again_until_it_begins(
    programs: Programs, opened: Callable[[], ProgramDriver]
) -> None:
    programs.put("refuses", "cannot open libnone.so: it is not there")
    driver = opened()
    assert not driver.begins(PATIENCE), "it returns with the first refusal"
    refusal = driver.refusal()
    assert refusal is not None
    assert (str(refusal), refusal.hint) == ("cannot open libnone.so: it is not there", "install it")
    assert driver.trouble() == (str(refusal),)
    assert not driver.begins(PATIENCE), "and with the next one"
    (programs.folder / "refuses").unlink()
    eventually(lambda: driver.begins(1))
    assert driver.trouble() == ()


def test_a_program_that_cannot_be_started_is_tried_again(programs: Programs) -> None:
    launches = iter([programs.folder / "nowhere"])

    def launch() -> Link:
        missing = next(launches, None)
        return child([str(missing)]) if missing else programs.launch()

    driver = ProgramDriver(launch, "", QUICK)
    eventually(lambda: driver.begins(1))
    assert next(launches, None) is None
    assert len(driver.chips()) == 2
    driver.close()


def test_closing_ends_a_program_whose_library_has_not_begun(
    programs: Programs, opened: Callable[[], ProgramDriver]
) -> None:
    programs.put("slow")
    driver = opened()
    eventually(lambda: len(programs.links) == 1 and (programs.folder / "begun").exists())
    driver.close()
    eventually(lambda: bool(programs.links[0].lost), why="it has ended, though its library never begins")


def test_while_a_successor_takes_long_to_begin_it_is_said_that_none_serves(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    driver = begun()
    driver.watch(told)
    programs.put("slow")
    os.kill(programs.pids[0], signal.SIGKILL)
    eventually(lambda: programs.begun == 2, why="a successor begins")
    assert driver.trouble() == ("the program that drives the chips does not serve: killed by SIGKILL",)
    (programs.folder / "slow").unlink()
    eventually(lambda: driver.trouble() == ())
    told.asks(ChipId(0), 1)


def test_one_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(DriverError, match="cannot start the program that drives the chips: No such file"):
        child(["/nowhere/program"])


def test_when_many_that_were_told_to_end_do_not_no_other_one_is_started(
    programs: Programs, begun: Callable[[], ProgramDriver], told: Told
) -> None:
    programs.put("endless")
    programs.put("stale", "a call hangs")
    driver = begun()
    driver.watch(told)
    eventually(lambda: any("no other one is started" in trouble for trouble in driver.trouble()))
    before = programs.begun
    assert before == MOST_PAST + 1
    assert driver.read([ChipId(0)])[0].error == ""
    (programs.folder / "endless").unlink()
    eventually(lambda: programs.begun > before, why="they have ended, and another one begins")


def test_what_is_doubted_is_asked_when_somebody_wants_to_know_it(begun: Callable[..., ProgramDriver]) -> None:
    assert begun().doubts() == (Doubt("its room is hot", "open a window"),)


def test_that_no_program_can_be_asked_is_a_doubt(programs: Programs, opened: Callable[..., ProgramDriver]) -> None:
    programs.put("refuses", "no library")
    driver = opened(Pace(beat=0.02, first=HOUR.total_seconds(), alone=HOUR.total_seconds()))  # One try.
    assert not driver.begins(PATIENCE)
    (doubt,) = driver.doubts()
    assert doubt.text == "cannot drive the chips: no library"
