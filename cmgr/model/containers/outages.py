"""Outages: when a service that ought to serve does not, and when that is over. Nothing is decided by them.

A service is out while its container ought to run (`model/wanted.py`) and does not, or runs and does not serve. After a
start it is out until it serves, has said so where it is asked, and cmgr holds it no more; but then it counts from when
it served. Not out is what a person has ended or paused, and what its unit stands for, which is a service itself.

Time in which no cmgr ran, or a runtime told nothing, is not guessed at: who is in the same life after it as before it
has been as he was, and for anybody else that time is `UNSEEN`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from cmgr.frozen import replace
from cmgr.model.scope import handled_faults
from cmgr.model.turn import Turn
from cmgr.model.units import is_stood_for, run_by
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.lookup import replaced
from cmgr.model.values.node import SYSTEMD, Node, rings_with
from cmgr.model.values.services.containers import Container, ContainerKey, full_name, is_same_life
from cmgr.model.values.services.outages import Outage, OutageCause, booked
from cmgr.model.wanted import is_well, serves, why_not_serving

Value = TypeVar("Value", Container, Hold)

_OF_HOLD: Mapping[Cause, OutageCause] = {
    Cause.HEAL: OutageCause.HEAL,
    Cause.MOVE: OutageCause.MOVE,
    Cause.GROUP: OutageCause.GROUP,
}

_UNHELD = frozenset({OutageCause.ITSELF, OutageCause.MAINTENANCE})
"""The causes that are known no better than by the moment: a hold that is made later has a better one."""


def count_outages(turn: Turn, before: Node) -> None:
    """Begin and end outages by whatever is another than `before`, and look at nothing else."""
    for key in _touched(before, turn.node):
        was, now = before.containers.get(key), turn.node.containers.get(key)
        if now is None or now.kept.seen is not None:  # Else it is as the last life knew it.
            _bridge(turn, before, was, now)
            _look(turn, key, now)


def _touched(before: Node, now: Node) -> Iterable[ContainerKey]:
    found = dict.fromkeys((*_differing(before.containers, now.containers), *_differing(before.holds, now.holds)))
    units = [now.containers[key] for key in found if key.runtime == SYSTEMD and key in now.containers]
    return {**found, **dict.fromkeys(container.key for unit in units for container in run_by(now, unit))}


def _differing(old: Mapping[ContainerKey, Value], new: Mapping[ContainerKey, Value]) -> Iterable[ContainerKey]:
    if old is new:
        return ()
    pairs = replaced(old, new)
    if pairs is not None:
        return [after.key for _, after in pairs]
    return [key for key in {**old, **new} if old.get(key) is not new.get(key)]


def _bridge(turn: Turn, before: Node, was: Container | None, now: Container | None) -> None:
    """Take in what a container has become while nobody saw it, if this is the first look since."""
    unseen = None if was is None else _unseen_since(before, was, now)
    if was is None or unseen is None:
        return
    if now is not None and now.running is was.running and is_same_life(now.run, was.run):
        return
    since, known = min(unseen, turn.at), turn.node.outages.get(was.key)
    if known is not None:
        _end(turn, replace(known, ours=False), known.up or since)
    if now is not None and now.kept.wanted:
        _book(turn, Outage(now.key, full_name(now.key, now.name), since, OutageCause.UNSEEN), turn.at)


def _unseen_since(before: Node, was: Container, now: Container | None) -> datetime | None:
    if was.kept.seen is None:
        return before.alive
    runtime, hold = before.runtimes.get(was.key.runtime), before.holds.get(was.key)
    silent = runtime.silent if runtime is not None else None
    seen = now.kept.seen if now is not None else silent
    if silent is None or was.kept.seen >= silent or seen is None or seen < silent:
        return None
    # The answer to an order of cmgr's says what has become of it.
    return silent if hold is None or hold.attempt.command is None else None


def _look(turn: Turn, key: ContainerKey, now: Container | None) -> None:
    known, hold = turn.node.outages.get(key), turn.node.holds.get(key)
    held = hold if hold is not None and not hold.is_theirs else None
    if held is None and (now is None or not now.kept.wanted):
        if known is not None:
            _end(turn, replace(known, ours=False), known.up or turn.at)
    elif now is not None and not now.running and is_stood_for(turn.node, now):
        _drop(turn, key)
    elif known is not None:
        starts = known.ours if hold is None else _starts(hold)
        _go_on(turn, replace(known, ours=starts, cause=_cause(turn.node, now, held, known.cause)), now, held)
    elif now is None or _is_out(now):
        name = now.name if now is not None else held.name if held is not None else key.id
        _put(turn, Outage(key, full_name(key, name), turn.at, _cause(turn.node, now, held, None)))


def _go_on(turn: Turn, known: Outage, now: Container | None, held: Hold | None) -> None:
    if now is None or not _is_up(turn, now, held):
        # A start whose hold is over has worked only while nothing speaks against it.
        works = held is not None or (now is not None and serves(now))
        _put(turn, replace(known, ours=known.ours and works, up=None))
    elif held is None and now.kept.unsteady is None:
        _end(turn, known, known.up or turn.at)
    else:
        _put(turn, replace(known, up=known.up or turn.at))


def _is_out(container: Container) -> bool:
    return not container.running or (not container.frozen and bool(why_not_serving(container)))


def _is_up(turn: Turn, container: Container, held: Hold | None) -> bool:
    """Return whether it serves again. Where nobody holds it, and it never says so, its time has to be over."""
    if not container.restarting:
        container = replace(container, kept=replace(container.kept, unsteady=None))
    if is_well(container) or (container.running and container.frozen):
        return True
    within, since = container.says_within, container.kept.since
    if held is not None or within is None or since is None or container.starting:
        return False
    return serves(container) and turn.at >= since + within


def _starts(hold: Hold) -> bool:
    under_way = hold.state is HoldState.STARTING and hold.attempt.command is not None
    return under_way or hold.state is HoldState.SETTLING


def _cause(node: Node, container: Container | None, hold: Hold | None, known: OutageCause | None) -> OutageCause:
    """Return why it is out, as is known now; what a hold said first stays."""
    if known is not None and known not in _UNHELD:
        return known
    if hold is not None and hold.cause in _OF_HOLD:
        return _OF_HOLD[hold.cause]
    chips = hold.chips if hold is not None else container.kept.chips if container is not None else frozenset()
    rings = rings_with(node, chips)
    is_faulty = any(handled_faults(node, ring) for ring in rings)
    if hold is not None:
        ordered = not is_faulty and any(ring.id in node.reset_orders for ring in rings)
        return OutageCause.ORDER if ordered else OutageCause.FAULT
    if known is not None:
        return known
    if node.maintenance is not None:
        return OutageCause.MAINTENANCE
    return OutageCause.FAULT if is_faulty else OutageCause.ITSELF


def _end(turn: Turn, outage: Outage, end: datetime) -> None:
    _drop(turn, outage.key)
    _book(turn, outage, end)


def _book(turn: Turn, outage: Outage, end: datetime) -> None:
    turn.node = replace(turn.node, downtime=booked(turn.node.downtime, outage, end))


def _put(turn: Turn, outage: Outage) -> None:
    if turn.node.outages.get(outage.key) != outage:
        turn.node = replace(turn.node, outages={**turn.node.outages, outage.key: outage})


def _drop(turn: Turn, key: ContainerKey) -> None:
    if key in turn.node.outages:
        turn.node = replace(turn.node, outages={k: o for k, o in turn.node.outages.items() if k != key})
