"""Containers: taking in what the runtimes say, by event or by listing."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.containers.absent import parted, take_back
from cmgr.model.containers.answering import with_answer, with_question
from cmgr.model.containers.healing import notice_death, spare
from cmgr.model.containers.origins import look_at_origin
from cmgr.model.containers.reach import with_reach
from cmgr.model.containers.steadiness import found_again, paused_since, tell_end, unsteady_since, up_since
from cmgr.model.containers.unit_containers import adopted, as_remembered, fit_to_unit
from cmgr.model.containers.users import as_ignored
from cmgr.model.holds.consequences import ask_who_is_inside, ends_along
from cmgr.model.holds.endings import container_removed, end_hold, leave
from cmgr.model.holds.news import How
from cmgr.model.holds.restarters import look_who_started
from cmgr.model.holds.seen import agreed, seen_held
from cmgr.model.holds.tries import try_with_new_daemon, wait_no_longer
from cmgr.model.numbers import misplaced, names_numbers
from cmgr.model.turn import Turn
from cmgr.model.units import unit_key
from cmgr.model.values.chips import ChipId, resolve
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.lookup import replaced
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import (
    ContainerRemoved,
    ContainerSeen,
    ContainersListed,
    RuntimeDown,
    RuntimeForgetOrdered,
    RuntimeFound,
    RuntimeUp,
)
from cmgr.model.values.node import SYSTEMD, Node, RuntimeState, chips_of_slots
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Kept
from cmgr.model.values.services.healing import Healing
from cmgr.model.values.standing import Gone
from cmgr.model.wanted import is_wanted, was_told_before
from cmgr.sentences.sentence import say


def runtime_told(turn: Turn, fact: RuntimeFound | RuntimeUp | RuntimeDown) -> None:
    """Take in that a runtime is there, answers, or does not."""
    match fact:
        case RuntimeFound():
            _runtime_found(turn, fact)
        case RuntimeUp():
            _runtime_up(turn, fact)
        case RuntimeDown():
            _runtime_down(turn, fact)


def _runtime_found(turn: Turn, fact: RuntimeFound) -> None:
    if fact.runtime not in turn.node.runtimes and fact.runtime not in turn.node.gone:
        take_back(turn, fact.runtime)
        _take_on(turn, fact.runtime, covering=fact.covering)


def _take_on(turn: Turn, runtime: str, *, covering: bool = False) -> None:
    """From now on nothing is decided on who uses a chip before this runtime, too, has said so, but for `covering`."""
    turn.put_runtime(RuntimeState(runtime, covering=covering))
    turn.note(NoteKind.WARNING, say("container.runtime-is-new", runtime=runtime))
    turn.ask_list(runtime, f"{runtime} is there", not_older=turn.at)


def runtime_forgotten(turn: Turn, fact: RuntimeForgetOrdered) -> None:
    """Wait no longer for a runtime, nor answer for what was held of it, before it answers again."""
    node, runtime = turn.node, fact.runtime
    apart = parted(node, node.runtimes.keys() - {runtime})
    turn.note(NoteKind.ACTION, say("container.runtime-gone", who=fact.who, runtime=runtime))
    for key in sorted(key for key in {*node.containers, *node.holds, *node.healings} if key.runtime == runtime):
        hold = turn.node.holds.get(key)
        if hold is not None:
            end_hold(turn, hold, say("container.gone-for-good", runtime=runtime))
        turn.put_healing(Healing(key))
        turn.drop_container(key)
    origins = dict(node.origins)
    origin, state = origins.pop(runtime, None), node.runtimes.get(runtime)
    turn.node = replace(turn.node, origins=origins)
    if origin is not None and origin.doubted is not None and state is not None:
        _take_on(turn, runtime, covering=state.covering)  # It answers: those that it lists are taken for all.
        return
    left = {name: state for name, state in node.runtimes.items() if name != runtime}
    gone = {**node.gone, runtime: Gone(runtime, turn.at, fact.who)}
    kept_containers, kept_holds = apart.kept_containers, apart.kept_holds
    turn.node = replace(turn.node, runtimes=left, gone=gone, kept_containers=kept_containers, kept_holds=kept_holds)


def _runtime_up(turn: Turn, fact: RuntimeUp) -> None:
    """Events flow again: whatever was missed is found by listing."""
    state = turn.node.runtimes.get(fact.runtime)
    if fact.runtime in turn.node.gone:
        turn.node = replace(turn.node, gone={n: g for n, g in turn.node.gone.items() if n != fact.runtime})
        take_back(turn, fact.runtime)
        _take_on(turn, fact.runtime)
    if state is None:
        return
    restarted = min(fact.came or turn.at, turn.at) if fact.restarted else state.restarted
    turn.put_runtime(replace(state, why_down="", flows=turn.at, restarted=restarted, ask_at=None, failures=0))
    turn.ask_list(fact.runtime, f"{fact.runtime} is there", not_older=turn.at)
    if fact.restarted:
        try_with_new_daemon(turn, fact.runtime)
    _is_back(turn, state)


def _is_back(turn: Turn, before: RuntimeState) -> None:
    wait_no_longer(turn, before.name)
    if before.why_down:
        turn.note(NoteKind.WARNING, say("container.runtime-is-back", runtime=before.name))


def _runtime_down(turn: Turn, fact: RuntimeDown) -> None:
    state = turn.node.runtimes.get(fact.runtime)
    if state is None:
        return
    if not state.why_down:
        what = say("trouble.unreachable", runtime=fact.runtime)
        turn.note(NoteKind.WARNING, say("word.because", what=what, why=fact.why))
    turn.put_runtime(replace(state, why_down=fact.why, flows=None, silent=state.silent or turn.at, broke=turn.at))


def containers_listed(turn: Turn, fact: ContainersListed) -> None:
    """Take in a list: it is the truth about every container that no event has spoken of since it was asked for."""
    state = turn.node.runtimes.get(fact.runtime)
    if state is None or state.asked is None or state.asked[0] != fact.command:
        return  # An answer that nobody waits for any more.
    issued = state.asked[1]
    if fact.error:
        if not state.why_down:
            turn.note(NoteKind.WARNING, say("container.cannot-list", runtime=fact.runtime, error=fact.error))
        turn.list_failed(state, fact.error)
        return
    listed = {c.key: c for c in fact.containers}
    doubt = look_at_origin(turn, state, fact.origin, [c.key for c in fact.containers if not c.unlisted])
    if doubt:
        if not state.why_down:
            turn.note(NoteKind.WARNING, say("container.list-is-doubted", doubt=doubt))
        _take_in(turn, listed, issued)
        turn.list_failed(turn.node.runtimes[fact.runtime], doubt)
        return
    # It may have been read before the connection broke: that it came in later tells of nothing since.
    why_down = state.why_down if state.broke is not None and issued < state.broke else ""
    turn.put_runtime(replace(state, asked=None, again=False, listed=issued, why_down=why_down, failures=0, ask_at=None))
    if state.why_down and not why_down:
        _is_back(turn, state)
    if state.again:
        turn.ask_list(fact.runtime, "something happened while it was listed", not_older=turn.at)
    _take_in(turn, listed, issued)
    turn.put_runtime(replace(turn.node.runtimes[fact.runtime], silent=_still_silent(state, issued)))
    for key in sorted({*turn.node.containers, *turn.node.holds} - {*listed}):
        known = turn.node.containers.get(key)
        newer = known is not None and known.kept.seen is not None and known.kept.seen > issued
        if key.runtime == fact.runtime and not newer:
            container_removed(turn, key, say("container.by-list", runtime=fact.runtime))


def _still_silent(state: RuntimeState, listed: datetime) -> datetime | None:
    """Return since when nobody has told of anything, after a list that was asked for then; None: events flow."""
    flows = state.flows is not None and state.flows <= listed
    return None if flows or state.silent is None else max(listed, state.broke or listed)


def _take_in(turn: Turn, listed: Mapping[ContainerKey, Container], issued: datetime) -> None:
    for container in listed.values():
        known = turn.node.containers.get(container.key)
        if known is None or known.kept.seen is None or known.kept.seen <= issued:
            _listed(turn, known, container)


def _listed(turn: Turn, known: Container | None, container: Container) -> None:
    if not container.unread:
        container_seen(turn, container, sure=True)
    elif known is None:
        kept = Kept(since=turn.at, seen=turn.at)
        turn.put_container(replace(as_ignored(turn.node.policy, container), kept=kept))
    else:
        # The books know its chips and its life. It counts as running when either says so: it may hold its chips.
        running, kept = known.running or container.running, replace(known.kept, seen=turn.at)
        turn.put_container(replace(known, running=running, unread=container.unread, kept=kept))


def container_told(turn: Turn, fact: ContainerSeen | ContainerRemoved) -> None:
    """Take in an event about a container. Whoever is in namespaces of a life of it that is over is looked at."""
    key = fact.container.key if isinstance(fact, ContainerSeen) else fact.key
    known = turn.node.containers.get(key)
    if isinstance(fact, ContainerSeen):
        container_seen(turn, fact.container)
    else:
        container_removed(turn, key, say("container.by-event", runtime=key.runtime))
    now = turn.node.containers.get(key)
    if known is not None and (now is None or (now.running and now.run != known.run)):
        ask_who_is_inside(turn, known)


def container_seen(turn: Turn, container: Container, *, sure: bool = False) -> None:
    """Take in a container's present state; `sure`: from a list, while an event may be late news of an earlier state."""
    if container.key.runtime not in turn.node.runtimes:
        return  # Late news of a runtime that is gone for good.
    container = as_ignored(turn.node.policy, container)
    if not sure and _is_of_an_earlier_life(turn.node.containers.get(container.key), container):
        turn.ask_list(container.key.runtime, f"does {container.name} run?", not_older=turn.at)
        return
    container = with_question(turn.node.policy, adopted(turn, as_remembered(turn.node, container)))
    hold = _unless_marked(turn, container)
    container = seen_held(turn, hold, container, How.LISTED if sure else How.HEARD) if hold is not None else container
    known = turn.node.containers.get(container.key)
    notice_death(turn, known, container)
    asked, warnings = resolve(container.claims, turn.node.chips, chips_of_slots(turn.node))
    goes_on = known if known is not None and known.run == container.run and not container.ignored else None
    changed = known is None or (known.running, known.run) != (container.running, container.run)
    # That it is down, as is known, may be told late: it must not make a list count as older that says more.
    seen = known.kept.seen if known is not None and not (sure or changed or container.running) else turn.at
    since = turn.at if changed or known is None else known.kept.since
    now = with_reach(goes_on, with_answer(known, _with_its_past(turn.node, container, sure=sure)))
    chips = agreed(turn, known, container, _since_its_start(goes_on, container, asked))
    kept = _of_its_life(turn, known, goes_on, container, now.kept)
    said = (*container.warnings, *warnings, *(misplaced(turn.node, container) if container.running else ()))
    now = replace(
        now, exit=_end(known, container), warnings=said, kept=replace(kept, chips=chips, since=since, seen=seen)
    )
    wanted = is_wanted(known, now, unseen=_was_unseen(turn.node, known, now))
    turn.put_container(replace(now, kept=replace(now.kept, wanted=wanted)))
    fit_to_unit(turn, now, begun=changed and now.running)
    found_again(turn, now)
    if hold is None:
        tell_end(turn, known, now)
    ends_along(turn, known, now)
    if hold is None:
        look_who_started(turn, known, turn.node.containers[container.key])


def _of_its_life(
    turn: Turn, known: Container | None, goes_on: Container | None, container: Container, kept: Kept
) -> Kept:
    """Return what is kept of one that is told of now with what has become of it in this life and the last."""
    return replace(
        kept,
        used=goes_on.kept.used if goes_on is not None else frozenset(),
        instead_of=_still_instead_of(turn, known),
        places=container.kept.places or (goes_on.kept.places if goes_on is not None else {}),
        told_before=was_told_before(known, container),
        paused=paused_since(turn, known, container),
        unsteady=unsteady_since(turn, known, container),
        up=up_since(turn, known, container),
    )


def concerns_nobody(before: Node, now: Node) -> bool:
    """Return whether nothing has come to the node but what nobody asks for: all that was settled is so still.

    That is how one container is within its life, of which only those ask who heal it, or see whether it stays up, or
    run it as a unit, or need it in their project.
    """
    if any(getattr(before, name) is not getattr(now, name) for name in _OTHERS):
        return False
    pairs = replaced(before.containers, now.containers)
    if pairs is None or len(pairs) > 1:
        return False
    return all(_is_asked_by_nobody(now, known, told) for known, told in pairs)


_OTHERS = tuple(each.name for each in fields(Node) if each.name != "containers")


def _is_asked_by_nobody(node: Node, known: Container, told: Container) -> bool:
    hold = node.holds.get(known.key)
    if hold is not None and (hold.state is HoldState.SETTLING or hold.cause is Cause.HEAL or hold.sick):
        return False
    asked = known.heal is not None or known.kept.unsteady is not None or known.unit or known.composed is not None
    if asked or known.kept.seen is None or known.key.runtime == SYSTEMD:
        return False
    kept = replace(told.kept, seen=known.kept.seen, up=known.kept.up)
    told = replace(told, health=known.health, starting=known.starting, kept=kept)
    return told == replace(known, unchecked=told.unchecked)


def _was_unseen(node: Node, known: Container | None, now: Container) -> bool:
    """Return whether this life is news, and over since its runtime's events ceased: perhaps its daemon ended it."""
    silent = node.runtimes[now.key.runtime].silent
    if now.exit is None or silent is None or (known is not None and known.run == now.run):
        return False
    return now.exit.missed and now.exit.asked is None and silent <= now.exit.at


def _unless_marked(turn: Turn, container: Container) -> Hold | None:
    """Return its hold, after leaving the container as it is if a person has ended it, which its record says since."""
    known, hold = turn.node.containers.get(container.key), turn.node.holds.get(container.key)
    if container.marked and known is not None and not known.marked and hold is not None and not hold.is_theirs:
        spare(turn, container.key)
        leave(turn, hold, say("container.record-says-stopped"))
    return turn.node.holds.get(container.key)


def _with_its_past(node: Node, container: Container, *, sure: bool) -> Container:
    """Return the container with what only the books know of it, or only a list tells."""
    if (known := node.containers.get(container.key)) is None:
        return container
    container = replace(container, takes=container.takes | _taken_still(node, known, container))
    if not sure and container.run == known.run:
        container = replace(container, cut_off=known.cut_off, orphaned=known.orphaned)
    old, along = known.kept, "" if container.running else known.kept.along
    kept = replace(container.kept, deaf=old.deaf, forgotten=old.forgotten, halted=old.halted, along=along)
    return replace(container, kept=kept)


def _taken_still(node: Node, known: Container, now: Container) -> frozenset[str]:
    """Return the units that systemd stops with this one, of those that the books know: it forgets that with each end.

    The unit may run again before anybody has told of the end of what went with it, in cmgr's last life, perhaps.
    """
    if not now.running or now.key in node.holds:
        return known.takes
    parts = (node.containers.get(unit_key(name)) for name in known.takes)
    return frozenset(part.name for part in parts if part is not None and (part.running or part.key in node.holds))


def _since_its_start(goes_on: Container | None, container: Container, asked: frozenset[ChipId]) -> frozenset[ChipId]:
    """Return the chips that it asks for now; of a life that goes on those that its numbers meant at its start."""
    if goes_on is None:
        return asked
    same = goes_on.running and goes_on.claims == container.claims and names_numbers(goes_on)
    return (goes_on.kept.chips if same and goes_on.kept.chips else asked) | goes_on.kept.used


def _still_instead_of(turn: Turn, known: Container | None) -> frozenset[ContainerKey]:
    """Return in whose place it is: one that nobody wants any more has left it for good."""
    former, node = known.kept.instead_of if known is not None else frozenset[ContainerKey](), turn.node
    return frozenset(
        k for k in former if k in node.holds or ((c := node.containers.get(k)) is not None and c.kept.wanted)
    )


def _is_of_an_earlier_life(known: Container | None, container: Container) -> bool:
    """Return whether this tells of the life before the one that the books know of, or of an end from before that."""
    if known is None or not known.run or container.run in ("", known.run):
        return False
    later = known.exit.at if known.exit is not None else known.kept.since
    ended_before = container.exit is not None and later is not None and container.exit.at < later
    return container.run == known.kept.former or ended_before


def _end(known: Container | None, container: Container) -> Exit | None:
    """Return how its life ended, at the moment that was told first: a clock that is set must not move it."""
    if container.running:
        return None
    told_before = known is not None and known.kept.seen is not None and known.run == container.run
    if container.exit is None or known is None or known.exit is None or not told_before:
        return container.exit
    return replace(container.exit, at=known.exit.at)
