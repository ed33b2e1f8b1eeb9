"""The table of what each phase does with each kind of fact, as text; compared with `tests/golden/model`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId, Straggler
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Opening
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages import facts, fleet_facts, health_facts
from cmgr.model.values.messages.commands import (
    Action,
    CommandId,
    ListContainers,
    MakeShares,
    Note,
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
from cmgr.model.values.messages.documents import Seen
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered, StragglersSeen
from cmgr.model.values.messages.reboot_facts import RebootCancelOrdered, RebootScheduled
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone, ResetPrepared, SharesMade
from cmgr.model.values.node import known_faults
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import HEALTHY, Exit
from cmgr.model.values.services.healing import Hang
from cmgr.model.values.troubles import Trouble, TroubleKind
from tests.model.builders import CATALOG, REQUEST, RESET, SEPARATE, T0, Cmgr, container, key, seconds

Kind = TypeVar("Kind", bound=Action)

NODES: Mapping[Phase, str] = {
    Phase.HEALTHY: "nothing is wrong; a runs on chip 0, b on chip 1 with a restart policy",
    Phase.LISTING: "chip 0 reports RestartNPU; the stops of a and b and the list are under way",
    Phase.DRAINING: "a is being stopped, b is down and its restart policy is being switched off",
    Phase.WAITING: "chip 0 reports RestartRequest, which has to last 60 s; a and b are down",
    Phase.RESETTING: "a and b are down, the reset is under way",
    Phase.VERIFYING: "the driver took the reset and is asked how the chips are",
    Phase.RESUMING: "a and b are being started",
}


def machine(phase: Phase) -> Cmgr:
    """Return the machine whose ring 0 is in this phase, as `NODES` describes it."""
    cmgr = Cmgr(container("a", 0), container("b", 1, restart_policy="always"))
    if phase is Phase.HEALTHY:
        return cmgr
    cmgr.fault(0, REQUEST if phase is Phase.WAITING else RESET)
    if phase is Phase.DRAINING:
        cmgr.answer(ListContainers)
        stop = next(c for c in cmgr.pending if isinstance(c, StopContainer) and c.name == "b")
        cmgr.pending.remove(stop)
        cmgr.tell(facts.ContainerStopped(stop.id, stop.key, "life 1"))
    elif phase is Phase.WAITING:
        cmgr.run()
    else:
        cmgr.run_until(phase)
    return cmgr


def _fault(chip: int, code: str, assertion: Assertion = Assertion.OCCURRED) -> Callable[[Cmgr], facts.Fact]:
    return lambda cmgr: facts.FaultReported(ChipId(chip), code, assertion)


def _clears(cmgr: Cmgr) -> facts.Fact:
    code = next((f.code for f in known_faults(cmgr.node, ChipId(0))), RESET)
    return facts.FaultReported(ChipId(0), code, Assertion.CLEARED)


def _waiting(cmgr: Cmgr, kind: type[Kind]) -> Kind | None:
    return next((c for c in cmgr.pending if isinstance(c, kind)), None)


def _id(command: Action | None) -> CommandId:
    return command.id if command else CommandId("of nobody")


def _read(**changes: object) -> Callable[[Cmgr], facts.Fact]:
    def fact(cmgr: Cmgr) -> facts.Fact:
        command = next((c for c in cmgr.pending if isinstance(c, ReadRing) and c.ring == 0), None)
        reports = tuple(ChipReport(c, **changes) for c in cmgr.ring().chips)  # type: ignore[arg-type]
        return facts.RingRead(_id(command), RingId(0), reports)

    return fact


def _prepared_once_more(cmgr: Cmgr) -> facts.Fact:
    nobodys = ResetRing(CommandId("of nobody"), "", RingId(0), (), (), frozenset())
    return ResetPrepared(CommandId("of nobody"), _waiting(cmgr, ResetRing) or nobodys)


def _reset(error: str = "", refused: bool = False) -> Callable[[Cmgr], facts.Fact]:
    return lambda cmgr: ResetDone(_id(_waiting(cmgr, ResetRing)), RingId(0), error, refused)


def _listed(*names: str, error: str = "") -> Callable[[Cmgr], facts.Fact]:
    def fact(cmgr: Cmgr) -> facts.Fact:
        told = tuple(cmgr.truth[key(n)] for n in names)
        return facts.ContainersListed(_id(_waiting(cmgr, ListContainers)), "docker", told, error)

    return fact


def _stopped(**fields: object) -> Callable[[Cmgr], facts.Fact]:
    return lambda cmgr: replace(facts.ContainerStopped(_id(_waiting(cmgr, StopContainer)), key("a")), **fields)  # type: ignore[arg-type]


def _started(**fields: object) -> Callable[[Cmgr], facts.Fact]:
    return lambda cmgr: replace(facts.ContainerStarted(_id(_waiting(cmgr, StartContainer)), key("a")), **fields)  # type: ignore[arg-type]


def _policy(**fields: object) -> Callable[[Cmgr], facts.Fact]:
    return lambda cmgr: replace(facts.RestartPolicySet(_id(_waiting(cmgr, SetRestartPolicy)), key("b")), **fields)  # type: ignore[arg-type]


FACTS: Mapping[str, Callable[[Cmgr], facts.Fact]] = {
    "restarted": lambda cmgr: facts.Restarted(cmgr.chips, cmgr.runtimes),
    "calendar: a window of maintenance opens": lambda cmgr: facts.CalendarRead(
        (Opening(MAINTENANCE_WINDOWS, open=True, until=cmgr.now + seconds(60), wall=cmgr.now + seconds(60)),)
    ),
    "reconfigured: strategy never": lambda _: facts.Reconfigured(Policy(), CATALOG),
    "fault on chip 1: RestartNPU": _fault(1, RESET),
    "fault on chip 1: once": _fault(1, RESET, Assertion.ONCE),
    "fault on chip 0: SeparateNPU": _fault(0, SEPARATE),
    "fault on chip 0: cleared": _clears,
    "read needed": lambda _: facts.ReadNeeded(ChipId(0)),
    "chips listed: one more": lambda c: facts.ChipsListed((*c.chips, Chip(ChipId(8), RingId(8), logical=8))),
    "machine told: memory-uncorrected": lambda _: facts.MachineTold(
        "memory", (Symptom(FaultCode("memory-uncorrected"), "mc0", "1 error", "boot:1", grave=True),)
    ),
    "ring read: well": _read(),
    "ring read: not booted": _read(booted=False),
    "ring read: no answer": _read(error="timed out"),
    "reset prepared: once more": _prepared_once_more,
    "reset done": _reset(),
    "reset done: failed": _reset("the driver said no"),
    "reset done: refused": _reset("process 7 is on chip 0", refused=True),
    "chips tested: nobody has asked": lambda _: ChipsTested(CommandId("test-1"), RingId(0), {ChipId(0): "it is slow"}),
    "shares made: nobody has asked": lambda _: SharesMade(CommandId("shares-1"), RingId(0)),
    "runtime found": lambda _: facts.RuntimeFound("containerd"),
    "runtime up": lambda _: facts.RuntimeUp("docker"),
    "runtime down": lambda _: facts.RuntimeDown("docker", "connection refused"),
    "container seen: late one on chip 0": lambda _: facts.ContainerSeen(container("late", 0)),
    "container seen: a died": lambda c: facts.ContainerSeen(
        container("a", 0, running=False, exit=Exit(1, c.now, asked=False))
    ),
    "container seen: a in a new life": lambda _: facts.ContainerSeen(container("a", 0, run="life 2")),
    "container removed: a": lambda _: facts.ContainerRemoved(key("a")),
    "containers listed": _listed("a", "b"),
    "containers listed: without a": _listed("b"),
    "containers listed: failed": _listed(error="timed out"),
    "container stopped: a": _stopped(run="life 1"),
    "container stopped: failed": _stopped(error="timed out"),
    "container stopped: had been down": _stopped(run="life 1", before=Exit(0, T0)),
    "container stopped: gone": _stopped(gone=True),
    "container started: a": _started(run="life 2"),
    "container started: failed": _started(error="no such image"),
    "container started: not reached": _started(error="connection refused", unreachable=True),
    "container started: gone": _started(gone=True),
    "restart policy set: b": _policy(),
    "restart policy set: failed": _policy(error="timed out"),
    "output read: a": lambda _: facts.OutputRead(CommandId("output-1"), key("a"), "out of memory"),
    "fault pretended: nobody has asked": lambda _: facts.FaultPretended(CommandId("fault-1"), ChipId(0), "saturday"),
    "reboot scheduled: nobody has asked": lambda _: RebootScheduled(CommandId("reboot-1")),
    "reboot cancel ordered: there is none": lambda _: RebootCancelOrdered("uid 0"),
    "cdi written: nobody has asked": lambda _: facts.CdiWritten(CommandId("cdi-1")),
    "fleet up": lambda _: fleet_facts.FleetUp("word"),
    "fleet down": lambda _: fleet_facts.FleetDown("timed out"),
    "group seen: nobody is in it": lambda _: fleet_facts.GroupSeen("g", Seen(None, 0)),
    "group written: nobody has asked": lambda _: fleet_facts.GroupWritten(CommandId("group-1"), "g"),
    "group read: nobody has asked": lambda _: fleet_facts.GroupRead(CommandId("group-1"), "g"),
    "resume ordered: a": lambda _: facts.ResumeOrdered(key("a"), "uid 0"),
    "resume ordered: all": lambda _: facts.ResumeAllOrdered("uid 0"),
    "release ordered: chip 0": lambda _: facts.ReleaseOrdered(ChipId(0), "uid 0"),
    "isolate ordered: chip 0": lambda _: facts.IsolateOrdered(ChipId(0), "it is loud", "uid 0"),
    "reset ordered: chip 1": lambda _: facts.ResetOrdered(ChipId(1), "uid 0"),
    "reset ordered: chip 1, stop": lambda _: facts.ResetOrdered(ChipId(1), "uid 0", stop=True),
    "test ordered: chip 1": lambda _: facts.ResetOrdered(ChipId(1), "uid 0", test=True),
    "forget ordered: a": lambda _: facts.ForgetOrdered(key("a"), "uid 0"),
    "runtime forget ordered": lambda _: facts.RuntimeForgetOrdered("docker", "uid 0"),
    "chip forget ordered": lambda _: ChipForgetOrdered(ChipId(9), "uid 0"),
    "forget ordered: b": lambda _: facts.ForgetOrdered(key("b"), "uid 0"),
    "group restart ordered: nobody is in it": lambda _: facts.GroupRestartOrdered("g", "uid 0"),
    "group resume ordered: nobody is in it": lambda _: facts.GroupResumeOrdered("g", "uid 0"),
    "maintenance ordered: on": lambda _: facts.MaintenanceOrdered(on=True, who="uid 0"),
    "move ordered: chip 5": lambda _: facts.MoveOrdered(key("a"), frozenset({ChipId(5)}), "uid 0", stop=True),
    "slot ordered: chip 5": lambda _: facts.SlotOrdered("chat", "uid 0", frozenset({ChipId(5)})),
    "reserve ordered: 9 chips": lambda cmgr: facts.ReserveOrdered("word", "uid 0", 9, cmgr.now + seconds(60)),
    "slot remove ordered: there is none": lambda _: facts.SlotRemoveOrdered("chat", "uid 0"),
    "reported by a program: 220001001 on chip 0": lambda cmgr: facts.ReportOrdered(
        FaultCode("220001001"), "root/disk-7", frozenset({ChipId(0)}), cmgr.now + seconds(600), "root (uid 0)"
    ),
    "acknowledged: what is not there": lambda _: facts.AcknowledgeOrdered(("damage-database",), "uid 0"),
    "trouble met: a damaged database": lambda _: facts.TroubleMet(
        Trouble(TroubleKind.DAMAGE, "database", "the database was damaged", stays=True)
    ),
    "hangs seen: a": lambda cmgr: health_facts.HangsSeen((Hang(key("a"), "life 1", cmgr.now, "it rests"),)),
    "answered: a, by old news": lambda _: health_facts.Answered(
        key("a"), "life 0", question("tcp://:80"), HEALTHY, "port 80 is open"
    ),
    "rules read: a can open chip 0": lambda _: health_facts.RulesRead(key("a"), "life 1", frozenset({ChipId(0)})),
    "busy said: a, by old news": lambda _: health_facts.BusySaid(key("a"), "life 0", "tcp://:80", True, "it is open"),
    "stragglers seen: chip 0": lambda cmgr: StragglersSeen((Straggler(ChipId(0), cmgr.now, "by half"),)),
    "remarked: a hook ended": lambda _: facts.Remarked("hook before_stop ended well", RingId(0), 1),
    "tick: 70 s later": lambda _: facts.Tick(),
    "resync": lambda _: facts.Resync(),
}


def words(command: Action) -> str:  # noqa: C901 - a flat table, a line a command
    """Return the command in two or three words."""
    match command:
        case ListContainers():
            return f"list {command.runtime}"
        case ReadRing():
            return f"read {command.ring}"
        case PrepareReset():
            return f"prepare the reset of {command.order.ring}"
        case ResetRing():
            return f"reset {command.ring}"
        case RunTest():
            return f"test chips of {command.ring}"
        case MakeShares():
            return f"make shares of ring {command.ring}"
        case StopContainer():
            return f"stop {command.name}"
        case StartContainer():
            return f"start {command.name}"
        case ReadOutput():
            return f"output of {command.name}"
        case PretendFault():
            return f"pretend {command.code} on {command.chip}"
        case ScheduleReboot():
            return f"reboot in {command.delay}"
        case WriteCdi():
            return "write the CDI files"
        case WriteGroup():
            return f"write group {command.group}"
        case ReadGroup():
            return f"read group {command.group}"
        case SetRestartPolicy():
            return f"policy of {command.name} {'back' if command.restart_policy else 'off'}"


def _row(phase: Phase, name: str) -> str:
    cmgr = machine(phase)
    fact = FACTS[name](cmgr)
    if isinstance(fact, facts.Tick):
        cmgr.now += seconds(70)
    before = cmgr.node
    commands = [words(c) for c in cmgr.tell(fact) if not isinstance(c, Note)]
    ring = cmgr.ring()
    if cmgr.node == before:
        return f"  {name} -> nothing changes\n"
    held = ", ".join(f"{h.name} {h.state}" for h in sorted(cmgr.node.holds.values(), key=lambda h: h.name))
    told = f"  {name} -> {ring.phase}\n      commands: {', '.join(commands) or '-'}\n"
    return f"{told}      holds: {held or '-'}\n      reason: {ring.reason or '-'}\n"


def table() -> str:
    """Return the whole table."""
    parts = [
        "What a ring does with each kind of fact: its phase afterwards, commands, holds, and the reason it gives.\n"
    ]
    for phase, told in NODES.items():
        parts.append(f"\n{phase}: {told}\n")
        parts += [_row(phase, name) for name in FACTS]
    return "".join(parts)
