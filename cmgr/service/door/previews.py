"""Previews: what an order would do, in sentences, before anybody gives it; and what it did. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cmgr.model.scope import Scope, active_faults, in_scope, on_ring
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, FaultCode, Level
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring, resets_within
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.standing import MAINTENANCE_LASTS, ResetOrder
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.view.advice import called
from cmgr.view.explain import explain
from cmgr.view.machine import troubles as of_machine
from cmgr.words import runs


def release(node: Node, chip: ChipId) -> Sequence[str]:
    told = [say("order.used-again", chip=chip), say("order.counted-from-zero")]
    if chip in node.chips and active_faults(node, chip):
        told.append(say("order.faults-count"))
    return told


def isolate(node: Node, chip: ChipId, users: Sequence[str]) -> Sequence[str]:
    stops = node.policy.isolation.on_isolate is OnIsolate.STOP
    told = [say("order.out-of-use", chip=chip)]
    if users:
        told.append(say("order.stopped", names=users) if stops else say("order.left-running", names=users))
    return told


def emptied(
    node: Node, ring: Ring, what: str, users: tuple[Sequence[str], Sequence[str]], now: datetime
) -> Sequence[str]:
    """`what`: reset or test. `users`: those that are stopped for it and started again, and those only stopped."""
    policy, chips = node.policy.reset, [*ring.chips]
    done = len(resets_within(ring, now, policy.window))
    again, left = users
    told = [say("order.stops", names=[*again, *left])] if again or left else []
    if what == "reset":
        told += [say("order.resets-together", chips=chips) if len(chips) > 1 else say("order.resets", chips=chips)]
        told += [say("order.sees-booted")]
    if policy.test:
        told += [say("order.tests", chips=chips, program=policy.test, most=policy.test_timeout)]
    told += [say("order.starts-again", names=again)] if again else []
    told += [say("order.does-not-start", names=left)] if left else []
    if what == "reset":
        told += [say("order.is-reset-number", number=done + 1, most=policy.attempts, window=policy.window)]
    else:
        told += [say("order.resets-failing", left=max(0, policy.attempts - done))]
    return told


def cancel(order: ResetOrder, held: Sequence[str]) -> Sequence[str]:
    told = [say("order.not-made", what=order.what, chip=order.chip, who=order.who)]
    return [*told, *([say("order.starts-where-well", names=held)] if held else [])]


def drill(node: Node, chip: ChipId, code: str, length: timedelta) -> Sequence[str]:
    ring, meaning = node.rings[node.chips[chip].ring], explain(code, node)
    level = node.catalog.judge(FaultCode(code), None).level
    rule = node.policy.levels[level]
    isolated = level is Level.SeparateNPU and node.policy.isolation.on_isolate is OnIsolate.STOP
    acts = level.handled and not rule.observe
    scope = Scope(frozenset({chip} if acts and rule.stop else ()), frozenset({chip} if isolated else ()))
    running = [c for c in on_ring(node, ring) if c.running]
    stopped = [called(node, c.key) for c in running if in_scope(node, ring, c, scope)]
    left = [called(node, c.key) for c in running if not in_scope(node, ring, c, scope)]
    told = [
        say("order.driver-raises", code=code, chip=chip, most=length),
        say("order.others-hear-it"),
        say("order.is-of-level", code=code, level=level.name, origin=meaning["origin"], does=meaning["does"]),
    ]
    chips = [*ring.chips]
    told.append(say("order.of-ring-stopped", chips=chips, names=stopped) if stopped else say("order.none", chips=chips))
    if not (acts and rule.reset):
        told.append(say("order.nothing-reset", code=code))
    elif left:
        told.append(say("order.reset-waits", names=left))
    return [*told, say("order.fault-ends")]


def resume(rings: Sequence[int], containers: Sequence[str]) -> Sequence[str]:
    told = [say("order.rings-go-on", rings=[*map(str, rings)])] if rings else []
    return [*told, *(say("order.starts-soon", names=[name]) for name in containers)]


def group_restart(running: Sequence[str], down: Sequence[str]) -> Sequence[str]:
    told = [say("order.stops", names=running)] if running else []
    told += [say("order.is-down-already", names=down)] if down else []
    return [*told, say("order.starts-together", names=sorted([*running, *down]))]


def group_resume(ready: Sequence[str], rest: Sequence[str]) -> Sequence[str]:
    told = [say("order.starts-without-rest", names=ready)] if ready else []
    return [*told, *(say("order.starts-when-it-can", names=[name]) for name in rest)]


def group_cancel(who: str, again: Sequence[str], down: Sequence[str]) -> Sequence[str]:
    told = [say("order.restart-not-made", who=who)]
    told += [say("order.starts-each", names=again)] if again else []
    return [*told, *([say("order.stays-down", names=down)] if down else [])]


def group_without(out: Sequence[str]) -> Sequence[str]:
    return [say("order.go-on-without", names=out), say("order.members-left", names=out)]


def forget(node: Node, name: str, key: ContainerKey) -> Sequence[str]:
    known, hold = node.containers.get(key), node.holds.get(key)
    told = [say("order.is-given-back", name=name)]
    if hold is not None and hold.attempt.command is not None:
        return [*told, say("order.under-way")]
    runs = known is not None and known.running
    return [*told, say("order.runs-on") if runs else say("order.is-down")]


def forget_runtime(runtime: str, containers: Sequence[str]) -> Sequence[str]:
    told = [say("order.runtime-forgotten", runtime=runtime)]
    return [*told, *([say("order.down-until-answers", names=containers)] if containers else [])]


def forget_chip(title: str, slots: Sequence[str]) -> Sequence[str]:
    told = [say("order.chip-forgotten", title=title)]
    return [*told, *(say("order.slot-needs-another", slot=name) for name in slots)]


def maintenance(on: bool, length: timedelta | None, down: Sequence[str]) -> Sequence[str]:
    if not on:
        return [say("order.acts-again"), *([say("order.starts-soon", names=down)] if down else [])]
    ends = say("order.ends-after", length=MAINTENANCE_LASTS if length is None else length)
    told = [say("order.only-records"), ends]
    return [*told, *([say("order.down-until-then", names=down)] if down else [])]


def acknowledgeable(node: Node) -> list[Trouble]:
    """Return the troubles that a person can take notice of: those that are remembered, and of the machine."""
    return [*node.troubles.values(), *of_machine(node)]


def acknowledge(node: Node, ids: Sequence[str]) -> Sequence[str]:
    troubles: Mapping[str, str] = {trouble.id: trouble.text for trouble in acknowledgeable(node)}
    return [say("order.not-shown", trouble=troubles[id_]) for id_ in ids]


def isolated(chip: ChipId, users: Sequence[str]) -> list[str]:
    return [say("order.isolated", chip=chip), *([say("order.on-it", names=users)] if users else [])]


def is_emptied(chip: ChipId, what: str, ring: Ring, users: tuple[Sequence[str], Sequence[str]]) -> list[str]:
    again, left = users
    did: list[str] = [say("order.is-ordered", chip=chip, what=what, ring=ring.id, chips=[*ring.chips])]
    did += [say("order.stopped-and-started", names=again)] if again else []
    return did + ([say("order.stopped-for-good", names=left)] if left else [])


def cancelled(chip: ChipId, held: Sequence[str]) -> list[str]:
    back = [say("order.started-where-well", names=held)] if held else []
    return [say("order.taken-back", chip=chip), *back]


def resumed(rings: Sequence[int], containers: Sequence[str]) -> list[str]:
    did = [say("order.no-longer-kept-back", rings=runs(rings))] if rings else []
    return [*did, *(say("order.will-start", name=name) for name in containers)]


def forgotten(name: str, running: bool, under_way: bool) -> list[str]:
    state = say("order.it-runs") if running else say("order.is-down")
    return [say("order.forgotten", name=name, state=say("order.takes-its-course") if under_way else state)]


def runtime_forgotten(runtime: str, containers: Sequence[str]) -> list[str]:
    lost = [say("order.down-until-answers", names=containers)] if containers else []
    return [say("order.waits-no-more", runtime=runtime), *lost]


def piece_forgotten(piece: str, slots: Sequence[str]) -> list[str]:
    places = [say("order.to-assign", slot=name, command=f"cmgr slot assign {name} CHIPS") for name in slots]
    return [say("order.piece-forgotten", piece=piece), *places]


def in_maintenance(until: str | None, length: timedelta | None, held: Sequence[str]) -> list[str]:
    if until is None:
        return [say("order.maintenance-over")]
    did = [say("order.maintenance-until", until=until, length=MAINTENANCE_LASTS if length is None else length)]
    return [*did, *([say("order.held-until-then", count=len(held), names=held)] if held else [])]


def reloaded(changed: Sequence[str], later: Sequence[str]) -> list[str]:
    did = [say("order.in-force", names=changed)] if changed else []
    did += [say("order.after-restart", names=later)] if later else []
    return [*did] or [say("order.read-again")]


def injected(chip: ChipId | None, part: str, code: str, assertion: Assertion) -> list[str]:
    machine = say("order.machine-part", part=part) if part else say("order.machine")
    where = machine if chip is None else say("order.chip", chip=chip)
    passed = say("order.fault-passed", where=where, code=code)
    happened = {
        Assertion.OCCURRED: say("order.fault-occurred", where=where, code=code),
        Assertion.CLEARED: say("order.fault-cleared", where=where, code=code),
        Assertion.ONCE: say("order.fault-happened", where=where, code=code) if chip is None else passed,
    }
    return [happened[assertion]]
