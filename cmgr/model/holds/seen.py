"""How a held container is seen, by an event or in a list: whose doing it is, and what becomes of its hold."""

from cmgr.frozen import replace
from cmgr.model.holds.endings import hand_back
from cmgr.model.holds.news import How, News, classify, has_come_up, is_by_policy
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.holds.policies import died_without_policy, policy_seen
from cmgr.model.holds.restarters import count_start, is_fought_for, times_started_again, wait_before_stop
from cmgr.model.holds.settling import let_settle
from cmgr.model.holds.tries import put_off
from cmgr.model.scope import halting, is_to_be_down, observing
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.slots import can_be_placed
from cmgr.sentences.sentence import Sentence, say


def seen_held(turn: Turn, hold: Hold, container: Container, how: How) -> Container:  # noqa: C901 - a flat table
    """Let follow what it means that a held container is seen so; return it as it is to be booked."""
    hold = policy_seen(turn, hold, container)
    if hold.state is HoldState.SETTLING:
        return container  # `settle` looks at the books whether it is still the same life.
    news = classify(turn.node, hold, container, how, turn.at)
    match news:
        case News.OLD:
            return replace(container, running=False)
        case News.SAME:
            _goes_on(turn, hold, container)
        case News.OTHER_LIFE_UNSURE:
            _hears_of_another_life(turn, hold, container)
        case News.OURS:
            _started_by_us(turn, hold, container)
            return replace(container, kept=replace(container.kept, places=hold.places))
        case News.BY_POLICY | News.BY_COMPOSE | News.BY_RESTARTER | News.BY_PERSON:
            _started_by_others(turn, hold, container, news)
        case News.ENDED_BY_PERSON:
            _ended_by_person(turn, hold, container)
        case News.DIED if hold.is_theirs:
            died_without_policy(turn, hold, container)
        case News.DIED | News.ENDED:
            turn.put_hold(replace(hold, run=container.run))  # The promise counts for more.
        case News.ENDED_BY_US:
            pass  # Only an answer says so.
    return container


def _goes_on(turn: Turn, hold: Hold, container: Container) -> None:
    known = turn.node.containers.get(hold.key)
    if hold.is_to_end and container.running:
        # Whichever life it is in, that one is to end. A stop thaws: that it is not frozen any more says nothing.
        turn.put_hold(replace(hold, run=container.run))
    elif hold.runs and not container.running and known is not None and known.running:
        put_off(turn, hold, None)  # Now its policy can go back.


def _hears_of_another_life(turn: Turn, hold: Hold, container: Container) -> None:
    """Look before the next step, which cannot be taken back: lives have no order, and this may be late news."""
    if container.running and is_by_policy(turn.node, hold, container, turn.at):
        hold = replace(hold, revived=container.run)
    turn.put_hold(replace(hold, heard=turn.at))
    turn.ask_list(hold.key.runtime, f"does {hold.name} run again?", not_older=turn.at)


def _started_by_us(turn: Turn, hold: Hold, container: Container) -> None:
    if hold.frozen and not container.frozen:
        _started_unfrozen(turn, hold, container)
    elif _is_armed(hold, container) and not _is_early(turn, hold):
        _as_started(turn, hold, container, say("hold.start-had-worked", name=hold.name))
    else:
        hand_back(turn, hold, say("hold.earlier-start-worked"))


def _is_armed(hold: Hold, container: Container) -> bool:
    """Return whether its restart policy is the one that it had, and stays so."""
    return container.restart_policy == hold.restart_policy and hold.attempt.command is None


def _as_started(turn: Turn, hold: Hold, container: Container, told: Sentence) -> None:
    """Go on as after a start of ours: that it runs does not say yet that it stays up, or that it answers."""
    turn.tell(hold, told, NoteKind.RESULT)
    turn.drop_hold(hold.key)
    let_settle(turn, hold, container.run, container)


def _started_unfrozen(turn: Turn, hold: Hold, container: Container) -> None:
    """An earlier start has worked but for its last part: the same order does that part, too."""
    on_its_chips = replace(container, kept=replace(container.kept, chips=hold.chips))
    due = halting(turn.node, hold.key) is not None or is_to_be_down(turn.node, hold.chips, on_its_chips, turn.at)
    if due and not observing(turn.node):
        turn.put_hold(replace(entered(hold, HoldState.TO_STOP), run=container.run))
    elif hold.attempt.command is None:  # Else that of its restart policy: a later list tells.
        turn.put_hold(entered(hold, HoldState.STARTING))


def _started_by_others(turn: Turn, hold: Hold, container: Container, news: News) -> None:
    """Stop it again if that was too early: its chips are not well, or its group is not down. Else it is theirs."""
    early = _is_early(turn, hold)
    by_daemon = news is News.BY_POLICY and has_come_up(turn.node, hold, turn.at)
    if early and news is not News.BY_COMPOSE and not by_daemon:
        count_start(turn, hold, container, theirs=news is News.BY_PERSON)
    if early and news is not News.BY_PERSON:
        _stop_again(turn, hold, container, news)
    elif news is News.BY_POLICY and _is_armed(hold, container):
        _as_started(turn, hold, container, say("hold.policy-started", name=hold.name))
    elif news is News.BY_POLICY:
        hand_back(turn, hold, say("hold.policy-has-started"))
    else:
        fights = any(is_fought_for(ring, container) for ring in turn.rings_of(hold.chips))
        hand_back(turn, hold, say("hold.something-starts-again") if fights else say("hold.started-by-hand"))


def _is_early(turn: Turn, hold: Hold) -> bool:
    return halting(turn.node, hold.key) is not None or start_blocker(turn.node, hold).kind is Block.CHIP


def _stop_again(turn: Turn, hold: Hold, container: Container, news: News) -> None:
    again, kind = replace(entered(hold, HoldState.TO_STOP), run=container.run), NoteKind.HOLD
    text = say("hold.policy-stopped-again", name=hold.name)
    if news is News.BY_COMPOSE:
        # Compose knows nothing of chips: nobody wishes it to run on bad ones by that.
        again = replace(again, inherited=False)
        text = say("hold.compose-stopped-again", name=hold.name)
    elif news is News.BY_RESTARTER:
        times = times_started_again(turn.node, turn.rings_of(hold.chips), hold, container)
        wait, kind = wait_before_stop(turn.node, times), NoteKind.WARNING
        again = replace(again, attempt=replace(again.attempt, retry_at=turn.at + wait))
        text = say("hold.something-stopped-again", name=hold.name, wait=wait)
    turn.tell(hold, text, kind)
    turn.put_hold(again)


def _ended_by_person(turn: Turn, hold: Hold, container: Container) -> None:
    if container.run == hold.run:
        hand_back(turn, hold, say("hold.somebody-had-stopped"))
        return
    known = turn.node.containers.get(hold.key)
    hand_back(turn, hold, say("hold.started-and-ended"))
    if known is not None:
        turn.put_container(replace(known, kept=replace(known.kept, wanted=True)))  # Unless that end was meant.


def agreed(turn: Turn, known: Container | None, container: Container, chips: frozenset[ChipId]) -> frozenset[ChipId]:
    """Make its hold and the books agree about its chips: `chips` are those that its definition gives now."""
    held = turn.node.holds.get(container.key)
    if held is not None and known is not None and _is_made_anew(known, container) and chips:
        # Another one was made under the same name: what it will run on is what it asks for.
        turn.put_hold(replace(held, chips=chips))
    elif held is not None and not container.running and can_be_placed(container):
        return held.chips  # Its definition gives it these only with its start.
    return chips


def _is_made_anew(known: Container, container: Container) -> bool:
    """Return whether it asks for other chips than before, or cannot be given those any more that it was to get."""
    return known.claims != container.claims or (can_be_placed(known) and not can_be_placed(container))


def started_in_stop(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and before anybody could look something else began the life `run`.

    Its restart policy it was not: that ends with the stop.
    """
    container = turn.node.containers[hold.key]
    kept = replace(container.kept, since=turn.at, seen=turn.at)
    now = replace(container, running=True, run=run, exit=None, cut_off="", kept=kept)
    turn.put_container(now.in_another_life())
    down = replace(entered(hold, HoldState.DOWN), down=turn.at, died=False)
    turn.put_hold(down)
    _started_by_others(turn, down, now, classify(turn.node, down, now, How.ANSWERED, turn.at))
