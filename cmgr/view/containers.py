"""Containers as a person sees them: the status word, what each waits for, and what to type."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from cmgr.frozen import dataclass
from cmgr.model.containers.together.projects import circle
from cmgr.model.holds.restarters import is_fought_for
from cmgr.model.own_chips import given_away, replaced
from cmgr.model.scope import chip_words, grave_faults, is_spared
from cmgr.model.successors import successor
from cmgr.model.units import is_asked_for, unit_key, unit_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.lookup import kept
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import HEALTHY, Container, ContainerKey, Spare
from cmgr.model.values.services.containers import STARTING as LOADING
from cmgr.model.values.services.slots import can_be_placed, slots_of
from cmgr.model.wanted import missing, serves, why_not_serving
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import Sentence, parts, say
from cmgr.view.advice import (
    advised,
    called,
    clearing,
    forget,
    idle_hint,
    isolation_hint,
    letting_go,
    meant,
    name_of,
    resume_hint,
    share_hint,
)
from cmgr.view.heals import heal, health, of_held, of_running
from cmgr.view.slots import away, fewer, moved, of_container
from cmgr.words import one_line, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes

STATUS_OF_HOLD: "Mapping[HoldState, shapes.ContainerStatus]" = {
    HoldState.TO_STOP: "pausing",
    HoldState.STOPPING: "pausing",
    HoldState.DOWN: "paused",
    HoldState.STARTING: "resuming",
    HoldState.SETTLING: "settling",
    HoldState.FAILED: "failed",
    HoldState.FORGOTTEN: "resuming",
    HoldState.RETURNING: "running",
}


NO_REASON = {
    "pausing": say("container.is-to-be-stopped"),
    "paused": say("container.waits-to-start"),
    "resuming": say("container.is-being-started"),
}

UNCLEAR = say("container.unclear")
SPARED = say("container.spared")
SPARED_HINT = say("hint.spared")

STARTING = say("container.unit-is-starting")

DOWN: Final = "down"
"""The status of a container that ought to run, does not, and is not held."""


def started_again(container: Container) -> Sentence:
    """Return why cmgr stops it no more."""
    return say("container.owner-starts", owner=container.owner) if container.owner else say("container.started-again")


def owned(owner: str) -> Sentence:
    """Return what cmgr does with containers that this orchestrator starts."""
    return say("container.owned", owner=owner)


def stop_the_owner(container: Container) -> Sentence:
    """Return what to type, or to do, so that nothing starts the container again while its chips are reset."""
    return letting_go(container.owner) if container.owner else say("hint.stop-the-owner")


@dataclass(frozen=True, slots=True)
class Down:
    """A container that ought to run and does not: since when, why, and what a person can do or type."""

    key: ContainerKey
    name: str
    chips: tuple[ChipId, ...]
    since: datetime | None
    reason: str
    hint: str


@kept
def down(node: Node) -> tuple[Down, ...]:
    """Return every container that ought to run and does not. Whatever says that all is well has asked this."""
    return tuple(_down(node, key, *told) for key, told in _missing(node).items())


@kept
def _missing(node: Node) -> Mapping[ContainerKey, tuple[str, str]]:
    """Return the stories of those that ought to run and do not: several documents tell them."""
    return {key: _story(node, key) for key in missing(node)}


def _down(node: Node, key: ContainerKey, reason: str, what: str) -> Down:
    container, hold = node.containers.get(key), node.holds.get(key)
    chips = hold.chips if hold is not None else container.kept.chips if container is not None else frozenset()
    since = (
        container.kept.since
        if container is not None and container.kept.since is not None
        else hold.since
        if hold
        else None
    )
    return Down(key, one_line(name_of(node, key)), tuple(sorted(chips)), since, one_line(reason), what)


def containers(node: Node) -> "list[shapes.Container]":
    """Return the running containers that use chips, the held ones, and those that ought to run, by name."""
    return list(_rows(node))


@kept
def _rows(node: Node) -> "Sequence[shapes.Container]":
    shown = {
        k
        for k, c in node.containers.items()
        if c.running and (c.kept.chips or c.warnings or c.unread or c.heal or c.unit or c.ready or c.cut_off)
    }
    found = [_row(node, key) for key in sorted({*shown, *node.holds, *_missing(node)})]
    return sorted(found, key=lambda row: (row["name"], row["runtime"], row["namespace"], row["id"]))


def ours(hold: Hold | None) -> Hold | None:
    """Return the hold while it entitles cmgr to a start."""
    return None if hold is None or hold.is_theirs else hold


def chips_of(node: Node, key: ContainerKey) -> frozenset[ChipId]:
    """Return the chips that the container uses, or will use when it is started again."""
    container, hold = node.containers.get(key), ours(node.holds.get(key))
    used = container.kept.chips if container is not None and (container.running or hold is not None) else frozenset()
    return used | (hold.chips if hold is not None else frozenset())


def _row(node: Node, key: ContainerKey) -> "shapes.Container":
    container, hold = node.containers.get(key), node.holds.get(key)
    status = _status(container, hold)
    reason, what = _missing(node).get(key) or _story(node, key)
    began = container.kept.since if container is not None else None
    since = hold.since if hold is not None and status != "running" else began
    last = hold.chips if hold is not None else container.kept.chips if container is not None else frozenset[ChipId]()
    asked, said = _asked(container)
    project, service, group = _together(container)
    strategy = node.policy.strategy if container is None or container.strategy is None else container.strategy
    return {
        "runtime": key.runtime,
        "namespace": key.namespace,
        "id": key.id,
        "name": one_line(name_of(node, key)),
        "called": called(node, key),
        "chips": sorted(chips_of(node, key) or last),
        "status": status,
        "since": stamp_or_none(since),
        "strategy": str(strategy),
        "held": ours(hold) is not None,
        "health": health(container),
        "ready": asked,
        "answer": said,
        "heal": heal(node, key),
        "lost": _lost(container),
        "slots": [slot.name for slot in of_container(node, container)],
        "spared": bool(container and container.running and container.kept.chips and is_spared(node, container)),
        "unclear": container is not None and container.unclear,
        "reason": one_line(reason),
        "hint": what,
        **advised(what, reason=reason, warnings=(warned := _warnings(node, container))),
        "owner": container.owner if container is not None else "",
        "project": project,
        "service": service,
        "group": group,
        "serves": container is not None and serves(container),
        "unit": _unit(node, container),
        "warnings": warned,
    }


def _lost(container: Container | None) -> list[int]:
    """Return the chips that it can open no more in this life, or has left though it says that it serves."""
    return (
        sorted(container.kept.denied | container.kept.lost.keys())
        if container is not None and container.running
        else []
    )


def _asked(container: Container | None) -> tuple[str, str]:
    """Return what it is asked, and how it has answered last."""
    asked = container.ready.text if container is not None and container.ready is not None else ""
    return asked, one_line(container.kept.said) if asked and container is not None else ""


def _together(container: Container | None) -> tuple[str, str, str]:
    """Return its project of docker compose, its service of that, and its group; nothing for each that it has not."""
    if container is None:
        return "", "", ""
    composed = container.composed
    return (composed.project if composed else "", composed.service if composed else "", container.group)


def _unit(node: Node, container: Container | None) -> str:
    unit = unit_of(node, container) if container is not None else None
    return unit.name if unit is not None else ""


def _without_unit(node: Node, container: Container) -> str:
    """Return what it means that the unit which is said to run the container does not; or nothing."""
    if not container.unit or unit_of(node, container) is not None or is_asked_for(node, container):
        return ""
    systemd = node.runtimes.get(SYSTEMD)
    if unit_key(container.unit) in node.containers:
        return say("container.unit-is-not-obeyed", unit=container.unit)
    if systemd is None:
        why = say("container.gone-for-good", runtime=SYSTEMD)
    else:
        mute = say("container.systemd-is-mute", why=systemd.why_down)
        why = mute if systemd.why_down else say("container.no-such-unit")
    return say("container.unit-is-not-there", unit=container.unit, why=why)


def _warnings(node: Node, container: Container | None) -> list[str]:
    if container is None:
        return []
    services = circle(node, container)
    circles = [say("container.needs-in-a-circle", way=" → ".join(services))] if services else []
    unread = [say("container.cannot-be-read", error=container.unread)] if container.unread else []
    units = [why] if (why := _without_unit(node, container)) else []
    return [one_line(warning) for warning in (*unread, *container.warnings, *units, *circles)]


def _status(container: Container | None, hold: Hold | None) -> "shapes.ContainerStatus":
    if hold is None:
        return "running" if container is not None and container.running else DOWN
    return STATUS_OF_HOLD[hold.state]


def _story(node: Node, key: ContainerKey) -> tuple[str, str]:
    """Return what there is to say of the container, and what to do or type."""
    container, hold = node.containers.get(key), node.holds.get(key)
    status = _status(container, hold)
    if hold is not None and status != "running":
        return _held(node, hold, status)
    return _running(node, container) if status == "running" else _ended(node, node.containers[key])


def _ended(node: Node, container: Container) -> tuple[str, str]:
    """Return why a container that is not held does not run, and how it runs again or is meant not to."""
    end = container.exit
    how = say("container.ended-unseen")
    if end is not None and end.by_itself:
        how = say("container.exited", code=end.code)
    elif container.kept.along:
        how = say("container.stopped-along", other=one_line(container.kept.along))
    elif end is not None and end.missed:
        how = say("container.ended-with-runtime", code=end.code, runtime=container.key.runtime)
    elif end is not None:
        how = say("container.ended", code=end.code)
    others = sorted(replaced(node, container).items())
    has = [say("hold.chip-taken", name=other, chip=chip) for chip, other in others[:1]]
    if others:
        what = say("hint.stop-other-or-forget", other=one_line(others[0][1]), order=forget(node, container.key))
    else:
        what = say("hint.start-or-forget", start=_start(node, container.key), order=forget(node, container.key))
    troubles = _of_chips(node, container.kept.chips)
    return parts([how, *troubles[:1], *has, say("container.is-not-held")]), what


def _start(node: Node, key: ContainerKey) -> str:
    """Return how a person starts it."""
    if key.runtime in ("docker", SYSTEMD):
        client = "docker" if key.runtime == "docker" else "systemctl"
        return f"{client} start {called(node, key)}"
    return say("hint.with-your-client")


def _running(node: Node, container: Container | None) -> tuple[str, str]:
    """Return what there is to say of a container that runs: mostly nothing."""
    if container is None:
        return "", ""
    if container.ignored:
        return say("container.is-ignored"), ""
    if not container.enabled:
        return say("container.hands-off", label=container.hands_off), ""
    rings = _rings(node, container.kept.chips)
    theirs = next((r for r in rings if r.in_episode and container.key in r.theirs), None)
    if theirs is not None and is_fought_for(theirs, container):
        own = say("hint.stop-the-owner-for-ring", ring=theirs.id)
        return (
            say("container.is-fought-for", again=started_again(container), ring=theirs.id),
            letting_go(container.owner) if container.owner else own,
        )
    if theirs is not None:
        return say("container.started-by-hand", ring=theirs.id), say("hint.stop-for-ring", ring=theirs.id)
    troubles = _of_chips(node, container.kept.chips)
    ailing, what = of_running(node, container)
    waited_for, how = _waited_for(node, container)
    elsewhere = [words(slot) for slot in of_container(node, container) for words in (moved, fewer)]
    elsewhere.append(away(node, container))
    unit = unit_of(node, container)
    by = say("container.unit-instead", unit=unit.name) if unit is not None and unit.running else ""
    by_owner = owned(container.owner) if container.owner else ""
    first = say("container.runs-but", why=troubles[0]) if troubles else ""
    return parts(
        [first, ailing, waited_for, _busy(node, container), *_not_serving(container), *elsewhere, by, by_owner]
    ), what or how or to_rejoin(container)


def _busy(node: Node, container: Container) -> str:
    """Return that a reset waits for it because it says that it is busy, or nothing."""
    veto = container.kept.veto
    waits = veto is not None and any(r.vetoed is not None and veto.at >= r.vetoed for r in node.rings.values())
    return say("container.says-busy", said=veto.said) if veto is not None and veto.busy and waits else ""


def to_rejoin(container: Container) -> str:
    """Return what to do about one that is cut off from the container in whose namespaces it runs."""
    if not container.cut_off:
        return ""
    return say("hint.recreate") if container.orphaned else say("hint.rejoin")


def _not_serving(container: Container) -> list[str]:
    why = (
        why_not_serving(container)
        if container.kept.unsteady is not None or container.cut_off or container.kept.barred
        else ""
    )
    waits = container.kept.answer == LOADING and container.says == LOADING
    loads = _not_yet(container, say("container.starts")) if waits else ""
    return [say("container.frozen") if container.frozen else why, STARTING if container.starting else loads]


def _waited_for(node: Node, container: Container) -> tuple[str, str]:
    """Return why a reset would wait for it, whatever the strategy, and what to do about that before a fault comes."""
    if container.kept.chips and is_spared(node, container):
        return SPARED, SPARED_HINT
    if not container.unclear:
        return "", ""
    return UNCLEAR, clearing(node.policy.ignore, [container.name])


def _not_yet(container: Container, runs: str) -> str:
    """Return that it runs, and who has not said yet that it serves."""
    if container.ready is not None and container.kept.answer != HEALTHY:
        return say("container.no-answer-yet", runs=runs, said=container.kept.said or say("container.nothing-has-come"))
    if not container.health:
        return say("container.check-says-nothing", runs=runs)
    return say("container.check-says", runs=runs, health=container.health)


def _held(node: Node, hold: Hold, status: str) -> tuple[str, str]:
    attempt = hold.attempt
    if status == "settling":
        return parts([_settles(node, hold), _failures(hold)]), ""
    ailing = of_held(node, hold)
    if status == "failed":
        said = _tries(hold) if attempt.tries else ailing or one_line(attempt.error)
        return parts([hold.reason, said]), resume_hint(node, hold.key)
    told = [ailing, hold.reason, *(_short(node, hold) if status == "paused" else ())]
    if attempt.tries or attempt.error:
        told.append(_tries(hold))
    elif hold.sick:
        told.append(say("container.unhealthy-after", count=hold.sick))
    return parts(told) or NO_REASON[status], _hint(node, hold) if status == "paused" else _move_back(node, hold)


def _settles(node: Node, hold: Hold) -> str:
    container, until = node.containers.get(hold.key), hold.attempt.retry_at
    if container is not None and container.starting:
        return say("container.settles-when-up", starting=STARTING)
    runs: str = say("container.paused-again") if hold.frozen else say("container.runs-again")
    if container is not None and container.says_within is not None and container.says != HEALTHY:
        runs = _not_yet(container, runs)
    return say("container.settles", runs=runs, until=stamp(until) if until is not None else say("container.next-list"))


def _move_back(node: Node, hold: Hold) -> str:
    """Return how an order to give it other chips is taken back while it is being stopped, if there is one."""
    slots = [slot for slot in of_container(node, node.containers.get(hold.key)) if slot.wish and not slot.without]
    if not hold.is_to_end or not (slots or hold.wish):
        return ""
    name, chips = (slots[0].name, slots[0].chips) if slots else (meant(node, hold.key), hold.chips)
    back = order("slot-assign", slot=name, chips=",".join(map(str, sorted(chips))))
    return say("hint.leave-on-its-chips", order=back)


def _failures(hold: Hold) -> str:
    before = hold.attempt.tries or hold.sick
    return say("container.failed-before", count=before) if before else ""


def _tries(hold: Hold) -> str:
    attempt, count = hold.attempt, hold.attempt.tries
    # An order that was not sent at all, or reached nobody, is no try.
    if hold.is_to_end:
        told = say("container.stop-failed", count=count) if count else say("container.cannot-stop-yet")
    else:
        told = say("trouble.starts-failed", count=count) if count else say("container.cannot-start-yet")
    if attempt.error:
        told = say("word.because", what=told, why=one_line(attempt.error))
    return say("container.next-try", failed=told, at=stamp(attempt.retry_at)) if attempt.retry_at is not None else told


def _short(node: Node, hold: Hold) -> list[str]:
    """Return why it is not moved to other chips although it waits for its own."""
    container = node.containers.get(hold.key)
    if container is None or hold.chips.isdisjoint(node.isolations):
        return [hold.short]
    fixed = bool(container.tied) and container.spare is Spare.AUTO and not slots_of(container)
    short = [hold.short, *(slot.short for slot in of_container(node, container))]
    return [*short, say("container.cannot-be-moved", tied=container.tied) if fixed else ""]


def _hint(node: Node, hold: Hold) -> str:
    isolated = [c for c in sorted(hold.chips) if c in node.isolations]
    what = isolation_hint(node, isolated) or idle_hint(node) or share_hint(node, node.containers.get(hold.key))
    if not what and (known := node.containers.get(hold.key)) is not None and known.orphaned:
        return say("hint.recreate")
    if not what and (other := successor(node, hold)) is not None:
        names = [called(node, hold.key)]
        return say("hint.superseded", name=called(node, other.key), names=names, forgets=[forget(node, hold.key)])
    return what or (_given_away_hint(node, hold) if given_away(node, hold) else "")


def _given_away_hint(node: Node, hold: Hold) -> Sentence:
    container = node.containers.get(hold.key)
    if container is not None and can_be_placed(container):
        return say("hint.give-others", name=called(node, hold.key))
    return say("hint.move-others")


def _of_chips(node: Node, chips: frozenset[ChipId]) -> list[str]:
    """Return what speaks against any of the chips, a text for each."""
    return [why for chip in sorted(chips) if (why := chip_words(node, chip, grave_faults(node, chip)))]


def _rings(node: Node, chips: frozenset[ChipId]) -> list[Ring]:
    ids = {node.chips[chip].ring for chip in chips if chip in node.chips}
    return [node.rings[ring] for ring in sorted(ids) if ring in node.rings]
