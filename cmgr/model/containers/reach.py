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
from cmgr.model.values.services.containers import HEALTHY, Container
from cmgr.sentences.sentence import say

LONG = timedelta(minutes=10)
"""For so long it has had a process on a chip that belongs to what it serves by."""


def with_reach(goes_on: Container | None, container: Container) -> Container:
    """Return the container, as it is told of now, with what is known of its reach; `goes_on`: it, in the same life."""
    known = goes_on if goes_on is not None else Container(container.key, container.name)
    return replace(
        container,
        reached=known.reached,
        denied=known.denied,
        steady=known.steady,
        lost=known.lost,
        missed=known.missed,
    )


def rules_read(turn: Turn, fact: RulesRead) -> None:
    """Take in which chips a container can open. That its rules have never let it open a chip says nothing."""
    known = turn.node.containers.get(fact.key)
    if known is None or not known.running or known.run != fact.run:
        return
    reached = known.reached | (fact.chips & known.chips)
    denied = reached - fact.chips
    lost = {chip: at for chip, at in known.lost.items() if chip in denied or known.steady.get(chip) is not None}
    now = replace(known, reached=reached, denied=denied, lost=lost)
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
        return _there(container, report.chip, turn.at)
    # Nobody knows whose a process is that is in no container.
    unsure = not report.is_up or report.blind or not all(process.container for process in there)
    return container if unsure else _not_there(container, report.chip, turn.at)


def _there(container: Container, chip: ChipId, at: datetime) -> Container:
    lost = {other: since for other, since in container.lost.items() if other != chip}
    steady = dict(container.steady)
    if chip in container.lost:
        steady[chip] = None
    elif container.says == HEALTHY:
        steady.setdefault(chip, at)
    return replace(container, steady=steady, lost=lost, missed=container.missed - {chip})


def _not_there(container: Container, chip: ChipId, at: datetime) -> Container:
    if chip in container.lost:
        return container
    if chip in container.denied:
        return replace(container, lost={**container.lost, chip: at})
    if container.says != HEALTHY:
        return container
    since = container.steady.get(chip)
    if since is None or at - since < LONG:
        return replace(container, steady={**container.steady, chip: None})
    if chip not in container.missed:
        return replace(container, missed=container.missed | {chip})  # A look may come between two processes of it.
    return replace(container, lost={**container.lost, chip: at})


def _put(turn: Turn, known: Container, now: Container) -> None:
    if now == known:
        return
    turn.put_container(now)
    name, denied = now.name, now.denied - known.denied
    left = now.lost.keys() - known.lost.keys() - now.denied
    back = (known.denied | known.lost.keys()) - now.denied - now.lost.keys()
    if denied:
        turn.tell(now, say("chip.denied", name=name, chips=sorted(denied)), NoteKind.WARNING)
    if left:
        turn.tell(now, say("chip.no-process", name=name, chips=sorted(left)), NoteKind.WARNING)
    if back:
        turn.tell(now, say("chip.reached-again", name=name, chips=sorted(back)), NoteKind.RESULT)
