"""Whether containers that run still reach their chips: by their device rules, and by who is there.

Device rules say whether a container can open a chip, and not whether it has it open: what is open stays so. So one that
is denied a chip has lost it when no process of it is there any more.

Where rules cannot be read, only the processes say something, and only of one that says that it serves: one that had a
process on a chip each time that it was looked at, for long enough, and has none now. Whoever serves without one, or
comes back by itself, lets go of its chip as it likes: of such a one nothing is said any more in this life.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.index import running_in, users_on
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.health_facts import RulesRead
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.services.containers import HEALTHY, Container, Kept
from cmgr.sentences.sentence import say

LONG = timedelta(minutes=10)
"""For so long it has had a process on a chip that belongs to what it serves by."""


def with_reach(goes_on: Container | None, container: Container) -> Container:
    """Return the container, as it is told of now, with what is known of its reach; `goes_on`: it, in the same life."""
    old = goes_on.kept if goes_on is not None else Kept()
    kept = replace(container.kept, reached=old.reached, denied=old.denied)
    return replace(container, kept=replace(kept, steady=old.steady, lost=old.lost, missed=old.missed))


def rules_read(turn: Turn, fact: RulesRead) -> None:
    """Take in which chips a container can open. That its rules have never let it open a chip says nothing."""
    known = turn.node.containers.get(fact.key)
    if known is None or not known.running or known.run != fact.run:
        return
    kept = known.kept
    reached = kept.reached | (fact.chips & kept.chips)
    denied = reached - fact.chips
    lost = {chip: at for chip, at in kept.lost.items() if chip in denied or kept.steady.get(chip) is not None}
    now = replace(known, kept=replace(kept, reached=reached, denied=denied, lost=lost))
    for chip in denied:
        report = turn.node.reports.get(chip)
        if report is not None:
            now = _looked_at(turn, now, report)
    _put(turn, known, now)


def look_who_is_there(turn: Turn, reports: Iterable[ChipReport]) -> None:
    """Take in on which chips the driver sees processes of containers, and on which none any more."""
    for report in reports:
        for container in users_on(turn.node, (report.chip,)):
            if container.running and container.key.runtime != SYSTEMD:
                _put(turn, container, _looked_at(turn, container, report))


def _looked_at(turn: Turn, container: Container, report: ChipReport) -> Container:
    there = [process for process in report.processes if not process.gone]
    if any(container.key == each.key for process in there for each in running_in(turn.node, process)):
        return replace(container, kept=_there(container, report.chip, turn.at))
    # Nobody knows whose a process is that is in no container.
    unsure = not report.is_up or report.blind or not all(process.container for process in there)
    return container if unsure else replace(container, kept=_not_there(container, report.chip, turn.at))


def _there(container: Container, chip: ChipId, at: datetime) -> Kept:
    kept = container.kept
    lost = {other: since for other, since in kept.lost.items() if other != chip}
    steady = dict(kept.steady)
    if chip in kept.lost:
        steady[chip] = None
    elif container.says == HEALTHY:
        steady.setdefault(chip, at)
    return replace(kept, steady=steady, lost=lost, missed=kept.missed - {chip})


def _not_there(container: Container, chip: ChipId, at: datetime) -> Kept:
    kept = container.kept
    if chip in kept.lost:
        return kept
    if chip in kept.denied:
        return replace(kept, lost={**kept.lost, chip: at})
    if container.says != HEALTHY:
        return kept
    since = kept.steady.get(chip)
    if since is None or at - since < LONG:
        return replace(kept, steady={**kept.steady, chip: None})
    if chip not in kept.missed:
        return replace(kept, missed=kept.missed | {chip})  # A look may come between two processes of it.
    return replace(kept, lost={**kept.lost, chip: at})


def _put(turn: Turn, known: Container, now: Container) -> None:
    if now == known:
        return
    turn.put_container(now)
    name, denied = now.name, now.kept.denied - known.kept.denied
    left = now.kept.lost.keys() - known.kept.lost.keys() - now.kept.denied
    back = (known.kept.denied | known.kept.lost.keys()) - now.kept.denied - now.kept.lost.keys()
    if denied:
        turn.tell(now, say("chip.denied", name=name, chips=sorted(denied)), NoteKind.WARNING)
    if left:
        turn.tell(now, say("chip.no-process", name=name, chips=sorted(left)), NoteKind.WARNING)
    if back:
        turn.tell(now, say("chip.reached-again", name=name, chips=sorted(back)), NoteKind.RESULT)
