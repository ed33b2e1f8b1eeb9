"""The reports of makers' programs about chips whose reset wipes away what these know.

They are begun with the episode, beside the stops. No reset waits for them: what still runs when the last container is
down is cut short, because a question to a chip is in its reset's way. They are packed behind the reset.
"""

import shutil
import threading
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from cmgr.config.around import Bundles as Settings
from cmgr.frozen import dataclass
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, RingId
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.service.extras import maker_tools
from cmgr.service.extras.bundle_parts import Sources
from cmgr.service.extras.bundles import DIRECTORY, make_directory, name_of, prune, write
from cmgr.service.log.setup import Log
from cmgr.service.part import Step
from cmgr.vendor import Tool

SECONDS = 120.0
"""For one program, where no reset cuts it short before."""

KILLED_WITHIN = 2.0
"""So long a reset waits for the end of what was cut short."""

_LOOK_EVERY = 0.2
_UNPACKED = ".maker-"


@dataclass(frozen=True, slots=True)
class Making:
    """How reports are made: `wanted` returns the programs that tell of these chips what a reset wipes away."""

    host: Host
    wanted: Callable[[Sequence[Chip]], Sequence[Tool]]


class _Report:
    def __init__(self, directory: Path, chips: Sequence[Chip]) -> None:
        self.directory = directory
        self.chips = chips
        self.cut = threading.Event()
        self.over = threading.Event()


class MakerReports:
    """`observe` and `begin` on the deciding thread, `end` on that of the reset; neither raises."""

    def __init__(
        self,
        sources: Sources,
        making: Making,
        settings: Callable[[], Settings],
        put: Callable[[Remarked], None],
        log: Log,
    ) -> None:
        self._sources = sources
        self._making = making
        self._settings = settings
        self._put = put
        self._log = log
        self._directory = sources.database.with_name(DIRECTORY)
        self._slots = threading.Semaphore(maker_tools.MOST_AT_ONCE)
        self._reports: dict[RingId, _Report] = {}

    def begin(self) -> None:
        """Clear away what an earlier life has left."""
        for old in self._directory.glob(f"{_UNPACKED}*"):
            shutil.rmtree(old, ignore_errors=True)

    def observe(self, step: Step) -> None:
        """Begin a report with each episode, and drop it when that is over without a reset."""
        if step.before.rings is step.after.rings:
            return
        for ring in step.after.rings.values():
            before = step.before.rings.get(ring.id)
            if before is None or before.in_episode == ring.in_episode:
                continue
            if ring.in_episode:
                self._start(step.after, ring)
            else:
                self._drop(ring.id)

    def _start(self, node: Node, ring: Ring) -> None:
        ailing = [c for c in ring.chips if any(f.level.handled for f in node.faults.get(c, {}).values())]
        if not ailing or not self._settings().keep or node.policy.observe:
            return
        chips = [node.chips[chip] for chip in ailing]
        report = _Report(self._directory / f"{_UNPACKED}{ring.episode:06}-{ring.id}", chips)
        self._reports[ring.id] = report
        self._behind(self._make, report)

    def _behind(self, function: Callable[..., None], *args: object) -> None:
        """Call it on a thread of its own."""

        def work() -> None:
            try:
                function(*args)
            except OSError as error:
                self._log.warn(f"cannot keep what the maker's programs tell: {error.strerror or error}")
            except Exception as error:
                # A bug here must cost no more than the report.
                self._log.bug("cannot keep what the maker's programs tell: please report it", error)

        threading.Thread(target=work, name="maker-report", daemon=True).start()

    def _make(self, report: _Report) -> None:
        try:
            tools = maker_tools.found(self._making.wanted(report.chips))
            if tools:
                make_directory(self._directory)
                report.directory.mkdir(mode=0o700)
            for tool in tools:
                while not self._slots.acquire(timeout=_LOOK_EVERY):
                    if report.cut.is_set():
                        return
                try:
                    if not report.cut.is_set():
                        maker_tools.run(self._making.host, tool, report.directory / tool.name, SECONDS, report.cut)
                finally:
                    self._slots.release()
        finally:
            report.over.set()

    def end(self, action: ResetRing) -> None:
        """Cut short what still runs of the ring's report, and have the rest packed."""
        report = self._reports.pop(action.ring, None)
        if report is None:
            return
        report.cut.set()
        report.over.wait(KILLED_WITHIN)
        ring = self._sources.node().rings[action.ring]
        self._behind(self._pack, report, ring)

    def _pack(self, report: _Report, ring: Ring) -> None:
        report.over.wait()
        try:
            path = self._directory / name_of(ring, "-maker")
            parts = maker_tools.left(report.directory)
            if (first := next(parts, None)) is not None:
                write(path, chain([first], parts))
                prune(self._directory, self._settings())
                self._put(Remarked(f"saved for the chips' maker: {path}", ring.id, ring.episode))
        finally:
            shutil.rmtree(report.directory, ignore_errors=True)

    def _drop(self, ring: RingId) -> None:
        report = self._reports.pop(ring, None)
        if report is not None:
            report.cut.set()
            self._behind(self._forget, report)

    def _forget(self, report: _Report) -> None:
        report.over.wait()
        shutil.rmtree(report.directory, ignore_errors=True)

    def close(self) -> None:
        """Cut short what runs."""
        for report in list(self._reports.values()):
            report.cut.set()
