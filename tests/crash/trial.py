"""One trial: a service whose lives end where they are told to, until one of them goes to the end of the episode."""

import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cmgr.errors import CmgrError
from cmgr.model.values.rings import Phase
from cmgr.store.reader import open_reader
from tests.crash.crashing import ROOT, Plan, program
from tests.crash.worlds import Place
from tests.support.service import Service
from tests.support.waiting import eventually

Point = str | int | None
"""Where a life ends: a point's name, how many points it passes, or nowhere."""

ENVIRONMENT = {"PYTHONPATH": str(ROOT)}

DEAD, OVER = "dead", "over"
POWER_LOSS = "power loss"


@dataclass(frozen=True, slots=True)
class Death:
    """A life that ended at the point where it was to end. `phase`: that of the ring, as the database has it."""

    point: str
    phase: Phase


class Trial:
    """A service on a place, with a database of its own."""

    def __init__(self, place: Place, folder: Path, how: signal.Signals = signal.SIGKILL) -> None:
        folder.mkdir()
        self.place = place
        self.service = Service(folder, place.settings)
        self.deaths: list[Death] = []
        self.copies = self.boot = ""
        self._how = how
        self._looks = 0

    def play(self, *ends: Point) -> None:
        """Let a fault or a drill come; let the first lives end so, and then one live on until the episode is over."""
        self.place.stock.furnish(self.service)
        self.place.chips.furnish(self.service, self.place.stock)
        self.service.start(self._environment, self._program(ends[0] if ends else None))
        eventually(self._knows_all, "all containers are known")
        # It may die of this before it answers.
        with suppress(CmgrError):
            self.place.chips.fault(self.service)
        self.go_on(*ends[1:])

    def go_on(self, *ends: Point) -> None:
        """Wait until the life ends or the episode is over; then let the next lives end so."""
        left = list(ends)
        while eventually(self._state, f"the episode ends in {self.service.folder}") == DEAD:
            assert self.service.code == (0 if self._how is signal.SIGTERM else -self._how), self.service.said()[-3000:]
            self._died()
            self.service.launch(self._environment, self._program(left.pop(0) if left else None))
        if self.service.running():
            self.service.kill9()

    def _died(self) -> None:
        self.deaths.append(Death(self._last_point(), self._phase()))

    def resume(self, copy: Path) -> None:
        """Go on from what a life left when its machine lost its power, to the end of the episode."""
        shutil.copytree(copy, self.service.folder, dirs_exist_ok=True)
        self.place.stock.furnish(self.service)
        self.deaths.append(Death(POWER_LOSS, self._phase()))
        self.service.launch(self._environment, self._program(None))
        self.go_on()

    @property
    def _environment(self) -> Mapping[str, str]:
        return {**ENVIRONMENT, **self.place.chips.environment}

    def _program(self, end: Point) -> Sequence[str]:
        folder = self.service.folder
        return program(
            Plan(str(folder / "trace"), str(folder / "witness"), end, self._how, self.copies, boot=self.boot)
        )

    def _knows_all(self) -> bool:
        known = {c["name"] for c in self.service.status()["containers"] if c["status"] == "running"}
        return known >= {*self.place.held, self.place.beside}

    def _state(self) -> str:
        if not self.service.running():
            return DEAD
        self._looks += 1
        # A look costs the machine more than the life does.
        with suppress(CmgrError):
            return OVER if self._looks % 4 == 0 and self._is_over() else ""
        return ""

    def _is_over(self) -> bool:
        # A part that systemd has stopped is perhaps heard of after the episode: this life starts it again.
        return self._is_written() and all(self.place.stock.running(self.service).values()) and self._is_written()

    def _is_written(self) -> bool:
        with open_reader(self.service.database) as reader:
            episodes, node = reader.episodes(10), reader.node()
        written = episodes and all(e.ended for e in episodes) and not node.holds
        return bool(written) and all(r["phase"] == Phase.HEALTHY for r in self.service.status()["rings"])

    def untold(self) -> set[str]:
        """Return the containers that are down though nobody says so."""
        told = {c["name"] for c in self.service.status()["containers"] if c["status"] == "down"}
        return {name for name, runs in self.place.stock.running(self.service).items() if not runs} - told

    def _last_point(self) -> str:
        return self.passed()[-1]

    def passed(self) -> list[str]:
        """Return the points that all lives have passed."""
        return (self.service.folder / "trace").read_text().splitlines()

    def _phase(self) -> Phase:
        chip = self.place.layout.chip(self.place.number)
        with open_reader(self.service.database) as reader:
            phases = [ring.phase for ring in reader.node().rings.values() if chip in ring.chips]
        return phases[0] if phases else Phase.HEALTHY

    def remove(self) -> None:
        shutil.rmtree(self.service.folder)
