"""Appliances of one fleet, each a `World` of its own, and the engine between them: a register that is linearizable.

The engine goes away for one or for all, forgets everything or is put back to what it was, and leaves writers without an
answer. Its news come late, doubled, or never. Invariants that are about the fleet are asserted here.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, ReadGroup, StartContainer, WriteGroup
from cmgr.model.values.messages.documents import NOTHING, Document, EntryState, Outcome, Seen
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupSeen
from cmgr.model.values.node import Node
from cmgr.model.values.services.groups import GroupPhase
from tests.model.acts import check_end, end_those_beside_others, forget, is_replaced
from tests.model.machine import Machine, Plan, Real
from tests.model.walks.engines import all_is_back
from tests.model.world import OF_MACHINE, World

TP4 = "tp4"
"""The group over all appliances."""


@dataclass
class Register:
    """The engine. `past`: what it knew after each write. `started`: the rounds that every member's appliance let start.

    `registered`: the appliances whose writes it takes.
    """

    kept: dict[str, Seen] = field(default_factory=dict)
    revision: int = 0
    born: int = 1
    past: list[tuple[dict[str, Seen], int]] = field(default_factory=list)
    started: set[int] = field(default_factory=set)
    registered: set[str] = field(default_factory=set)

    def read(self, group: str) -> Seen:
        return self.kept.get(group, NOTHING)

    def write(self, command: WriteGroup) -> int:
        """Return the new revision; 0 where another document is there."""
        if self.read(command.group).revision != command.revision:
            return 0
        self.revision += 1
        self.kept.pop(command.group, None)
        if command.document.members:
            self.kept[command.group] = Seen(command.document, self.revision)
        self.past.append((dict(self.kept), self.revision))
        return self.revision

    def forget(self) -> None:
        """Begin anew, with nothing."""
        self.kept, self.revision, self.born, self.registered = {}, 0, self.born + 1, set()

    def put_back(self, dice: random.Random) -> None:
        """Become what it was at some time."""
        if self.past:
            kept, self.revision = dice.choice(self.past)
            self.kept, self.registered = dict(kept), set()


class Hardware(Machine):
    """The machine of an appliance: it reaches the engine, or does not."""

    def __init__(self, fleet: "FleetWorld", name: str, seed: int) -> None:
        self.fleet, self.name = fleet, name
        super().__init__(seed, fleet.plan)

    def create(self, number: int) -> Real:
        real = super().create(number)
        real.group = TP4 if number % 2 == 0 else ""
        return real

    def _carry_out(self, command: Action, fails: bool) -> dict[str, Any]:
        if not isinstance(command, WriteGroup | ReadGroup):
            return super()._carry_out(command, fails)
        reached = self.name in self.fleet.engine.registered and not (fails and self.rng.random() < 0.5)
        if isinstance(command, ReadGroup):
            return {"seen": self.fleet.engine.read(command.group)} if reached else {"error": "no answer"}
        if not reached:
            return {"outcome": Outcome.UNKNOWN} if self.rng.random() < 0.3 else {"error": "no answer"}
        revision = self.fleet.writes(command)
        if fails:
            return {"outcome": Outcome.UNKNOWN}
        return {"outcome": Outcome.DONE if revision else Outcome.STALE, "revision": revision}


class Appliance(World):
    """One of them. Its answers of the engine may come late."""

    def __init__(self, fleet: "FleetWorld", name: str, seed: int) -> None:
        self.fleet, self.name = fleet, name
        super().__init__(seed, fleet.policy, fleet.plan)

    def make(self) -> Machine:
        return Hardware(self.fleet, self.name, self.seed)

    def appliance(self) -> str:
        return self.name

    def begin(self) -> None:
        self.fleet.engine.registered.discard(self.name)
        super().begin()

    def answer(self) -> None:
        if not self.under_way:
            return
        command = self.under_way.pop(self.rng.randrange(len(self.under_way)))
        answer = self.machine.carry_out(command)
        if isinstance(command, WriteGroup | ReadGroup) and not self.machine.calm and self.rng.random() < 0.2:
            self.machine.hints.append(answer)
        else:
            self.step(answer)

    def reaches_the_engine(self) -> None:
        self.fleet.engine.registered.add(self.name)
        self.step(FleetUp(str(self.fleet.engine.born)))
        self.machine.hints += [GroupSeen(group, seen) for group, seen in self.fleet.engine.kept.items()]

    def loses_the_engine(self) -> None:
        self.fleet.engine.registered.discard(self.name)
        self.step(FleetDown("timed out"))

    def members(self) -> list[Real]:
        return [real for real in self.machine.truth.values() if real.group == TP4]

    def _decide(self, batch: Sequence[facts.Fact]) -> tuple[list[Action], list[Any]]:
        actions, notes = super()._decide(batch)
        for action in actions:
            self._check_agreed(self.node, action)
        return actions, notes

    def _check_agreed(self, node: Node, action: Action) -> None:
        """No member is started in a round of the fleet before every appliance has written that its members could be."""
        real = self.machine.truth.get(action.key) if isinstance(action, StartContainer) else None
        group, known = node.groups.get(TP4), node.fleet_groups.get(TP4)
        if real is None or group is None or known is None or real.key not in group.members or known.alone:
            return
        if known.held:
            assert known.held in self.fleet.engine.started, f"seed {self.seed}: {action} in {known}"
        else:
            assert not known.whole, f"seed {self.seed}: {action} without a round of the fleet: {known}"


class FleetWorld:
    """The appliances and their engine."""

    def __init__(self, seed: int, policy: Policy, plan: Plan, count: int) -> None:
        self.seed, self.policy, self.plan = seed, policy, plan
        self.rng = random.Random(seed)  # noqa: S311 - a test's dice, not a secret
        self.engine = Register()
        self.appliances = [Appliance(self, name, seed * 7 + n) for n, name in enumerate("abcd"[:count])]
        size = sum(len(each.members()) for each in self.appliances)
        for each in self.appliances:
            each.machine.calm = True
            for real in each.members():
                real.group_size = size
            each.step(facts.Resync())
            each.reaches_the_engine()
        self.settle()
        for each in self.appliances:
            each.machine.calm = False

    def settle(self) -> None:
        """Answer and deliver all there is."""
        for _ in range(3000):
            busy = [each for each in self.appliances if each.under_way or each.machine.hints]
            if not busy:
                return
            for each in busy:
                each.answer()
                each.deliver()
        raise AssertionError(f"seed {self.seed}: no end of commands: {[e.under_way[:2] for e in self.appliances]}")

    def writes(self, command: WriteGroup) -> int:
        """Let the engine write it, and tell it to everybody."""
        before, revision = self.engine.read(command.group).document, self.engine.write(command)
        if not revision:
            return 0
        document = command.document
        self._check_written(before, document)
        for each in self.appliances:
            if each.name in self.engine.registered:
                each.machine.hint(GroupSeen(command.group, self.engine.kept.get(command.group, Seen(None, revision))))
        return revision

    def _check_written(self, before: Document | None, document: Document) -> None:
        where = f"seed {self.seed}: {before} -> {document}"
        if document.phase is GroupPhase.STARTING and (before is None or before.phase is not GroupPhase.STARTING):
            self.engine.started.add(document.round)
            for name, entry in document.members.items():
                assert entry.state is EntryState.OUT or entry.round == document.round, where
                each = next(e for e in self.appliances if e.name == name)
                group, known = each.node.groups.get(TP4), each.node.fleet_groups[TP4]
                # Its own next round, which nobody else knows of yet, takes in what this one had given back to people.
                mine = known.held == document.round and not known.alone
                in_round = group.members if group is not None and mine else frozenset()
                running = [r for r in each.members() if r.running and not r.by_others and r.key in in_round]
                assert not running or entry.state is EntryState.OUT, f"{where}: {running}"

    def heal(self) -> None:
        """Make everything well, and give the appliances an hour of peace."""
        for each in self.appliances:
            machine = each.machine
            machine.calm, machine.down, machine.processes, machine.silent = True, set(), set(), set()
            all_is_back(each)
            machine.faults = {chip: set() for chip in machine.faults}
            for runtime in each.plan.runtimes:
                each.step(facts.RuntimeUp(runtime))
            each.step(facts.MaintenanceOrdered(on=False, who="a test"))
            for chip in list(each.node.isolations):
                each.step(facts.ReleaseOrdered(chip, "a test"))
            for source in ("raid", "kernel"):
                each.step(facts.MachineTold(source, ()))
            each.step(facts.AcknowledgeOrdered(tuple(f"machine-{code}" for code in OF_MACHINE), "a test"))
            each.reaches_the_engine()
        for turn in range(24):
            for each in self.appliances:
                each.step(facts.Resync())
            self.settle()
            for each in self.appliances:
                self._resume(each)
            self.settle()
            if turn == 8:
                self.restart_what_was_left_out()
            for each in self.appliances:
                each.machine.now += timedelta(seconds=60 * 1.15**turn)
                each.step(facts.Tick())

    def _resume(self, each: Appliance) -> None:
        end_those_beside_others(each)
        for hold in list(each.node.holds.values()):
            if hold.state is HoldState.FAILED:
                each.step(facts.ResumeOrdered(hold.key, "a test"))
            elif is_replaced(each, hold):
                forget(each, hold.key)
        for chip in [c for c, i in each.node.isolations.items() if i.by == "escalation"]:
            each.step(facts.ReleaseOrdered(chip, "a test"))
        each.step(facts.ResumeAllOrdered("a test"))
        group = each.node.groups.get(TP4)
        if group is not None and group.in_round:
            each.step(facts.GroupResumeOrdered(TP4, "a test"))

    def restart_what_was_left_out(self) -> None:
        """Let a person take all in again, if a person has left some out or started some alone."""
        document = self.engine.read(TP4).document
        out = document is not None and any(e.state is EntryState.OUT for e in document.members.values())
        if out or any(g.alone for each in self.appliances for g in each.node.fleet_groups.values()):
            self.order_restart(self.appliances[0])

    def moot(self) -> None:
        """Let a member that a person has stopped be the order's, where one to restart all is under way yet."""
        document = self.engine.read(TP4).document
        for each in self.appliances:
            known = each.node.fleet_groups.get(TP4)
            ordered = document is not None and document.ordered and (known is None or known.held != document.round)
            if ordered or any(g.restart for e in self.appliances for g in e.node.fleet_groups.values()):
                for real in each.members():
                    real.will = None if real.will is False else real.will

    def order_restart(self, each: Appliance) -> None:
        for other in self.appliances:
            other.machine.ordered.add(TP4)
            for real in other.members():
                real.will = None
        each.step(facts.GroupRestartOrdered(TP4, "a"))

    def check_end(self) -> None:
        for each in self.appliances:
            check_end(each)
        document = self.engine.read(TP4).document
        if document is not None:
            where = f"seed {self.seed}: {document}"
            assert document.phase is GroupPhase.RUNNING, where
            assert all(e.state is EntryState.RUNNING for e in document.members.values()), where
