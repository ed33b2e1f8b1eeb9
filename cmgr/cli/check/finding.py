"""One thing that `cmgr check` has found, and how it is shown."""

from collections.abc import Sequence

from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.frozen import dataclass
from cmgr.view.text import render
from cmgr.words import counted

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its subject, its state (`OK`, `WARNING`, `ERROR`), and what to do about it."""

    what: str
    state: str
    text: str
    hint: str = ""


def of_error(what: str, error: CmgrError) -> Finding:
    mistakes = error.mistakes if isinstance(error, ConfigError) else ()
    listed = "" if len(mistakes) < 2 else "".join(f"\n{mistake}" for mistake in mistakes)
    return Finding(what, ERROR, chain(error) + listed, error.hint)


def lines(found: Sequence[Finding], width: int) -> list[str]:
    """Return a row for each finding, its hint below it, and the sum."""
    table = [(f.state, f.what, f.text + (f"\nhint: {f.hint}" if f.hint else "")) for f in found]
    errors = sum(f.state == ERROR for f in found)
    rest = len(found) - errors - sum(f.state == OK for f in found)
    total = f"{counted(errors, 'error')}, {counted(rest, 'warning')}"
    return [*render.table(("STATE", "WHAT", "FOUND"), table, width), "", total]
