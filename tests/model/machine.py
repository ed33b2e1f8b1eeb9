"""The hardware, the runtimes and the people of a pretended machine, for random walks. It knows nothing of cmgr's node.

`carry_out` does what a command asks and returns the true answer, or one that says less than the truth. All that happens
is told by `hint`, and hints may be lost, doubled and late. Invariants that are about the world are asserted here.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from cmgr.model.values.chips import SLOT, ChipId, ChipReport, Process, Reported, Share
from cmgr.model.values.faults import Assertion
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.questions import Question, question
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Action,
    ListContainers,
    MakeShares,
    PrepareReset,
    PretendFault,
    ReadGroup,
    ReadOutput,
    ReadRing,
    ResetRing,
    RunTest,
    ScheduleReboot,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
    WriteCdi,
    WriteGroup,
)
from cmgr.model.values.services.cdi import Spec
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import HEALTHY, TIED, UNHEALTHY, Container, ContainerKey, Exit, Heal, Spare
from cmgr.model.values.services.origins import Origin
from tests.model.builders import T0, answered
from tests.model.walks.verdicts import verdict

JUST_NOW = timedelta(seconds=1)
OTHER = "other"
"""An engine's word for its books, where those are not the ones that have the containers."""


@dataclass(frozen=True)
class Plan:
    """How a machine is made. `faulty`: only chips below this number ever fault. `used`: the share that is used.

    `containers`: how many there can be; the last use two rings each. `healed`: the share that wish to be healed.
    `checked`: the share that have a check of their own, which may fail after a start. `asked`: the share that are
    asked whether they serve, and do not answer at times. `composed`: the share that are of a project of compose, with
    needs at random. `slots`: each of them is on a slot of its own. `placed`: each can be given other chips by its
    runtime, and wants that. `grouped`: the share that are members of one of two groups, some of them without chips.
    `divided`: the share of chips that have shares, of which each of its containers is on one. `united`: the share that
    units of systemd run (`tests/model/united.py`).
    """

    chips: int = 8
    containers: int = 10
    ring: int = 4
    runtimes: tuple[str, ...] = ("docker",)
    faulty: int = 8
    labels: bool = False
    used: float = 1.0
    healed: float = 0.0
    checked: float = 0.0
    asked: float = 0.0
    composed: float = 0.0
    slots: bool = False
    placed: bool = False
    grouped: float = 0.0
    divided: float = 0.0
    united: float = 0.0


@dataclass
class Real:
    """A container as it really is. `will`: what the last person who touched it wants, None where that is moot.

    `wanted`: it ought to run, as far as cmgr has seen it and can know; None where that is moot. `spared`: the life of
    which a person has said to forget it. `ailed`: it wishes to be healed, and had a reason for that. `frozen`: somebody
    has paused it. `check`: how long its own check may take, and `healthy_at`: when it is content in this life.
    `ready`: what it is asked, `answers_at`: when it answers in this life, unless it is `mute`.
    `slot`: what it asks for; then its chips are those that the slot's file said when it was started, `min_chips` of
    `full` at least.
    `share`: the share of its chip that it asks for; without that it cannot be started.
    `made_for`: the chips of its definition as it was made; None where its runtime gives no others.
    `unit`: the unit that runs it. `begun`: when this life began, and `by_others`: not by cmgr.
    `job`: the id of the one in whose place its client has made it, first of all; `tried_again`: it has made another.
    """

    key: ContainerKey
    chips: tuple[int, ...]
    policy: str = ""
    life: int = 1
    running: bool = True
    exit: Exit | None = None
    armed: str = ""
    will: bool | None = True
    wanted: bool | None = None
    spared: int = 0
    order: int = 0
    enabled: bool = True
    strategy: Strategy | None = None
    starts: int = 0
    heal: Heal | None = None
    ill: bool = False
    ailed: bool = False
    frozen: bool = False
    needs_network: bool = False
    before_stop: tuple[str, ...] = ()
    composed: Composed | None = None
    check: timedelta | None = None
    healthy_at: datetime = T0
    ready: Question | None = None
    answers_at: datetime = T0
    mute: bool = False
    slot: str = ""
    min_chips: int = 0
    full: int = 0
    share: str = ""
    made_for: tuple[int, ...] | None = None
    group: str = ""
    group_size: int = 0
    unit: str = ""
    begun: datetime = T0
    by_others: bool = False
    job: str = ""
    tried_again: bool = False

    def health(self, now: datetime) -> str:
        if not self.running or self.frozen:
            return ""
        checked = "" if self.check is None else HEALTHY if now >= self.healthy_at else "starting"
        return UNHEALTHY if self.ill else checked

    def told(self, now: datetime) -> Container:
        claims = {SLOT + self.slot} if self.slot else {self.share} if self.share else {str(c) for c in self.chips}
        return Container(
            self.key,
            self.key.id,
            frozenset(claims),
            self.running,
            f"life {self.life}",
            None if self.running else self.exit,
            restart_policy=self.armed,
            order=self.order,
            enabled=self.enabled,
            strategy=self.strategy,
            heal=self.heal,
            health=self.health(now),
            says_within=self.check,
            ready=self.ready,
            busy="tcp://:1" if self.ready is not None else "",
            before_stop=self.before_stop,
            composed=self.composed,
            frozen=self.running and self.frozen,
            needs_network=self.needs_network,
            group=self.group,
            group_size=self.group_size,
            min_chips=self.min_chips,
            unit=self.unit,
            spare=Spare.AUTO if self.made_for is not None else None,
            made_for=frozenset(map(str, self.made_for or ())) if self.made_for != self.chips else frozenset(),
            tied=TIED if self.made_for is None else "",
            image=f"image of {self.job or self.key.id}",
        )


@dataclass
class Machine:
    seed: int
    plan: Plan
    now: datetime = T0
    skew: timedelta = timedelta()
    faults: dict[int, set[str]] = field(default_factory=dict)
    processes: set[int] = field(default_factory=set)
    shares: dict[int, set[str]] = field(default_factory=dict)
    booting: dict[int, datetime] = field(default_factory=dict)
    truth: dict[ContainerKey, Real] = field(default_factory=dict)
    hints: list[facts.Fact] = field(default_factory=list)
    resets: list[tuple[int, datetime]] = field(default_factory=list)
    sent: dict[str, datetime] = field(default_factory=dict)
    mingled: set[frozenset[ContainerKey]] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    emptied: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    looked: set[ContainerKey] = field(default_factory=set)
    calm: bool = False
    made: int = 0
    programs: int = 0
    files: tuple[Spec, ...] = ()
    ever: list[Real] = field(default_factory=list)
    ordered: set[str] = field(default_factory=set)
    knows: Callable[[str], bool] = lambda _: True

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311 - a test's dice, not a secret
        self.faults = {c: set() for c in range(self.plan.chips)}
        for number in range(self.plan.containers):
            if self.rng.random() < self.plan.used:
                self.create(number)

    def create(self, number: int) -> Real:
        """Make a container, on the chips that those of this number have."""
        first, wide = number % self.plan.chips, max(2, self.plan.containers // 8)
        alone = number < self.plan.containers - wide
        chips = (first,) if alone else (first, (first + self.plan.ring) % self.plan.chips)
        key = ContainerKey(self.plan.runtimes[number % len(self.plan.runtimes)], "", f"c{self.made}")
        policy = self.rng.choice(["", "", "always:0"])
        real = Real(key, chips, policy, full=len(chips), armed=policy, order=self.rng.choice([0, 0, 1]))
        if self.plan.labels:
            real.enabled = self.rng.random() < 0.93
            real.strategy = self.rng.choice([None] * 9 + [*Strategy])
            real.needs_network = self.rng.random() < 0.3
            real.before_stop = ("save", real.key.id) if self.rng.random() < 0.3 else ()
        if self.plan.healed and self.rng.random() < self.plan.healed:
            real.heal = Heal(self.rng.choice([None, 2]), timedelta(seconds=self.rng.choice([1, 5, 20])))
        if self.plan.checked and self.rng.random() < self.plan.checked:
            real.check = timedelta(seconds=self.rng.choice([2, 20, 90]))
        real.ready = self._asked()
        if len(chips) == 1 and self.rng.random() < self.plan.divided:
            real.share = f"{first}/{number}"
            self.shares.setdefault(first, set()).add(real.share)
        if self.plan.placed:
            real.made_for = chips
        if self.plan.slots:
            real.slot = f"slot-{number}"
        if self.plan.slots or self.plan.placed:
            real.min_chips = self.rng.choice([0, 1, 2])
        if self.plan.grouped and self.rng.random() < self.plan.grouped:
            real.group = self.rng.choice(["tp4", "decode"])
            real.chips = () if self.rng.random() < 0.15 else real.chips
            real.full = len(real.chips)
        if self.plan.composed and self.rng.random() < self.plan.composed:
            real.composed = self._composed(number)
        self.truth[key] = real
        self.ever.append(real)
        self.made += 1
        return real

    def _asked(self) -> Question | None:
        asked = self.plan.asked and self.rng.random() < self.plan.asked
        return question("http://:8000/health") if asked else None

    def _composed(self, number: int) -> Composed:
        """Place it in one of two projects; what it needs may be anybody, itself and circles included."""
        others = self.rng.sample(range(self.plan.containers), self.rng.choice([0, 1, 1, 2]))
        needs = tuple(Need(f"s{other}", self.rng.choice(list(Condition))) for other in others)
        return Composed(f"p{number % 2}", f"s{number}", 1, needs, self.now)

    def clock(self) -> datetime:
        """Return what the machine's clock shows; it is set back now and then."""
        return self.now + self.skew

    def rings_of(self, real: Real) -> set[int]:
        return {c // self.plan.ring * self.plan.ring for c in real.chips}

    def carry_out(self, command: Action) -> facts.Answer:
        return answered(command, **self._carry_out(command, not self.calm and self.rng.random() < 0.1))

    def _carry_out(self, command: Action, fails: bool) -> dict[str, Any]:  # noqa: C901 - a flat table
        """Do what the command asks, or not, and return what its answer says of it."""
        match command:
            case ListContainers():
                if command.runtime in self.down or fails:
                    return {"error": "no answer"}
                return self._lists(command.runtime)
            case ReadRing():
                reports = tuple(self._report(c, fails) for c in command.chips)
                unwell = fails and command.after_reset
                return {"reports": tuple(replace(r, unwell="a hook says no") if unwell else r for r in reports)}
            case PrepareReset() | ScheduleReboot():
                return {}
            case ResetRing():
                return self._reset(command, fails)
            case RunTest():
                return verdict(self.rng, command, fails)
            case MakeShares():
                return self._make_shares(command, fails)
            case StopContainer() | StartContainer() | SetRestartPolicy():
                return self._manage(command, fails)
            case ReadOutput():
                return {"error": "no answer"} if fails or command.key not in self.truth else {"text": "out of memory"}
            case PretendFault():
                if not fails:
                    self.fault(command.chip, command.code, Assertion.OCCURRED)
                return {"error": "no answer"} if fails else {}
            case WriteGroup() | ReadGroup():
                raise AssertionError("this machine is of no fleet")
            case WriteCdi():
                self.files = self.files if fails else command.specs
                return {"error": "the disk is full"} if fails else {}

    def _lists(self, runtime: str) -> dict[str, Any]:
        """List all, or, of an engine that has other books, those of whom cmgr knows the first process, which lives."""
        there = [r for r in self.truth.values() if r.key.runtime == runtime]
        if runtime not in self.elsewhere:
            self.looked |= {r.key for r in there}
            return {"containers": tuple(r.told(self.now) for r in there), "origin": Origin(runtime, "own")}
        alive = (r.told(self.now) for r in there if r.running and r.key in self.looked)
        told = tuple(replace(c, unlisted=True, unread="its process lives") for c in alive)
        return {"containers": told, "origin": Origin(runtime, OTHER)}

    def is_unreachable(self, real: Real) -> bool:
        """Return whether its engine is on another disk, and nobody can do anything to it but its own process."""
        return real.key.runtime in self.elsewhere

    def _report(self, chip: ChipId, fails: bool) -> ChipReport:
        if chip in self.silent or (fails and self.rng.random() < 0.3):
            return ChipReport(chip, error="no answer")
        codes = tuple(Reported(c) for c in sorted(self.faults[chip])) if (booted := self._booted(chip)) else ()
        shares = tuple(_share(name) for name in sorted(self.shares.get(chip, ())))
        return ChipReport(chip, booted, codes, tuple(map(_process, self._users(chip))), shares=shares)

    def _booted(self, chip: int) -> bool:
        return self.booting.get(chip, T0) <= self.now

    def _users(self, chip: int) -> list[object]:
        return [*(r for r in self.truth.values() if r.running and chip in r.chips), *({chip} & self.processes)]

    def _reset(self, command: ResetRing, fails: bool) -> dict[str, Any]:
        busy = [c for c in command.chips if self._users(c)]
        still = [c for c in command.faulty if self.faults[c] & command.codes]
        if busy or (command.codes and not still):
            return {"error": f"refused: {busy} {still}", "refused": True}
        self.resets.append((command.ring, self.sent.pop(command.id, self.now)))
        if fails and self.rng.random() < 0.5:
            return {"error": "the driver said no"}
        boot = timedelta(seconds=self.rng.choice([0, 0.3, 5, 5, 200 if not self.calm else 5]))
        for chip in command.chips:
            self.booting[chip] = self.now + boot
            if self.rng.random() < 0.8:
                self.shares.pop(chip, None)
            self.faults[chip] = {f for f in sorted(self.faults[chip]) if not self.calm and self.rng.random() < 0.2}
        return {"error": "timed out" if fails else ""}

    def _make_shares(self, command: MakeShares, fails: bool) -> dict[str, Any]:
        for chip, shares in command.shares.items():
            users = [r for r in self.truth.values() if r.running and chip in r.chips]
            assert all(r.by_others for r in users), f"seed {self.seed}: shares of chip {chip} are made under {users}"
            made = sorted(share.id for share in shares if not users and chip not in self.processes)
            self.shares.setdefault(chip, set()).update(made[: self.rng.randrange(len(made) + 1)] if fails else made)
        return {"error": "the driver said no" if fails else ""}

    def _manage(self, command: StopContainer | StartContainer | SetRestartPolicy, fails: bool) -> dict[str, Any]:
        real = self.truth.get(command.key)
        if real is None or (self.is_unreachable(real) and command.key.runtime not in self.down):
            return {"gone": True}
        if not isinstance(command, SetRestartPolicy):
            self._may_be_touched(real)
        if isinstance(command, StopContainer):
            assert command.before in ((), real.before_stop), f"seed {self.seed}: {command.before} is run in {real}"
        if command.key.runtime in self.down:
            return {"error": "down", "unreachable": True}
        match command:
            case StopContainer():
                return self._stop(real, fails)
            case StartContainer():
                return self._start(real, command, fails)
            case SetRestartPolicy():
                if self._refuses(real, command.restart_policy):
                    return {"error": "it runs"}
                real.armed = real.armed if fails else command.restart_policy
                return {"error": "no answer" if fails else ""}

    def _may_be_touched(self, real: Real) -> None:
        where = f"seed {self.seed}: {real}"
        assert real.enabled, f"{where} is not enabled"
        if real.ailed or real.slot or real.made_for or any(mate.ailed for mate in self.mates(real)):
            return  # It may be on any ring by now.
        cleared = bool(self.emptied & self.rings_of(real))
        assert cleared or real.strategy is not Strategy.NEVER, f"{where} is never to be recovered"
        concerned = {ring for mate in (real, *self.mates(real)) for ring in self.rings_of(mate)}
        ordered = real.group in self.ordered
        assert ordered or any(c < self.plan.faulty for r in concerned for c in range(r, r + self.plan.ring)), where

    def mates(self, real: Real) -> list[Real]:
        """Return the members of its group that there ever were."""
        return [mate for mate in self.ever if real.group and mate.group == real.group]

    def _stop(self, real: Real, fails: bool) -> dict[str, Any]:
        if not real.running:
            return {"run": f"life {real.life}", "before": real.exit}
        if not fails or self.rng.random() < 0.5:
            self.dies(real, Exit(143, self.clock(), asked=True))
        words = {"words": "ran save", "deaf": self.rng.choice(["", "its first process is a shell"])}
        return {"error": "timeout"} if fails else {"run": f"life {real.life}", **words}

    def _refuses(self, real: Real, policy: str) -> bool:
        """Return whether its runtime would have to change one that runs for this restart policy, as Docker would."""
        return real.running and real.key.runtime == "docker" and real.armed != policy

    def _start(self, real: Real, command: StartContainer, fails: bool) -> dict[str, Any]:
        if fails and self.rng.random() < 0.5:
            return {"error": "no"}
        if command.restart_policy and self._refuses(real, command.restart_policy):
            return {"error": "something else has started it", "runtime_ails": True}
        given = self._placed(real, command) if command.placing else self.given(real)
        if not real.running and given is None:
            assert not real.share, f"seed {self.seed}: {real} was started without its share"
            return {"error": "unresolvable CDI devices"}
        if given is not None and not real.running:
            assert len(given) >= min(real.min_chips or real.full, real.full), f"seed {self.seed}: {real} gets {given}"
            real.chips = given
            self._has_them_alone(real)
            real.armed = command.restart_policy or real.armed
            if fails and self.rng.random() < 0.3:
                return {"error": "its definition or its policy was changed, and it was not started"}
            assert real.will is not False, f"seed {self.seed}: {real} was started against a person's will"
            assert all(self._booted(c) for c in real.chips), f"seed {self.seed}: {real} was started in a reset"
            self.starts(real, by_others=False)
            real.starts += 1
        if fails:
            return {"error": "timeout"}
        if command.frozen and not real.frozen:
            real.frozen = True
            self.hint(facts.ContainerSeen(real.told(self.now)))
        return {"run": f"life {real.life}"}

    def given(self, real: Real) -> tuple[int, ...] | None:
        """Return the chips that it gets if it is started now; None where its share, or its slot's file, is missing."""
        if not real.slot:
            return real.chips if not real.share or real.share in self.shares.get(real.chips[0], ()) else None
        devices = [d for s in self.files for d in s.devices if d.name == real.slot]
        return tuple(c.id for c in devices[0].chips) if devices and not devices[0].refusal else None

    def _placed(self, real: Real, command: StartContainer) -> tuple[int, ...]:
        assert {c.id for c, _ in command.placing} == set(real.made_for or ()), f"seed {self.seed}: {command} for {real}"
        return tuple(new.id for _, new in command.placing if new is not None)

    def _has_them_alone(self, real: Real) -> None:
        for other in (r for r in self.truth.values() if r.running and frozenset((real.key, r.key)) not in self.mingled):
            shared, where = set(real.chips) & set(other.chips), f"seed {self.seed}: {real} and {other}"
            if real.made_for and not other.by_others:
                moved = set(real.chips) - set(real.made_for) | set(other.chips) - set(other.made_for or ())
                assert not shared & moved, where
            # Started by its policy in the moment its slot moves it has the old chips, as only the driver sees.
            late = other.by_others and other.chips != self.given(other)
            # Whether a client's other try was known when this start was ordered the world has judged then.
            one_job = (real.job or real.key.id) == (other.job or other.key.id)
            assert not (real.slot and other.slot and shared) or late or one_job, where

    def starts(self, real: Real, *, by_others: bool = True) -> None:
        given = self.given(real)
        if given is None:
            return  # Its runtime refuses.
        real.chips = given
        real.begun, real.by_others = self.clock(), by_others
        if by_others:
            # That one has just ended nobody has been told yet.
            there = (r for r in self.truth.values() if r.running or (r.exit and self.clock() - r.exit.at < JUST_NOW))
            self.mingled |= {frozenset((real.key, r.key)) for r in there if set(r.chips) & set(given)}
        real.running, real.life, real.exit, real.ill, real.frozen = True, real.life + 1, None, False, False
        if real.check is not None:
            # It is content in time, or later than it may be, or it fails at once, as after a start on a bad chip.
            real.healthy_at = self.now + real.check * self.rng.choice([0, 0.5, 1, 3])
            real.ill = not self.calm and self.rng.random() < 0.4
            real.ailed = real.ailed or (real.ill and real.heal is not None)
        if real.ready is not None:
            real.answers_at = self.now + timedelta(seconds=self.rng.choice([0, 10, 40]))
            real.mute = not self.calm and self.rng.random() < 0.3
        self.hint(facts.ContainerSeen(real.told(self.now)))

    def dies(self, real: Real, exit_: Exit) -> None:
        real.running, real.exit = False, exit_
        self.hint(facts.ContainerSeen(real.told(self.now)))

    def hint(self, fact: facts.Fact) -> None:
        if isinstance(fact, facts.ContainerSeen) and fact.container.key.runtime in self.elsewhere:
            return
        if not self.calm and self.rng.random() < 0.15:
            return
        self.hints += [fact] * (2 if self.rng.random() < 0.1 else 1)

    def fault(self, chip: int, code: str, assertion: Assertion = Assertion.OCCURRED) -> None:
        if assertion is Assertion.OCCURRED:
            self.faults[chip].add(code)
        elif assertion is Assertion.CLEARED:
            self.faults[chip].discard(code)
        whose = self._whose() if assertion is Assertion.ONCE else None
        self.hint(facts.FaultReported(ChipId(chip), code, assertion, "1.2", 2, whose=whose))

    def _whose(self) -> frozenset[str] | None:
        """Return whose program the next fault of one came of: nobody can say, nobody's who is there, or somebody's."""
        self.programs += 1
        own = [key.id for key in sorted(self.truth)][self.programs % max(1, len(self.truth)) :][:1]
        return (None, frozenset[str](), frozenset(own))[self.programs % 3]


def _share(name: str) -> Share:
    return Share(name, "half", aliases=frozenset({name}))


def _process(user: object) -> Process:
    return Process(1, "p", container=user.key.id if isinstance(user, Real) and user.slot else "")
