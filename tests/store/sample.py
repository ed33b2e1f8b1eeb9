"""A node in which nothing that is stored has its default, and a history: the file `level2.sql` has just these."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.chips import Chip, ChipId, MissingChip, RingId, Share
from cmgr.model.values.faults import Assertion, Fault, FaultCode, Handling, Isolation, Level, Severity
from cmgr.model.values.fleet import FleetGroup
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Occasion
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.rules import Raise, RuleKind, Tally
from cmgr.model.values.holds import Attempt, Cause, Hold, HoldState
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.messages.commands import FaultSaid, Note, NoteKind
from cmgr.model.values.node import Node, Restraint
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Kept
from cmgr.model.values.services.groups import GroupPhase
from cmgr.model.values.services.healing import Healing
from cmgr.model.values.services.outages import Outage, OutageCause
from cmgr.model.values.services.slots import Reservation, Slot
from cmgr.model.values.standing import Maintenance, Reboot, RebootStage, ResetOrder
from cmgr.model.values.troubles import Trouble, TroubleKind
from tests.store import values
from tests.store.values import CHIP, CODE, KEY, NOW, RING

LATER = NOW + timedelta(minutes=3)
OTHER = ContainerKey("containerd", "default", "web-2")

_ring = Ring(
    id=RING,
    chips=(CHIP, ChipId(4)),
    phase=Phase.WAITING,
    since=NOW,
    reason="chip 3: größer",
    deadline=LATER,
    episode=5,
    began=NOW,
    resets=(NOW, LATER),
    failures=1,
    not_before=LATER,
    lulls=(NOW,),
    theirs=frozenset({OTHER, KEY}),
    starts={KEY: 2, OTHER: 1},
    vetoed=NOW,
    blocked=NOW,
    widened=True,
)
_container = Container(
    key=KEY,
    name="web",
    claims=frozenset({"3", "10"}),
    running=True,
    run="life 2",
    exit=Exit(137, NOW, True),
    grace=timedelta(seconds=12.5),
    strategy=Strategy.RING,
    order=7,
    enabled=False,
    restart_policy="on-failure:3",
    auto_remove=True,
    warnings=("a label",),
    composed=Composed("llm", "web", 2, (Need("db", Condition.HEALTHY), Need("init", Condition.DONE)), NOW),
    before_stop=("save", "--now"),
    min_chips=2,
    unit="llm@3.service",
    runs=frozenset({"web", "db"}),
    vouches=frozenset({KEY}),
    takes=frozenset({"part.service"}),
    made_for=frozenset({"3"}),
    tied="has a hook",
    kept=Kept(chips=frozenset({CHIP, ChipId(10)}), since=NOW, deaf=True, covers=frozenset({"3"}), halted=(NOW, NOW)),
)
_hold = Hold(
    key=KEY,
    name="web",
    chips=frozenset({CHIP}),
    episode=5,
    since=NOW,
    state=HoldState.FAILED,
    run="life 1",
    died=True,
    order=7,
    grace=timedelta(seconds=12.5),
    restart_policy="always",
    disarmed=True,
    attempt=Attempt(2, LATER, "no"),
    cause=Cause.HEAL,
    sick=2,
    inherited=True,
    wish=frozenset({ChipId(6)}),
    short="no spare",
    reason="chip 3 is isolated: it smells",
)
_healing = Healing(KEY, (NOW, LATER), "life 1", NOW, LATER, True, True, LATER)
_fault = Fault(
    CHIP, CODE, "1/2", Level.RestartNPU, NOW, LATER, LATER, Severity.major, 3, True, handling=Handling.RestartNPU
)
_share = Share("100", "vir04", 1, frozenset({"/dev/vdavinci100"}), "make it", False, True, "it does not fit")
_ailment = MachineFault(
    FaultCode("memory-uncorrected"), "mc0", "memory", Handling.PreSeparateNPU, NOW, LATER, "1 error", 2, "boot:2", True,
    LATER, LATER,
)  # fmt: skip
_raise = Raise(RuleKind.FREQUENCY, Handling.SeparateNPU, NOW, "came 3 times", True)

TROUBLE = Trouble(
    TroubleKind.DAMAGE,
    "database",
    "it was damaged",
    "a page is bad",
    "look",
    NOW,
    True,
    RING,
    4,
    (CHIP,),
    (CODE,),
    ("a",),
)

_slot = Slot(
    "chat",
    frozenset({CHIP}),
    frozenset({ChipId(4)}),
    NOW,
    "moved",
    frozenset({ChipId(5)}),
    "no",
    frozenset({CHIP}),
)
OCCASION = Occasion(MAINTENANCE_WINDOWS, LATER, frozenset({RING}))

_chip = Chip(CHIP, RING, 1, 2, 3, "910B", "0000:c1:00.0", "S1", frozenset({"part"}), (_share,))

NODE = Node(
    chips={CHIP: replace(_chip, board="B1")},
    missing={ChipId(1001): MissingChip(ChipId(1001), replace(_chip, id=ChipId(1001), board="B2"), 4, NOW)},
    rings={RING: _ring},
    containers={
        KEY: _container,
        OTHER: replace(
            _container, key=OTHER, exit=Exit(0, NOW), strategy=None, kept=replace(_container.kept, since=None)
        ),
        OTHER._replace(id="new"): Container(OTHER._replace(id="new"), "new"),
    },
    faults={CHIP: {_fault.key: _fault}},
    machine_faults={_ailment.key: _ailment},
    tallies={(CHIP, CODE): Tally(CHIP, CODE, (NOW, LATER), (_raise,), LATER, NOW, LATER)},
    isolations={CHIP: Isolation(CHIP, NOW, "operator", "smells", FaultCode("00000001"), LATER)},
    holds={KEY: _hold},
    healings={KEY: _healing},
    outages={KEY: Outage(KEY, "docker//web", NOW, OutageCause.FAULT, True, LATER)},
    fleet_groups={
        "tp8": FleetGroup("tp8", 18, GroupPhase.STARTING, 17, True, True, 19, frozenset({"b"}), frozenset({"a", "b"})),
    },
    restraint=Restraint((NOW,), NOW, "a storm", {RingId(8): NOW}, frozenset({RingId(16)})),
    reservations={CHIP: Reservation(CHIP, LATER, "root", "word")},
    slots={"chat": _slot},
    reset_orders={RING: ResetOrder(RING, CHIP, NOW, "root", stop=True, done=True)},
    maintenance=Maintenance(NOW, LATER, "root"),
    reboot=Reboot(
        RebootStage.ANNOUNCED,
        NOW,
        "it is needed",
        "chip 3",
        frozenset({"GPU-1"}),
        LATER,
        "boot 1",
        LATER - NOW,
        LATER,
        frozenset({"GPU-2"}),
        {RING: 5},
    ),
    troubles={TROUBLE.key: TROUBLE},
    occasions={OCCASION.name: OCCASION},
    serial=77,
    episodes=5,
)

NOTES = (
    values.note("chip 3: 80E01801", NoteKind.OPENED, episode=4),
    replace(values.note("recovered", NoteKind.CLOSED, at=LATER, episode=4), outcome="recovered"),
    values.note("chip 3: again", NoteKind.OPENED, at=LATER, episode=5),
    Note(LATER, NoteKind.WARNING, "of nothing in particular"),
)

OF_A_FAULT = Note(
    LATER, NoteKind.FAULT, "chip 3 reports 80E01801 once", chip=CHIP, card=1, device=1,
    fault=FaultSaid(FaultCode("80E01801"), "RestartRequest", "RestartRequest", Assertion.ONCE),
)  # fmt: skip
"""A line that older cmgrs noted without the fault's code."""
