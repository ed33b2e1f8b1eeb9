"""One chip or one container as a program reads it: all that the other documents say of it, put together."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import STARTING, UNHEALTHY, Container, ContainerKey, Spare
from cmgr.model.values.services.healing import limit_of
from cmgr.sentences.sentence import parts, say
from cmgr.view import status as view
from cmgr.view import troubles as wrong
from cmgr.view.advice import among
from cmgr.view.containers import owned
from cmgr.words import one_line, stamp

if TYPE_CHECKING:
    from cmgr.view import shapes
    from cmgr.view.one import one_shapes

STOPPED_FOR = {
    Strategy.NEVER: say("decider.never"),
    Strategy.SINGLE: say("decider.single"),
    Strategy.RING: say("decider.ring"),
}


LOGS = {"docker": "docker logs --tail 100 {0}", "containerd": "nerdctl --namespace {1} logs --tail 100 {0}"}
"""By the runtime, the command of its own that shows what a container wrote: its name and its namespace go in."""


class Past(NamedTuple):
    """The past of one thing, as the database has it: episodes and faults, the newest first, lines, the newest last."""

    episodes: "list[shapes.Episode]"
    notes: "list[shapes.HistoryLine]"
    faults: "list[shapes.ChipFault]"


def named(node: Node, text: str) -> list[ContainerKey]:
    """Return the containers of `cmgr status` that a person may mean by this name, qualified name, or part of an id."""
    return among(node, [_key(row) for row in view.containers(node)], text)


def container(node: Node, key: ContainerKey, past: Past) -> "one_shapes.AboutContainer":
    """Return all about one of the containers that `named` finds."""
    row = next(row for row in view.containers(node) if _key(row) == key)
    known = node.containers.get(key)
    about, found = "/".join(key), wrong.once(wrong.troubles(node))
    return {
        "container": row,
        "image": one_line(known.image) if known is not None else "",
        "deciders": [{"by": by, "does": one_line(does)} for by, does in _deciders(node, known)] if known else [],
        "chips": [chip for chip in view.chips(node) if chip["id"] in row["chips"]],
        "troubles": [wrong.row(each) for each in found if each.about == about or row["name"] in each.containers],
        "log": LOGS.get(key.runtime, "").format(shlex.quote(row["name"]), shlex.quote(key.namespace)),
        "last_words": [],
        "episodes": past.episodes,
        "notes": past.notes,
    }


def chip(node: Node, number: ChipId, past: Past) -> "one_shapes.AboutChip":
    """Return all about one of the chips that there are."""
    ring = node.chips[number].ring
    return {
        "chip": next(row for row in view.chips(node) if row["id"] == number),
        "ring": next(row for row in view.rings(node) if row["id"] == ring),
        "containers": [row for row in view.containers(node) if number in row["chips"]],
        "troubles": [wrong.row(each) for each in wrong.once(wrong.troubles(node)) if number in each.chips],
        "faults": past.faults,
        "episodes": past.episodes,
        "notes": past.notes,
    }


def _key(row: "shapes.Container") -> ContainerKey:
    return ContainerKey(row["runtime"], row["namespace"], row["id"])


def _deciders(node: Node, known: Container) -> Iterator[tuple[str, str]]:
    """Yield who decides about the container, and what: first whether cmgr has to do with it at all."""
    if known.ignored:
        yield "cmgr.enable", say("decider.ignored")
    if not known.enabled:
        yield known.hands_off.partition("=")[0], say("decider.left-alone")
    if known.owner:
        yield known.owner, owned(known.owner)
    own = known.strategy is not None
    strategy = known.strategy if known.strategy is not None else node.policy.strategy
    yield ("cmgr.strategy" if own else "strategy"), STOPPED_FOR[strategy]
    if known.unit:
        yield "cmgr.unit", say("decider.unit", unit=known.unit)
    if known.restart_policy:
        yield "restart policy", say("decider.restart-policy", policy=known.restart_policy)
    yield "grace", say("decider.grace", length=known.grace)
    yield from _together(known)
    yield from _where(known)
    yield from _health(node, known)


def _together(known: Container) -> Iterator[tuple[str, str]]:
    if known.group:
        text = say("decider.group", group=known.group)
        if known.group_size:
            text = say("decider.group-of", group=known.group, count=known.group_size)
        yield "cmgr.group", text
    if known.order:
        yield "cmgr.order", say("decider.order", order=known.order)
    if known.before_stop:
        yield "cmgr.before-stop", say("decider.before-stop", program=shlex.quote(known.before_stop[0]))


def _where(known: Container) -> Iterator[tuple[str, str]]:
    if known.spare is Spare.NEVER:
        yield "cmgr.spare", say("decider.never-moved")
    elif known.spare is Spare.AUTO:
        yield "cmgr.spare", say("decider.moved")
    if known.min_chips:
        yield "cmgr.min-chips", say("decider.min-chips", count=known.min_chips)
    if known.needs_network:
        yield "cmgr.needs-network", say("decider.needs-network")


def _health(node: Node, known: Container) -> Iterator[tuple[str, str]]:
    if known.heal is not None:
        limit = limit_of(node.policy.heal, known.heal)
        text = say("decider.heal", count=limit, window=node.policy.heal.window)
        yield "cmgr.heal", parts((text, say("decider.heal-once") if known.ready is not None else ""))
    elif known.ready is not None:
        yield "cmgr.heal", say("decider.not-healed")
    if known.hang is not None:
        yield "cmgr.hang", say("decider.hang", length=known.hang)
    if known.ready is not None:
        yield "cmgr.ready", parts((say("decider.ready", question=known.ready.text), _answers(node, known)))
    if known.busy:
        yield "cmgr.busy", say("decider.busy", question=str(known.busy))


def _answers(node: Node, known: Container) -> str:
    """Return since when it has not answered; nothing of one that does, or that cannot."""
    if not known.running or known.kept.answer not in (STARTING, UNHEALTHY):
        return ""
    if known.kept.mute is not None:
        return say("decider.mute", since=stamp(known.kept.mute))
    began = known.kept.up or known.kept.since
    return say("decider.has-until", until=stamp(began + node.policy.retry.ready)) if began else ""
