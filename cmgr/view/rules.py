"""The rules that can raise a code, and what they count and have raised now, as JSON and in words."""

from typing import TYPE_CHECKING

from cmgr.model.faults.escalation import ends_at, within
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, Handling, Level, within_class
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Raise, RuleKind, Tally
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import parts, say
from cmgr.words import stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes


def rules(code: FaultCode, node: Node) -> "list[shapes.Rule]":
    """Return the rules that can raise this code, each with a sentence."""
    asked = node.catalog.class_of(code)
    frequency, duration = node.catalog.rules.frequency.get(code), node.catalog.rules.duration.get(code)
    found: list[shapes.Rule] = []
    if duration is not None:
        word = within_class(duration.handling, asked)
        found.append(_rule(RuleKind.DURATION, word, _duration(duration, word)))
    if frequency is not None:
        word = within_class(frequency.handling, asked)
        found.append(_rule(RuleKind.FREQUENCY, word, _frequency(frequency, word, lasting=duration is not None)))
    return found


def _rule(kind: RuleKind, word: Handling, text: str) -> "shapes.Rule":
    return {"kind": kind.value, "level": word.level.name, "handling": word.name, "text": text}


def _duration(rule: DurationRule, word: Handling) -> str:
    return say("explain.rule-duration", length=rule.fault_timeout, level=word.name, clean=rule.recover_timeout)


def _frequency(rule: FrequencyRule, word: Handling, *, lasting: bool) -> str:
    ends = say("explain.ends-by-person")
    if rule.release is not None:
        ends = say("explain.ends-by-time", length=rule.release)
    text = say("explain.rule-came", count=rule.times, window=rule.window, level=word.name, ends=ends)
    if lasting:
        text = say("explain.rule-lasted", count=rule.times, window=rule.window, level=word.name, ends=ends)
    waits = rule.after_reset and word.level is Level.SeparateNPU
    return parts((text, say("explain.reset-first") if waits else ""))


def counters(code: FaultCode, node: Node) -> "list[shapes.Counter]":
    """Return what is counted and raised of this code on each chip that has anything of it."""
    chips = {c for c, known in node.faults.items() if any(f.code == code for f in known.values())}
    chips |= {chip for chip, known in node.tallies if known == code}
    return [_counter(node, chip, code) for chip in sorted(chips)]


def _counter(node: Node, chip: ChipId, code: FaultCode) -> "shapes.Counter":
    tally = node.tallies.get((chip, code), Tally(chip, code))
    active = [f for f in node.faults.get(chip, {}).values() if f.code == code]
    rule = node.catalog.rules.frequency.get(code)
    latest = max((t for t in (tally.last, tally.recovered) if t is not None), default=None)
    counted = () if rule is None or latest is None else within(tally, rule, latest)
    return {
        "chip": chip,
        "active": bool(active),
        "level": max(f.level for f in active).name if active else None,
        "counted": len(counted) if rule is None else min(len(counted), rule.times),
        "times": None if rule is None else rule.times,
        "first": stamp_or_none(min(counted, default=None)),
        "raised": [_raise(node, tally, raised) for raised in tally.raised],
    }


def _raise(node: Node, tally: Tally, raised: Raise) -> "shapes.Raised":
    return {
        "kind": raised.kind.value,
        "level": raised.handling.level.name,
        "handling": raised.handling.name,
        "since": stamp(raised.since),
        "reason": say("explain.it", reason=raised.reason),
        "ends": stamp_or_none(ends_at(node, tally, raised)),
        "manual": raised.manual,
    }


def raised_by(node: Node, chip: ChipId, code: FaultCode) -> str:
    """Return why the code is graver on this chip than its table says, or nothing."""
    tally = node.tallies.get((chip, code))
    if tally is None or not tally.raised:
        return ""
    gravest = max(tally.raised, key=lambda r: r.handling)
    return say("explain.raised-by", reason=gravest.reason, rule=str(gravest.kind))
