"""The deciding thread: take events, reduce, save, send. It alone owns the node and the database."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from threading import Event as Flag

from cmgr.errors import CmgrError, ResetRefused, RuntimeDown, StoreError, bare, chain
from cmgr.model.invariants import unsafe
from cmgr.model.reduce import decided_together, next_deadline, reduce
from cmgr.model.values.messages.commands import (
    Action,
    Command,
    Note,
    PrepareReset,
    PretendFault,
    ResetRing,
    ScheduleReboot,
    SetRestartPolicy,
    StopContainer,
    WriteCdi,
)
from cmgr.model.values.messages.facts import Event, Resync, Tick
from cmgr.model.values.messages.reset_facts import ResetPrepared
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.ports import Clock, Store
from cmgr.sentences.sentence import say
from cmgr.service.inbox import Inbox
from cmgr.service.log.setup import Log
from cmgr.service.part import Step
from cmgr.service.work.workers import failed

PRUNE_EVERY = timedelta(hours=1)

_OUT = timedelta(milliseconds=10)
"""So long the threads that send stops have the interpreter for themselves: its log takes longer than they do."""

_NEVER = datetime.max.replace(tzinfo=UTC)

_SAVES = 0.25
"""So many seconds an answer waits for a save that is under way: one takes milliseconds, and a disk may hang."""

HANGS = timedelta(seconds=10)
"""A thread that does not come back for so long hangs: it comes back every 5 s at the least."""


class Loop:
    """Runs until the inbox is stopped. `node` may be read from any thread: it is frozen, and replaced as a whole.

    Each of `observers` is called on the deciding thread when a step's commands are sent, and must be quick.
    """

    def __init__(self, node: Node, inbox: Inbox, store: Store, send: Callable[[Action], None], log: Log) -> None:
        self.node = node
        self.trouble = ""
        self.bugs = 0
        self.observers: list[Callable[[Step], None]] = []
        self._at: datetime | None = None
        self._back: datetime | None = None
        self._quiet: tuple[Node, datetime] | None = None
        self._untold: list[Step] = []
        self._booked = Flag()
        self._booked.set()
        self._inbox = inbox
        self._store = store
        self._send = send
        self._log = log

    def run(
        self, clock: Clock, tick: Callable[[], timedelta], after_each: Callable[[], None], prune: Callable[[], None]
    ) -> None:
        """Serve. `after_each` is called after every batch, and when `tick` has passed without one; `prune` once in a
        while when nothing else is to do.
        """
        pruned = clock.now()
        while not self._inbox.is_stopped():
            self._back = now = clock.now()
            due = next_deadline(self.node, self._at or now)
            longest = now + tick()
            self._quiet = self.node, due or _NEVER
            # All that is to be told yet waits until the stops of its step are out, or something else has come.
            events = self._inbox.take(min(due or longest, now + _OUT if self._untold else longest))
            if self._untold:
                self._tell()
                after_each()
            if self._inbox.is_stopped():
                self._back = None
                self.step(events, send=False)
                return
            # A save that failed is tried again.
            if not events and (self.trouble or (due is not None and due <= clock.now())):
                events = [Event(clock.now(), Tick())]
            if not (events and self._step(events)):
                self._tell()
                after_each()
            idle = not len(self._inbox) and any(isinstance(e.fact, Resync) for e in events)
            if idle and clock.now() - pruned > PRUNE_EVERY:
                pruned = clock.now()
                prune()

    def booked(self) -> Node:
        """Return the node, which is not older than the books unless a save hangs. Any thread but the deciding one.

        Between its commit and `node` the deciding thread can lose the processor, and whoever has read the books since
        would be told less. It waits for nobody itself: a lock could be held by a reader that has lost the processor.
        """
        self._booked.wait(_SAVES)
        return self.node

    def troubles(self, now: datetime) -> Iterator[Trouble]:
        """Yield that this thread has not come back for too long, if it serves, and that it met bugs. Any thread."""
        since = self._back
        if since is not None and now - since > HANGS:
            text, why = say("trouble.hangs-itself"), say("trouble.decides-nothing")
            yield Trouble(TroubleKind.SERVICE, "", text, why, say("error.to-end-it"), since)
        if self.bugs:
            text, why = say("trouble.bugs", count=self.bugs), say("trouble.please-report")
            yield Trouble(TroubleKind.BUG, "", text, why, "journalctl -u cmgr -p err")

    def drain(self) -> None:
        """Book the answers that came in last. Nothing is sent any more: the next life does that."""
        self.step(self._inbox.take(None), send=False)

    def step(self, events: Sequence[Event], *, send: bool = True) -> None:
        """Decide on these events, write that down, act on it, and then tell of it."""
        self._step(events, send=send)
        self._tell()

    def _step(self, events: Sequence[Event], *, send: bool = True) -> bool:
        """Do all but tell of it. Return whether stops go out."""
        if not send:
            # The next life has that reset prepared anew. A reset that counts, and never goes out, would be lost.
            events = [event for event in events if not isinstance(event.fact, ResetPrepared)]
        node, actions, notes = self.node, list[Action](), list[Note]()
        for together in decided_together(events):
            self._at = together[-1].at
            node, commands = self._decide(node, together)
            notes += [c for c in commands if isinstance(c, Note)]
            actions += [c for c in commands if not isinstance(c, Note)]
        self._booked.clear()
        try:
            written = self._save(node, actions, notes)
            before, self.node = self.node, node
        finally:
            self._booked.set()
        if send:
            # Nothing that goes out with stops is in such a hurry, and each makes the next one later.
            for action in sorted(actions, key=lambda a: not isinstance(a, StopContainer)):
                self._send_one(action, written)
        self._untold.append(Step(events, before, node, actions, notes))
        return send and any(isinstance(action, StopContainer) for action in actions)

    def _tell(self) -> None:
        """Tell the log and the observers of what was done."""
        for step in self._untold:
            self._log.tell(step.notes)
            self._observe(step)
        self._untold.clear()

    def _decide(self, node: Node, events: Sequence[Event]) -> tuple[Node, Sequence[Command]]:
        try:
            until = self._quiet[1] if self._quiet is not None and self._quiet[0] is node else None
            return reduce(node, *events, until=until)
        except Exception as error:
            if len(events) == 1:
                # A bug in a decision: that event is lost, the resync will find what it meant.
                self.bugs += 1
                self._log.bug(f"cannot decide on {type(events[0].fact).__name__}: please report it", error)
                return node, ()
        # The others of them can be decided on.
        commands: list[Command] = []
        for event in events:
            node, more = self._decide(node, [event])
            commands += more
        return node, commands

    def _observe(self, step: Step) -> None:
        for observer in [*self.observers]:
            try:
                observer(step)
            except Exception as error:
                # Nobody's recovery depends on what is counted or followed.
                self.bugs += 1
                self.observers.remove(observer)
                self._log.bug("cannot tell any more what is done: please report it", error)

    def _save(self, node: Node, actions: Sequence[Action], notes: Sequence[Note]) -> bool:
        try:
            self._store.save(node, actions, notes)
        except StoreError as error:
            if not self.trouble:
                self._log.warn(
                    f"{chain(error)}: cmgr goes on from memory, and stops and resets nothing it could not note"
                )
            self.trouble = chain(error)
            return False
        if self.trouble:
            self._log.warn("the database is written again")
        self.trouble = ""
        return True

    def _send_one(self, action: Action, written: bool) -> None:
        why = unsafe(self.node, action)
        if why:
            # A later event of the same batch has overtaken it; or a decision was wrong, and this is the last bar.
            self._log.warn(f"not done, because {why}: {action}")
            # Nothing was reset and no order has left: that costs no budget and counts as no try.
            kind = ResetRefused if isinstance(action, PrepareReset | ResetRing) else RuntimeDown
            self._inbox.put(failed(action, kind(why)))
        elif not written and (refusal := unwritten(action, bare(self.trouble, "save"))) is not None:
            self._inbox.put(failed(action, refusal))
        else:
            self._send(action)


def unwritten(action: Action, trouble: str) -> CmgrError | None:
    """Return why the action must not go out while the decision is not written; None where memory is enough for it.

    No order has left then, so that it counts as no try, and costs no budget.
    """
    if isinstance(action, PrepareReset | ResetRing):
        # If cmgr died now, its next life would not know that chips are away, and not count the reset.
        return ResetRefused(f"nothing is reset that could not be noted: {trouble}")
    if isinstance(action, PretendFault):
        return CmgrError(f"no drill is begun that could not be noted: {trouble}")
    if isinstance(action, ScheduleReboot) and action.delay is not None:
        # If cmgr died now, its next life would order a second one within a day.
        return RuntimeDown(f"nothing is rebooted that could not be noted: {trouble}")
    if isinstance(action, WriteCdi):
        # If cmgr died now, a container could run on chips that its next life does not know of.
        return CmgrError(f"what is not noted is not written: {trouble}")
    if isinstance(action, StopContainer) or (
        isinstance(action, SetRestartPolicy) and action.restart_policy == NO_RESTART
    ):
        # If cmgr died now, nobody would undo it.
        return RuntimeDown(f"its hold could not be written: {trouble}")
    return None
