"""The last words of a container: a command that its maker wants to be run in it before its stop signal."""

import time
from datetime import timedelta

from cmgr import redact
from cmgr.errors import CmgrError, sentence
from cmgr.model.values.messages.commands import StopContainer
from cmgr.ports import Executing, Runtime
from cmgr.words import one_line, span

LEAST = timedelta(seconds=2)
"""So much of the grace, if it has so much, is left for the stop signal, whatever the command did: as Kubernetes leaves
it after a preStop hook (kubernetes.io, Container Lifecycle Hooks)."""

_SHOWN = 200


def last_words(runtime: Runtime, action: StopContainer) -> tuple[str, timedelta]:
    """Run the command; return in words what became of it, and what is left of the grace. Blocks for the grace.

    Nothing that goes wrong with it keeps the container from its stop.
    """
    if not isinstance(runtime, Executing):
        return f"could not run {action.before[0]}: {runtime.name} does not do that", action.grace
    began = time.monotonic()
    try:
        code, output = runtime.run_inside(action.key, action.before, action.grace.total_seconds())
        took = timedelta(seconds=time.monotonic() - began)
        words = f"ran {action.before[0]}: code {code} after {span(took)}; it wrote: {_shown(output)}"
    except CmgrError as error:
        took = timedelta(seconds=time.monotonic() - began)
        words = f"could not run {action.before[0]} to its end: {sentence(error)}"
    return one_line(words), max(action.grace - took, min(LEAST, action.grace))


def _shown(output: str) -> str:
    """Return the end of what was written, in a line."""
    lines = redact.text(output.strip()).replace("\n", " | ")
    return (lines if len(lines) <= _SHOWN else f"…{lines[-_SHOWN:]}") or "nothing"
