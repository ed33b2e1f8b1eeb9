"""The table of message ids in docs/logs.md. `python -m tests.docs.made.logs` writes it anew."""

import re

from cmgr.model.values.messages.commands import NoteKind
from cmgr.service.log import journal
from tests.docs.made.generated import ROOT

PAGE = ROOT / "docs" / "logs.md"

ABOUT = {
    NoteKind.OPENED: "an episode begins",
    NoteKind.FAULT: "a fault occurred or cleared",
    NoteKind.PHASE: "a ring went from one phase to the next",
    NoteKind.ACTION: "something was ordered: a stop, a start, a reset",
    NoteKind.RESULT: "what became of that",
    NoteKind.HOLD: "a container is held, or not any more",
    NoteKind.ISOLATION: "a chip was isolated or released",
    NoteKind.WARNING: "somebody should look",
    NoteKind.CLOSED: "an episode is over",
    journal.SERVICE: "the service itself: ready, reloaded, ending",
    journal.TROUBLE: "what troubles the service: a runtime, the driver, the database",
    journal.BUG: "a bug in cmgr, with its traceback: please report it",
    journal.LIBRARY: "a warning of a library",
}


def table() -> str:
    rows = [f"| `{kind}` | `{journal.message_id(kind)}` | {about} |" for kind, about in ABOUT.items()]
    return "\n".join(["| `CMGR_KIND` | `MESSAGE_ID` | the line says |", "|---|---|---|", *rows])


def page() -> str:
    """Return the page with its table as it should be."""
    block = re.compile(r"(<!-- generated: message ids -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: f"{found[1]}{table()}\n{found[2]}", PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
