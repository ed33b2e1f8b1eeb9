"""Escalation: counting occurrences, measuring how long faults last, raising levels and taking that back.

Rules:
1. Counters are per chip and code. They, what was raised and why are stored: a restart forgets nothing.
2. A code with a rule of both kinds counts one occurrence when its duration rule fires, and not before.
3. While a rule stands that has fired nothing is counted, and every occurrence puts its end off. Then it begins anew.
4. The same code on two chips of one container within a short time is the software's doing, and is not counted.
   Nor is one on a chip that nobody uses: the newest Device Plugin of the maker's does not count it either.
5. A shipped rule that isolates waits for one more reset: here nobody moves the job to another chip.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.index import users_on
from cmgr.model.scope import is_spent, unclear_users
from cmgr.model.turn import Turn
from cmgr.model.units import tells_of_users
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, Handling, Level, within_class
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Raise, RuleKind, Tally
from cmgr.model.values.messages.commands import FaultSaid
from cmgr.model.values.node import Node, known_faults
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say

_LATELY = timedelta(minutes=1)
"""How long after its end a container counts as one that the fault may have ended."""

TallyKey = tuple[ChipId, FaultCode]


def raised_level(node: Node, chip: ChipId, code: FaultCode) -> Level:
    """Return the level that the rules have raised this code to on this chip."""
    tally = node.tallies.get((chip, code))
    return tally.level if tally else Level.NotHandleFault


def raised_handling(node: Node, chip: ChipId, code: FaultCode) -> Handling:
    """Return the gravest word that the rules have for this code on this chip."""
    tally = node.tallies.get((chip, code))
    return tally.handling if tally else Handling.NotHandleFault


def separating(node: Node, chip: ChipId) -> tuple[FaultCode, Raise] | None:
    """Return the code and the rule that keep this chip isolated."""
    found = [(t.code, t.separating) for t in node.tallies.values() if t.chip == chip]
    standing = [(code, raised) for code, raised in found if raised is not None]
    return max(standing, key=lambda s: (s[1].manual, s[1].since), default=None)


def occurred(turn: Turn, chip: ChipId, code: FaultCode, rises: int) -> None:
    """Take in that the chip has this fault, and how often it got it since it was last told."""
    rules, key = turn.node.catalog.rules, (chip, code)
    frequency, ruled = rules.frequency.get(code), code in rules.frequency or code in rules.duration
    tally = turn.node.tallies.get(key)
    if (tally is None and not ruled) or (rises == 0 and tally is not None and tally.risen is not None):
        return
    tally = tally or Tally(chip, code)
    tally = _put(turn, replace(tally, last=turn.at, risen=tally.risen or turn.at, recovered=None))
    if frequency is not None and code not in rules.duration and rises:
        _count(turn, tally, frequency, rises)


def gone(turn: Turn, chip: ChipId, code: FaultCode) -> None:
    """Take in that the chip is without this fault now."""
    tally = turn.node.tallies.get((chip, code))
    if tally is not None and tally.risen is not None:
        if turn.at > tally.risen:
            _outlasts(turn, tally)
        _put(turn, replace(turn.node.tallies[chip, code], risen=None, recovered=turn.at))


def by_time(turn: Turn) -> None:
    """Fire the duration rules that are due, and end what is over."""
    for tally in [t for t in turn.node.tallies.values() if t.due is not None and t.due <= turn.at]:
        _outlasts(turn, tally)
        known = turn.node.tallies[tally.key]
        _end(turn, known, [r for r in known.raised if _over(turn, known, r)])


def adopt(turn: Turn, present: Mapping[TallyKey, datetime]) -> None:
    """Fit what is stored to the rules as they are now, after a restart or with other rules.

    `present`: the lasting faults that are active, and since when.
    """
    rules = turn.node.catalog.rules
    ruled = {key for key in present if key[1] in rules.frequency or key[1] in rules.duration}
    for key in sorted({*turn.node.tallies, *ruled}):
        known = _put(turn, _adopted(turn, turn.node.tallies.get(key, Tally(*key)), present.get(key)))
        _end(turn, known, [r for r in known.raised if not r.manual and _rule(turn.node, known, r) is None])


def _adopted(turn: Turn, tally: Tally, since: datetime | None) -> Tally:
    at = turn.at  # Nothing has happened later than now: the clock may have been set back.
    return replace(
        tally,
        times=tuple(min(t, at) for t in tally.times),
        last=min(tally.last or since or at, at),
        risen=None if since is None else min(tally.risen or since, at),
        recovered=min(tally.recovered or at, at) if since is None else None,
        raised=tuple(_adopted_raise(turn, tally, r) for r in tally.raised),
    )


def _adopted_raise(turn: Turn, tally: Tally, raised: Raise) -> Raise:
    rule = _rule(turn.node, tally, raised)
    since = min(raised.since, turn.at)
    handling = _allowed(turn.node, tally, raised.handling if rule is None else rule.handling)
    if handling is not raised.handling:
        turn.raised.add(tally.key)
    if rule is None:
        return replace(raised, since=since, handling=handling)
    manual = isinstance(rule, FrequencyRule) and rule.release is None
    return replace(raised, since=since, handling=handling, manual=manual)


def forgive(turn: Turn, chip: ChipId) -> None:
    """A person says that the chip is well: what was raised on it, and counted, is over."""
    for tally in [t for t in turn.node.tallies.values() if t.chip == chip]:
        turn.raised.add(tally.key)
        if tally.risen is None:
            turn.drop_tally(tally)
        else:
            _put(turn, Tally(chip, tally.code, last=tally.last, risen=turn.at))


def forget_old(turn: Turn) -> None:
    """Drop the counters that count nothing any more."""
    for tally in list(turn.node.tallies.values()):
        rule = turn.node.catalog.rules.frequency.get(tally.code)
        counts = rule is not None and any(turn.at - t < rule.window for t in tally.times)
        recent = tally.last is not None and turn.at - tally.last < turn.node.policy.software_window
        if not (tally.raised or counts or recent or tally.risen is not None):
            turn.drop_tally(tally)


def within(tally: Tally, rule: FrequencyRule, at: datetime) -> tuple[datetime, ...]:
    """Return the occurrences that count now."""
    return tuple(t for t in tally.times if at - t < rule.window)


def _count(turn: Turn, tally: Tally, rule: FrequencyRule, rises: int) -> None:
    if tally.has(RuleKind.FREQUENCY) or not _is_used(turn, tally.chip) or _by_software(turn, tally):
        return
    known = within(tally, rule, turn.at)
    times = (*known, *[turn.at] * min(rises, rule.times))[-rule.times - rule.after_reset :]
    tally = _put(turn, replace(tally, times=times))
    if len(times) < rule.times:
        return
    reason = say("fault.came", count=rule.times, window=rule.window)
    if _resets_first(turn, tally, rule):
        if len(known) < rule.times:
            _say(turn, tally, say("fault.one-more-reset", code=tally.code, chip=tally.chip, reason=reason))
        return
    _fire(turn, tally, Raise(RuleKind.FREQUENCY, rule.handling, turn.at, reason, manual=rule.release is None))


def _resets_first(turn: Turn, tally: Tally, rule: FrequencyRule) -> bool:
    """Return whether the ring is to be reset once more before the rule isolates the chip."""
    ring, levels = turn.ring_of(tally.chip), turn.node.policy.levels
    if not rule.after_reset or rule.handling.level is not Level.SeparateNPU or ring is None:
        return False
    full_before = tally.times[-2] if len(tally.times) > rule.times else None
    if full_before is not None and any(t >= full_before for t in ring.resets):
        return False
    judge, known = turn.node.catalog.judge, known_faults(turn.node, tally.chip)
    # Not the level that they have: that may be what the rule itself had made of them.
    asked = {max(judge(f.code, f.severity).level, tally.level) for f in known if f.code == tally.code}
    cured = any(level.handled and levels[level].reset and not levels[level].observe for level in asked)
    return cured and not is_spent(turn.node, ring, turn.at)


def _allowed(node: Node, tally: Tally, asked: Handling) -> Handling:
    """Return what a rule may make of the code: no more than its class, or whoever reports it, may ask for."""
    most = (f.highest for f in known_faults(node, tally.chip) if f.code == tally.code and f.highest is not None)
    return min([within_class(asked, node.catalog.class_of(tally.code)), *most])


def _fire(turn: Turn, tally: Tally, asked: Raise) -> None:
    new = replace(asked, handling=_allowed(turn.node, tally, asked.handling))
    _put(turn, replace(tally, raised=(*tally.raised, new)))
    turn.raised.add(tally.key)
    level, rule = new.handling.name, str(new.kind)
    text = say("fault.raised", code=tally.code, chip=tally.chip, level=level, reason=new.reason, rule=rule)
    _say(turn, tally, text)


def _say(turn: Turn, tally: Tally, text: str) -> None:
    """Say something of a counted code, with the level that its table and the rules give it from now on."""
    judge, counted = turn.node.catalog.judge, turn.node.tallies.get(tally.key, tally)
    grades = [f.severity for f in known_faults(turn.node, tally.chip) if f.code == tally.code] or [None]
    raised = (r.handling for r in counted.raised)
    handling = max([*(judge(tally.code, severity).handling for severity in grades), *raised])
    turn.note_code(tally.chip, FaultSaid(tally.code, handling.level.name, handling.name), text)


def _by_software(turn: Turn, tally: Tally) -> bool:
    """Return whether another chip of one of its containers had the same code a moment ago; then neither is counted."""
    window = turn.node.policy.software_window
    mates = _chips_in_one_container(turn, tally.chip, window)
    twins = [
        other
        for other in turn.node.tallies.values()
        if other.code == tally.code and other.chip in mates and _at_once(tally, other, window)
    ]
    for twin in twins:
        _take_back(turn, twin, window)
    if twins:
        _take_back(turn, turn.node.tallies[tally.key], window)
        chips = [tally.chip, *(t.chip for t in twins)]
        _say(turn, tally, say("fault.by-software", code=tally.code, chips=chips, window=window))
    return bool(twins)


def _at_once(one: Tally, other: Tally, window: timedelta) -> bool:
    return one.last is not None and other.last is not None and abs(one.last - other.last) < window


def _take_back(turn: Turn, tally: Tally, window: timedelta) -> None:
    """Uncount what was counted a moment ago, and what that made."""
    if not any(turn.at - t < window for t in tally.times):
        return
    tally = _put(turn, replace(tally, times=tuple(t for t in tally.times if turn.at - t >= window)))
    _end(turn, tally, [r for r in tally.raised if r.kind is RuleKind.FREQUENCY], keep_times=True)


def _chips_in_one_container(turn: Turn, chip: ChipId, window: timedelta) -> set[ChipId]:
    mates: set[ChipId] = set()
    for container in _users(turn, chip, window):
        mates |= container.kept.chips
    return mates - {chip}


def _users(turn: Turn, chip: ChipId, window: timedelta) -> Iterator[Container]:
    """Yield the containers that use the chip, or did so until its fault."""
    for container in users_on(turn.node, (chip,)):
        # Its first fault may have stopped it, or killed it, before the second one came.
        recent = container.kept.since is not None and turn.at - container.kept.since < window
        if container.running or recent or container.key in turn.node.holds:
            yield container


def _is_used(turn: Turn, chip: ChipId) -> bool:
    """Return whether somebody uses the chip, or is to use it again. Where nobody can say that somebody does."""
    node, report = turn.node, turn.node.reports.get(chip)
    if (report is not None and report.processes) or any(True for _ in _users(turn, chip, _LATELY)):
        return True
    if any(container.kept.wanted for container in users_on(node, (chip,))):
        return True
    return bool(unclear_users(node, (chip,))) or any(state.listed is None for state in tells_of_users(node))


def _outlasts(turn: Turn, tally: Tally) -> None:
    """Fire the duration rule if the fault has lasted for so long."""
    rules = turn.node.catalog.rules
    rule = rules.duration.get(tally.code)
    if rule is None or tally.risen is None or tally.has(RuleKind.DURATION):
        return
    if turn.at - tally.risen < rule.fault_timeout:
        return
    reason = say("fault.lasted", length=rule.fault_timeout)
    _fire(turn, tally, Raise(RuleKind.DURATION, rule.handling, turn.at, reason))
    frequency = rules.frequency.get(tally.code)
    if frequency is not None:
        _count(turn, turn.node.tallies[tally.key], frequency, 1)


def _end(turn: Turn, tally: Tally, ended: list[Raise], *, keep_times: bool = False) -> None:
    if not ended:
        return
    begins_anew = not keep_times and any(r.kind is RuleKind.FREQUENCY for r in ended)
    kept = tuple(r for r in tally.raised if r not in ended)
    _put(turn, replace(tally, raised=kept, times=() if begins_anew else tally.times))
    turn.raised.add(tally.key)
    for each in ended:
        level, rule = each.handling.name, str(each.kind)
        _say(turn, tally, say("fault.raised-no-more", code=tally.code, chip=tally.chip, level=level, rule=rule))


def _over(turn: Turn, tally: Tally, raised: Raise) -> bool:
    end = ends_at(turn.node, tally, raised)
    return end is not None and turn.at >= end


def ends_at(node: Node, tally: Tally, raised: Raise) -> datetime | None:
    """Return when this ends if the fault stays away; None when only its going or a person can end it."""
    if tally.recovered is None or raised.manual:
        return None
    rule = _rule(node, tally, raised)
    if isinstance(rule, DurationRule):
        return tally.recovered + rule.recover_timeout
    if isinstance(rule, FrequencyRule) and rule.release is not None:
        return tally.recovered + rule.release
    return None


def _rule(node: Node, tally: Tally, raised: Raise) -> DurationRule | FrequencyRule | None:
    rules = node.catalog.rules
    return (rules.duration if raised.kind is RuleKind.DURATION else rules.frequency).get(tally.code)


def _put(turn: Turn, tally: Tally) -> Tally:
    """Book the tally with the time at which it has to be looked at next."""
    times = [ends_at(turn.node, tally, r) for r in tally.raised]
    rule = turn.node.catalog.rules.duration.get(tally.code)
    if rule is not None and tally.risen is not None and not tally.has(RuleKind.DURATION):
        times.append(tally.risen + rule.fault_timeout)
    return turn.put_tally(replace(tally, due=min((t for t in times if t is not None), default=None)))
