"""The meaning of a fault code, and in words what cmgr does about it."""

from typing import TYPE_CHECKING

from cmgr.errors import ConfigError
from cmgr.model.values.faults import PROGRAMS, FaultClass, Handling, Level
from cmgr.model.values.handling.catalog import FORMS, Verdict, normal_code
from cmgr.model.values.handling.policy import LevelPolicy, OnIsolate, Policy, Strategy
from cmgr.model.values.node import Node
from cmgr.view.rules import counters, rules
from cmgr.words import counted, joined, span

if TYPE_CHECKING:
    from cmgr.view import shapes

SCOPES = {
    Strategy.NEVER: "",
    Strategy.SINGLE: "the containers on the faulty chip",
    Strategy.RING: "the containers on any chip of its ring",
}


def explain(code: str, node: Node) -> "shapes.Explanation":
    """Return the code's level, where that comes from, what could raise it, and what is done about it.

    `level` is None where the driver's own severity decides; `chips` are those that have it, or counters of it, now.
    Of the node the policy, the catalog, faults and tallies are looked at. Raises `ConfigError` for what is no code.
    """
    normal = normal_code(code)
    if normal is None:
        raise ConfigError(
            f"cannot explain {code[:40]!r}: this is not a fault code",
            hint=f"a fault code is {FORMS}",
        )
    catalog, policy = node.catalog, node.policy
    verdict = catalog.judge(normal, None)
    unknown = not verdict.known and verdict.fault_class is not FaultClass.REPORTED
    by_severity = unknown and not isinstance(catalog.unknown, Level)
    return {
        "code": normal,
        "level": None if by_severity else verdict.level.name,
        "handling": None if by_severity else verdict.handling.name,
        "fault_class": verdict.fault_class.value,
        "origin": "in no table; the driver's severity decides" if by_severity else verdict.origin,
        "known": verdict.known,
        "meaning": verdict.meaning,
        "advice": verdict.advice,
        "meaning_zh": verdict.chinese.meaning,
        "advice_zh": verdict.chinese.advice,
        "rules": rules(normal, node),
        "chips": counters(normal, node),
        "does": [*_observed(policy), *(_by_severity(policy) if by_severity else _done(verdict, policy))],
    }


def _observed(policy: Policy) -> list[str]:
    return ["observe = true: what follows is recorded and not done"] if policy.observe else []


def _done(verdict: Verdict, policy: Policy) -> list[str]:
    if verdict.fault_class is FaultClass.MACHINE:
        return _of_machine(verdict.handling, policy)
    lines = what(verdict.level, policy)
    if verdict.handling.pre_isolates:
        lines = [
            "keeps new work from the chip (pre-isolated): cmgr chips --available leaves it out",
            "stops nothing and resets nothing: what runs on the chip goes on, and what is held is started there again",
        ]
    if verdict.fault_class is FaultClass.NETWORK and verdict.handling is not Handling.SubHealthFault:
        lines.append("a held container with the label cmgr.needs-network=true waits until the link is up again")
    return lines


def _of_machine(handling: Handling, policy: Policy) -> list[str]:
    lines = ["it is recorded and shown" + (", and alarms tell of it" if handling >= Handling.SubHealthFault else "")]
    if handling >= Handling.PreSeparateNPU:
        lines.append("keeps new work from all chips (pre-isolated): cmgr chips --available leaves them out")
    quiet = span(policy.machine_quiet)
    return [
        *lines,
        "stops nothing and resets nothing",
        f"what happens once counts as over after {quiet} (machine.quiet)",
    ]


def _by_severity(policy: Policy) -> list[str]:
    return [
        f"severity {told}, as {level.name}: {joined(what(level, policy))}"
        for told, level in (
            ("minor or less", Level.NotHandleFault),
            ("major, critical or not told", Level.SeparateNPU),
        )
    ]


def what(level: Level, policy: Policy) -> list[str]:
    """Return what is done about a fault of this level."""
    rule = policy.levels[level]
    if rule.observe:
        return [f"it is recorded and shown, and nothing else: levels.{level.name}.observe is set"]
    if level is Level.SeparateNPU:
        return _isolation(policy)
    if not rule.stop and not rule.reset:
        return ["it is recorded and shown; nothing is stopped and nothing is reset"]
    name = policy.window_of(level)
    window = f"{joined(window.text for window in policy.windows()[name])} ({name})" if name else ""
    lines = [_idle(rule, level, window)] if rule.spares else []
    if not rule.spares or window or rule.idle_at_most is not None:
        lines.append(_stop(rule, policy))
    if level in PROGRAMS and rule.stop and policy.strategy is not Strategy.NEVER:
        lines.append("stops nobody but the container of the program that it came of, where the driver names that")
    if rule.reset:
        lines += _reset(rule, policy)
    if window and not rule.spares:
        lines.append(f"while all of its containers still run it waits for its window: {window}")
    if rule.stop and policy.strategy is not Strategy.NEVER:
        lines.append("starts the containers again once the ring is healthy")
    return lines


def _stop(rule: LevelPolicy, policy: Policy) -> str:
    strategy, busy = policy.strategy, policy.limits.busy
    if not rule.stop:
        return "stops no container"
    if strategy is Strategy.NEVER:
        return "stops no container (strategy never), unless its label cmgr.strategy says otherwise"
    when = f"after the fault has lasted {span(rule.stop_after)}" if rule.stop_after else "at once"
    waits = f", and waits for those that are busy (cmgr.busy) for {span(busy)} at most" if rule.busy and busy else ""
    return f"stops {SCOPES[strategy]} {when} (strategy {strategy}){waits}"


def _idle(rule: LevelPolicy, level: Level, window: str) -> str:
    ends = ["until nobody uses the ring", *([f"until its window: {window}"] if window else [])]
    if rule.idle_at_most is not None:
        ends.append(f"for {span(rule.idle_at_most)} at most (levels.{level.name}.idle_at_most)")
    return f"while all of its containers still run they run on, {' or '.join(ends)}"


def _reset(rule: LevelPolicy, policy: Policy) -> list[str]:
    if rule.reset_after:
        when = f"when the fault has lasted {span(rule.reset_after)} and nobody uses it"
    else:
        when = "as soon as nobody uses it"
    if rule.idle:
        when += f", and has not for {span(rule.idle)}"
    limit = policy.reset
    return [
        f"resets the chip's ring {when}",
        *([f"has each chip tested by {limit.test} before anything is started there"] if limit.test else []),
        f"isolates the chip instead when {counted(limit.attempts, 'reset')} in {span(limit.window)} did not cure it",
    ]


def _isolation(policy: Policy) -> list[str]:
    rule = policy.isolation
    left = rule.on_isolate is OnIsolate.LEAVE
    return [
        "isolates the chip: it is never reset, and cmgr starts nothing on it",
        "leaves its containers running (isolation.on_isolate = leave)"
        if left
        else "stops its containers (isolation.on_isolate = stop)",
        f"ends the isolation when the chip has reported no such fault for {span(rule.release_after)}, "
        "or by cmgr release CHIP",
    ]
