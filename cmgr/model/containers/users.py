"""Containers that use chips whatever their definitions say, and those that use none.

The first are those whose processes the driver sees there, the others those that a person has called so.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from cmgr.frozen import replace
from cmgr.model.holds.restarters import look_who_uses
from cmgr.model.index import running_in
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.handling.policy import OF_IMAGE, Policy
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say


def as_ignored(policy: Policy, container: Container) -> Container:
    """Return the container as one that uses no chip and is left alone, if its label or the settings say so."""
    if not (container.ignored or any(fits(pattern, container) for pattern in policy.ignore)):
        return container
    none = frozenset[str]()
    return replace(container, ignored=True, enabled=False, claims=none, made_for=none, warnings=())


def fits(pattern: str, container: Container) -> bool:
    """Return whether the pattern is one of its name, or after `OF_IMAGE` of its image."""
    if pattern.startswith(OF_IMAGE):
        return container.image != "" and fnmatchcase(container.image, pattern.removeprefix(OF_IMAGE))
    return fnmatchcase(container.name, pattern)


def users_seen(turn: Turn, reports: Iterable[ChipReport]) -> None:
    """Take in whose processes the driver sees on chips: those containers use them, whatever their definitions say."""
    for report in reports:
        inside = {c.key: c for process in report.processes for c in running_in(turn.node, process)}
        for container in inside.values():
            # Of one that is ignored a process keeps its chip from a reset while it is there, and no longer.
            if container.running and not container.ignored and report.chip not in container.kept.chips:
                _uses(turn, container, report.chip)


def _uses(turn: Turn, container: Container, chip: ChipId) -> None:
    kept = container.kept
    kept = replace(kept, chips=kept.chips | {chip}, used=kept.used | {chip}, wanted=container.enabled)
    turn.put_container(replace(container, kept=kept))
    look_who_uses(turn, turn.node.containers[container.key])
    text = say("container.process-seen", name=container.name, chip=chip)
    turn.note(NoteKind.RESULT, text, turn.ring_of(chip), chip=chip, container=container.key)
