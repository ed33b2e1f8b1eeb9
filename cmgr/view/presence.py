"""The appliances of a fleet as they show themselves to each other, and as people are shown all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr import __version__
from cmgr.model.values.node import Node
from cmgr.model.values.presence import MOST_AILS, Ail, Appliance, EngineNode, FleetSeen, Presence
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import messages, say
from cmgr.words import one_line, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import group_shapes

STATES = ("starting", "ready", "degraded", "hangs", "stopping", "away", "unknown")
"""The states of an appliance; `away`: not seen; `unknown`: nobody tells, for the engine is away."""

APART = timedelta(seconds=2)
"""Clocks that are further apart are told: people compare the logs of appliances by them, and nothing else does."""


def presence(node: Node, state: str, since: datetime, found: Sequence[Trouble]) -> Presence:
    """Return what the others are shown of this one. `found`: everything that is wrong now, the worst first."""
    return Presence(
        state,
        since,
        sum(ring.phase is not Phase.HEALTHY for ring in node.rings.values()),
        len(node.isolations),
        tuple(_ail(trouble) for trouble in found[:MOST_AILS]),
        max(0, len(found) - MOST_AILS),
    )


def _ail(trouble: Trouble) -> Ail:
    # Only what is a command as it stands is told as one: a chip is to be repaired first, and released then.
    if trouble.hint.startswith("cmgr "):
        return Ail(one_line(trouble.words), trouble.hint)
    said = say("word.hinted", what=trouble.words, hint=trouble.hint) if trouble.hint else trouble.words
    return Ail(one_line(said))


def engine_troubles(node: Node) -> Iterator[Trouble]:
    """Yield that the fleet's engine does not answer. That it has not answered yet in this life is none."""
    engine = node.engine
    if engine.name and not engine.up and engine.why_down:
        text = say("group.engine-does-not-answer")
        yield Trouble(TroubleKind.ENGINE, "", text, engine.why_down, "cmgr check", engine.since)


def refusal_troubles(refusal: str, remedy: str) -> Iterator[Trouble]:
    """Yield that the fleet's engine takes no writes, though it answers. `remedy`: what to do about that."""
    if refusal:
        text = say("group.engine-takes-no-writes")
        yield Trouble(TroubleKind.ENGINE, "writes", text, refusal, remedy or "cmgr check")


def fleet(node: Node, seen: FleetSeen, own: Presence, nodes: Sequence[EngineNode] = ()) -> "group_shapes.Fleet":
    """Return the fleet as it is seen from here. `own`: what this appliance shows; `nodes`: those that were asked."""
    if not node.engine.name:
        return {"name": "", "engine": None, "appliances": [], "remarks": []}
    engine = node.engine
    found = everybody(node, seen, own)
    wrong = [*engine_troubles(node), *(refusal_troubles(seen.refusal, seen.remedy) if engine.up else ())]
    why = "" if engine.up else engine.why_down or say("group.engine-has-not-answered")
    remarks = [*_versions(found), *_clocks(found, nodes)]
    told: group_shapes.Fleet = {
        "name": engine.name,
        "engine": {
            "up": engine.up,
            "since": stamp_or_none(engine.since),
            "heard": stamp_or_none(seen.heard),
            "why": one_line(next((trouble.why for trouble in wrong), why)),
            "hint": next((trouble.hint for trouble in wrong), ""),
            "leader_since": stamp_or_none(seen.led),
            "nodes": [_node(each) for each in nodes],
        },
        "appliances": [_appliance(each, told=engine.up or each.here) for each in found],
        "remarks": remarks,
    }
    if spoken := messages(remarks=remarks):
        told["messages"] = spoken
    return told


def everybody(node: Node, seen: FleetSeen, own: Presence) -> list[Appliance]:
    """Return the appliances by name. This one is shown as it is, whether the engine tells of it or not."""
    known = {appliance.name: appliance for appliance in seen.appliances}
    here = known.get(node.engine.name, Appliance(node.engine.name, here=True, version=__version__, life=0))
    known[here.name] = replace(here, presence=own, ahead=None)
    return [appliance for _, appliance in sorted(known.items())]


def _node(node: EngineNode) -> "group_shapes.EngineNode":
    return {
        "endpoint": node.endpoint,
        "name": one_line(node.name),
        "version": node.version,
        "leads": node.leads,
        "full": node.is_full,
        "ahead": _seconds(node.ahead),
        "why": one_line(node.error),
    }


def _appliance(appliance: Appliance, *, told: bool) -> "group_shapes.FleetAppliance":
    """Return its row. `told`: what is known of it is what is now, and not what was when the engine answered last."""
    shown = appliance.presence
    return {
        "name": appliance.name,
        "here": appliance.here,
        "state": state_word(appliance, told=told),
        "since": stamp_or_none(shown.since if shown is not None else None),
        "gone": stamp_or_none(appliance.gone),
        "version": appliance.version,
        "life": appliance.life,
        "episodes": shown.episodes if shown is not None else 0,
        "isolated": shown.isolated if shown is not None else 0,
        "wrong": [_wrong(ail) for ail in (shown.ails if shown is not None else ())],
        "more": shown.more if shown is not None else 0,
        "ahead": _seconds(appliance.ahead),
    }


def _wrong(ail: Ail) -> "group_shapes.Wrong":
    told: group_shapes.Wrong = {"text": ail.text, "hint": ail.hint}
    if spoken := messages(text=ail.text):
        told["messages"] = spoken
    return told


def state_word(appliance: Appliance, *, told: bool) -> str:
    """Return the word for it, one of `STATES`."""
    if not told:
        return "unknown"
    return "away" if appliance.presence is None else appliance.presence.state


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else round(length.total_seconds(), 1) + 0.0


def _versions(found: Sequence[Appliance]) -> list[str]:
    versions = sorted({appliance.version for appliance in found})
    return [say("group.versions-differ", versions=versions)] if len(versions) > 1 else []


def _clocks(found: Sequence[Appliance], nodes: Sequence[EngineNode]) -> Iterator[str]:
    clocks = [(say("group.appliance", name=each.name), each.ahead) for each in found]
    for name, ahead in [*clocks, *((say("group.etcd-at", endpoint=each.endpoint), each.ahead) for each in nodes)]:
        if ahead is not None and abs(ahead) > APART:
            behind = say("group.clock-is-behind", name=name, length=-ahead)
            yield say("group.clock-is-ahead", name=name, length=ahead) if ahead > timedelta() else behind
