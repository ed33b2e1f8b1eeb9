"""Reports about chips that a reset wipes clean: begun beside the stops, and no reset waits for one."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.config.around import Bundles as Settings
from cmgr.config.around import Hooks
from cmgr.config.settings import Config
from cmgr.config.sim import Sim
from cmgr.drivers.sim.driver import SimDriver
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, RingId
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.service.extras.bundle_parts import Part, Sources
from cmgr.service.extras.bundles import DIRECTORY, prune, saved, write
from cmgr.service.extras.maker_reports import MakerReports, Making
from cmgr.service.extras.maker_tools import MOST_AT_ONCE
from cmgr.service.extras.surroundings import Surroundings
from cmgr.service.part import Step
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.vendor import Tool, support
from tests.model.builders import MINOR, RESET, Cmgr, container
from tests.service.door.desk import Heard
from tests.service.extras.test_bundles import Told, inside
from tests.support.waiting import PATIENCE, eventually


class Site:
    """A machine whose decisions the reports hear of, and one program of the maker's for each chip."""

    def __init__(self, folder: Path, text: str, **policy: object) -> None:
        self.folder = folder
        self.cmgr = Cmgr(container("a", 0), container("b", 1), policy=Policy(strategy=Strategy.RING, **policy))  # type: ignore[arg-type]
        self.program = folder / "msnpureport"
        self.program.write_text(f"#!/bin/sh\n{text}\n")
        self.program.chmod(0o755)
        self.settings = Settings()
        self.remarks: list[Remarked] = []
        self.log = Heard()
        self.runtimes = {"docker": Told()}
        sources = Sources(SimDriver(Sim()), self.runtimes, folder / NAME, lambda: self.cmgr.node, lambda: self.cmgr.now)
        making = Making(Host("", "a test"), self.wanted)
        self.reports = MakerReports(sources, making, lambda: self.settings, self.remarks.append, self.log)
        self.reports.begin()

    def wanted(self, chips: Sequence[Chip]) -> Sequence[Tool]:
        return [Tool(f"report-{chip.id}", (str(self.program), str(chip.id))) for chip in chips]

    def then(self, act: Callable[[], object]) -> None:
        """Do this to the machine, and let the reports hear of it."""
        before: Node = self.cmgr.node
        act()
        self.reports.observe(Step((), before, self.cmgr.node, (), ()))

    def until_reset(self) -> ResetRing:
        self.then(lambda: self.cmgr.run_until(Phase.RESETTING))
        return self.cmgr.sent(ResetRing)[-1]

    def until_told(self) -> None:
        """Wait until the programs have ended."""
        eventually(lambda: all(report.over.is_set() for report in self.reports._reports.values()))

    def archive(self) -> dict[str, str]:
        (path,) = eventually(lambda: saved(self.folder / DIRECTORY))
        assert path.name == "episode-000001-reset-1-maker.tar.gz"
        return inside(path)

    def unpacked(self) -> list[Path]:
        return list((self.folder / DIRECTORY).glob(".maker-*"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(text: str, **policy: object) -> Site:
        made.append(Site(tmp_path, text, **policy))
        return made[-1]

    with closing(open_store(tmp_path / NAME)):
        yield make
        for each in made:
            each.reports.close()


def test_what_a_program_tells_of_the_ailing_chips_is_saved_beside_the_bundle(site: Callable[..., Site]) -> None:
    here = site('echo "chip $1"; echo slog >slog; touch "$(dirname "$0")/ran"')
    here.then(lambda: here.cmgr.fault(1, RESET))
    eventually((here.folder / "ran").exists, why="it has begun, and nobody has been stopped yet")
    here.until_told()
    here.reports.end(here.until_reset())
    assert here.archive() == {"report-1/output.txt": "chip 1\n", "report-1/slog": "slog\n"}
    eventually(lambda: here.remarks)
    assert here.remarks[0].text.startswith("saved for the chips' maker: ")
    eventually(lambda: not here.unpacked())


def test_a_reset_that_could_be_made_cuts_short_what_still_runs(site: Callable[..., Site]) -> None:
    here = site('echo begun; touch "$(dirname "$0")/ran"; sleep 1000')
    here.then(lambda: here.cmgr.fault(1, RESET))
    eventually((here.folder / "ran").exists)
    ending = threading.Thread(target=here.reports.end, args=(here.until_reset(),), daemon=True)
    ending.start()
    ending.join(PATIENCE)
    assert not ending.is_alive()
    told = here.archive()["report-1/output.txt"]
    assert told.startswith("begun\n")
    assert "was cut short" in told


def test_what_has_not_begun_by_then_does_not_begin(site: Callable[..., Site]) -> None:
    here = site('touch "$(dirname "$0")/ran-$1"; sleep 1000')
    for _ in range(MOST_AT_ONCE):
        here.reports._slots.acquire()
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.reports.end(here.until_reset())
    here.reports._slots.release(MOST_AT_ONCE)
    eventually(lambda: not here.unpacked())
    assert not (here.folder / "ran-1").exists()


def test_one_that_fails_is_kept_with_its_words(site: Callable[..., Site]) -> None:
    here = site("echo no device >&2; exit 1")
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.until_told()
    here.reports.end(here.until_reset())
    assert here.archive()["report-1/output.txt"].startswith("no device\n\n(cmgr: ")


def test_no_program_is_run_where_everything_is_only_observed(site: Callable[..., Site]) -> None:
    here = site('touch "$(dirname "$0")/ran"', observe=True)
    here.then(lambda: here.cmgr.fault(1, RESET))
    assert here.cmgr.ring().in_episode
    assert here.reports._reports == {}


def test_no_program_is_run_for_what_only_is_recorded_or_not_kept(site: Callable[..., Site]) -> None:
    here = site('touch "$(dirname "$0")/ran"')
    here.then(lambda: here.cmgr.fault(1, MINOR))
    here.settings = Settings(keep=0)
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.reports.end(here.until_reset())
    assert not here.unpacked()
    assert not (here.folder / "ran").exists()
    assert saved(here.folder / DIRECTORY) == []


def test_without_its_program_there_is_no_report(site: Callable[..., Site]) -> None:
    here = site("")
    here.program.unlink()
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.reports.end(here.until_reset())
    assert saved(here.folder / DIRECTORY) == []


def test_an_episode_that_ends_without_a_reset_leaves_nothing(site: Callable[..., Site]) -> None:
    here = site('touch "$(dirname "$0")/ran"; sleep 1000')
    here.then(lambda: here.cmgr.fault(1, RESET))
    eventually((here.folder / "ran").exists)

    def clears() -> None:
        here.cmgr.clears(1, RESET)
        here.cmgr.run_until(Phase.HEALTHY)

    here.then(clears)
    eventually(lambda: not here.unpacked())
    assert saved(here.folder / DIRECTORY) == []


def test_only_the_first_reset_of_an_episode_has_a_report(site: Callable[..., Site]) -> None:
    here = site("echo done")
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.until_told()
    reset = here.until_reset()
    here.reports.end(reset)
    here.archive()
    here.reports.end(reset)
    assert len(saved(here.folder / DIRECTORY)) == 1


def test_what_a_killed_life_has_left_is_cleared_away(site: Callable[..., Site], tmp_path: Path) -> None:
    old = tmp_path / DIRECTORY / ".maker-000007-0/report-1"
    old.mkdir(parents=True)
    (old / "output.txt").write_text("old")
    assert site("").unpacked() == []


def test_a_disk_without_room_costs_the_report_and_nothing_else(site: Callable[..., Site]) -> None:
    here = site("echo done")
    (here.folder / DIRECTORY).write_text("not a directory")
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.reports.end(here.until_reset())
    eventually(lambda: here.log.warnings)
    assert here.log.warnings[0].startswith("cannot keep what the maker's programs tell: ")


def test_a_bug_in_what_is_wanted_costs_no_decision(site: Callable[..., Site]) -> None:
    here = site("echo done")
    here.wanted = lambda _: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    here.reports._making = Making(here.reports._making.host, here.wanted)
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.until_told()
    here.reports.end(here.until_reset())
    assert here.log.bugs


def test_a_service_has_reports_of_the_make_that_it_drives_around_its_resets(site: Callable[..., Site]) -> None:
    here = site('echo "chip $1"')

    class Ascend(SimDriver):
        name = "dcmi"

    sources = Sources(Ascend(Sim()), here.runtimes, here.folder / NAME, lambda: here.cmgr.node, lambda: here.cmgr.now)
    around = Surroundings(Config(hooks=Hooks(dir="")), sources, here.remarks.append, here.log)
    chips = list(here.cmgr.node.chips.values())
    assert around._reports._making.wanted(chips) == support("dcmi", chips).lost
    # The programs of Ascend are not here.
    around._reports._making = Making(Host("", "a test"), here.wanted)
    around.begin(tuple)
    here.reports = around._reports
    here.then(lambda: here.cmgr.fault(1, RESET))
    here.until_told()
    around.around.before_reset(here.until_reset())
    (maker,) = eventually(lambda: saved(here.folder / DIRECTORY))
    assert maker.name == "episode-000001-reset-1-maker.tar.gz"
    assert inside(maker) == {"report-1/output.txt": "chip 1\n"}
    around.close_hooks()


def test_a_bundle_and_its_makers_report_count_as_one(tmp_path: Path) -> None:
    for reset in (1, 2, 3):
        for kind in ("", "-maker"):
            write(tmp_path / f"episode-000001-reset-{reset}{kind}.tar.gz", [Part("x", "y")])
    prune(tmp_path, Settings(keep=2))
    assert [path.name for path in saved(tmp_path)] == [
        f"episode-000001-reset-{reset}{kind}.tar.gz" for reset in (2, 3) for kind in ("-maker", "")
    ]


def test_rings_do_not_share_reports(site: Callable[..., Site]) -> None:
    here = site('echo "chip $1"')
    here.then(lambda: here.cmgr.fault(1, RESET))
    assert RingId(4) in here.cmgr.node.rings
    here.then(lambda: here.cmgr.fault(4, RESET))
    here.until_told()
    here.reports.end(here.until_reset())
    assert list(here.archive()) == ["report-1/output.txt"]
