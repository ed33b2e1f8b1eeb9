"""The last words of a container: a command that its maker wants to be run in it before its stop signal."""

import time
from datetime import timedelta

from cmgr import redact
from cmgr.errors import CmgrError, sentence
from cmgr.model.values.messages.commands import StopContainer
from cmgr.ports import Executing, Runtime
from cmgr.sentences.sentence import say
from cmgr.words import one_line

LEAST = timedelta(seconds=2)
"""So much of the grace, if it has so much, is left for the stop signal, whatever the command did: as Kubernetes leaves
it after a preStop hook (kubernetes.io, Container Lifecycle Hooks)."""

_SHOWN = 200


def last_words(runtime: Runtime, action: StopContainer) -> tuple[str, timedelta]:
    """Run the command; return in words what became of it, and what is left of the grace. Blocks for the grace.

    Nothing that goes wrong with it keeps the container from its stop.
    """
    if not isinstance(runtime, Executing):
        return say("hook.not-run-inside", program=action.before[0], runtime=runtime.name), action.grace
    began = time.monotonic()
    try:
        code, output = runtime.run_inside(action.key, action.before, action.grace.total_seconds())
        took = timedelta(seconds=time.monotonic() - began)
        words = _ran(action.before[0], code, took, output)
    except CmgrError as error:
        took = timedelta(seconds=time.monotonic() - began)
        words = say("hook.not-to-its-end", program=action.before[0], error=sentence(error))
    return one_line(words), max(action.grace - took, min(LEAST, action.grace))


def _ran(program: str, code: int, took: timedelta, output: str) -> str:
    """Return what became of it, with the end of what was written, in a line."""
    lines = redact.text(output.strip()).replace("\n", " | ")
    if not lines:
        return say("hook.ran-silent", program=program, code=code, length=took)
    shown = lines if len(lines) <= _SHOWN else f"…{lines[-_SHOWN:]}"
    return say("hook.ran", program=program, code=code, length=took, output=shown)
