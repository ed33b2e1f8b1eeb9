"""The machine goes down with the service at each point of an episode, and boots; its chips are then well, or as before.

All containers have ended without a word then; those with the restart policy `always` are started before the service is.
CMGR_CRASH_EVERY=1 tries every point; without it they are sampled.
"""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.runtimes.sim import world as sim_world
from cmgr.store.reader import open_reader
from tests.crash import checks
from tests.crash.conftest import Field
from tests.crash.matrix import doubles, singles, tell
from tests.crash.trial import Trial
from tests.crash.worlds import RING, Place, Pretended, policy_of, witnessed
from tests.support.figures import Figures

pytestmark = [pytest.mark.alone, pytest.mark.timeout(7200)]

BOOT = "boot"


class Rebooted(Trial):
    """Each death is one of the machine. `cured`: its chips are well after a boot."""

    def __init__(self, place: Place, folder: Path, *, cured: bool) -> None:
        super().__init__(place, folder)
        self.boot = "boot 0"
        self.cured = cured
        self.owed: set[str] = set()
        """Those that are to run at the end: those held in a boot, and the whole ring where its fault outlives it."""

    def _died(self) -> None:
        super()._died()
        self.boot = f"boot {len(self.deaths)}"
        with open_reader(self.service.database) as reader:
            node = reader.node()
        self.owed |= {node.containers[key].name for key in node.holds}
        world = self.service.folder / "world"
        if self.cured:
            _all_chips_are_well(world)
        elif _a_fault_is_there(world):
            self.owed |= set(self.place.held)
        self._boot_containers()

    def _boot_containers(self) -> None:
        path = self.service.folder / "world.containers"
        lives, serial = sim_world.read(path.read_text())
        with (self.service.folder / "witness").open("a") as witness:

            def saw(life: sim_world.Life, action: str) -> None:
                told = {"at": time.time(), "steady": time.monotonic(), "name": life.like.name, "action": action}
                witness.write(json.dumps({**told, "by": BOOT}) + "\n")

            for life in (life for life in lives if life.running):
                saw(life, "die")
            end = Exit(255, datetime.now(UTC))
            down = [life.ended(end) if life.running else life for life in lives]
            # Docker starts `always` also where it was stopped: cmgr has taken the policy from whom it holds.
            starts = {life.id for life in down if life.restart_policy == "always"}
            for life in (life for life in down if life.id in starts):
                saw(life, "start")
        up = [life.started() if life.id in starts else life for life in down]
        path.write_text(sim_world.written(up, serial))

    def _is_over(self) -> bool:
        running = self.place.stock.running(self.service)
        return self._is_calm() and all(running[name] for name in self.owed) and not self._unseen_to(running)

    def _is_calm(self) -> bool:
        with open_reader(self.service.database) as reader:
            episodes, node = reader.episodes(10), reader.node()
        calm = all(r["phase"] == Phase.HEALTHY for r in self.service.status()["rings"])
        return calm and all(e.ended for e in episodes) and not node.holds and bool(episodes or self.deaths)

    def _unseen_to(self, running: Mapping[str, bool]) -> set[str]:
        """Return those that are down though nobody says so, or though their restart policy wants them up."""
        return self.untold() | {name for name, runs in running.items() if not runs and policy_of(name) != "no"}


def _all_chips_are_well(path: Path) -> None:
    world = json.loads(path.read_text())
    path.write_text(json.dumps({**world, "chips": {}}))


def _a_fault_is_there(path: Path) -> bool:
    """Return whether a chip has one that no reset has been told to cure."""
    chips = json.loads(path.read_text())["chips"].values()
    return any(not fault["curing"] for chip in chips for fault in chip["faults"])


def nothing_is_lost(trial: Rebooted) -> None:
    """Check all that holds of an episode also where the machine boots in it."""
    seen = witnessed(trial.service)
    running = trial.place.stock.running(trial.service)
    for name in trial.place.held:
        mine = [w for w in seen if w.get("name") == name]
        happened = [str(w["action"]) for w in mine]
        assert all(before != after for before, after in pairwise(["start", *happened])), f"{name}: {seen}"
        assert (happened[-1:] == ["die"]) is not running[name], f"{name}: {seen}"
        # cmgr stops it once, and once more where a boot has started it again; it starts what it has stopped, or held.
        boots, ours = ([w["action"] for w in mine if ("by" in w) is by] for by in (True, False))
        assert ours.count("die") <= 1 + boots.count("start"), f"{name}: {seen}"
        assert ours.count("start") <= 1 + boots.count("die"), f"{name}: {seen}"
        assert trial.place.stock.is_armed(trial.service, name), f"{name} has its restart policy back"
    assert {name for name in running if not running[name]}.isdisjoint(trial.owed), (running, trial.owed)
    assert not [w for w in seen if w.get("name") == trial.place.beside and "by" not in w], "cmgr left it alone"
    with open_reader(trial.service.database) as reader:
        assert checks.no_reset_was_under_a_container(trial, seen) <= len(reader.resets(checks.EVER)) <= checks.BUDGET
    _the_books_are_whole(trial)


def _the_books_are_whole(trial: Rebooted) -> None:
    with open_reader(trial.service.database) as reader:
        episodes = reader.episodes(10)
    if episodes:
        checks.the_database_is_whole(trial, ("recovered", "cleared") if trial.cured else ("recovered",))
        checks.the_timeline_is_of_one_piece(trial)
    else:
        # It went down before it had written the fault, and the boot has cured that.
        assert [death.point for death in trial.deaths] == ["before a commit #1"]


CHIPS = pytest.mark.parametrize("cured", [False, True], ids=["as they were", "well"])


@CHIPS
def test_nothing_is_lost_wherever_the_machine_goes_down_in_an_episode_and_boots(
    field: Field, figures: Figures, cured: bool
) -> None:
    matrix = field(RING, Pretended, make=partial(Rebooted, cured=cured), check=nothing_is_lost)
    points = matrix.points()
    where = f"simulator, a machine that boots, its chips {'well' if cured else 'as they were'}"
    tell(figures, where, matrix.run(singles(points)), "gone down")
    tell(figures, f"{where}, and once more", matrix.run(doubles(points, 20, seed=44)), "gone down")
