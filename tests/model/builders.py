"""The words in which tests of the model pretend a machine, and one to be scripted: say what is true, tell what happens,
look at what cmgr decides. The machine of the random walks (`machine`) has the same words.

`Cmgr` keeps the truth (containers, faults, processes) beside the node. Commands wait in `pending` until the test has
them answered: truthfully by `run` or `answer`, or otherwise by `answer(kind, error=...)`.
"""

from collections.abc import Iterable
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from cmgr.model.invariants import stuck, unsafe
from cmgr.model.reduce import next_deadline, reduce
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, Reported, RingId, Share
from cmgr.model.values.faults import Assertion, Fault, FaultCode, FaultKey, Handling, Level
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import Policy, RetryPolicy, Strategy
from cmgr.model.values.holds import Hold
from cmgr.model.values.life import reborn
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Action,
    Command,
    ListContainers,
    MakeShares,
    Note,
    NoteKind,
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
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten
from cmgr.model.values.messages.reboot_facts import Boot, RebootScheduled
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone, ResetPrepared, SharesMade
from cmgr.model.values.node import SYSTEMD, Node, known_faults
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.cdi import Spec
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Kept

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MINOR, REQUEST, BUSINESS = "80000001", "80000002", "80000003"
FREE, RESET, SEPARATE = "80000004", "80000005", "80000006"
LEVELS = {f"{0x80000001 + level:X}": level for level in Level}
CATALOG = Catalog({FaultCode(code): Entry(Handling[level.name], "a test") for code, level in LEVELS.items()})
AT_ONCE = RetryPolicy(settle=timedelta())
RING = Policy(strategy=Strategy.RING, retry=AT_ONCE)
SINGLE = Policy(strategy=Strategy.SINGLE, retry=AT_ONCE)

Kind = TypeVar("Kind", bound=Action)

_KEPT = {each.name for each in dataclass_fields(Kept)}


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def key(name: str, runtime: str = "docker") -> ContainerKey:
    return ContainerKey(runtime, "", name)


def container(name: str, *chips: int, runtime: str = "docker", **fields: Any) -> Container:
    """Return a container in its first life, running unless `fields` say otherwise."""
    claims = frozenset(str(c) for c in chips)
    return altered(Container(key(name, runtime), name, claims, running=True, run="life 1"), **fields)


def altered(container: Container, **fields: Any) -> Container:
    """Return the container with fields of its own, and of what is kept of it, changed."""
    kept = {name: fields.pop(name) for name in [*fields] if name in _KEPT}
    return replace(container, kept=replace(container.kept, **kept), **fields)


def died(name: str, *chips: int, code: int = 1, at: datetime = T0, **fields: Any) -> Container:
    """Return a container that exited and that nobody had asked to."""
    return container(name, *chips, running=False, exit=Exit(code, at, asked=False), **fields)


def topology(chips: int, ring: int) -> tuple[Chip, ...]:
    return tuple(Chip(ChipId(c), RingId(c // ring * ring), logical=c) for c in range(chips))


def refuses(container: Container, policy: str) -> bool:
    """Return whether its runtime would have to change one that runs for this restart policy, as Docker would."""
    return container.running and container.key.runtime == "docker" and container.restart_policy != policy


def answered(command: Action, **fields: Any) -> facts.Answer:
    """Return the answer to a command; it says nothing but these fields."""
    return replace(_answer(command), **fields)


def _answer(command: Action) -> facts.Answer:  # noqa: C901 - a flat table, a line a command
    match command:
        case ListContainers():
            return facts.ContainersListed(command.id, command.runtime)
        case ReadRing():
            return facts.RingRead(command.id, command.ring, ())
        case PrepareReset():
            return ResetPrepared(command.id, command.order)
        case ResetRing():
            return ResetDone(command.id, command.ring)
        case RunTest():
            return ChipsTested(command.id, command.ring)
        case MakeShares():
            return SharesMade(command.id, command.ring)
        case StopContainer():
            return facts.ContainerStopped(command.id, command.key)
        case StartContainer():
            return facts.ContainerStarted(command.id, command.key)
        case SetRestartPolicy():
            return facts.RestartPolicySet(command.id, command.key)
        case ReadOutput():
            return facts.OutputRead(command.id, command.key)
        case WriteCdi():
            return facts.CdiWritten(command.id)
        case ScheduleReboot():
            return RebootScheduled(command.id)
        case PretendFault():
            return facts.FaultPretended(command.id, command.chip, command.drill)
        case WriteGroup():
            return GroupWritten(command.id, command.group)
        case ReadGroup():
            return GroupRead(command.id, command.group)


def placed(known: Container, command: StartContainer) -> Container:
    """Return the container with the definition that the order to start it wants."""
    if not command.placing:
        return known
    home = known.made_for or known.claims
    now = frozenset(str(new.id) for _, new in command.placing if new is not None)
    return replace(known, claims=now, made_for=frozenset() if now == home else home)


def stored(node: Node) -> Node:
    """Return what a store keeps of a node."""
    return replace(
        reborn(node),
        rings={i: reborn(r) for i, r in node.rings.items()},
        containers={k: replace(reborn(c), exit=c.exit and reborn(c.exit)) for k, c in node.containers.items()},
        tallies={k: reborn(t) for k, t in node.tallies.items()},
        holds={k: reborn(h) for k, h in node.holds.items()},
        fleet_groups={n: reborn(g) for n, g in node.fleet_groups.items()},
        occasions={k: reborn(o) for k, o in node.occasions.items()},
    )


class Cmgr:
    """One machine under one cmgr. Events are told in steps of a millisecond unless time is made to pass.

    `prepares`: what comes before a reset is done at once. `strangers`: containers that the units which they name do
    not run.
    `settle`: how many seconds a container must run after its start; 0, whatever `policy` says, where that is no matter.
    """

    def __init__(
        self,
        *containers: Container,
        policy: Policy = RING,
        chips: int = 8,
        ring: int = 4,
        runtimes: tuple[str, ...] = ("docker",),
        catalog: Catalog = CATALOG,
        settle: float = 0,
        appliance: str = "",
        strangers: Iterable[str] = (),
    ) -> None:
        self.now = T0
        self.appliance = appliance
        self.chips = topology(chips, ring)
        self.runtimes = runtimes
        self.truth = {c.key: c for c in containers}
        self.strangers = frozenset(strangers)
        self.faults: dict[int, set[str]] = {c.id: set() for c in self.chips}
        self.processes: dict[int, str] = {}
        self.listed: dict[int, Process] = {}
        self.inside: dict[int, ContainerKey] = {}
        self.silent: set[int] = set()
        self.unbooted: set[int] = set()
        self.blind: set[int] = set()
        self.in_reset: set[int] = set()
        self.yielding: set[int] = set()
        self.shares: dict[int, tuple[Share, ...]] = {}
        self.cures = True
        self.prepares = True
        self.files: tuple[Spec, ...] = ()
        self.boot = Boot("boot 1", timedelta(days=2))
        self.policy = replace(policy, retry=replace(policy.retry, settle=seconds(settle)))
        self.catalog = catalog
        self.pending: list[Action] = []
        self.log: list[Command] = []
        self.node = Node()
        self.begin()
        self.run()
        self.log.clear()

    def begin(self) -> None:
        """Let a life of the process begin, with what is stored."""
        self.node = replace(stored(self.node), policy=self.policy, catalog=self.catalog)
        self.pending = []
        self.tell(facts.Restarted(self.chips, self.runtimes, appliance=self.appliance, boot=self.boot))

    def tell(self, fact: facts.Fact) -> list[Command]:
        """Let cmgr take in one fact, and return what it decided."""
        self.now += timedelta(milliseconds=1)
        self.node, commands = reduce(self.node, facts.Event(self.now, fact))
        for command in commands:
            assert not unsafe(self.node, command), (command, unsafe(self.node, command))
            if not isinstance(command, Note):
                self.pending.append(command)
        assert not stuck(self.node), stuck(self.node)
        self.log += commands
        if self.prepares and any(isinstance(command, PrepareReset) for command in commands):
            return [*commands, *self.answer(PrepareReset)]
        return list(commands)

    def sees(self, changed: Container) -> list[Command]:
        """Make this the container's state, and tell cmgr."""
        self.truth[changed.key] = changed
        return self.tell(facts.ContainerSeen(self._told(changed)))

    def removes(self, name: str, runtime: str = "docker") -> list[Command]:
        del self.truth[key(name, runtime)]
        return self.tell(facts.ContainerRemoved(key(name, runtime)))

    def starts(self, name: str, run: str, runtime: str = "docker") -> list[Command]:
        """Have the container started, not by cmgr, and let cmgr make sure by a list; return what it decided."""
        before = len(self.log)
        self.sees(replace(self.truth[key(name, runtime)], running=True, run=run, exit=None))
        self.run(ListContainers)
        return self.log[before:]

    def starts_by_hand(self, name: str, run: str = "by hand", runtime: str = "docker") -> list[Command]:
        """Make a person start it: so late that nothing which keeps the container running would have waited for that."""
        self.now += self.policy.retry.owner_window
        return self.starts(name, run, runtime)

    def dies(self, name: str, code: int = 1, *, asked: bool = False) -> list[Command]:
        return self.sees(replace(self.truth[key(name)], running=False, exit=Exit(code, self.now, asked)))

    def fault(self, chip: int, code: str = RESET, module: str = "", severity: int | None = None) -> list[Command]:
        self.faults[chip].add(code)
        return self.tell(facts.FaultReported(ChipId(chip), code, Assertion.OCCURRED, module, severity))

    def once(self, chip: int, code: str = RESET) -> list[Command]:
        return self.tell(facts.FaultReported(ChipId(chip), code, Assertion.ONCE))

    def clears(self, chip: int, code: str = RESET, module: str = "") -> list[Command]:
        self.faults[chip].discard(code)
        return self.tell(facts.FaultReported(ChipId(chip), code, Assertion.CLEARED, module))

    def answer(self, kind: type[Kind], **fields: Any) -> list[Command]:
        """Have the oldest waiting command of this kind answered; with a failure in `fields` it is not carried out."""
        command = next(c for c in self.pending if isinstance(c, kind))
        self.pending.remove(command)
        nothing = fields.get("error") or fields.get("gone") or isinstance(command, PrepareReset)
        return self.tell(answered(command, **{**({} if nothing else self._carry_out(command)), **fields}))

    def run(self, *kinds: type[Action]) -> None:
        """Answer what waits truthfully, until nothing of these kinds (of any kind) is left."""
        for _ in range(2000):
            command = next((c for c in self.pending if not kinds or isinstance(c, kinds)), None)
            if command is None:
                return
            self.answer(type(command))
        raise AssertionError(f"no end of commands: {self.pending[:3]}")

    def run_until(self, phase: Phase, ring: int = 0) -> None:
        """Answer what waits, the oldest first, until the ring is in this phase."""
        for _ in range(200):
            if self.phase(ring) is phase:
                return
            assert self.pending, f"ring {ring} stays in {self.phase(ring)}: {self.ring(ring).reason}"
            self.answer(type(self.pending[0]))
        raise AssertionError(f"ring {ring} stays in {self.phase(ring)}: {self.ring(ring).reason}")

    def wait(self, time: float, *, run: bool = True) -> None:
        """Let time pass, with a tick whenever one is due; what waits is answered unless `run` is False."""
        end = self.now + seconds(time)
        for _ in range(10_000):
            if run:
                self.run()
            due = next_deadline(self.node, self.now)
            if due is None or due > end:
                self.now = max(self.now, end)
                self.tell(facts.Tick())
                if run:
                    self.run()
                return
            self.now = max(self.now, due - timedelta(milliseconds=1))
            self.tell(facts.Tick())
        raise AssertionError(f"time does not pass: {self.node.rings}")

    def _of(self, runtime: str) -> list[Container]:
        return [c for c in self.truth.values() if c.key.runtime == runtime]

    def _told(self, known: Container) -> Container:
        """Return what its runtime says of it: systemd says which of those that name a unit are run by it."""
        named = (c for c in self.truth.values() if c.unit and c.unit == known.name and c.name not in self.strangers)
        return replace(known, vouches=frozenset(c.key for c in named)) if known.key.runtime == SYSTEMD else known

    def _carry_out(self, command: Action) -> dict[str, Any]:  # noqa: C901 - a flat table, a line a command
        """Do what the command asks, and return what its answer says of it."""
        match command:
            case ListContainers():
                return {"containers": tuple(map(self._told, self._of(command.runtime)))}
            case ReadRing():
                return {"reports": tuple(self._report(c) for c in command.chips)}
            case ResetRing():
                return self._reset(command)
            case MakeShares():
                return self._make_shares(command)
            case StopContainer():
                known = self.truth[command.key]
                if not known.running:
                    return {"run": known.run, "before": known.exit}
                exit_ = Exit(143, self.now, asked=True)
                self.truth[command.key] = replace(known, running=False, exit=exit_, frozen=False)
                return {"run": known.run}
            case StartContainer():
                return self._start(command)
            case SetRestartPolicy():
                if refuses(self.truth[command.key], command.restart_policy):
                    return {"error": "it runs"}
                self.truth[command.key] = replace(self.truth[command.key], restart_policy=command.restart_policy)
                return {}
            case ReadOutput():
                return {"text": "loading the model\nout of memory\n"}
            case PretendFault():
                self.faults[command.chip].add(command.code)
                return {}
            case WriteCdi():
                self.files = command.specs
                return {}
            case RunTest() | ScheduleReboot():
                return {}
            case PrepareReset() | WriteGroup() | ReadGroup():
                raise AssertionError("this machine does nothing for it")

    def _start(self, command: StartContainer) -> dict[str, Any]:
        known = self.truth[command.key]
        if command.restart_policy and refuses(known, command.restart_policy):
            return {"error": "something else has started it", "runtime_ails": True}
        run = known.run if known.running else f"start {len(self.sent(StartContainer))}"
        policy = command.restart_policy or known.restart_policy
        frozen = known.frozen or command.frozen
        known = known if known.running else placed(known, command)
        now = replace(known, running=True, run=run, exit=None, restart_policy=policy, frozen=frozen)
        self.truth[command.key] = now if known.running else replace(now, health="")
        return {"run": run}

    def _reset(self, command: ResetRing) -> dict[str, Any]:
        for chip in command.chips if self.cures else ():
            self.faults[chip] = set()
            self.shares.pop(chip, None)
        return {}

    def _make_shares(self, command: MakeShares) -> dict[str, Any]:
        for chip, shares in command.shares.items():
            there = {share.id for share in self.shares.get(chip, ())}
            made = (replace(s, there=True, kept=False, why="") for s in shares if s.id not in there)
            self.shares[chip] = (*self.shares.get(chip, ()), *made)
        return {}

    def _report(self, chip: ChipId) -> ChipReport:
        if chip in self.silent:
            return ChipReport(chip, error="timed out")
        if chip in self.unbooted | self.in_reset:
            return ChipReport(chip, booted=False, in_reset=chip in self.in_reset)
        on = [Process(1, c.name) for c in self.truth.values() if c.running and str(chip) in c.claims]
        on += [Process(99, self.processes[chip], yields=chip in self.yielding)] if chip in self.processes else []
        on += [self.listed[chip]] if chip in self.listed else []
        if chip in self.inside and self.truth[self.inside[chip]].running:
            on.append(Process(2, "python3", container=self.inside[chip].id))
        faults, shares = tuple(Reported(c) for c in sorted(self.faults[chip])), self.shares.get(chip, ())
        blind = chip in self.blind
        return ChipReport(chip, faults=faults, processes=() if blind else tuple(on), shares=shares, blind=blind)

    def sent(self, kind: type[Kind], name: str = "") -> list[Kind]:
        """Return the commands of this kind since the beginning, or since `log` was cleared; of one container only."""
        found = [c for c in self.log if isinstance(c, kind)]
        return [c for c in found if not name or getattr(c, "name", "") == name]

    def notes(self, *kinds: NoteKind) -> list[str]:
        return [c.text for c in self.log if isinstance(c, Note) and (not kinds or c.kind in kinds)]

    def ring(self, ring: int = 0) -> Ring:
        return self.node.rings[RingId(ring)]

    def phase(self, ring: int = 0) -> Phase:
        return self.ring(ring).phase

    def hold(self, name: str, runtime: str = "docker") -> Hold:
        return self.node.holds[key(name, runtime)]

    def held(self) -> list[str]:
        return sorted(h.name for h in self.node.holds.values())

    def booked(self, name: str, runtime: str = "docker") -> Container:
        return self.node.containers[key(name, runtime)]

    def fault_of(self, chip: int, code: str = RESET, module: str = "") -> Fault:
        key = FaultKey(FaultCode(code), module)
        return next(f for f in known_faults(self.node, ChipId(chip)) if f.key == key)


def names(commands: Iterable[Command], kind: type[StopContainer | StartContainer] = StopContainer) -> list[str]:
    """Return the containers that commands of this kind are about, in their order."""
    return [c.name for c in commands if isinstance(c, kind)]


def reset_timed_out() -> Cmgr:
    """Return a ring whose reset the driver gave up waiting for: its fault is gone, and its chips are not up."""
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.clears(0)
    cmgr.unbooted = {0, 1, 2, 3}
    cmgr.answer(ResetRing, error="timed out")
    return cmgr
