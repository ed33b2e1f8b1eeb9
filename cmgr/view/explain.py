"""The meaning of a fault code, and in words what cmgr does about it."""

from typing import TYPE_CHECKING

from cmgr.errors import ConfigError
from cmgr.model.values.faults import PROGRAMS, FaultClass, Handling, Level
from cmgr.model.values.handling.catalog import FORMS, Verdict, normal_code
from cmgr.model.values.handling.policy import LevelPolicy, OnIsolate, Policy, Strategy
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import parts, say
from cmgr.view.rules import counters, rules

if TYPE_CHECKING:
    from cmgr.view import shapes


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
        "origin": say("explain.driver-decides") if by_severity else verdict.origin,
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
    return [say("explain.observed")] if policy.observe else []


def _done(verdict: Verdict, policy: Policy) -> list[str]:
    if verdict.fault_class is FaultClass.MACHINE:
        return _of_machine(verdict.handling, policy)
    lines = what(verdict.level, policy)
    if verdict.handling.pre_isolates:
        lines = [say("explain.keeps-work-from-chip"), say("explain.goes-on")]
    if verdict.fault_class is FaultClass.NETWORK and verdict.handling is not Handling.SubHealthFault:
        lines.append(say("explain.needs-network"))
    return lines


def _of_machine(handling: Handling, policy: Policy) -> list[str]:
    lines = [say("explain.recorded-told") if handling >= Handling.SubHealthFault else say("explain.recorded")]
    if handling >= Handling.PreSeparateNPU:
        lines.append(say("explain.keeps-work-from-all"))
    return [*lines, say("explain.stops-nothing"), say("explain.over-after", length=policy.machine_quiet)]


def _by_severity(policy: Policy) -> list[str]:
    minor, major = Level.NotHandleFault, Level.SeparateNPU
    return [
        say("explain.severity-minor", level=minor.name, does=parts(what(minor, policy))),
        say("explain.severity-major", level=major.name, does=parts(what(major, policy))),
    ]


def what(level: Level, policy: Policy) -> list[str]:
    """Return what is done about a fault of this level."""
    rule = policy.levels[level]
    if rule.observe:
        return [say("explain.level-observed", setting=f"levels.{level.name}.observe")]
    if level is Level.SeparateNPU:
        return _isolation(policy)
    if not rule.stop and not rule.reset:
        return [say("explain.only-recorded")]
    name = policy.window_of(level)
    times = [window.text for window in policy.windows()[name]] if name else []
    window = say("explain.window", parts=times, name=name) if name else ""
    lines = [_idle(rule, level, window)] if rule.spares else []
    if not rule.spares or window or rule.idle_at_most is not None:
        lines.append(_stop(rule, policy))
    if level in PROGRAMS and rule.stop and policy.strategy is not Strategy.NEVER:
        lines.append(say("explain.program-only"))
    if rule.reset:
        lines += _reset(rule, policy)
    if window and not rule.spares:
        lines.append(say("explain.waits-for-window", window=window))
    if rule.stop and policy.strategy is not Strategy.NEVER:
        lines.append(say("explain.starts-again"))
    return lines


def _stop(rule: LevelPolicy, policy: Policy) -> str:
    strategy, busy = policy.strategy, policy.limits.busy
    if not rule.stop:
        return say("explain.stops-none")
    if strategy is Strategy.NEVER:
        return say("explain.strategy-never")
    when = say("explain.when-lasted", length=rule.stop_after) if rule.stop_after else say("explain.at-once")
    whose = say("explain.on-chip") if strategy is Strategy.SINGLE else say("explain.on-ring")
    stops = say("explain.stops", whose=whose, when=when, strategy=str(strategy))
    return say("explain.stops-not-busy", stops=stops, length=busy) if rule.busy and busy else stops


def _idle(rule: LevelPolicy, level: Level, window: str) -> str:
    ends = [say("explain.until-free")]
    if window:
        ends.append(say("explain.until-window", window=window))
    if rule.idle_at_most is not None:
        setting = f"levels.{level.name}.idle_at_most"
        ends.append(say("explain.idle-at-most", length=rule.idle_at_most, setting=setting))
    return say("explain.runs-on", ends=ends)


def _reset(rule: LevelPolicy, policy: Policy) -> list[str]:
    when, limit = say("explain.when-free"), policy.reset
    if rule.reset_after:
        when = say("explain.when-lasted-free", length=rule.reset_after)
    resets = say("explain.resets", when=when)
    if rule.idle:
        resets = say("explain.resets-idle", when=when, length=rule.idle)
    tests = [say("explain.tests", program=limit.test)] if limit.test else []
    return [resets, *tests, say("explain.isolates-instead", count=limit.attempts, window=limit.window)]


def _isolation(policy: Policy) -> list[str]:
    rule = policy.isolation
    left = rule.on_isolate is OnIsolate.LEAVE
    return [
        say("explain.isolates"),
        say("explain.leaves-containers") if left else say("explain.stops-containers"),
        say("explain.ends-isolation", length=rule.release_after),
    ]
