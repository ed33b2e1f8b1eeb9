"""The reference, MindCluster's container-manager, measured on this machine: on the stand-in for libdcmi, with Docker.

It takes that library from LD_LIBRARY_PATH, and is asked nothing: dockerd's socket tells what it does, the library when
it has subscribed. After a reset it resets nothing for 30 s, so that each recovery begins that much later.
"""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from bench import weather
from bench.cases import idle
from bench.cases.ascend import DISTINCT
from bench.cases.cycles import CHIPS
from bench.cases.storm import PART as STORM
from bench.records import PATIENCE, Records, of
from bench.report.figures import Figure, quantile, said
from bench.report.pictures import FIRST_STOP, RECOVERY
from bench.service import BOOT_SECONDS, RESET_SECONDS, SETTLE, cpu_seconds, end, forget_peak, memory
from bench.site import Site
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.standin import FakeChip, Standin

COUNT, STARTS, COMMANDS = 5, 5, 20
APART = 32.0
"""Seconds from the end of a recovery to the next fault."""

LOST = 60.0
"""Seconds after the last fault of the storm until one that was not served counts as lost."""

Theirs = Mapping[str, float | str]
"""By part and name of cmgr's figure, in its unit; words where there is no number."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """In ms: from the fault to the first stop, from that to the last, from the fault to all running again."""

    first_stop: float
    spread: float
    running: float


class Rival:
    """The program, running from the beginning of a `with` block to its end, on a machine of its own."""

    def __init__(self, site: Site, program: str, machine: Standin, strategy: str) -> None:
        self.machine = machine
        self.records = Records()
        self._stack = ExitStack()
        self._folder = site.new_folder()
        path = site.proxied(self._folder, self.records, self._stack)
        log = str(self._folder / "reference.log")
        flags = ("-ctrStrategy", strategy, "-runtimeType", "docker", "-sockPath", path, "-logPath", log)
        self._command = (program, "run", *flags)

    def __enter__(self) -> Self:
        subscriptions = self.machine.get("subscriptions")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.machine.library.parent)}
        with (self._folder / "output").open("ab") as output:
            began = time.monotonic()
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=self._folder
            )
        self._stack.callback(end, self.process)
        try:
            self._wait_until_it_knows(subscriptions, began)
        except BaseException:
            self._stack.close()
            raise
        return self

    def _wait_until_it_knows(self, subscriptions: int, began: float) -> None:
        while self.machine.get("subscriptions") == subscriptions:
            if self.process.poll() is not None or time.monotonic() > began + PATIENCE:
                raise RuntimeError(f"the reference has not subscribed: {self._said()}")
            time.sleep(0.001)
        self.subscribed_after = (time.monotonic() - began) * 1000
        # Only the second list begins when all containers of the first have been looked at.
        self.records.wait(0, lambda calls: len(of(calls, "list")) > 1, "the reference has listed the containers")
        self.known_after = (of(self.records.since(0), "list")[0].end - began) * 1000

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if error is not None:
            error.add_note(f"the reference's output ends: {self._said()}")

    def _said(self) -> str:
        return (self._folder / "output").read_text(errors="replace")[-2000:]

    def recovery(self, chip: int, stopped: int) -> Recovery:
        """Let a chip fault, and return what the recovery took, so long after it that the next one waits for nothing."""
        mark, at = self.records.mark(), time.monotonic()
        self.machine.fault(chip, weather.REAL)
        why = f"chip {chip} faulted, containers started"
        self.records.wait(mark, lambda calls: len(of(calls, "start")) >= stopped, why, within=2 * PATIENCE)
        stops, starts = (of(self.records.since(mark), kind) for kind in ("stop", "start"))
        threading.Event().wait(APART)
        first, last = stops[0].begin, stops[-1].begin
        return Recovery((first - at) * 1000, (last - first) * 1000, (max(c.end for c in starts) - at) * 1000)


def measured(site: Site, program: str) -> Theirs:
    """Return its figures. Raises `RuntimeError` where there is no Docker, `CannotBuild` where there is no compiler."""
    if site.docker is None:
        raise RuntimeError(f"cannot measure the reference without dockerd: {site.why_pretended}")
    with closing(Workshop()) as workshop:

        def machine(chips: Sequence[FakeChip]) -> Standin:
            made = Standin(workshop.place("one")).create(tuple(chips))
            made.set("reset_ms", int(RESET_SECONDS * 1000))
            made.set("boot_ms", int(BOOT_SECONDS * 1000))
            return made

        return {
            **recoveries(site, program, machine(hosts.host_910b_infer(CHIPS)), machine(hosts.host_910b(CHIPS))),
            **_storm(site, program, machine(hosts.host_910b_infer(CHIPS))),
            **_idle(site, program, machine(hosts.host_910b(idle.CHIPS))),
        }


def beside(figures: Sequence[Figure], theirs: Theirs) -> list[Figure]:
    """Return the figures with what this run has measured of the reference, and nothing of another run."""
    return [
        replace(figure, reference=_words(theirs.get(f"{figure.part}: {figure.what}"), figure)) for figure in figures
    ]


def _words(value: float | str | None, figure: Figure) -> str:
    return value or "" if value is None or isinstance(value, str) else said(value, figure.unit)


def recoveries(site: Site, program: str, single: Standin, ring: Standin) -> Theirs:
    site.containers(CHIPS, CHIPS)
    with Rival(site, program, single, "singleRecover") as rival:
        alone = [rival.recovery(n % CHIPS, 1) for n in range(COUNT)]
    with Rival(site, program, ring, "ringRecover") as rival:
        together = [rival.recovery(n % CHIPS, CHIPS) for n in range(COUNT)]
    return {
        f"{FIRST_STOP}: singleRecover, 1 container: p50": quantile([r.first_stop for r in alone], 0.5),
        f"{FIRST_STOP}: ringRecover, 8 containers: p50": quantile([r.first_stop for r in together], 0.5),
        "From the first stop request of 8 to the last: p50": quantile([r.spread for r in together], 0.5),
        f"{RECOVERY}: 1 container: in all, median": quantile([r.running for r in alone], 0.5),
        f"{RECOVERY}: 8 containers: in all, median": quantile([r.running for r in together], 0.5),
    }


def _storm(site: Site, program: str, machine: Standin) -> Theirs:
    site.containers(CHIPS, CHIPS)
    with Rival(site, program, machine, "singleRecover") as rival:
        pid, at = rival.process.pid, dict[int, float]()
        rss, cpu = memory(pid), cpu_seconds(pid)
        forget_peak(pid)
        mark, began = rival.records.mark(), time.monotonic()
        machine.storm(0, weather.EVENTS, int(weather.EVENTS / weather.SECONDS), DISTINCT)
        for chip, after in weather.REAL_FAULTS.items():
            threading.Event().wait(max(0.0, began + after - time.monotonic()))
            at[chip] = time.monotonic()
            machine.fault(chip, weather.REAL)
        threading.Event().wait(LOST)
        if rival.process.poll() is not None:
            raise RuntimeError("the reference has ended in the storm")
        used, peak = cpu_seconds(pid) - cpu, memory(pid, "VmHWM")
        stops = {c.who: c.begin for c in reversed(of(rival.records.since(mark), "stop"))}
        return {
            **{_of_storm(after): _waited(stops, chip, at[chip]) for chip, after in weather.REAL_FAULTS.items()},
            f"{STORM}: memory, peak over before": peak - rss,
            f"{STORM}: processor time, the simulated chips' apart": used,
        }


def _of_storm(after: float) -> str:
    return f"{STORM}: a fault on another chip at {after:g} s: to its first stop"


def _waited(stops: Mapping[str, float], chip: int, at: float) -> float | str:
    stop = stops.get(f"bench-{chip}")
    return "lost" if stop is None else (stop - at) * 1000


def _idle(site: Site, program: str, machine: Standin) -> Theirs:
    site.containers(idle.CONTAINERS, idle.CHIPS)
    subscribed, known = [], []
    for _ in range(STARTS):
        with Rival(site, program, machine, "ringRecover") as rival:
            subscribed.append(rival.subscribed_after)
            known.append(rival.known_after)
    with Rival(site, program, machine, "ringRecover") as rival:
        threading.Event().wait(SETTLE)
        pid = rival.process.pid
        share = idle.processor(partial(cpu_seconds, pid), idle.SECONDS)
        return {
            f"{idle.PART_IDLE}: processor": share,
            f"{idle.PART_IDLE}: memory (RSS)": memory(pid),
            f"{idle.PART_TIMES}: cmgr status: p50": quantile(
                [idle.wall([program, "status"]) for _ in range(COMMANDS)], 0.5
            ),
            f"{idle.PART_TIMES}: start to subscribed to the driver's faults: p50": quantile(subscribed, 0.5),
            f"{idle.PART_TIMES}: start to all containers known: p50": quantile(known, 0.5),
        }
