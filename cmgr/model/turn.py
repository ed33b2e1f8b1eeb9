"""One call of `reduce` while it works: the node so far and the commands so far.

The one mutable thing in the model. It is made by `reduce`, handed down, and never outlives the call.
"""

from datetime import datetime, timedelta
from itertools import islice

from cmgr.frozen import replace
from cmgr.model.values.chips import ChipId, ChipReport, RingId
from cmgr.model.values.faults import Assertion, Fault, FaultCode, FaultKey, Isolation, Level
from cmgr.model.values.fleet import FleetGroup
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.handling.rules import Tally
from cmgr.model.values.holds import Hold, edge_of
from cmgr.model.values.machine import MachineFault, MachineKey
from cmgr.model.values.messages.commands import (
    Command,
    CommandId,
    FaultSaid,
    ListContainers,
    Note,
    NoteKind,
    ReadRing,
)
from cmgr.model.values.node import Node, RuntimeState, rings_with
from cmgr.model.values.rings import REBOOTING, Phase, Ring, entered
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.groups import Group
from cmgr.model.values.services.healing import Healing
from cmgr.model.values.services.slots import Slot
from cmgr.model.values.standing import Reboot, ResetOrder
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import say

_Book = dict[FaultKey, Fault]

LIST_BACKOFF = timedelta(seconds=1)
LIST_BACKOFF_MAX = timedelta(seconds=10)

REDEPLOY = timedelta(minutes=2)
"""So long nothing is moved to the chips of who was stopped or removed."""


class Turn:
    """The node and the commands so far. `at` is the time of the event that is taken in, and the only time there is.

    `raised`: the codes, by chip, that rules have raised or no longer raise since the turn began.
    """

    __slots__ = ("_own", "at", "commands", "node", "raised")

    def __init__(self, node: Node, at: datetime) -> None:
        self.node = node
        self.at = at
        self.commands: list[Command] = []
        self.raised: set[tuple[ChipId, FaultCode]] = set()
        self._own: dict[ChipId, tuple[_Book, _Book]] = {}

    def ring(self, ring: RingId) -> Ring:
        """Return the ring as it is now: a value taken before another call may be yesterday's."""
        return self.node.rings[ring]

    def put_ring(self, ring: Ring) -> Ring:
        if self.node.rings.get(ring.id) == ring:
            return ring
        self.node = replace(self.node, rings={**self.node.rings, ring.id: ring})
        return ring

    def put_hold(self, hold: Hold) -> None:
        """Keep the hold, be it one that is made in the place of another: its state follows the same edges."""
        known = self.node.holds.get(hold.key)
        if known == hold:
            return
        if known is not None and known.state is not hold.state:
            edge_of(known, hold.state)
        self.node = replace(self.node, holds={**self.node.holds, hold.key: hold})

    def drop_hold(self, key: ContainerKey) -> None:
        self.node = replace(self.node, holds={k: h for k, h in self.node.holds.items() if k != key})

    def put_healing(self, healing: Healing) -> Healing:
        """Remember it, or forget it when there is nothing in it to remember."""
        key, known = healing.key, self.node.healings.get(healing.key)
        if healing == (known or Healing(key)):
            return healing
        kept = {k: h for k, h in self.node.healings.items() if k != key}
        self.node = replace(self.node, healings=kept if healing == Healing(key) else {**kept, key: healing})
        return healing

    def put_group(self, group: Group) -> Group:
        if self.node.groups.get(group.name) != group:
            self.node = replace(self.node, groups={**self.node.groups, group.name: group})
        return group

    def drop_group(self, name: str) -> None:
        self.node = replace(self.node, groups={n: g for n, g in self.node.groups.items() if n != name})

    def put_fleet_group(self, group: FleetGroup) -> FleetGroup:
        if self.node.fleet_groups.get(group.name) != group:
            self.node = replace(self.node, fleet_groups={**self.node.fleet_groups, group.name: group})
        return group

    def drop_fleet_group(self, name: str) -> None:
        if name in self.node.fleet_groups:
            kept = {n: g for n, g in self.node.fleet_groups.items() if n != name}
            self.node = replace(self.node, fleet_groups=kept)

    def put_container(self, container: Container) -> None:
        before, kept = self.node.containers.get(container.key), container.kept
        met, former = kept.met, kept.former
        if container.running and (before is None or before.kept.seen is None or before.run != container.run):
            met = frozenset(other.key for other in self.node.containers.values() if _meet(container, other))
            met |= before.kept.met & self.node.containers.keys() if before is not None else frozenset()
        elif before is not None:
            met = before.kept.met
        if before is not None:
            former = before.kept.former if before.run == container.run else before.run
            ends = before.running and not container.running and not kept.wanted
            if ends and container.key not in self.node.holds:  # That one comes back itself.
                self._keep_for_successor(before)
        if (met, former) != (kept.met, kept.former):
            container = replace(container, kept=replace(kept, met=met, former=former))
        self.node = replace(self.node, containers={**self.node.containers, container.key: container})

    def drop_container(self, key: ContainerKey) -> None:
        known = self.node.containers.get(key)
        if known is not None and (known.running or known.kept.wanted):
            self._keep_for_successor(known)
        kept = {k: c for k, c in self.node.containers.items() if k != key}
        self.node = replace(self.node, containers=kept)

    def _keep_for_successor(self, container: Container) -> None:
        """Move nothing to its chips for a while: who redeploys stops or removes the old one before he makes the new."""
        left = dict.fromkeys(container.kept.chips, self.at + REDEPLOY)
        self.node = replace(self.node, left={**self.node.left, **left})

    def put_fault(self, fault: Fault) -> None:
        """Book the fault among the active ones, or as the latest of those that are over."""
        key, (active, past) = fault.key, self._books(fault.chip)
        # Of those that are over the last stand last; one that only is spoken of keeps its place.
        if key in past and past[key].cleared != fault.cleared:
            del past[key]
        if fault.active:
            active[key] = fault
        else:
            active.pop(key, None)
            past[key] = fault

    def drop_fault(self, fault: Fault) -> None:
        for known in self._books(fault.chip):
            known.pop(fault.key, None)

    def forget_past(self, chip: ChipId, count: int) -> None:
        """Forget so many of the chip's faults that are over, those that ended first."""
        _, past = self._books(chip)
        for key in [*islice(past, count)]:
            del past[key]

    def _books(self, chip: ChipId) -> tuple[_Book, _Book]:
        """Return the chip's faults that are active, and those that are over, to be changed in place.

        They are copied once in a turn, and until its end what `node` has of them changes, too. A copy for each fault
        was a tenth of what a storm cost.
        """
        faults, past_faults = self.node.faults, self.node.past_faults
        own = self._own.get(chip)
        if own is None or own[0] is not faults.get(chip) or own[1] is not past_faults.get(chip):
            own = self._own[chip] = (dict(faults.get(chip, {})), dict(past_faults.get(chip, {})))
            self.node = replace(self.node, faults={**faults, chip: own[0]}, past_faults={**past_faults, chip: own[1]})
        return own

    def put_machine_fault(self, fault: MachineFault) -> None:
        self.node = replace(self.node, machine_faults={**self.node.machine_faults, fault.key: fault})

    def drop_machine_fault(self, key: MachineKey) -> None:
        kept = {k: f for k, f in self.node.machine_faults.items() if k != key}
        self.node = replace(self.node, machine_faults=kept)

    def put_tally(self, tally: Tally) -> Tally:
        if self.node.tallies.get(tally.key) != tally:
            self.node = replace(self.node, tallies={**self.node.tallies, tally.key: tally})
        return tally

    def drop_tally(self, tally: Tally) -> None:
        self.node = replace(self.node, tallies={k: t for k, t in self.node.tallies.items() if k != tally.key})

    def put_report(self, report: ChipReport) -> None:
        down = self.node.down - {report.chip} | ({report.chip} if self._is_down(report) else frozenset())
        self.node = replace(self.node, reports={**self.node.reports, report.chip: report}, down=down)

    def _is_down(self, report: ChipReport) -> bool:
        """Return whether this read-out leaves the chip down since a reset, and was not always so."""
        ring = self.ring_of(report.chip)
        if report.is_up or ring is None:
            return False
        failed = ring.failures > 0 or ring.phase in REBOOTING
        return failed or report.chip in self.node.down or (bool(ring.resets) and not report.error)

    def put_reboot(self, reboot: Reboot) -> None:
        if self.node.reboot != reboot:
            self.node = replace(self.node, reboot=reboot)

    def put_slot(self, slot: Slot) -> None:
        self.node = replace(self.node, slots={**self.node.slots, slot.name: slot})

    def drop_slot(self, name: str) -> None:
        self.node = replace(self.node, slots={n: s for n, s in self.node.slots.items() if n != name})

    def look_at_files(self) -> None:
        """Have the CDI files looked at again: somebody may have changed or removed one."""
        state = self.node.cdi
        self.node = replace(self.node, cdi=replace(state, again=bool(state.written or state.asked)))

    def put_runtime(self, runtime: RuntimeState) -> None:
        self.node = replace(self.node, runtimes={**self.node.runtimes, runtime.name: runtime})

    def put_isolation(self, isolation: Isolation) -> None:
        self.node = replace(self.node, isolations={**self.node.isolations, isolation.chip: isolation})

    def drop_isolation(self, chip: ChipId) -> None:
        kept = {c: i for c, i in self.node.isolations.items() if c != chip}
        self.node = replace(self.node, isolations=kept)

    def put_order(self, order: ResetOrder) -> None:
        self.node = replace(self.node, reset_orders={**self.node.reset_orders, order.ring: order})

    def drop_order(self, ring: RingId) -> None:
        if ring in self.node.reset_orders:
            kept = {r: o for r, o in self.node.reset_orders.items() if r != ring}
            self.node = replace(self.node, reset_orders=kept)

    def remember_trouble(self, trouble: Trouble) -> None:
        """Have it told until `end_trouble`, or until a person acknowledges it. A known one keeps its beginning.

        It is said in the timeline when it is new, or its words are: where a damaged file was kept is known later.
        """
        known = self.node.troubles.get(trouble.key)
        met = replace(trouble, since=known.since if known is not None else trouble.since or self.at)
        if known == met:
            return
        self.node = replace(self.node, troubles={**self.node.troubles, met.key: met})
        if known is None or known.words != met.words:
            self.note(NoteKind.WARNING, met.words, self.node.rings.get(met.ring) if met.ring is not None else None)

    def end_trouble(self, kind: TroubleKind, about: str) -> None:
        """Tell of it no more: it is over. A trouble that is not known is none."""
        if (kind, about) in self.node.troubles:
            kept = {key: trouble for key, trouble in self.node.troubles.items() if key != (kind, about)}
            self.node = replace(self.node, troubles=kept)

    def command_id(self, kind: str) -> CommandId:
        """Return an id that no other command ever had or will have."""
        self.node = replace(self.node, serial=self.node.serial + 1)
        return CommandId(f"{kind}-{self.node.serial}")

    def note(
        self,
        kind: NoteKind,
        text: str,
        ring: Ring | None = None,
        *,
        chip: ChipId | None = None,
        container: ContainerKey | None = None,
    ) -> None:
        """Say something in the timeline of the ring's episode, or outside of any."""
        ring_id, episode = (ring.id, ring.episode) if ring else (None, 0)
        card, device = self._place(chip)
        known = None if container is None else self.node.containers.get(container) or self.node.holds.get(container)
        name = known.name if known is not None else ""
        self.commands.append(
            Note(self.at, kind, text, ring_id, episode, chip, container, name=name, card=card, device=device)
        )

    def tell(self, about: Hold | Container, text: str, kind: NoteKind = NoteKind.HOLD) -> None:
        """Say something of a container in the timeline of its chips' episode, or outside of any."""
        chips = about.chips if isinstance(about, Hold) else about.kept.chips
        self.note(kind, text, self.ring_for(chips), container=about.key)

    def note_fault(self, fault: Fault, text: str, assertion: Assertion | None = None) -> None:
        """Say something of a fault: in words, and for programs."""
        self.note_code(fault.chip, FaultSaid(fault.code, fault.level.name, fault.handling.name, assertion), text)

    def note_code(self, chip: ChipId, said: FaultSaid, text: str) -> None:
        """Say something of a code on a chip, whether it is there now or not: in words, and for programs."""
        ring = self.ring_of(chip)
        ring_id, episode = (ring.id, ring.episode) if ring else (None, 0)
        card, device = self._place(chip)
        self.commands.append(
            Note(self.at, NoteKind.FAULT, text, ring_id, episode, chip, card=card, device=device, fault=said)
        )

    def note_machine_fault(self, fault: MachineFault, text: str, assertion: Assertion | None = None) -> None:
        """Say something of a fault of the machine, as `note_fault`."""
        said = FaultSaid(fault.code, Level.NotHandleFault.name, fault.handling.name, assertion)
        self.commands.append(Note(self.at, NoteKind.FAULT, text, fault=said))

    def _place(self, chip: ChipId | None) -> tuple[int | None, int | None]:
        known = self.node.chips.get(chip) if chip is not None else None
        return (known.card, known.device) if known is not None else (None, None)

    def enter(self, ring: Ring, phase: Phase, reason: str) -> Ring:
        """Move the ring along an edge, and say why."""
        edge = str(ring.phase), str(phase)
        text = say("ring.enters", before=edge[0], after=edge[1], reason=reason)
        self.commands.append(Note(self.at, NoteKind.PHASE, text, ring.id, ring.episode, edge=edge))
        return self.put_ring(entered(ring, phase, self.at, reason))

    def ask_list(self, name: str, reason: str, not_older: datetime) -> None:
        """Have the runtime listed, unless it is to be left in peace.

        One question at a time: what an answer under way is too old for is asked when that is in. Asking faster than
        it answers would otherwise never hear anything, and fill the queue of commands.
        """
        state = self.node.runtimes[name]
        if state.asked is not None:
            self.put_runtime(replace(state, again=state.again or state.asked[1] < not_older))
            return
        if state.ask_at is not None and self.at < state.ask_at:
            return
        command = ListContainers(self.command_id("list"), reason, name)
        self.put_runtime(replace(state, asked=(command.id, self.at), ask_at=None))
        self.commands.append(command)

    def ask_read(self, ring: Ring, reason: str, not_older: datetime) -> Ring:
        """Have the ring's chips read: one question at a time, as in `ask_list`."""
        if ring.asked is not None:
            return self.put_ring(replace(ring, again=ring.again or ring.asked[1] < not_older))
        # Also once a reset has failed: before anything is started, somebody has to call its chips well.
        after = ring.phase is Phase.VERIFYING or (ring.phase is Phase.WAITING and ring.failures > 0)
        command = ReadRing(self.command_id("read"), reason, ring.id, ring.chips, after_reset=after)
        self.commands.append(command)
        return self.put_ring(replace(ring, asked=(command.id, self.at), ask_at=None))

    def list_failed(self, state: RuntimeState, why: str) -> None:
        failures = state.failures + 1
        wait = backed_off(LIST_BACKOFF, LIST_BACKOFF_MAX, failures)
        ask_at = self.at + wait
        self.put_runtime(replace(state, asked=None, again=False, why_down=why, failures=failures, ask_at=ask_at))

    def ring_of(self, chip: ChipId) -> Ring | None:
        known = self.node.chips.get(chip)
        return self.node.rings[known.ring] if known else None

    def rings_of(self, chips: frozenset[ChipId]) -> list[Ring]:
        return rings_with(self.node, chips)

    def ring_for(self, chips: frozenset[ChipId]) -> Ring | None:
        """Return the ring whose timeline tells of a container on these chips: one in an episode, if any is."""
        rings = self.rings_of(chips)
        return next((r for r in rings if r.in_episode), rings[0] if rings else None)


def _meet(one: Container, other: Container) -> bool:
    return other.key != one.key and other.running and not other.kept.chips.isdisjoint(one.kept.chips)
