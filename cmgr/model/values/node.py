"""The whole state of one machine as one frozen value, and the questions that decisions ask of it.

Mappings in it are never changed, only replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, ChipReport, MissingChip, RingId, SlotChips, Straggler
from cmgr.model.values.faults import Fault, FaultCode, FaultKey, Isolation
from cmgr.model.values.fleet import Engine, FleetGroup
from cmgr.model.values.handling.calendar import Occasion, Opening
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.handling.rules import Tally
from cmgr.model.values.holds import Hold
from cmgr.model.values.life import ThisLife
from cmgr.model.values.lookup import grouped
from cmgr.model.values.machine import MachineFault, MachineKey
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.reboot_facts import Boot
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.cdi import Spec
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.groups import Group
from cmgr.model.values.services.healing import Hang, Healing
from cmgr.model.values.services.origins import Origin
from cmgr.model.values.services.outages import Days, Outage
from cmgr.model.values.services.slots import Reservation, Slot
from cmgr.model.values.standing import Gone, Maintenance, Reboot, ResetOrder
from cmgr.model.values.troubles import Trouble, TroubleKey

ChipFaults = Mapping[FaultKey, Fault]

SYSTEMD = "systemd"
"""The runtime whose containers are units of systemd."""


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """One runtime as cmgr knows it in this life.

    `listed`: when the last good list was asked for. `asked`: the list under way and when it was asked for.
    `again`: another is wanted when that is in. `restarted`: when its daemon came up last. `failures`: lists in a row
    that failed. `covering`: whoever of its containers uses a chip does so by containers of other runtimes, so that
    nobody waits for its word on that. `flows`: since when it tells of events, if it does. `silent`: since when it does
    not, until a list that was asked for while it does has said what was missed. `broke`: when it last ceased to tell.
    """

    name: str
    why_down: str = ""
    listed: datetime | None = None
    asked: tuple[CommandId, datetime] | None = None
    again: bool = False
    ask_at: datetime | None = None
    restarted: datetime | None = None
    failures: int = 0
    covering: bool = False
    flows: datetime | None = None
    silent: datetime | None = None
    broke: datetime | None = None


@dataclass(frozen=True, slots=True)
class CdiState:
    """The CDI files as cmgr knows them in this life.

    `written`: what stands in them. `asked`: the order under way, and what it has written. `again`: they are to be
    looked at, whatever `written` says. `failures`: orders in a row that failed.
    """

    written: tuple[Spec, ...] = ()
    asked: tuple[CommandId, tuple[Spec, ...]] | None = None
    again: bool = False
    retry_at: datetime | None = None
    failures: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Restraint:
    """The brake against stopping too much at once: a storm is more often the driver than the chips.

    `opened`: when episodes that stop containers began, within the last hour. `since` and `reason`: set while rings are
    kept back; `kept`: which, and since when. `waived`: rings that a person lets begin all the same.
    """

    opened: tuple[datetime, ...] = ()
    since: datetime | None = None
    reason: str = ""
    kept: Mapping[RingId, datetime] = field(default_factory=dict)
    waived: frozenset[RingId] = frozenset()


@dataclass(frozen=True)  # Without slots: it is copied all the time.
class Node:
    """Everything cmgr knows and has promised.

    Fields without the type `ThisLife` are stored: a mapping as a table of its name, whose rows' key is the first field
    of its values, or the first two where it goes by two.
    `faults`: those that are active. `past_faults`: those that were over a short while ago, the latest last. They are
    kept apart, for a storm leaves hundreds of them, and everything asks for the active ones.
    `downtime`: what outages have cost that ended in this life; the database adds it to what it has. `alive`: when an
    earlier life was there last, as far as anybody knows.
    `origins`: of each runtime the engine whose lists were believed last.
    `kept_containers`, `kept_holds`: those of runtimes that nobody looks after, as they are not in the configuration's
    list, or are called gone.
    `watched`: the sources of the machine's faults that have told something in this life.
    `left`: chips whose user was stopped or removed a short while ago, and until when they are kept for its successor.
    `missing`: pieces that were there and are not; `model/pieces.py` says what they are numbered.
    `down`: chips that have not come up since their ring was reset. `strangers`: chips that events named and that are
    not there. `stragglers`: chips that lag behind those with which they work. `began`: when this life did.
    """

    policy: ThisLife[Policy] = field(default_factory=Policy)
    catalog: ThisLife[Catalog] = field(default_factory=Catalog)
    chips: Mapping[ChipId, Chip] = field(default_factory=dict)
    missing: Mapping[ChipId, MissingChip] = field(default_factory=dict)
    rings: Mapping[RingId, Ring] = field(default_factory=dict)
    runtimes: ThisLife[Mapping[str, RuntimeState]] = field(default_factory=dict)
    containers: Mapping[ContainerKey, Container] = field(default_factory=dict)
    faults: Mapping[ChipId, ChipFaults] = field(default_factory=dict)
    past_faults: ThisLife[Mapping[ChipId, ChipFaults]] = field(default_factory=dict)
    machine_faults: Mapping[MachineKey, MachineFault] = field(default_factory=dict)
    watched: ThisLife[frozenset[str]] = frozenset()
    tallies: Mapping[tuple[ChipId, FaultCode], Tally] = field(default_factory=dict)
    isolations: Mapping[ChipId, Isolation] = field(default_factory=dict)
    holds: Mapping[ContainerKey, Hold] = field(default_factory=dict)
    healings: Mapping[ContainerKey, Healing] = field(default_factory=dict)
    outages: Mapping[ContainerKey, Outage] = field(default_factory=dict)
    downtime: ThisLife[Days] = field(default_factory=dict)
    hangs: ThisLife[Mapping[ContainerKey, Hang]] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    fleet_groups: Mapping[str, FleetGroup] = field(default_factory=dict)
    restraint: Restraint = Restraint()
    reset_orders: Mapping[RingId, ResetOrder] = field(default_factory=dict)
    gone: Mapping[str, Gone] = field(default_factory=dict)
    kept_containers: Mapping[ContainerKey, Container] = field(default_factory=dict)
    kept_holds: Mapping[ContainerKey, Hold] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    slots: Mapping[str, Slot] = field(default_factory=dict)
    reservations: Mapping[ChipId, Reservation] = field(default_factory=dict)
    left: ThisLife[Mapping[ChipId, datetime]] = field(default_factory=dict)
    maintenance: Maintenance | None = None
    reboot: Reboot | None = None
    troubles: Mapping[TroubleKey, Trouble] = field(default_factory=dict)
    occasions: Mapping[str, Occasion] = field(default_factory=dict)
    calendar: ThisLife[Mapping[str, Opening]] = field(default_factory=dict)
    reports: ThisLife[Mapping[ChipId, ChipReport]] = field(default_factory=dict)
    down: ThisLife[frozenset[ChipId]] = frozenset()
    strangers: ThisLife[frozenset[ChipId]] = frozenset()
    stragglers: ThisLife[Mapping[ChipId, Straggler]] = field(default_factory=dict)
    cdi: ThisLife[CdiState] = CdiState()
    engine: ThisLife[Engine] = field(default_factory=Engine)
    alive: ThisLife[datetime | None] = None
    boot: ThisLife[Boot] = Boot()
    began: ThisLife[datetime | None] = None
    serial: int = 0
    episodes: int = 0


def chips_of_slots(node: Node) -> SlotChips:
    """Return the chips that each slot gives."""
    return {name: slot.given for name, slot in node.slots.items()}


def rings_with(node: Node, chips: frozenset[ChipId]) -> list[Ring]:
    """Return the rings that have any of these chips."""
    ids = {node.chips[c].ring for c in chips if c in node.chips}
    return [node.rings[i] for i in sorted(ids)]


def known_faults(node: Node, chip: ChipId) -> Iterator[Fault]:
    """Yield the chip's faults: the active ones, and those that were over a short while ago."""
    yield from node.faults.get(chip, {}).values()
    yield from node.past_faults.get(chip, {}).values()


def is_unsure(node: Node, hold: Hold) -> bool:
    """Return whether what is held down perhaps runs: a start of ours may have worked without an answer.

    The list that was asked for tells.
    """
    container, runtime = node.containers.get(hold.key), node.runtimes.get(hold.key.runtime)
    if hold.is_down and container is not None and container.running:
        return True
    listed_at = runtime.listed if runtime is not None else None
    return hold.unsure is not None and listed_at is not None and listed_at < hold.unsure


def known_runtimes(node: Node) -> frozenset[str]:
    """Return the runtimes of which something is remembered: their containers may run although nobody answers."""
    known = {key.runtime for key in (*node.containers, *node.holds, *node.healings)}
    return frozenset(known | unmanaged(node).keys())


def unmanaged(node: Node) -> Mapping[str, Sequence[Container]]:
    """Return the runtimes that are not in the list and not called gone, each with those of theirs that ought to run."""
    kept = sorted(node.kept_containers.items())
    return grouped((key.runtime, container) for key, container in kept if key.runtime not in node.gone)


def units_known(node: Node) -> Mapping[str, Sequence[Container]]:
    """Return the units of systemd that are to be looked after although no setting names them, and who names each.

    Those that are held, that containers say run them, and that ought to run: of such a unit no container may be left.
    """
    held = {key.id for key in node.holds if key.runtime == SYSTEMD}
    known = {k.id for k, c in node.containers.items() if k.runtime == SYSTEMD and (c.running or c.kept.wanted)}
    return {**dict.fromkeys(held | known, ()), **grouped((c.unit, c) for c in node.containers.values() if c.unit)}


def brought_by_image(node: Node, key: ContainerKey) -> frozenset[str] | None:
    """Return `Container.brought` as it was decided when the container was seen first; None where it was not."""
    container = node.containers.get(key)
    return None if container is None else container.brought


def only_covers(node: Node) -> bool:
    """Return whether all units that are known use chips by containers of other runtimes only."""
    units = {key for key in (*node.containers, *node.holds) if key.runtime == SYSTEMD}
    found = [node.containers.get(key) for key in units]
    return all(unit is not None and unit.claims == unit.kept.covers for unit in found)
