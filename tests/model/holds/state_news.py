"""The table of what each state of a hold does with each kind of news, as text; compared with `tests/golden/model`.

Each word that `classify` can have for a hold in a state is met here, by holds and sightings of every kind that it tells
apart. A cell for which it has no such word cannot happen.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

from cmgr.model.containers.container_news import container_seen
from cmgr.model.holds.answers import container_stopped
from cmgr.model.holds.endings import container_removed
from cmgr.model.holds.news import How, News, classify
from cmgr.model.holds.settling import settle
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Command, CommandId, ListContainers, Note
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, Exit
from tests.model.builders import REQUEST, T0, Cmgr, container, key, seconds

NOW = T0 + seconds(3600)
LONG_AGO, JUST_NOW, THEN = T0 + seconds(60), NOW - seconds(2), NOW - seconds(1)
ORDER = CommandId("order-1")
CHIPS = frozenset({ChipId(0)})

EXITS = (
    None,
    Exit(0, THEN, asked=False),
    Exit(1, THEN, asked=False),
    Exit(143, THEN, asked=True),
    Exit(143, THEN, asked=True, missed=True),
    Exit(1, THEN),
    Exit(137, THEN),
)
"""An end with code 0, by an error, by order, by an order that nobody was there to tell of, and two of unknown kind."""


class Case(NamedTuple):
    """A hold, and how its container is seen."""

    hold: Hold
    seen: Container | None
    how: How


POLICIES = (("", False), ("always", False), ("always", True))
"""A restart policy, and whether it is switched off."""

TRIED = tuple(product((0, 1), (None, ORDER)))
MARKS: tuple[Mapping[str, Any], ...] = (
    {},
    {"run": ""},
    {"down": JUST_NOW},
    {"inherited": True},
    {"died": True},
    {"frozen": True},
)


def hold_of(state: HoldState, policy: tuple[str, bool], tried: tuple[int, CommandId | None], **marks: Any) -> Hold:
    down = None if state in (HoldState.TO_STOP, HoldState.STOPPING) else LONG_AGO
    attempt = Attempt(tried[0], error="no" if tried[0] else "", command=tried[1])
    hold = Hold(key("a"), "a", CHIPS, 1, T0, state, "life 1", restart_policy=policy[0], disarmed=policy[1], down=down)
    return replace(hold, attempt=attempt, **marks)


def holds() -> Iterator[Hold]:
    """Yield holds of each kind that could matter: with one mark, or with tries."""
    for state, policy in product(HoldState, POLICIES):
        plain = (0, ORDER if state is HoldState.STOPPING else None)
        yield from (hold_of(state, policy, plain, **mark) for mark in MARKS)
        yield from (hold_of(state, policy, tried) for tried in TRIED if tried != plain)
        yield hold_of(state, policy, TRIED[2], frozen=True)


def all_holds() -> Iterator[Hold]:
    """Yield holds with every two marks, and every number of tries."""
    for state, policy, tried, (one, other) in product(HoldState, POLICIES, TRIED, combinations(MARKS, 2)):
        yield hold_of(state, policy, tried, **{**one, **other})


def sightings(hold: Hold) -> Iterator[tuple[Container | None, How]]:
    """Yield how its container may be seen. An answer to a stop comes to one who is stopped, or was in this moment."""
    yield None, How.LISTED
    told = container("a", 0, restart_policy="" if hold.disarmed else hold.restart_policy)
    stopping = hold.state is HoldState.STOPPING and hold.attempt.command is not None
    stopped = hold.state is HoldState.DOWN and hold.attempt == Attempt() and hold.down == JUST_NOW
    for how, run in product(How, ("life 1", "life 2")):
        if how is not How.ANSWERED or stopped:
            yield replace(told, run=run), how
        if how is not How.ANSWERED or stopping:
            yield from ((replace(told, run=run, running=False, exit=end), how) for end in EXITS)


WORDS = (*News, "gone")
"""Each kind of news; that it is there no more needs no judgement."""


def worlds() -> Mapping[str, Node]:
    """Return the node in which nothing is wrong with the hold's chip, and one in which it must not be used."""
    well, bad = Cmgr(container("a", 0)), Cmgr(container("a", 0))
    bad.fault(0, REQUEST)
    bad.run()
    return {"may run": well.node, "too early": bad.node}


def classified(node: Node, of: Iterable[Hold]) -> Iterator[tuple[Case, str]]:
    """Yield these holds with all that may be seen of them, and the word for each."""
    for hold in of:
        now = booked(node, hold)
        for seen, how in sightings(hold):
            yield Case(hold, seen, how), "gone" if seen is None else classify(now, hold, seen, how, NOW)


def booked(node: Node, hold: Hold) -> Node:
    known = container("a", 0, running=not hold.stays_down, seen=T0, since=T0, restart_policy=hold.restart_policy)
    return replace(
        node, containers={hold.key: replace(known, kept=replace(known.kept, wanted=True))}, holds={hold.key: hold}
    )


def outcome(node: Node, case: Case) -> str:
    """Return what becomes of the hold, what else is asked for, and what is said."""
    hold = case.hold
    turn = Turn(booked(node, hold), NOW)
    _tell(turn, case)
    now = turn.node.holds.get(hold.key)
    state = "not held" if now is None else str(now.state) if now.state is not hold.state else "the same"
    return ": ".join([state, "; ".join(map(_words, turn.commands))]) if turn.commands else state


def _tell(turn: Turn, case: Case) -> None:
    hold, seen, how = case
    if seen is None:
        container_removed(turn, hold.key, "an event")
    elif how is How.ANSWERED and seen.running:
        asked = replace(hold, state=HoldState.STOPPING, attempt=Attempt(command=ORDER))
        turn.node = replace(turn.node, holds={hold.key: asked})
        container_stopped(turn, facts.ContainerStopped(ORDER, hold.key, "life 1", again=seen.run))
    elif how is How.ANSWERED:
        container_stopped(turn, facts.ContainerStopped(ORDER, hold.key, seen.run, before=seen.exit))
    elif hold.state is HoldState.SETTLING:
        turn.put_container(replace(seen, kept=replace(seen.kept, chips=CHIPS, since=THEN)))
        settle(turn, hold)
    else:
        container_seen(turn, seen, sure=how is How.LISTED)


def _words(command: Command) -> str:
    if isinstance(command, ListContainers):
        return f"a list is asked for, {command.reason}"
    return command.text if isinstance(command, Note) else "its output is asked for"


def table() -> str:
    """Return the whole table."""
    found: dict[tuple[HoldState, str], dict[str, set[str]]] = {}
    for world, node in worlds().items():
        for case, news in classified(node, holds()):
            cell = found.setdefault((case.hold.state, news), {})
            cell.setdefault(world, set()).add(outcome(node, case))
    parts = [
        "The states of a hold, each kind of news, and what becomes of the hold with it.\n"
        "may run: nothing is wrong with its chip; too early: the chip's ring is in an episode.\n"
    ]
    for state in HoldState:
        parts.append(f"\n{state}\n")
        parts += [_cell(news, found[state, news]) for news in WORDS if (state, news) in found]
        parts.append(f"  cannot happen: {', '.join(news for news in WORDS if (state, news) not in found)}\n")
    return "".join(parts)


def _cell(news: str, ends: Mapping[str, set[str]]) -> str:
    same = len({frozenset(each) for each in ends.values()}) == 1
    lines = [f"  {news}\n"]
    for world, each in list(ends.items())[: 1 if same else None]:
        where = "" if same else f"{world}: "
        lines += [f"      {where}{end}\n" for end in sorted(each)]
    return "".join(lines)
