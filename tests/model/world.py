"""A pretended machine for the model: hardware, runtimes, operators, and a cmgr that may die at any moment.

Everything is virtual, time too. `World.step` does one random thing; `World.heal` makes the hardware well and lets
everything settle. Hints (events) may be lost, doubled and reordered; answers to commands are lost only with cmgr.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cmgr.model import facts
from cmgr.model.catalog import Catalog, Entry
from cmgr.model.chips import Chip, ChipId, ChipReport, Process, Reported, RingId
from cmgr.model.commands import (
    Action,
    ListContainers,
    Note,
    ReadRing,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.containers import Container, ContainerKey, Exit
from cmgr.model.faults import Assertion, FaultCode, Level
from cmgr.model.invariants import stuck, unsafe
from cmgr.model.node import Node
from cmgr.model.policy import Policy
from cmgr.model.reduce import next_deadline, reduce

CODES = {
    "80E24E00": Level.RestartNPU,
    "80C98008": Level.RestartRequest,
    "80E18400": Level.NotHandleFault,
    "80E20000": Level.FreeRestartNPU,
    "A2301001": Level.SeparateNPU,
}
CATALOG = Catalog({FaultCode(c): Entry(level, "test") for c, level in CODES.items()})
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def stored(node: Node) -> Node:
    """Return what a store keeps of a node."""
    return Node(
        chips=node.chips,
        rings={i: replace(r, reset=None, look=None, read=None, asked=None, ask_at=None) for i, r in node.rings.items()},
        containers={k: replace(c, seen=None) for k, c in node.containers.items()},
        faults={c: {k: f for k, f in known.items() if f.active} for c, known in node.faults.items()},
        isolations=node.isolations,
        holds={k: replace(h, command=None) for k, h in node.holds.items()},
        serial=node.serial,
        episodes=node.episodes,
    )


@dataclass
class Real:
    """A container as it really is. `will`: what the last person who touched it wants, None where that is moot."""

    key: ContainerKey
    chips: tuple[int, ...]
    policy: str = ""
    life: int = 1
    running: bool = True
    exit: Exit | None = None
    armed: str = ""
    will: bool | None = True
    order: int = 0
    starts: int = 0

    def told(self) -> Container:
        return Container(
            self.key,
            self.key.id,
            frozenset(str(c) for c in self.chips),
            self.running,
            f"life {self.life}",
            None if self.running else self.exit,
            restart_policy=self.armed,
            order=self.order,
        )


@dataclass
class World:
    seed: int
    policy: Policy
    chips: int = 8
    ring: int = 4
    now: datetime = EPOCH
    node: Node = field(default_factory=Node)
    faults: dict[int, set[str]] = field(default_factory=dict)
    foreign: set[int] = field(default_factory=set)
    booting: dict[int, datetime] = field(default_factory=dict)
    real: dict[ContainerKey, Real] = field(default_factory=dict)
    under_way: list[Action] = field(default_factory=list)
    hints: list[facts.Fact] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    resets: list[tuple[RingId, datetime]] = field(default_factory=list)
    runtime_down: bool = False
    calm: bool = False
    deaths: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311 - a test's dice, not a secret
        self.faults = {c: set() for c in range(self.chips)}
        for number in range(self.chips + 2):
            self._create(number)
        self.begin()

    def _create(self, number: int) -> None:
        first = number % self.chips
        chips = (first,) if number < self.chips else (first, (first + self.ring) % self.chips)
        key = ContainerKey("docker", "", f"c{number}")
        policy = self.rng.choice(["", "", "always:0"])
        self.real[key] = Real(key, chips, policy, armed=policy, order=self.rng.choice([0, 0, 1]))

    def topology(self) -> tuple[Chip, ...]:
        return tuple(Chip(ChipId(c), RingId(c // self.ring * self.ring), logical=c) for c in range(self.chips))

    def begin(self) -> None:
        self.node = replace(self.node, policy=self.policy, catalog=CATALOG)
        self.feed(facts.Restarted(self.topology(), ("docker",)))

    def feed(self, fact: facts.Fact) -> None:
        self.now += timedelta(microseconds=100)
        self.node, commands = reduce(self.node, facts.Event(self.now, fact))
        for command in commands:
            if isinstance(command, Note):
                self.notes.append(command)
                continue
            problem = unsafe(self.node, command)
            assert not problem, f"seed {self.seed}: {command}: {problem}"
            self.under_way.append(command)
        assert not stuck(self.node), f"seed {self.seed}: {stuck(self.node)}"

    def die(self) -> None:
        """Kill cmgr: of the commands under way some still take effect, and nobody hears of it."""
        self.deaths += 1
        for command in self.under_way:
            if self.rng.random() < 0.5:
                self.carry_out(command)
        for key in self.node.holds:
            if key in self.real and self.real[key].will is False:
                self.real[key].will = None
        self.under_way = []
        self.hints = []
        self.node = stored(self.node)
        self.begin()

    def carry_out(self, command: Action) -> facts.Fact:
        fails = not self.calm and self.rng.random() < 0.1
        match command:
            case ListContainers():
                if self.runtime_down or fails:
                    return facts.ContainersListed(command.id, command.runtime, error="no answer")
                told = tuple(r.told() for r in self.real.values())
                return facts.ContainersListed(command.id, command.runtime, told)
            case ReadRing():
                return facts.RingRead(command.id, command.ring, tuple(self._report(c, fails) for c in command.chips))
            case ResetRing():
                return self._reset(command, fails)
            case StopContainer():
                return self._stop(command, fails)
            case StartContainer():
                return self._start(command, fails)
            case SetRestartPolicy():
                real = self.real.get(command.key)
                if real is None:
                    return facts.RestartPolicySet(command.id, command.key, gone=True)
                if fails:
                    return facts.RestartPolicySet(command.id, command.key, error="no answer")
                real.armed = command.restart_policy
                return facts.RestartPolicySet(command.id, command.key)

    def _report(self, chip: ChipId, fails: bool) -> ChipReport:
        if fails and self.rng.random() < 0.3:
            return ChipReport(chip, error="no answer")
        booted = self.booting.get(chip // self.ring * self.ring, EPOCH) <= self.now
        codes = tuple(Reported(c) for c in sorted(self.faults[chip])) if booted else ()
        return ChipReport(chip, booted, codes, tuple(Process(1, "p") for _ in self._users(chip)))

    def _users(self, chip: int) -> list[object]:
        users: list[object] = [r for r in self.real.values() if r.running and chip in r.chips]
        return users + ([chip] if chip in self.foreign else [])

    def _reset(self, command: ResetRing, fails: bool) -> facts.Fact:
        busy = [c for c in command.chips if self._users(c)]
        still = [c for c in command.faulty if self.faults[c] & command.codes]
        if busy or not still:
            return facts.ResetDone(command.id, command.ring, f"refused: {busy} {still}", refused=True)
        self.resets.append((command.ring, self.now))
        if fails:
            return facts.ResetDone(command.id, command.ring, "the driver said no")
        boot = timedelta(seconds=self.rng.choice([0, 0.3, 5, 5, 200 if not self.calm else 5]))
        self.booting[command.ring] = self.now + boot
        for chip in command.chips:
            self.faults[chip] = {f for f in self.faults[chip] if not self.calm and self.rng.random() < 0.2}
        return facts.ResetDone(command.id, command.ring)

    def _stop(self, command: StopContainer, fails: bool) -> facts.Fact:
        real = self.real.get(command.key)
        if real is None:
            return facts.ContainerStopped(command.id, command.key, gone=True)
        if self.runtime_down:
            return facts.ContainerStopped(command.id, command.key, error="down", unreachable=True)
        if not real.running:
            return facts.ContainerStopped(command.id, command.key, f"life {real.life}", before=real.exit)
        if fails and self.rng.random() < 0.5:
            return facts.ContainerStopped(command.id, command.key, error="timeout")
        self._end(real, Exit(143, self.now, asked=True))
        if fails:
            return facts.ContainerStopped(command.id, command.key, error="timeout")
        return facts.ContainerStopped(command.id, command.key, f"life {real.life}")

    def _start(self, command: StartContainer, fails: bool) -> facts.Fact:
        real = self.real.get(command.key)
        if real is None:
            return facts.ContainerStarted(command.id, command.key, gone=True)
        if self.runtime_down:
            return facts.ContainerStarted(command.id, command.key, error="down", unreachable=True)
        if fails and self.rng.random() < 0.5:
            return facts.ContainerStarted(command.id, command.key, error="no")
        if not real.running:
            assert real.will is not False, f"seed {self.seed}: {real} was started against a person's will"
            self._begin(real)
            real.starts += 1
        if fails:
            return facts.ContainerStarted(command.id, command.key, error="timeout")
        real.armed = command.restart_policy or real.armed
        return facts.ContainerStarted(command.id, command.key, f"life {real.life}")

    def _begin(self, real: Real) -> None:
        real.running, real.life, real.exit = True, real.life + 1, None
        self.hint(facts.ContainerSeen(real.told()))

    def _end(self, real: Real, exit_: Exit) -> None:
        real.running, real.exit = False, exit_
        self.hint(facts.ContainerSeen(real.told()))

    def hint(self, fact: facts.Fact) -> None:
        if not self.calm and self.rng.random() < 0.15:
            return
        self.hints += [fact] * (2 if self.rng.random() < 0.1 else 1)

    def fault(self, chip: int, code: str, assertion: Assertion = Assertion.OCCURRED) -> None:
        if assertion is Assertion.OCCURRED:
            self.faults[chip].add(code)
        elif assertion is Assertion.CLEARED:
            self.faults[chip].discard(code)
        self.hint(facts.FaultReported(ChipId(chip), code, assertion, "1.2", 2))

    def advance_time(self) -> None:
        due = next_deadline(self.node, self.now)
        if due is not None and self.rng.random() < 0.7:
            self.now = max(self.now, due)
        else:
            self.now += timedelta(seconds=self.rng.choice([0.01, 0.5, 3, 30]))
        self.feed(facts.Tick())

    def deliver(self) -> None:
        if self.hints:
            late = self.rng.random() < 0.1 and not self.calm
            index = self.rng.randrange(len(self.hints)) if late else 0
            self.feed(self.hints.pop(index))

    def answer(self) -> None:
        if self.under_way:
            command = self.under_way.pop(self.rng.randrange(len(self.under_way)))
            self.feed(self.carry_out(command))
