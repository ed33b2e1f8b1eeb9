"""Previews: what an order would do, in sentences, before anybody gives it. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.model.scope import Scope, active_faults, in_scope, on_ring
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.faults import FaultCode, Level
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring, resets_within
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.troubles import Trouble
from cmgr.view.advice import called
from cmgr.view.explain import explain
from cmgr.view.machine import troubles as of_machine
from cmgr.words import counted, span

if TYPE_CHECKING:
    from cmgr.view import shapes


def release(node: Node, chip: ChipId) -> "shapes.Preview":
    told = [f"chip {chip} is used again: what waits for it is started", "the resets of its ring are counted from zero"]
    if chip in node.chips and active_faults(node, chip):
        told.append("the faults that it still reports count from now on, and can isolate it again at once")
    return {"does": told}


def isolate(node: Node, chip: ChipId, users: Sequence[str]) -> "shapes.Preview":
    stops = node.policy.isolation.on_isolate is OnIsolate.STOP
    told = [f"nothing is started on chip {chip}, and it is not reset for its faults, until somebody releases it"]
    if users:
        told.append(f"{', '.join(users)}: {'stopped' if stops else 'left running'}")
    return {"does": told}


def emptied(
    node: Node, ring: Ring, what: str, users: tuple[Sequence[str], Sequence[str]], now: datetime
) -> "shapes.Preview":
    """`what`: reset or test. `users`: those that are stopped for it and started again, and those only stopped."""
    policy = node.policy.reset
    done = len(resets_within(ring, now, policy.window))
    again, left = map(", ".join, users)
    told = [f"stops {', '.join(filter(None, (again, left)))}"] if again or left else []
    if what == "reset":
        told += [f"resets {listed(ring.chips)}{' together' if len(ring.chips) > 1 else ''}, once nobody uses them"]
        told += ["sees that every chip has booted and is well"]
    if policy.test:
        late = f"{span(policy.test_timeout)} each at most"
        told += [f"has {listed(ring.chips)} tested by {policy.test}, one after the other, {late}"]
    told += [f"starts {again} again"] if again else []
    told += [f"does not start {left} again: that is for who made it"] if left else []
    if what == "reset":
        told += [f"this is reset {done + 1} of {policy.attempts} within {span(policy.window)}"]
    else:
        rest = max(0, policy.attempts - done)
        told += [f"a chip that fails is reset with its ring, {counted(rest, 'time')} at most now, and then isolated"]
    return {"does": told}


def drill(node: Node, chip: ChipId, code: str, length: timedelta) -> "shapes.Preview":
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
        f"the driver itself raises fault {code} on chip {chip}, for {span(length)} at most; it breaks nothing",
        "whoever listens to this driver hears it: its maker's own agents, and all who have subscribed to faults",
        f"{code} is of level {level.name} here ({meaning['origin']}): {'; '.join(meaning['does'])}",
        f"of those that run on {listed(ring.chips)} are stopped: {', '.join(stopped) or 'none'}",
    ]
    if not (acts and rule.reset):
        whole = f"for a drill of a whole recovery give {code} the level RestartNPU in faults.file, and type cmgr reload"
        told.append(f"nothing is reset; {whole}")
    elif left:
        told.append(f"the reset waits for those that are left running: {', '.join(left)}")
    return {"does": [*told, "the fault is over when its reset begins, its time is up, somebody ends it, or cmgr ends"]}


def resume(rings: Sequence[int], containers: Sequence[str]) -> "shapes.Preview":
    told = [f"ring {', '.join(map(str, rings))}: kept back no longer"] if rings else []
    return {"does": [*told, *(f"starts {name} as soon as its chips allow" for name in containers)]}


def group_restart(running: Sequence[str], down: Sequence[str]) -> "shapes.Preview":
    told = [f"stops {', '.join(running)}"] if running else []
    told += [f"is down already: {', '.join(down)}"] if down else []
    return {"does": [*told, f"starts {', '.join(sorted([*running, *down]))} when all can be started"]}


def group_resume(ready: Sequence[str], rest: Sequence[str]) -> "shapes.Preview":
    told = [f"starts {', '.join(ready)} without waiting for the rest"] if ready else []
    return {"does": [*told, *(f"starts {name} as soon as it can be" for name in rest)]}


def group_cancel(who: str, again: Sequence[str], down: Sequence[str]) -> "shapes.Preview":
    told = ["the restart that " + who + " ordered is not made: who still runs, runs on"]
    told += [f"starts {', '.join(again)} again, each as soon as it can be"] if again else []
    return {"does": [*told, *([f"stays down, as it was before: {', '.join(down)}"] if down else [])]}


def group_without(out: Sequence[str]) -> "shapes.Preview":
    names, their = ", ".join(out), "its" if len(out) == 1 else "their"
    return {"does": [f"the others go on without {names}", f"{names}: {their} members are left as they are"]}


def forget(node: Node, name: str, key: ContainerKey) -> "shapes.Preview":
    known, hold = node.containers.get(key), node.holds.get(key)
    told = [f"cmgr does not start {name} any more, and puts its restart policy back"]
    if hold is not None and hold.attempt.command is not None:
        return {"does": [*told, "its stop or start that is under way takes its course"]}
    runs = known is not None and known.running
    return {"does": [*told, "it runs on" if runs else "it is down, and stays so until somebody starts it"]}


def forget_runtime(runtime: str, containers: Sequence[str]) -> "shapes.Preview":
    told = [f"nothing waits for {runtime} any more, until it answers again"]
    lost = f"down, and without their restart policies, until it answers again: {', '.join(containers)}"
    return {"does": [*told, *([lost] if containers else [])]}


def forget_chip(title: str, slots: Sequence[str]) -> "shapes.Preview":
    told = [f"what is remembered of {title} is forgotten; should it come back, it is a new one"]
    return {"does": [*told, *(f"slot {name} needs another chip in its place" for name in slots)]}


def maintenance(on: bool, length: timedelta | None, down: Sequence[str]) -> "shapes.Preview":
    if not on:
        start = f"starts {', '.join(down)} as soon as their chips allow"
        return {"does": ["what is true now is acted on", *([start] if down else [])]}
    ends = f"it ends by itself after {span(length)}" if length is not None else "it ends by itself after 4 h"
    told = ["recoveries are recorded, and none is acted on", ends]
    return {"does": [*told, *([f"down until then: {', '.join(down)}"] if down else [])]}


def acknowledgeable(node: Node) -> list[Trouble]:
    """Return the troubles that a person can take notice of: those that are remembered, and of the machine."""
    return [*node.troubles.values(), *of_machine(node)]


def acknowledge(node: Node, ids: Sequence[str]) -> "shapes.Preview":
    troubles: Mapping[str, str] = {trouble.id: trouble.text for trouble in acknowledgeable(node)}
    return {"does": [f"not shown any more: {troubles[id_]}" for id_ in ids]}
