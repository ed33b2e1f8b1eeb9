"""The driver of chips that a program of anybody's speaks for. docs/drivers.md says what that is asked, and answers.

Each call is a run of the program, so that one that hangs, floods or crashes is killed, and takes nothing else with it.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from cmgr.drivers import asked
from cmgr.drivers.caller import BEGIN, MEASURE_SECONDS
from cmgr.drivers.looks import Looks
from cmgr.drivers.processes import Holder, Owners, in_words, process_of
from cmgr.drivers.resets import of_one_ring, refusal
from cmgr.drivers.tool import kept, spoken
from cmgr.drivers.tool.ear import Again, Ear
from cmgr.drivers.tool.settings import Tool
from cmgr.drivers.tool.spoken import Ability, Description
from cmgr.drivers.tool.turns import Turns
from cmgr.errors import DriverError, DriverMissing
from cmgr.frozen import dataclass, replace
from cmgr.host.act import Act, CannotBegin, Ended
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, Reported, rings_of
from cmgr.model.values.faults import Severity
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded, Remarked
from cmgr.ports import Doubt, DriverFact
from cmgr.sentences.sentence import because, say

SETTING = "tool.program"
LISTS_NO_MORE = say("driver.described-no-more")
_NEVER = threading.Event()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Around:
    """The machine around the chips. `state`: the directory of locks, and of what the program has said of its codes.

    `host`: where resets run. `proc`: what it shows of its processes.
    """

    state: Path
    host: Host
    again: Again = Again()
    proc: Path = Path("/proc")


class ToolDriver:
    """Implements `ChipDriver`, `Ailing`, `Describing` and `Gauge`. Raises `DriverError` when nothing is described."""

    name = "tool"
    concurrency = 8

    def __init__(self, settings: Tool, sweep: timedelta, relist: timedelta, around: Around) -> None:
        if not settings.program:
            raise DriverMissing(say("driver.no-program"), hint=say("driver.set-program", setting=SETTING))
        self._path, self._around = settings.program, around
        self._seconds = settings.call_timeout.total_seconds()
        self._reset_seconds = settings.reset_timeout.total_seconds()
        self._sweep, self._relist = sweep.total_seconds(), relist.total_seconds()
        self._turns, self._owners = Turns(around.state), Owners(around.proc)
        self._lock = threading.Lock()
        self._apart = False
        self._read_last: dict[ChipId, ChipReport] = {}
        self._wrong: dict[str, str] = {}
        self._tell: Callable[[DriverFact], None] | None = None
        self._closed = threading.Event()
        self._nudged = threading.Event()
        self._looks = Looks(self._relist)
        # Its maker's library may take its time to begin.
        self._said = self._describe(BEGIN * self._seconds)
        self._chips: dict[ChipId, Chip] = {}
        self._here: frozenset[ChipId] = frozenset()
        self._know(self._said)
        self._ear = Ear(self._path, self._heard, self._begun, lambda: self._said.about.beat, around.again)
        self._looker = threading.Thread(target=self._look_on, name="tool-looks", daemon=True)

    # The port.

    def chips(self) -> tuple[Chip, ...]:
        known = self._chips
        return tuple(known[chip] for chip in sorted(known))

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        with self._lock:
            if self._tell is not None or self._closed.is_set():
                raise DriverError(say("driver.watched-already"))
            self._tell = tell
        self._ear.start(self._seconds)
        self._looks.start(time.monotonic())
        self._looker.start()

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        rings = {chip: self._chips[chip].ring for chip in chips if chip in self._chips}
        taken = {ring for ring in {*rings.values()} if self._turns.is_taken(ring)}
        found = {chip: ChipReport(chip, booted=False, in_reset=True) for chip, ring in rings.items() if ring in taken}
        found |= self._reports([chip for chip in chips if chip not in found])
        self._read_last |= found
        return tuple(found[chip] for chip in chips)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        ring = of_one_ring(chips, self._chips.get, self.chips)
        if not self._said.can(Ability.RESET):
            why = say("driver.resets-none", path=self._path)
            raise refusal(chips, why, say("driver.by-makers-tool"))
        (number,) = {chip.ring for chip in ring.values()}
        with self._turns.taken(number) as held:
            self._last_look(chips, faulty, codes)
            self._run_reset(chips, held)

    def close(self) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
        self._nudged.set()
        self._ear.close()

    # Beside the port.

    def trouble(self) -> tuple[str, ...]:
        gone = sorted(self._chips.keys() - self._here)
        deaf = self._ear.deaf() if self._tell is not None else ""
        no_more = say("driver.chips-described-no-more", chips=gone) if gone else ""
        return tuple(filter(None, (deaf, *self._wrong.values(), no_more)))

    def describe(self) -> str:
        """Return the program, and the maker that it names, for `cmgr check`."""
        return f"{self._path}, {self._said.about.name}"

    def doubts(self) -> tuple[Doubt, ...]:
        """Return what the program cannot do."""
        lacks = {
            Ability.RESET: say("driver.tool-resets-none"),
            Ability.PROCESSES: say("driver.tool-lists-none"),
        }
        hint = say("driver.tool-shows", page="docs/drivers.md")
        return tuple(Doubt(because(self._path, why), hint) for can, why in lacks.items() if not self._said.can(can))

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        if not self._said.can(Ability.MEASURE) or not (here := [chip for chip in chips if chip in self._here]):
            return {}
        try:
            said = spoken.measured(self._run("measure", here, min(self._seconds, MEASURE_SECONDS)))
        except (DriverError, ValueError):
            return {}
        return {chip: said[chip] for chip in here if chip in said}

    # Its calls.

    def _run(self, do: str, chips: Iterable[ChipId], seconds: float) -> str:
        """Return what the program has said. Raises `DriverError`."""
        try:
            said = asked.ask(self._path, (do, *map(str, chips)), seconds, SETTING)
        except DriverError as error:
            raise type(error)(say("driver.cannot-do", what=do, why=error.message), hint=error.hint) from None
        if said.status != 0:
            words = last_line(said.complaint or said.text)
            raise DriverError(say("driver.ended", program=f"{self._path} {do}", status=said.status, words=words))
        return said.text

    def _describe(self, seconds: float) -> Description:
        try:
            said = spoken.description(self._run("describe", (), seconds))
        except ValueError as error:
            first, *others = str(error).splitlines()
            why = say("driver.and-more", what=first, count=len(others)) if others else first
            text = say("driver.cannot-use-described", path=self._path, why=why)
            raise DriverError(text, hint=f"cmgr check --tool {self._path}") from error
        if said.about.version != spoken.VERSION:
            why = say("driver.speaks-version", theirs=said.about.version, ours=spoken.VERSION)
            hint = say("driver.words-of-version", page="docs/drivers.md")
            raise DriverError(say("driver.cannot-use", path=self._path, why=why), hint=hint)
        return said

    def _know(self, said: Description) -> None:
        """Take this description on. Chips that were there once stay known."""
        found = {chip.id: chip for chip in said.listed(numbered)}
        self._said, self._here, self._chips = said, frozenset(found), {**self._chips, **found}
        devices = {file.path: numbered(file) for each in said.chips for file in each.devices}
        kept.keep(self._around.state, said, devices)

    def _reports(self, chips: Sequence[ChipId]) -> dict[ChipId, ChipReport]:
        """Return what the program says of each chip now, whoever resets it."""
        here = [chip for chip in chips if chip in self._here]
        no_more = {chip: ChipReport(chip, error=LISTS_NO_MORE) for chip in chips if chip in self._chips}
        found = {chip: ChipReport(chip, error=say("driver.no-such-chip")) for chip in chips} | no_more
        if not here:
            return found
        users: list[Mapping[ChipId, tuple[Process, ...] | str]] = []
        said: dict[ChipId, spoken.Reading | str] = {}
        calls: list[Callable[[], None]] = [lambda: said.update(self._of_each("read", here, spoken.Reading))]
        if self._said.can(Ability.PROCESSES):
            calls.append(lambda: users.append(self._users(here)))
        at_once(calls)
        return found | {chip: self._report(chip, said[chip], users[0] if users else None) for chip in here}

    def _report(
        self, chip: ChipId, said: "spoken.Reading | str", users: "Mapping[ChipId, tuple[Process, ...] | str] | None"
    ) -> ChipReport:
        if isinstance(said, str) or said.error:
            return ChipReport(chip, error=said if isinstance(said, str) else said.error)
        faults = tuple(Reported(code, Severity.major) for code in dict.fromkeys(said.faults))
        shares = None if said.shares is None else tuple(part.share for part in said.shares)
        report = ChipReport(chip, said.booted, faults, unwell=said.unwell, shares=shares, blind=users is None)
        if users is None or not said.booted:
            return report
        found = users[chip]
        return ChipReport(chip, error=found) if isinstance(found, str) else replace(report, processes=found)

    def _users(self, chips: Sequence[ChipId]) -> "Mapping[ChipId, tuple[Process, ...] | str]":
        said = self._of_each("processes", chips, spoken.Users)
        for chip, each in said.items():
            if isinstance(each, spoken.Users):
                self._owners.listed(chip, (user.pid for user in each.processes))
        return {
            chip: each if isinstance(each, str) else tuple(
                process_of(Holder(user.pid, user.memory, user.share), self._around.proc) for user in each.processes
            )
            for chip, each in said.items()
        }  # fmt: skip

    def _of_each(self, do: str, chips: Sequence[ChipId], kind: type[T]) -> "dict[ChipId, T | str]":
        """Return the answer about each chip, or why there is none.

        Once the program has not answered for all of them at once, each is asked for alone until all answer so.
        """
        if not self._apart:
            try:
                found = spoken.answers(kind, self._run(do, chips, self._seconds))
            except DriverError as error:
                self._apart = len(chips) > 1
                return dict.fromkeys(chips, error.message)
            except ValueError as error:
                return dict.fromkeys(chips, self._not_understood(do, error))
            self._wrong.pop(do, None)
            return {chip: found.get(chip, self._silent(do)) for chip in chips}
        return self._of_each_alone(do, chips, kind)

    def _of_each_alone(self, do: str, chips: Sequence[ChipId], kind: type[T]) -> "dict[ChipId, T | str]":
        def ask(chip: ChipId) -> "T | str":
            try:
                said = spoken.answers(kind, self._run(do, [chip], self._seconds))
            except DriverError as error:
                return error.message
            except ValueError as error:
                return self._not_understood(do, error)
            return said.get(chip, self._silent(do))

        found = dict(zip(chips, at_once([partial(ask, chip) for chip in chips]), strict=True))
        self._apart = any(isinstance(each, str) for each in found.values())
        return found

    def _not_understood(self, do: str, error: ValueError) -> str:
        self._wrong[do] = say("driver.call-not-understood", call=f"{self._path} {do}", error=str(error).splitlines()[0])
        return self._wrong[do]

    def _silent(self, do: str) -> str:
        return say("driver.call-does-not-say", call=f"{self._path} {do}")

    # Resets.

    def _last_look(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        reports = self._reports(chips)
        for chip, report in reports.items():
            if report.error:
                raise refusal(chips, say("driver.silent-on-both", chip=chip, why=report.error))
            for process in (each for each in report.processes if not each.gone):
                raise refusal(chips, say("driver.process-on-chip", process=in_words(process), chip=chip))
        found = {fault.code for chip in faulty if chip in reports for fault in reports[chip].faults}
        if codes and not codes & found:
            raise refusal(chips, say("driver.reports-none", chips=faulty, codes=sorted(codes)))

    def _run_reset(self, chips: Sequence[ChipId], held: int) -> None:
        """Have the program reset them. It is never killed, not even by the end of cmgr: it may be in the kernel."""
        numbers = tuple(map(str, chips))
        try:
            asked.trusted(self._path, SETTING)
        except DriverError as error:
            raise refusal(chips, error.message, error.hint) from error
        act = Act(f"tool-reset-{'-'.join(numbers)}", (self._path, "reset", *numbers), asked.ENVIRONMENT, None)
        try:
            begun = self._around.host.begin(act, held)
        except CannotBegin as error:
            raise refusal(chips, error.message, error.hint) from error
        ended = begun.wait(self._reset_seconds, _NEVER)
        if ended is None:
            threading.Thread(target=begun.wait, args=(math.inf, _NEVER), name="tool-reset", daemon=True).start()
            how = say("driver.how-unknown", chips=chips)
            raise DriverError(because(how, say("driver.lasted", seconds=f"{self._reset_seconds:g}")))
        self._judge(ended, chips)

    def _judge(self, ended: Ended, chips: Sequence[ChipId]) -> None:
        if why := spoken.refusal(ended.output):
            raise refusal(chips, why)
        if not ended.executed:
            why = say("driver.program-did", path=self._path, how=ended.why)
            raise refusal(chips, why, say("driver.correct", setting=SETTING))
        if not ended.well:
            words = last_line(ended.output)
            did: str = say("driver.ended", program=self._path, status=ended.code or 0, words=words)
            if ended.why:
                did = because(say("driver.program-did", path=self._path, how=ended.why), words)
            raise DriverError(because(say("driver.cannot-reset", chips=chips), did))

    # Hearing.

    def _say(self, fact: DriverFact) -> None:
        if self._tell is not None and not self._closed.is_set():
            self._tell(fact)

    def _begun(self) -> None:
        """Have all chips read: nobody has heard until now."""
        for chips in rings_of(self.chips()).values():
            self._say(ReadNeeded(chips[0]))

    def _heard(self, news: spoken.News) -> None:
        match news:
            case spoken.Happened():
                if news.chip not in self._chips:
                    self._look_soon()
                    return
                severity = Severity.major if news.severity is None else news.severity
                module = news.module or self._said.about.name
                whose = self._whose(news)
                self._say(FaultReported(ChipId(news.chip), news.fault, news.state, module, severity, whose=whose))
            case spoken.ToRead():
                self._say(ReadNeeded(ChipId(news.read)))
            case spoken.Anew():
                self._look_soon()
            case spoken.Alive():
                pass

    def _whose(self, news: spoken.Happened) -> frozenset[str] | None:
        """Return whose program a fault came of, as `Fault` has it."""
        owner = news.share if news.pid is None else self._owners.of(ChipId(news.chip), news.pid)
        return None if news.pid is None and not news.share else frozenset({owner} if owner else ())

    def _look_soon(self) -> None:
        self._looks.soon()
        self._nudged.set()

    def _look_on(self) -> None:
        """Sweep, and look for other chips, until the end."""
        swept = time.monotonic()
        while not self._closed.is_set():
            sweep = max(self._sweep, self._said.about.sweep)
            self._nudged.wait(max(0.0, min(swept + sweep, self._looks.at) - time.monotonic()))
            self._nudged.clear()
            now = time.monotonic()
            if now >= self._looks.at:
                self._looks.begin(now)
                self._look()
            if now >= swept + sweep:
                self._ask_all()
                swept = time.monotonic()

    def _look(self) -> None:
        """Have the chips described anew."""
        before, said = self.chips(), self._said
        try:
            self._know(self._describe(self._seconds))
        except DriverError as error:
            self._wrong["describe"] = error.message
            return
        self._wrong.pop("describe", None)
        if self.chips() != before:
            self._say(ChipsListed(self.chips()))
        if self._said.codes != said.codes:
            self._say(Remarked(say("driver.other-codes"), loud=True))

    def _ask_all(self) -> None:
        """Read every chip, for what no event has told."""
        chips = sorted(self._chips)
        before = {chip: self._read_last.get(chip, ChipReport(chip)) for chip in chips}
        for report in self.read(chips):
            if differs(before[report.chip], report):
                self._say(ReadNeeded(report.chip))


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Return what each of these returns, which are made side by side, and raise nothing."""
    found: list[T | None] = [None] * len(calls)

    def call(place: int) -> None:
        found[place] = calls[place]()

    threads = [threading.Thread(target=call, args=(n,), name="tool-call", daemon=True) for n in range(1, len(calls))]
    for thread in threads:
        thread.start()
    if calls:
        call(0)
    for thread in threads:
        thread.join()
    return cast("list[T]", found)


def differs(before: ChipReport, now: ChipReport) -> bool:
    """Return whether a reading says something that the one before did not."""
    return (before.booted, before.faults, bool(before.error)) != (now.booted, now.faults, bool(now.error))


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), say("driver.said-nothing"))[
        :200
    ]


def numbered(file: spoken.File) -> str:
    """Return the name of a device file by its numbers; nothing where nobody knows them."""
    if file.major is not None and file.minor is not None:
        return f"{spoken.NUMBERED}{file.major}:{file.minor}"
    try:
        found = os.stat(file.path).st_rdev
    except OSError:
        return ""
    return f"{spoken.NUMBERED}{os.major(found)}:{os.minor(found)}" if found else ""
