"""A cmgr on a pretended machine, that may be killed at any point: before a save, after it, in the middle of sending.

Everything is virtual, time too. As in the service events are decided on in batches, saved, and only then sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cmgr.errors import ResetRefused, RuntimeDown
from cmgr.model.faults.escalation import separating
from cmgr.model.invariants import doubled, stuck, unsafe
from cmgr.model.reduce import decided_together, next_deadline, reduce
from cmgr.model.scope import handled_faults, is_ill, users_listed
from cmgr.model.units import is_of, unit_of
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.faults import Fault, FaultClass, FaultCode, Handling, Level
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Opening
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import OnIsolate, Policy
from cmgr.model.values.handling.rules import RuleKind, Rules
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Action,
    Command,
    Note,
    NoteKind,
    PrepareReset,
    ResetRing,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.node import SYSTEMD, Node, units_known
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.services.groups import GroupPhase
from cmgr.model.wanted import missing
from cmgr.service.loop import unwritten
from cmgr.service.work.workers import failed
from tests.model.builders import answered, stored, topology
from tests.model.machine import Machine, Plan
from tests.model.united import United
from tests.model.walks.hold_changes import GOLDEN, unknown
from tests.model.walks.origins import lost, not_up, resets_in_doubt
from tests.model.walks.outages import miscounted
from tests.model.walks.reasons import misled, untold
from tests.model.walks.users import Users
from tests.model.walks.verdicts import bad_after, known_bad

LINK_DOWN = FaultCode("81078603")
REPORTED = FaultCode("220001001")
CODES = {
    "80E24E00": Handling.RestartNPU,
    "80C98008": Handling.RestartRequest,
    "80E18400": Handling.NotHandleFault,
    "80E20000": Handling.FreeRestartNPU,
    "A2301001": Handling.SeparateNPU,
    "80E3A200": Handling.PreSeparateNPU,
    "8C2FA001": Handling.SubHealthFault,
    # The table of somebody who has not understood what a link is.
    REPORTED: Handling.RestartRequest,
    LINK_DOWN: Handling.SeparateNPU,
}
OF_MACHINE = {
    "memory-corrected": Handling.NotHandleFault,
    "raid-degraded": Handling.RestartNPU,
    "memory-uncorrected": Handling.PreSeparateNPU,
    "raid-failed": Handling.SeparateNPU,
}
"""Of the machine itself; one by the table of somebody who thinks that it could be reset."""

CATALOG = Catalog(
    {
        FaultCode(c): Entry(word, "test", fault_class=FaultClass.NETWORK if c == LINK_DOWN else FaultClass.CHIP)
        for c, word in CODES.items()
    }
    | {FaultCode(c): Entry(word, "test") for c, word in OF_MACHINE.items()}
)


@dataclass
class World:
    """`saved` is what the database has; `under_way` the commands that workers have. `closed`: episodes that ended."""

    seed: int
    policy: Policy
    plan: Plan = field(default_factory=Plan)
    rules: Rules = field(default_factory=Rules)
    node: Node = field(default_factory=Node)
    saved: Node = field(default_factory=Node)
    under_way: list[Action] = field(default_factory=list)
    closed: int = 0
    deaths: int = 0

    def __post_init__(self) -> None:
        self.users = Users()
        self.bad = frozenset[ChipId]()
        self.decided: tuple[Node, datetime] | None = None
        self.machine = self.make()
        self.machine.knows = lambda unit: unit in units_known(self.node)
        self.rng = self.machine.rng
        self.windows = [*self.policy.windows(), MAINTENANCE_WINDOWS] if self.policy.windows() else []
        self.windows += [drill.occasion for drill in self.policy.drills]
        self.opened: set[str] = set()
        self.begin()
        self._make_slots()

    def _make_slots(self) -> None:
        """Let a person have made the slots before anything happens."""
        calm, self.machine.calm = self.machine.calm, True
        for real in self.machine.truth.values():
            if real.slot:
                self.step(facts.SlotOrdered(real.slot, "a", frozenset(map(ChipId, real.chips))))
        while self.under_way and self.plan.slots:
            self.answer()
        self.machine.calm = calm

    def make(self) -> Machine:
        return (United if self.plan.united else Machine)(self.seed, self.plan)

    def appliance(self) -> str:
        """Return its name in a fleet: this one is in none."""
        return ""

    def topology(self) -> tuple[Chip, ...]:
        return topology(self.plan.chips, self.plan.ring)

    def begin(self) -> None:
        alive = self.machine.clock()
        self.node = self.saved = replace(self.load(), policy=self.policy, catalog=self.catalog(), alive=alive)
        covering = (SYSTEMD,) if self.plan.united else ()
        self.step(facts.Restarted(self.topology(), self.plan.runtimes, self.openings(), self.appliance(), covering))

    def openings(self) -> tuple[Opening, ...]:
        """Return what the calendar says; when a window changes next, nobody knows."""
        until = self.machine.clock() + timedelta(seconds=self.rng.choice([1, 20, 300])) if self.windows else None
        return tuple(Opening(name, name in self.opened, until, until) for name in self.windows)

    def catalog(self) -> Catalog:
        return replace(CATALOG, rules=self.rules)

    def load(self) -> Node:
        """Return what a new life finds in the database."""
        return stored(self.saved)

    def save(self, commands: Sequence[Action], notes: Sequence[Note]) -> bool:
        """Return whether the database took it."""
        self.saved = self.node
        return True

    def step(self, *batch: facts.Fact) -> None:
        """Decide on these facts, save, send; and be killed somewhere on the way now and then."""
        for released in (
            f.chip for f in batch if isinstance(f, facts.ReleaseOrdered) and f.chip in self.node.isolations
        ):
            ring = released // self.plan.ring * self.plan.ring  # Its budget begins anew.
            self.machine.resets = [(r, at) for r, at in self.machine.resets if r != ring]
        commands, notes = self._decide(batch)
        deadly = not self.machine.calm and self.rng.random() < 0.01
        if deadly and self.rng.random() < 0.3:
            return self.die()  # Nothing of it was saved.
        written = self.save(commands, notes)
        if deadly:
            self._send(commands[: self.rng.randrange(len(commands) + 1)], written)
            return self.die()
        return self._send(commands, written)

    def _check_program(self, action: Action) -> None:
        """For a fault of a program nobody is stopped beside it, but for those on chips that are isolated."""
        hold = self.node.holds.get(action.key) if isinstance(action, StopContainer) else None
        of = (ring for ring in self.node.rings.values() if hold is not None and ring.episode == hold.episode)
        ring = next((ring for ring in of if ring.of_programs), None)
        if hold is None or ring is None or hold.cause is not Cause.EPISODE:
            return
        if hold.sick and is_ill(self.node, self.node.containers[hold.key]):
            return  # It is not well after its start, and stopped for that.
        if self._is_emptied(hold.chips):
            return
        faults = [fault for chip in ring.chips for fault in self.node.faults.get(chip, {}).values()]
        whose = frozenset[str]().union(*(fault.whose or () for fault in faults if fault.spares_others))
        own = is_of(self.node, self.node.containers[hold.key], whose)
        assert own, f"seed {self.seed}: {hold.name} is stopped for a program of {whose}"

    def _decide(self, batch: Sequence[facts.Fact]) -> tuple[list[Action], list[Note]]:
        commands, notes = list[Action](), list[Note]()
        for together in decided_together([self._event(fact) for fact in batch]):
            before = self.node
            decided = self._reduced(*together)
            self._check_ended_holds(before, together[-1].fact)
            assert not (gone := lost(before, self.node, together[-1].fact)), f"seed {self.seed}: {gone} are lost"
            self.bad = bad_after(self.bad, before, together[-1].fact)
            new = unknown(before, self.node, together[-1].fact)
            assert not new, f"seed {self.seed}: changes of a hold that {GOLDEN.name} has not: {new}"
            self._check_reset_first(before)
            self._check_spared(before, together[-1].at)
            actions = [c for c in decided if not isinstance(c, Note)]
            if self.node.maintenance is not None:
                touched = [a for a in actions if isinstance(a, StopContainer | StartContainer | ResetRing)]
                assert not touched, f"seed {self.seed}: {touched} in maintenance"
            assert not (resets := resets_in_doubt(self.node, actions)), f"seed {self.seed}: {resets} in doubt"
            self.users.count(self.node, self.machine.truth)
            for action in actions:
                self._check_users(action)
                self._check_bad(action)
                self._check_network(action)
                self._check_barrier(action)
                self._check_unit(action)
                self._check_program(action)
                assert not unsafe(self.node, action), f"seed {self.seed}: {action}: {unsafe(self.node, action)}"
            commands += actions
            notes += [c for c in decided if isinstance(c, Note)]
        self._check_wanted()
        self._check_reasons()
        assert not doubled(self.node), f"seed {self.seed}: {doubled(self.node)}"
        assert not stuck(self.node), f"seed {self.seed}: {stuck(self.node)}"
        assert not (wrong := [*miscounted(self.node, together[-1].at)]), f"seed {self.seed}: {wrong}"
        assert not _uneven(self.node), f"seed {self.seed}: {_uneven(self.node)}"
        for _ in (n for n in notes if n.kind is NoteKind.CLOSED):
            self.closed += 1
            self._check_nothing_is_lost()
        early = not_up(self.node, notes, self.machine.truth.values())
        assert not early, f"seed {self.seed}: episodes have recovered, and {early} are starting"
        return commands, notes

    def _reduced(self, *together: facts.Event) -> list[Command]:
        """Have the node decided on; what comes before a reset is done at once: `test_lives` has cmgr die in it."""
        before, fact = self.node, together[0].fact
        self.node, decided = reduce(before, *together)
        if isinstance(fact, facts.ContainerSeen) and self.decided is not None and self.decided[0] is before:
            until = next_deadline(*self.decided) or datetime.max.replace(tzinfo=UTC)
            quick = reduce(before, *together, until=until)
            assert quick == (self.node, decided), f"seed {self.seed}: {fact} is not looked at, though something follows"
        self.decided = self.node, together[-1].at
        done = list[Command]()
        for command in decided:
            if isinstance(command, PrepareReset):
                done += self._reduced(facts.Event(together[-1].at, answered(command)))
            else:
                done.append(command)
        return done

    def _event(self, fact: facts.Fact) -> facts.Event:
        self.machine.now += timedelta(microseconds=100)
        return facts.Event(self.machine.clock(), fact)

    def _check_reasons(self) -> None:
        """Each hold has the reason that it waits for, and is shown with it; to look at that in all walks is dear."""
        wrong = untold(self.node, self.machine.clock())
        wrong += misled(self.node) if self.seed % 10 == 0 else []
        assert not wrong, f"seed {self.seed}: {wrong}"

    def _check_users(self, action: Action) -> None:
        """Nobody is started on a chip where there are as many as there were jobs."""
        wrong = self.users.too_many(self.node, self.machine.truth, action)
        assert not wrong, f"seed {self.seed}: {wrong}"

    def _check_bad(self, action: Action) -> None:
        """Nobody is started on a chip that has failed its test."""
        real = self.machine.truth.get(action.key) if isinstance(action, StartContainer) else None
        if real is not None:
            assert self.bad.isdisjoint(real.chips), f"seed {self.seed}: {action} on {self.bad}"

    def _check_network(self, action: Action) -> None:
        """Nothing that needs the network is started where cmgr knows that the link is down."""
        real = self.machine.truth.get(action.key) if isinstance(action, StartContainer) else None
        if real is not None and real.needs_network:
            faults = [f for c in real.chips for f in self.node.faults.get(ChipId(c), {}).values()]
            assert LINK_DOWN not in {f.code for f in faults}, f"seed {self.seed}: {action} with {faults}"

    def _check_unit(self, action: Action) -> None:
        """While its unit runs, as far as cmgr knows, a container is stopped by nobody but that."""
        real = self.machine.truth.get(action.key) if isinstance(action, StopContainer) else None
        booked = self.node.containers.get(real.key) if real is not None else None
        unit = unit_of(self.node, booked) if booked is not None else None
        hold = self.node.holds.get(action.key) if unit is not None and isinstance(action, StopContainer) else None
        # A stop that was ordered before the unit was known is ordered until it is answered.
        if unit is not None and hold is not None and not hold.attempt.tries:
            assert not unit.running, f"seed {self.seed}: {action}, and {unit} runs"

    def _check_barrier(self, action: Action) -> None:
        """In a round no member is started before all are down; what somebody else has started since is not cmgr's."""
        real = self.machine.truth.get(action.key) if isinstance(action, StartContainer) else None
        group = self.node.groups.get(real.group) if real is not None else None
        if real is None or group is None or real.key not in group.members:
            return
        assert group.phase is GroupPhase.STARTING, f"seed {self.seed}: {action} in {group}"
        assert group.since is not None
        for mate in self.machine.truth.values():
            early = mate.running and not mate.by_others and mate.begun < group.since
            assert mate.key not in group.members or not early, f"seed {self.seed}: {action}, and {mate} runs: {group}"

    def _check_reset_first(self, before: Node) -> None:
        """No rule that waits for a reset isolates a chip before one."""
        for key in self.node.tallies.keys() & before.tallies.keys():
            rule, (chip, code) = self.rules.frequency.get(key[1]), key
            kinds = [r.kind for r in self.node.tallies[key].raised if r not in before.tallies[key].raised]
            if (
                rule is not None
                and rule.after_reset
                and rule.handling.level is Level.SeparateNPU
                and RuleKind.FREQUENCY in kinds
            ):
                resets = self.node.rings[self.node.chips[chip].ring].resets
                assert resets, f"seed {self.seed}: {code} isolates chip {chip} before a reset"

    def _check_spared(self, before: Node, at: datetime) -> None:
        """No fault that may wait opens an episode before its time, while every container of the ring runs."""
        if self.node.maintenance is not None:
            return
        for ring in self.node.rings.values():
            known = before.rings.get(ring.id)
            if not ring.in_episode or known is None or known.in_episode or ring.id in self.node.reset_orders:
                continue
            if self._is_emptied(ring.chips):
                continue
            faults = handled_faults(self.node, ring)
            on = [c for c in self.node.containers.values() if not c.kept.chips.isdisjoint(ring.chips)]
            bad = {fault.chip for fault in faults}
            down = [c for c in on if c.kept.wanted and not c.running]
            down += [c for c in on if c.key in self.node.holds and not c.kept.chips.isdisjoint(bad)]
            used = any(c.running for c in on) or any(users_listed(self.node, chip) for chip in ring.chips)
            if faults and not any(self._is_urgent(fault, at, used=used) for fault in faults):
                assert down, f"seed {self.seed}: ring {ring.id} does not wait: {ring.reason}"

    def _is_emptied(self, chips: Iterable[ChipId]) -> bool:
        """Return whether any of these chips is isolated, and is to be without users for that, whatever its faults."""
        stops = self.node.policy.isolation.on_isolate is OnIsolate.STOP
        return stops and not self.node.isolations.keys().isdisjoint(chips)

    def _is_urgent(self, fault: Fault, at: datetime, *, used: bool) -> bool:
        policy, name = self.policy.levels[fault.level], self.policy.window_of(fault.level)
        if name in self.opened:
            return True
        if not policy.spares:
            return not name
        late = policy.idle_at_most is not None and fault.risen + policy.idle_at_most <= at
        return late or not used

    def _send(self, commands: Sequence[Action], written: bool) -> None:
        left: list[facts.Answer] = []
        for command in commands:
            # As in the service, one that a later fact of the same batch has overtaken is not done, and answered so.
            if unsafe(self.node, command):
                left.append(_not_done(command, "overtaken"))
            elif not written and (refusal := unwritten(command, "the disk is full")) is not None:
                left.append(failed(command, refusal))
            else:
                self._check_is_held(command)
                if isinstance(command, ResetRing):
                    # It counts from then on, however long the driver takes.
                    self.machine.sent[command.id] = self.machine.now
                self.under_way.append(command)
        for answer in left:
            self.step(answer)

    def _check_is_held(self, command: Action) -> None:
        if isinstance(command, StopContainer):
            hold = self.saved.holds.get(command.key)
            assert hold is not None, f"seed {self.seed}: {command} without a saved hold"
            assert hold.state is HoldState.STOPPING, f"seed {self.seed}: {command}: {hold}"

    def _check_nothing_is_lost(self) -> None:
        for real in self.machine.truth.values():
            # Its unit starts it, where that is held.
            keys = {real.key, ContainerKey(SYSTEMD, "", real.unit)}
            held = real.running or not real.will or not keys.isdisjoint(self.node.holds)
            assert held, f"seed {self.seed}: {real} is down, and nobody will start it"

    def _check_wanted(self) -> None:
        """A container that ought to run and does not is told, as soon as cmgr can know that it does not."""
        told = missing(self.node)
        for real in self.machine.truth.values():
            booked = self.node.containers.get(real.key)
            if booked is not None and booked.running and real.running and booked.run == f"life {real.life}":
                # Of a unit its containers say what it uses, and of those that end with it it is told.
                if real.enabled and real.spared != real.life and not real.unit and booked.claims:
                    real.wanted = True
            elif real.wanted and not real.running and (booked is None or not booked.running):
                assert real.key in told, f"seed {self.seed}: {real} is down, and nobody is told: {booked}"

    def _check_ended_holds(self, before: Node, fact: facts.Fact) -> None:
        for key, hold in before.holds.items():
            if key not in self.node.holds:
                assert _may_end(hold, fact, key), f"seed {self.seed}: {hold} was ended by {fact}"

    def die(self) -> None:
        """Kill cmgr: of the commands under way some still take effect, and nobody hears of it."""
        self.deaths += 1
        machine = self.machine
        for command in self.under_way:
            if self.rng.random() < 0.5:
                machine.carry_out(command)
        for key in self.saved.holds:
            if key in machine.truth and machine.truth[key].will is False:
                machine.truth[key].will = None
        for key, real in machine.truth.items():
            known = self.saved.containers.get(key)
            if not (key in self.saved.holds or (known is not None and known.kept.wanted)):
                real.wanted = None  # That it was seen was not saved.
        self.bad = known_bad(self.saved)
        self.under_way = []
        machine.hints, machine.sent, machine.looked = [], {}, set()
        self.set_clock()
        self.begin()

    def set_clock(self) -> None:
        """Set the clock between two lives, or leave it."""
        if self.rng.random() < 0.2:
            self.machine.skew -= timedelta(seconds=self.rng.choice([1, 100, 86_400]))

    def advance_time(self) -> None:
        machine = self.machine
        due = next_deadline(self.node, machine.clock())
        if due is not None and self.rng.random() < 0.7:
            machine.now = max(machine.now, due - machine.skew)
        else:
            machine.now += timedelta(seconds=self.rng.choice([0.01, 0.5, 3, 30]))
        self.step(facts.Tick())

    def deliver(self) -> None:
        """Take in a hint, the oldest or another, or several at once."""
        hints = self.machine.hints
        several = 1 if self.rng.random() < 0.8 else self.rng.randrange(1, 6)
        late = self.rng.random() < 0.1 and not self.machine.calm
        batch = [hints.pop(self.rng.randrange(len(hints)) if late else 0) for _ in range(min(several, len(hints)))]
        if batch:
            self.step(*batch)

    def answer(self) -> None:
        if self.under_way:
            command = self.under_way.pop(self.rng.randrange(len(self.under_way)))
            self.step(self.machine.carry_out(command))

    def is_held(self, key: ContainerKey) -> bool:
        return key in self.node.holds


def _uneven(node: Node) -> list[str]:
    """Return where counters, faults and isolations do not say the same."""
    active = {(c, f.code) for c, known in node.faults.items() for f in known.values() if not f.momentary}
    wrong = [f"{t} and the faults" for t in node.tallies.values() if (t.risen is not None) is not (t.key in active)]
    for chip in node.chips:
        isolation, standing = node.isolations.get(chip), separating(node, chip)
        by = isolation.by if isolation else ""
        if standing and by not in ("escalation", "operator", "test"):
            wrong.append(f"chip {chip} is not isolated, but {standing}")
        if isolation is not None and isolation.code == LINK_DOWN:
            wrong.append(f"chip {chip} is isolated for its link: {isolation}")
        if by == "escalation" and not standing:
            wrong.append(f"chip {chip} is isolated for nothing: {isolation}")
    return wrong


def _not_done(command: Action, why: str) -> facts.Answer:
    return failed(command, ResetRefused(why) if isinstance(command, ResetRing) else RuntimeDown(why))


def _asked(fact: facts.Fact, key: ContainerKey) -> bool:
    """Return whether this fact says that somebody had asked for the container's end."""
    seen = [fact.container] if isinstance(fact, facts.ContainerSeen) else []
    seen += fact.containers if isinstance(fact, facts.ContainersListed) else ()
    return any(c.key == key and c.exit is not None and c.exit.asked is True for c in seen)


def _may_end(hold: Hold, fact: facts.Fact, key: ContainerKey) -> bool:
    """Return whether this fact may end this hold: a start that worked, a removal, a person, or nothing tried yet."""
    if hold.state is HoldState.SETTLING:
        return True  # It was started: what becomes of it then is the world's to judge.
    never_tried = hold.state is HoldState.TO_STOP
    if hold.died and not hold.attempt.tries and (hold.cause is Cause.HEAL or _asked(fact, key)):
        never_tried = True  # Somebody had stopped it, which came out only now.
    match fact:
        case facts.ContainerStarted() | facts.ContainerStopped() | facts.RestartPolicySet() | facts.ContainerRemoved():
            return fact.key == key or never_tried
        case facts.ForgetOrdered():
            return fact.key == key or never_tried
        case facts.ContainerSeen():
            return (fact.container.key == key and fact.container.running) or never_tried
        case facts.ContainersListed():
            listed = {c.key: c for c in fact.containers}
            return key not in listed or listed[key].running or listed[key].run != hold.run or never_tried
        case _:
            return never_tried
