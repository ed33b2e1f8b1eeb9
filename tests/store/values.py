"""Nodes and their parts, by hypothesis and by hand."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.faults import Fault, FaultClass, FaultCode, FaultKey, Handling, Isolation, Level, Severity
from cmgr.model.values.fleet import FleetGroup
from cmgr.model.values.handling.calendar import Occasion
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.rules import Raise, RuleKind, Tally
from cmgr.model.values.holds import Attempt, Cause, Hold, HoldState
from cmgr.model.values.messages.commands import CommandId, Note, NoteKind, StopContainer
from cmgr.model.values.node import Node, Restraint
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Kept, Spare
from cmgr.model.values.services.groups import Group, GroupPhase, Round
from cmgr.model.values.services.healing import Healing
from cmgr.model.values.services.outages import Outage, OutageCause
from cmgr.model.values.services.slots import Reservation, Slot
from cmgr.model.values.standing import Maintenance, Reboot, RebootStage, ResetOrder
from cmgr.model.values.troubles import Trouble, TroubleKind

NOW = datetime(2026, 3, 1, 3, 0, 0, 250, tzinfo=UTC)
KEY = ContainerKey("docker", "", "c0ffee")
CHIP = ChipId(3)
RING = RingId(0)
CODE = FaultCode("80E01801")

texts = st.text(max_size=6)
numbers = st.integers(-(2**40), 2**40)
counts = st.integers(0, 9)
flags = st.booleans()
zones = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(NOW.replace(tzinfo=None) - timedelta(days=300_000), timezones=zones).filter(
    lambda t: t.year < 9999
)
durations = st.timedeltas(timedelta(0), timedelta(days=100_000))
chip_ids = st.builds(ChipId, counts)
ring_ids = st.builds(RingId, counts)
keys = st.builds(ContainerKey, texts, texts, texts)
chip_sets = st.frozensets(chip_ids, max_size=3)
maybe_times = st.none() | times

chips = st.builds(
    Chip,
    id=chip_ids,
    ring=ring_ids,
    logical=numbers,
    card=numbers,
    device=numbers,
    model=texts,
    bus=texts,
    serial=texts,
)
rings = st.builds(
    Ring,
    id=ring_ids,
    chips=st.lists(chip_ids, max_size=3).map(tuple),
    phase=st.sampled_from(Phase),
    since=maybe_times,
    reason=texts,
    deadline=maybe_times,
    episode=numbers,
    began=maybe_times,
    resets=st.lists(times, max_size=3).map(tuple),
    failures=numbers,
    not_before=maybe_times,
    lulls=st.lists(times, max_size=3).map(tuple),
    theirs=st.frozensets(keys, max_size=3),
    starts=st.dictionaries(keys, counts, max_size=3),
    blocked=maybe_times,
    vetoed=maybe_times,
    widened=flags,
    up=maybe_times,
    lost=st.frozensets(texts, max_size=3),
    restarts=st.dictionaries(texts, counts, max_size=3),
)
containers = st.builds(
    Container,
    key=keys,
    name=texts,
    claims=st.frozensets(texts, max_size=3),
    running=flags,
    run=texts,
    exit=st.none() | st.builds(Exit, code=numbers, at=times, asked=st.none() | flags),
    grace=durations,
    strategy=st.none() | st.sampled_from(Strategy),
    order=numbers,
    enabled=flags,
    restart_policy=texts,
    auto_remove=flags,
    group=texts,
    warnings=st.lists(texts, max_size=3).map(tuple),
    spare=st.none() | st.sampled_from(Spare),
    kept=st.builds(Kept, chips=chip_sets, used=chip_sets, since=maybe_times),
)
holds = st.builds(
    Hold,
    key=keys,
    name=texts,
    chips=chip_sets,
    episode=counts,
    since=times,
    state=st.sampled_from(HoldState),
    run=texts,
    died=flags,
    order=numbers,
    grace=durations,
    restart_policy=texts,
    disarmed=flags,
    attempt=st.builds(Attempt, tries=counts, retry_at=maybe_times, error=texts),
    cause=st.sampled_from(Cause),
    down=maybe_times,
    frozen=flags,
)
healings = st.builds(
    Healing,
    key=keys,
    times=st.lists(times, max_size=3).map(tuple),
    life=st.none() | texts,
    since=maybe_times,
    due=maybe_times,
    counted=flags,
    spared=flags,
    given_up=maybe_times,
)
outages = st.builds(
    Outage, key=keys, service=texts, since=times, cause=st.sampled_from(OutageCause), ours=flags, up=maybe_times
)
fleet_groups = st.builds(
    FleetGroup,
    name=st.text(max_size=8),
    round=st.integers(0, 2**53),
    phase=st.sampled_from(GroupPhase),
    held=st.integers(0, 2**53),
    whole=st.booleans(),
    alone=st.booleans(),
    restart=st.integers(0, 2**53),
    without=st.frozensets(st.text(max_size=8), max_size=2),
    parts=st.frozensets(st.text(max_size=8), max_size=2),
)
groups = st.builds(
    Group,
    name=texts,
    phase=st.sampled_from(GroupPhase),
    round=counts,
    since=maybe_times,
    began=maybe_times,
    cause=texts,
    members=st.frozensets(keys, max_size=3),
    up=st.frozensets(keys, max_size=3),
    out=st.frozensets(keys, max_size=3),
    missing=st.frozensets(texts, max_size=3),
    restarts=st.dictionaries(texts, counts, max_size=3),
    history=st.lists(
        st.builds(Round, number=counts, began=times, ended=times, cause=texts, outcome=texts), max_size=2
    ).map(tuple),
)
faults = st.builds(
    Fault,
    chip=chip_ids,
    code=st.sampled_from((CODE, FaultCode("00000001"))),
    module=st.sampled_from(("", "1/2")),
    level=st.sampled_from(Level),
    since=times,
    risen=times,
    changed=times,
    severity=st.none() | st.sampled_from(Severity),
    count=numbers,
    momentary=flags,
    cleared=maybe_times,
    handling=st.sampled_from(Handling),
    fault_class=st.sampled_from(FaultClass),
    until=maybe_times,
    highest=st.none() | st.sampled_from(Handling),
)
slots = st.builds(
    Slot,
    name=texts,
    chips=chip_sets,
    home=chip_sets,
    since=times,
    reason=texts,
    wish=chip_sets,
    short=texts,
)
reservations = st.builds(Reservation, chip=chip_ids, until=times, who=texts, asker=texts)
isolations = st.builds(
    Isolation,
    chip=chip_ids,
    since=times,
    by=texts,
    reason=texts,
    code=st.none() | st.just(CODE),
    clean_since=maybe_times,
)


raises = st.builds(
    Raise,
    kind=st.sampled_from(RuleKind),
    handling=st.sampled_from(Handling),
    since=times,
    reason=texts,
    manual=flags,
)
tallies = st.builds(
    Tally,
    chip=chip_ids,
    code=st.just(CODE),
    times=st.lists(times, max_size=3).map(tuple),
    raised=st.lists(raises, max_size=2).map(tuple),
    last=maybe_times,
    risen=maybe_times,
    recovered=maybe_times,
    due=st.none(),
)
restraints = st.builds(
    Restraint,
    opened=st.lists(times, max_size=3).map(tuple),
    since=maybe_times,
    reason=texts,
    kept=st.dictionaries(st.builds(RingId, st.integers(0, 63)), times, max_size=2),
    waived=st.frozensets(st.builds(RingId, st.integers(0, 63)), max_size=2),
)
reset_orders = st.builds(ResetOrder, ring=ring_ids, chip=chip_ids, at=times, who=texts, stop=flags, done=flags)
troubles = st.builds(
    Trouble,
    kind=st.sampled_from(TroubleKind),
    about=texts,
    text=texts,
    why=texts,
    hint=texts,
    since=maybe_times,
    stays=flags,
    ring=st.none() | ring_ids,
    episode=st.none() | numbers,
    chips=st.lists(chip_ids, max_size=3).map(tuple),
    codes=st.lists(texts, max_size=2).map(tuple),
    containers=st.lists(texts, max_size=2).map(tuple),
)
reboots = st.none() | st.builds(
    Reboot,
    stage=st.sampled_from(RebootStage),
    since=times,
    reason=texts,
    what=texts,
    pieces=st.frozensets(texts, max_size=2),
    due=maybe_times,
    boot=texts,
    age=durations,
    retry_at=maybe_times,
    vain=st.frozensets(texts, max_size=2),
    episodes=st.dictionaries(ring_ids, numbers, max_size=2),
    command=st.none(),
)
maintenance = st.none() | st.builds(Maintenance, since=times, until=maybe_times, who=texts)


def _faults_of(found: list[Fault]) -> Mapping[ChipId, Mapping[FaultKey, Fault]]:
    chips = {fault.chip for fault in found}
    return {chip: {fault.key: fault for fault in found if fault.chip == chip} for chip in chips}


def _with_past(node: Node) -> Node:
    """Return the node with those of its faults that are over where such are kept."""
    found = [fault for known in node.faults.values() for fault in known.values()]
    active, past = (_faults_of([f for f in found if f.active is wanted]) for wanted in (True, False))
    return replace(node, faults=active, past_faults=past)


nodes = st.builds(
    Node,
    chips=st.lists(chips, max_size=3).map(lambda found: {chip.id: chip for chip in found}),
    rings=st.lists(rings, max_size=3).map(lambda found: {ring.id: ring for ring in found}),
    containers=st.lists(containers, max_size=3).map(lambda found: {container.key: container for container in found}),
    faults=st.lists(faults, max_size=4).map(_faults_of),
    tallies=st.lists(tallies, max_size=3).map(lambda found: {tally.key: tally for tally in found}),
    restraint=restraints,
    isolations=st.lists(isolations, max_size=3).map(lambda found: {isolation.chip: isolation for isolation in found}),
    holds=st.lists(holds, max_size=3).map(lambda found: {hold.key: hold for hold in found}),
    healings=st.lists(healings, max_size=3).map(lambda found: {healing.key: healing for healing in found}),
    outages=st.lists(outages, max_size=3).map(lambda found: {outage.key: outage for outage in found}),
    fleet_groups=st.lists(fleet_groups, max_size=2).map(lambda found: {group.name: group for group in found}),
    groups=st.lists(groups, max_size=3).map(lambda found: {group.name: group for group in found}),
    reset_orders=st.lists(reset_orders, max_size=3).map(lambda found: {order.ring: order for order in found}),
    reservations=st.lists(reservations, max_size=3).map(lambda found: {kept.chip: kept for kept in found}),
    slots=st.lists(slots, max_size=3).map(lambda found: {slot.name: slot for slot in found}),
    maintenance=maintenance,
    reboot=reboots,
    occasions=st.lists(st.builds(Occasion, texts, times, st.frozensets(ring_ids, max_size=2)), max_size=2).map(
        lambda found: {each.name: each for each in found}
    ),
    troubles=st.lists(troubles, max_size=3).map(lambda found: {trouble.key: trouble for trouble in found}),
    serial=st.integers(0, 2**40),
    episodes=st.integers(0, 2**40),
).map(_with_past)


def fault(since: datetime = NOW, cleared: datetime | None = None) -> Fault:
    return Fault(CHIP, CODE, "", Level.RestartNPU, since, since, cleared or since, cleared=cleared)


def hold(command: str | None = None) -> Hold:
    awaited = None if command is None else CommandId(command)
    return Hold(KEY, "web", frozenset({CHIP}), 1, NOW, HoldState.STOPPING, "life 1", attempt=Attempt(command=awaited))


def node(*values: Ring | Container | Hold | Fault | Isolation | Chip) -> Node:
    """Return a node with these and nothing else."""
    found = Node(
        chips={v.id: v for v in values if isinstance(v, Chip)},
        rings={v.id: v for v in values if isinstance(v, Ring)},
        containers={v.key: v for v in values if isinstance(v, Container)},
        faults=_faults_of([v for v in values if isinstance(v, Fault)]),
        isolations={v.chip: v for v in values if isinstance(v, Isolation)},
        holds={v.key: v for v in values if isinstance(v, Hold)},
    )
    return _with_past(found)


def stop(id_: str) -> StopContainer:
    return StopContainer(CommandId(id_), "a fault", KEY, "web", timedelta(seconds=10))


def note(text: str, kind: NoteKind = NoteKind.RESULT, at: datetime = NOW, episode: int = 1) -> Note:
    return Note(at, kind, text, ring=RING, episode=episode, chip=CHIP, container=KEY)
