"""News of a held container: whose doing it is, which life it is about, and whether that is known. One word says it.

`classify` is pure, and has a word for whatever is told. `seen`, `answers` and `settling` decide on what follows from a
word in each state of a hold. All of that stands on one page, `tests/golden/model/state_news.txt`.
"""

from datetime import datetime
from enum import StrEnum

from cmgr.model.holds.restarters import keeps_starting, restarted
from cmgr.model.scope import ended_with_daemon
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.node import Node, rings_with
from cmgr.model.values.services.containers import NO_RESTART, Container, Exit, is_same_life
from cmgr.model.wanted import was_meant


class How(StrEnum):
    """How one knows: by an event, which may be late; by a list, or by books that a list bears out; or by the answer to
    our stop."""

    HEARD = "heard"
    LISTED = "listed"
    ANSWERED = "answered"


class News(StrEnum):
    """The words for what can be told of a held container.

    `SAME`: what its hold has already. `OLD`: of the life that was ended; it says nothing of now. `OTHER_LIFE_UNSURE`:
    of another life, by an event, which may be late. `OURS`: an earlier start of cmgr's has worked. `BY_POLICY`,
    `BY_COMPOSE`, `BY_RESTARTER`, `BY_PERSON`: its restart policy has started it, or compose what it made in its place,
    or something that keeps it running, or a person. `ENDED_BY_US`: our stop has ended it. `DIED`: it ended with an
    error that nobody asked for. `ENDED_BY_PERSON`: its end was meant, by a person or, with code 0, by itself. `ENDED`:
    it has ended, and nobody knows whose doing that was.
    """

    SAME = "nothing new"
    OLD = "old news"
    OTHER_LIFE_UNSURE = "perhaps another life"
    OURS = "started by cmgr"
    BY_POLICY = "started by its restart policy"
    BY_COMPOSE = "started by compose, which has recreated it"
    BY_RESTARTER = "started by what keeps it running"
    BY_PERSON = "started by a person"
    ENDED_BY_US = "ended by cmgr"
    DIED = "died"
    ENDED_BY_PERSON = "ended by a person"
    ENDED = "ended, nobody knows by whom"


def classify(node: Node, hold: Hold, seen: Container, how: How, at: datetime) -> News:
    """Return what it means for the hold that its container is `seen` so.

    The life is not one from before those that the books know of. An answer to our stop says how the container was
    before (`exit`: it was down, and this is how it had ended), or in which life it was started since.
    """
    if not seen.running:
        return _ended(node, hold, seen, how)
    if hold.is_to_end or (hold.is_theirs and (how is How.LISTED or seen.run != hold.run)):
        return News.SAME  # Whichever life runs, that one is to end, or is theirs.
    if hold.state is HoldState.SETTLING:
        if not hold.run or seen.run == hold.run:
            return News.SAME
        return News.BY_POLICY if seen.revived or hold.restart_policy != NO_RESTART else News.BY_PERSON
    if seen.run == hold.run and how is not How.ANSWERED:
        return News.OLD
    return _started(node, hold, seen, how, at)


def _started(node: Node, hold: Hold, seen: Container, how: How, at: datetime) -> News:
    """Return whose doing it is that a container runs that was stopped, in another life than that which was ended."""
    starting = hold.state is HoldState.STARTING
    if starting and hold.attempt.command is not None:
        return News.SAME  # Its answer is on its way.
    if how is How.HEARD:
        return News.OTHER_LIFE_UNSURE
    if starting or (hold.attempt.tries and hold.state is not HoldState.FAILED):
        return News.OURS
    if how is How.LISTED and is_by_policy(node, hold, seen, at):
        return News.BY_POLICY  # It is none that has started it in our stop: that ends a restart policy.
    if hold.inherited:
        return News.BY_COMPOSE
    return News.BY_RESTARTER if keeps_starting(node, hold, seen, at) else News.BY_PERSON


def is_by_policy(node: Node, hold: Hold, seen: Container, at: datetime) -> bool:
    """Return whether rather its restart policy than a person has begun this life of the stopped container."""
    if (hold.revived and hold.revived == seen.run) or has_come_up(node, hold, at):
        return True
    # Docker restarts one that died by itself, containerd any, unless that was switched off before. That takes a moment
    # in which it is down, and a client in a loop can be quicker each time: so the second start is none of the policy.
    on = hold.restart_policy != NO_RESTART and not hold.disarmed and not hold.attempt.error
    return on and not any(ring.in_episode and restarted(ring, seen) for ring in rings_with(node, hold.chips))


def has_come_up(node: Node, hold: Hold, at: datetime) -> bool:
    """Return whether the runtime has just come up, which starts what has a restart policy."""
    runtime = node.runtimes.get(hold.key.runtime)
    came_up = runtime.restarted if runtime is not None else None
    return came_up is not None and at - came_up < node.policy.daemon_grace


def _ended(node: Node, hold: Hold, seen: Container, how: How) -> News:
    end, asked = seen.exit, seen.exit is not None and seen.exit.asked is True
    if hold.is_to_end:
        return _ended_before(node, hold, end) if how is How.ANSWERED else News.SAME  # The answer to our stop says more.
    if hold.state is HoldState.SETTLING:
        return _unless_meant(end, meant=was_meant(end))
    if hold.state is HoldState.RETURNING:
        return News.DIED if _died_without_policy(node, hold, seen) else News.SAME
    if seen.run == hold.run and hold.died and hold.is_down and hold.attempt.tries == 0 and asked:
        return News.ENDED_BY_PERSON  # It was taken for one that died: that it was asked for can be told later.
    if not hold.stays_down or seen.run in ("", hold.run):
        return News.SAME
    if how is How.HEARD:
        return News.SAME if is_same_life(seen.run, hold.run) else News.OTHER_LIFE_UNSURE
    return _unless_meant(end, meant=end is not None and _ended_another_life(hold, seen.run, end))


def _died_without_policy(node: Node, hold: Hold, seen: Container) -> bool:
    """Return whether it has died now that its restart policy, which would have started it, is off still.

    While an order to put that back is under way, it may be back by the time that its end is looked at.
    """
    known = node.containers.get(hold.key)
    back = seen.restart_policy != NO_RESTART and hold.attempt.command is None
    off = hold.disarmed and hold.restart_policy != NO_RESTART and not back
    died = seen.exit is not None and seen.exit.by_itself
    return off and died and known is not None and known.running


def _unless_meant(end: Exit | None, *, meant: bool) -> News:
    if meant:
        return News.ENDED_BY_PERSON
    return News.DIED if end is not None and end.by_itself else News.ENDED


def _ended_before(node: Node, hold: Hold, before: Exit | None) -> News:
    """Return whose doing it is that a container is down that was told to stop; `before`: it was, and had ended so.

    Nothing of ours was under way in an earlier life either where nothing was tried.
    """
    if before is None or hold.attempt.tries > 0:
        return News.ENDED_BY_US
    if hold.down is not None:
        # A container that runs again after it was held down does so mostly by its daemon, which may have ended it, too.
        return _unless_meant(before, meant=before.asked is True and not before.missed)
    return _unless_meant(before, meant=not before.by_itself and not ended_with_daemon(node, hold.key, before))


def _ended_another_life(hold: Hold, run: str, end: Exit) -> bool:
    """Return whether whoever has ended another life than the one that was stopped wants it down.

    Where it is not known how that life ended, the promise counts for more, unless it was surely a person's: nothing of
    cmgr's can have begun it, or will have.
    """
    if not (hold.run or hold.inherited):
        return False  # It may be the one that was stopped.
    if end.asked is not None:
        return not end.by_itself
    off = hold.disarmed or hold.restart_policy == NO_RESTART
    ours = not hold.is_down or hold.attempt.tries > 0 or not off
    return not ours and not is_same_life(run, hold.run) and hold.down is not None and end.at > hold.down
