"""One thing that `cmgr check` has found, and how it is shown."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from cmgr.errors import CmgrError, ConfigError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import ENGLISH, chained, in_language, messages, say
from cmgr.view.text import render

if TYPE_CHECKING:
    from cmgr.view import shapes

OK, WARNING, ERROR = "ok", "warning", "error"
_STATES = {OK: say("check.ok"), WARNING: say("check.warning"), ERROR: say("check.error")}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its subject, its state (`OK`, `WARNING`, `ERROR`), and what to do about it."""

    what: str
    state: str
    text: str
    hint: str = ""


def of_error(what: str, error: CmgrError) -> Finding:
    mistakes = error.mistakes if isinstance(error, ConfigError) else ()
    text = chained(error)
    told = text if len(mistakes) < 2 else say("word.lines", parts=[text, *mistakes])
    return Finding(what, ERROR, told, error.hint)


def row(found: Finding) -> "shapes.Finding":
    """Return the finding as programs read it."""
    told: shapes.Finding = asdict(found)  # type: ignore[assignment]  # Its fields have these names.
    if said := messages(what=found.what, text=found.text, hint=found.hint):
        told["messages"] = said
    return told


def lines(found: Sequence[Finding], width: int, language: str = ENGLISH) -> list[str]:
    """Return a row for each finding, its hint below it, and the sum."""

    def said(text: str) -> str:
        return in_language(text, language)

    head = [said(word) for word in (say("check.state"), say("check.what"), say("check.found"))]
    table = [
        (said(_STATES[f.state]), said(say("label.word", word=f.what)), "\n".join(map(said, _told(f)))) for f in found
    ]
    errors = sum(f.state == ERROR for f in found)
    rest = len(found) - errors - sum(f.state == OK for f in found)
    return [*render.table(head, table, width), "", said(say("check.sum", errors=errors, warnings=rest))]


def _told(found: Finding) -> tuple[str, ...]:
    return (found.text, say("word.hint", hint=found.hint)) if found.hint else (found.text,)
