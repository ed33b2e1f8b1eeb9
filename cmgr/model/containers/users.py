"""Containers whose processes the driver sees on chips: they use them, whatever their definitions say."""

from collections.abc import Iterable

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import Container


def users_seen(turn: Turn, reports: Iterable[ChipReport]) -> None:
    """Take in whose processes the driver sees on chips: those containers use them, whatever their definitions say."""
    for report in reports:
        inside = {process.container for process in report.processes} - {""}
        for container in [c for c in turn.node.containers.values() if c.key.id in inside] if inside else ():
            if container.running and report.chip not in container.chips:
                _uses(turn, container, report.chip)


def _uses(turn: Turn, container: Container, chip: ChipId) -> None:
    now = replace(container, chips=container.chips | {chip}, used=container.used | {chip}, wanted=container.enabled)
    turn.put_container(now)
    text = f"{container.name} uses chip {chip}: the driver sees a process of it there"
    turn.note(NoteKind.RESULT, text, turn.ring_of(chip), chip=chip, container=container.key)
