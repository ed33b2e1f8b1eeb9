"""A reboot of the machine: the last step, where nothing else brings chips back.

Rules:
1. Only for chips of which their driver says that nothing less helps, or whose resets are used up; not for those that a
   person has taken out, or that the last reboot did not bring back.
2. At most one is ordered a day, by a clock that nobody can set: how long the machine runs.
3. None before a last look at all, while a recovery, a round or a person is at work, or while something runs that nobody
   would start afterwards, or that is hands off. Whatever comes up in the delay calls it off.
4. It is written down first. If it does not come, that is told, and it is not tried again; else it is told what it did.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model import scope
from cmgr.model.turn import Turn
from cmgr.model.units import tells_of_users, unit_of
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.calendar import REBOOT_WINDOW
from cmgr.model.values.handling.policy import RebootWhen
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import Note, NoteKind, ScheduleReboot
from cmgr.model.values.messages.reboot_facts import Boot, RebootCancelOrdered, RebootScheduled
from cmgr.model.values.node import SYSTEMD, Node, unmanaged
from cmgr.model.values.services.containers import Container
from cmgr.model.values.standing import Reboot, RebootStage
from cmgr.sentences.sentence import say
from cmgr.words import stamp

DAY = timedelta(days=1)

LATE = timedelta(minutes=2)
"""So long after its time a reboot did not come: systemd ends this service among the first, as it is started late."""

HEARD_BEFORE = timedelta(seconds=30)
"""So long before its time all must be known: cmgr may have begun anew in the delay."""

LOOK_LASTS = timedelta(minutes=1)
"""So old the last look may be."""

AGAIN = timedelta(hours=1)
"""The wait after somebody beside the model was against it."""

CALL_OFF_AGAIN = timedelta(seconds=10)

HELPS_WITHIN = timedelta(minutes=15)
"""So long after the boot, and the time in which isolated chips must stay well, it is seen whether it has helped."""

_STARTS_AGAIN = frozenset({*HoldState} - {HoldState.RETURNING, HoldState.FORGOTTEN})
"""A hold in these is a promise that outlives a boot."""


def cured_by_reboot(node: Node) -> dict[ChipId, FaultCode]:
    """Return the chips that only a reboot brings back, as their driver says, each with the fault for which it does."""
    found = {}
    for chip in sorted({*node.chips, *node.isolations} - node.missing.keys()):
        isolation, grave = node.isolations.get(chip), scope.grave_faults(node, chip)
        code = isolation.code if isolation is not None else grave[0].code if grave else None
        if code is not None and node.catalog.reboots(code):
            found[chip] = code
    return found


def in_need(node: Node) -> dict[ChipId, str]:
    """Return the chips for which nothing but a reboot is left, each with the reason."""
    acted_on = {chip for chip in node.chips if chip in node.isolations or scope.blocking_faults(node, chip)}
    found: dict[ChipId, str] = {chip: code for chip, code in cured_by_reboot(node).items() if chip in acted_on}
    for chip, isolation in node.isolations.items():
        if isolation.by == "budget" and chip in acted_on - node.missing.keys():
            found.setdefault(chip, say("reboot.resets-used-up"))
    theirs = {chip for chip, isolation in node.isolations.items() if isolation.by == "operator"}
    return {chip: why for chip, why in sorted(found.items()) if chip not in theirs}


def look_at_reboot(turn: Turn) -> None:
    """Order one, call it off, or say why none is ordered."""
    known = turn.node.reboot
    if known is None and (turn.node.policy.reboot.when is RebootWhen.NEVER or not in_need(turn.node)):
        return
    known = known or Reboot(RebootStage.OVER, turn.at)
    match known.stage:
        case RebootStage.ORDERED | RebootStage.ANNOUNCED:
            _look_at_announced(turn, known)
        case RebootStage.BOOTED:
            _look_whether_it_helped(turn, known)
        case RebootStage.FAILED if in_need(turn.node) and turn.node.policy.reboot.when is not RebootWhen.NEVER:
            pass  # A person is told, and has the next word.
        case RebootStage.CALLED_OFF if known.due is not None and turn.at < known.due:
            if known.command is None and (known.retry_at is None or turn.at >= known.retry_at):
                _call_off(turn, known, known.reason)
        case _:
            _weigh(turn, known)


def _weigh(turn: Turn, known: Reboot) -> None:
    node, chips = turn.node, in_need(turn.node)
    if node.policy.reboot.when is RebootWhen.NEVER or not chips:
        if known.stage is not RebootStage.OVER:
            turn.put_reboot(replace(known, stage=RebootStage.OVER, since=turn.at, reason="", due=None))
        return
    known = _in_their_episodes(turn, known, chips)
    why = next(_against(turn, known, chips), "")
    if known.stage is RebootStage.CALLED_OFF and _too_soon(turn, known):
        return  # Why it was called off says more.
    if not why:
        if _has_looked(turn, known):
            _order(turn, known, chips)
        return
    if (known.stage, known.reason) != (RebootStage.WAITING, why):
        turn.note(NoteKind.WARNING, say("reboot.not-rebooted-for", chips=[*chips], why=why))
        known = replace(known, stage=RebootStage.WAITING, since=turn.at, reason=why, due=None)
    turn.put_reboot(known)


def _in_their_episodes(turn: Turn, known: Reboot, chips: Iterable[ChipId]) -> Reboot:
    """Return it with the episodes in which chips are given up: what becomes of it is told there, too."""
    rings = turn.rings_of(frozenset(chips))
    now = {ring.id: ring.episode for ring in rings if ring.in_episode}
    closed = (each for each in turn.commands if isinstance(each, Note) and each.kind is NoteKind.CLOSED)
    ended = {note.ring: note.episode for note in closed}  # Some end as soon as their chips are given up.
    now |= {ring.id: ended[ring.id] for ring in rings if ring.id in ended}
    return replace(known, episodes={**known.episodes, **now}) if now else known


def _has_looked(turn: Turn, known: Reboot) -> bool:
    """Have everybody asked once more, and return whether all have answered."""
    looked, node = known.looked, turn.node
    if looked is None or turn.at >= looked + LOOK_LASTS:
        turn.put_reboot(replace(known, looked=turn.at))
        for name in node.runtimes:
            turn.ask_list(name, "may the machine be rebooted?", not_older=turn.at)
        for ring in (ring for ring in node.rings.values() if ring.chips):
            turn.ask_read(ring, "may the machine be rebooted?", not_older=turn.at)
        return False
    asked = [state.listed for state in tells_of_users(node)] + [r.read for r in node.rings.values() if r.chips]
    return all(at is not None and at >= looked for at in asked)


def _order(turn: Turn, known: Reboot, chips: dict[ChipId, str]) -> None:
    what = say("reboot.chips", parts=[say("reboot.chip", chip=chip, why=why) for chip, why in chips.items()])
    pieces = frozenset(named(turn.node.chips[chip]) for chip in chips)
    age = _age(turn.node, turn.at)
    found = replace(known, stage=RebootStage.ORDERED, since=turn.at, what=what, pieces=pieces, age=age)
    _schedule(turn, replace(found, boot=turn.node.boot.id, due=None, retry_at=None, reason="", looked=None))


def _schedule(turn: Turn, known: Reboot) -> None:
    delay = turn.node.policy.reboot.delay
    reason = say("reboot.reboots", length=delay, what=known.what)
    command = ScheduleReboot(turn.command_id("reboot"), reason, delay)
    turn.commands.append(command)
    _tell(turn, known, NoteKind.ACTION, say("reboot.is-rebooted", length=delay, what=known.what))
    turn.put_reboot(replace(known, command=command.id, reason=reason))


def _look_at_announced(turn: Turn, known: Reboot) -> None:
    node, chips = turn.node, in_need(turn.node)
    if known.due is not None and turn.at >= known.due:
        if turn.at >= known.due + LATE:
            _fail(turn, known, say("reboot.did-not-come", time=stamp(known.due)))
        return
    if node.policy.reboot.when is RebootWhen.NEVER:
        _call_off(turn, known, say("reboot.never-now"))
    elif not chips:
        _call_off(turn, known, say("reboot.not-needed"))
    elif why := next(_come_up(node), "") or (known.due is not None and _is_close(turn, known.due)):
        _call_off(turn, known, why)
    elif known.stage is RebootStage.ORDERED and known.command is None and not any(_unheard(node)):
        _schedule(turn, known)  # cmgr ended before it was answered.


def _is_close(turn: Turn, due: datetime) -> str:
    """Return who has not told yet what has come up, where there is no more time to wait for that."""
    return next(_unheard(turn.node), "") if turn.at >= due - HEARD_BEFORE else ""


def _call_off(turn: Turn, known: Reboot, why: str) -> None:
    command = ScheduleReboot(turn.command_id("reboot"), say("reboot.called-off", why=why), None)
    turn.commands.append(command)
    due = known.due or turn.at + turn.node.policy.reboot.delay
    _called_off(turn, replace(known, due=due, command=command.id, retry_at=None), why)


def _called_off(turn: Turn, known: Reboot, why: str) -> None:
    if known.stage is not RebootStage.CALLED_OFF:
        _tell(turn, known, NoteKind.WARNING, say("reboot.called-off", why=why))
        known = replace(known, stage=RebootStage.CALLED_OFF, since=turn.at, reason=why)
    turn.put_reboot(known)


def _fail(turn: Turn, known: Reboot, why: str) -> None:
    _tell(turn, known, NoteKind.WARNING, say("reboot.failed", why=why))
    turn.put_reboot(replace(known, stage=RebootStage.FAILED, since=turn.at, reason=why, command=None))


def _against(turn: Turn, known: Reboot, chips: dict[ChipId, str]) -> Iterator[str]:
    """Yield what speaks against ordering one."""
    pieces = {named(turn.node.chips[chip]) for chip in chips}
    if pieces <= known.vain:
        yield say("reboot.in-vain", chips=[*chips])
    if _too_soon(turn, known):
        yield say("reboot.one-a-day")
    if known.retry_at is not None and turn.at < known.retry_at:
        yield known.reason
    policy, window = turn.node.policy.reboot, turn.node.calendar.get(REBOOT_WINDOW)
    if policy.when is RebootWhen.WINDOW:
        if window is None or not window.open:
            yield say("reboot.waits-for-window", window=REBOOT_WINDOW)
        elif window.until is not None and window.until < turn.at + policy.delay:
            yield say("reboot.window-closes", window=REBOOT_WINDOW)
    yield from in_the_way(turn.node)


def _too_soon(turn: Turn, known: Reboot) -> bool:
    """Return whether the last one was ordered within a day: the machine has run for less since."""
    age = _age(turn.node, turn.at)
    return bool(known.boot) and (age - known.age if known.boot == turn.node.boot.id else age) < DAY


def _age(node: Node, at: datetime) -> timedelta:
    return node.boot.age + (at - node.began if node.began is not None else timedelta())


def in_the_way(node: Node) -> Iterator[str]:
    """Yield what must not be when a reboot is ordered."""
    yield from _come_up(node)
    yield from _unheard(node)


def _come_up(node: Node) -> Iterator[str]:
    """Yield what must not be while the machine goes down."""
    if not node.boot.id:
        yield say("reboot.age-unknown")
    for check in (_why_idle, _recovering, _in_rounds, _left_down, _left_over):
        yield from check(node)


def _why_idle(node: Node) -> Iterator[str]:
    if why := scope.why_idle(node, chips=False):
        yield why


def _unheard(node: Node) -> Iterator[str]:
    yield from (say("reboot.unmanaged", runtime=name) for name in unmanaged(node))
    for state in tells_of_users(node):
        if state.why_down:
            yield say("reboot.unreachable", runtime=state.name)
        elif state.listed is None:
            yield say("reboot.unlisted", runtime=state.name)
    if any(ring.read is None for ring in node.rings.values() if ring.chips):
        yield say("reboot.unheard")


def _recovering(node: Node) -> Iterator[str]:
    for ring in node.rings.values():
        if ring.in_episode or ring.id in node.reset_orders:
            yield say("reboot.in-episode", ring=ring.id)
    if node.restraint.kept:
        yield say("reboot.kept-back")


def _in_rounds(node: Node) -> Iterator[str]:
    rounds = [(group.name, group.in_round) for group in node.groups.values()]
    rounds += [(group.name, group.in_round) for group in node.fleet_groups.values()]
    yield from (say("reboot.in-round", name=name) for name, in_round in rounds if in_round)


def _left_down(node: Node) -> Iterator[str]:
    heard = {name for name, state in node.runtimes.items() if state.listed is not None}
    for _, container in sorted(node.containers.items()):
        if container.key.runtime not in heard:
            continue  # Nobody knows yet whether something would start it.
        if container.running and not container.enabled:
            yield say("reboot.hands-off", name=container.name, label=container.hands_off)
        elif container.running and not starts_by_itself(node, container):
            yield say("reboot.left-down", name=container.name)


def starts_by_itself(node: Node, container: Container) -> bool:
    """Return whether somebody starts it after a boot: cmgr, its runtime, its unit, or its orchestrator."""
    hold, unit = node.holds.get(container.key), unit_of(node, container)
    held = hold is not None and not hold.is_theirs and hold.state in _STARTS_AGAIN
    origin = node.origins.get(container.key.runtime)
    policy = container.boots and (origin is None or origin.boots)
    return held or policy or bool(container.owner) or (unit is not None and starts_by_itself(node, unit))


def _left_over(node: Node) -> Iterator[str]:
    units = {chip for c in node.containers.values() if c.running and c.key.runtime == SYSTEMD for chip in c.kept.chips}
    for chip in sorted(node.chips.keys() - units):
        for process, container in scope.users_listed(node, chip):
            if container is None:
                yield say("reboot.left-over", pid=process.pid, chip=chip)


def reboot_scheduled(turn: Turn, fact: RebootScheduled) -> None:
    """Take in whether the machine has taken the order."""
    known = turn.node.reboot
    if known is None or known.command != fact.command:
        return
    known = replace(known, command=None)
    if known.stage is RebootStage.CALLED_OFF:
        if fact.error and known.retry_at is None:
            turn.note(NoteKind.WARNING, say("reboot.not-called-off-yet", why=fact.error))
        known = replace(known, due=known.due if fact.error else None)
        turn.put_reboot(replace(known, retry_at=turn.at + CALL_OFF_AGAIN if fact.error else None))
    elif fact.refused:
        turn.note(NoteKind.WARNING, say("reboot.not-rebooted", why=fact.error))
        known = replace(known, stage=RebootStage.WAITING, since=turn.at, reason=fact.error, boot="")
        turn.put_reboot(replace(known, retry_at=turn.at + AGAIN))
    elif fact.error:
        _fail(turn, known, fact.error)
    else:
        due = turn.at + turn.node.policy.reboot.delay
        turn.put_reboot(replace(known, stage=RebootStage.ANNOUNCED, since=turn.at, due=due))


def reboot_cancel_ordered(turn: Turn, fact: RebootCancelOrdered) -> None:
    """Call it off, or take in that somebody has."""
    known = turn.node.reboot
    if known is None or not known.under_way:
        return
    if fact.done:
        _called_off(turn, replace(known, due=None, command=None), say("reboot.by", who=fact.who))
    else:
        _call_off(turn, known, say("reboot.by", who=fact.who))


def machine_booted(turn: Turn, boot: Boot) -> None:
    """Take in since when the machine runs, as a life of cmgr begins; its orders of before are answered by nobody."""
    known = turn.node.reboot
    turn.node = replace(turn.node, boot=boot, began=turn.at)
    if known is None:
        return
    back = max(known.since - turn.at, timedelta())
    due, retry_at = (None if at is None else at - back for at in (known.due, known.retry_at))
    known = replace(known, since=known.since - back, due=due, retry_at=retry_at, command=None, looked=None)
    turn.put_reboot(known)
    if boot.id == known.boot or not known.boot:
        return
    # It was called off, and booted all the same: by hand, or by a machine that goes down before its time.
    by_hand = known.stage is RebootStage.CALLED_OFF and bool(in_need(turn.node))
    if known.under_way or known.stage is RebootStage.FAILED or known.due is not None or by_hand:
        turn.put_reboot(replace(known, stage=RebootStage.BOOTED, since=turn.at, due=None, reason=""))
        _tell(turn, known, NoteKind.RESULT, say("reboot.rebooted", what=known.what))


def _look_whether_it_helped(turn: Turn, known: Reboot) -> None:
    node = turn.node
    back = frozenset(named(chip) for chip in node.chips.values() if _is_back(node, chip.id))
    if known.pieces <= back:
        _tell(turn, known, NoteKind.RESULT, say("reboot.helped", what=known.what))
    elif turn.at >= helps_until(node, known):
        _tell(turn, known, NoteKind.WARNING, say("reboot.not-helped", what=known.what))
    else:
        return
    turn.put_reboot(replace(known, stage=RebootStage.OVER, since=turn.at, vain=known.pieces - back, episodes={}))


def _is_back(node: Node, chip: ChipId) -> bool:
    report, out = node.reports.get(chip), chip in node.isolations or chip in node.missing
    return report is not None and report.is_up and not out and not scope.grave_faults(node, chip)


def helps_until(node: Node, known: Reboot) -> datetime:
    return known.since + HELPS_WITHIN + node.policy.isolation.release_after


def reboot_times(node: Node) -> Iterator[datetime | None]:
    """Yield when time changes what becomes of it."""
    known = node.reboot
    if known is None:
        return
    yield known.retry_at
    if known.due is not None:
        yield from (known.due - HEARD_BEFORE, known.due, known.due + LATE)
    if known.stage is RebootStage.BOOTED:
        yield helps_until(node, known)
    if known.boot and node.began is not None:
        age = known.age if known.boot == node.boot.id else timedelta()
        yield node.began + DAY + age - node.boot.age


def named(chip: Chip) -> str:
    """Return the word by which the piece is known again, whatever its number is then."""
    return chip.piece or f"chip {chip.id}"


def _tell(turn: Turn, known: Reboot, kind: NoteKind, text: str) -> None:
    """Say it in the timelines of the chips that it is for."""
    ids: Iterable[ChipId] = (chip.id for chip in turn.node.chips.values() if named(chip) in known.pieces)
    for ring in turn.rings_of(frozenset(ids)) or (None,):
        if ring is not None:
            ring = replace(ring, episode=ring.episode or known.episodes.get(ring.id, 0))
        turn.note(kind, text, ring)
