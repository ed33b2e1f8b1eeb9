"""The output of commands: results on standard output, remarks about them on standard error.

Whatever a text is made of, no control character of it reaches a terminal.
"""

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from cmgr.errors import CmgrError
from cmgr.sentences.sentence import in_language, language_of, say
from cmgr.shortcut import coloured, columns, locale
from cmgr.view.text.render import WIDTH, Face, block, indented, paragraph
from cmgr.words import one_line

if TYPE_CHECKING:
    from cmgr.view import shapes


def lines(text: Iterable[str]) -> None:
    _write(block(text))


def spoken(text: str) -> str:
    """Return a sentence in the language of whoever reads."""
    return in_language(text, language_of(locale()))


def _write(text: str) -> None:
    with _writing():
        sys.stdout.write(text)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop()
        raise CmgrError(say("error.cannot-write", why=str(error.strerror))) from None


def drop() -> None:
    """Let what is still buffered go nowhere: it must not fail once more when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def told(sentences: Iterable[str]) -> None:
    """Write the sentences as whoever reads speaks, each on lines of its own that fit the terminal."""
    lines(line for sentence in sentences for line in paragraph(spoken(sentence), width(), "  "))


def done(answer: dict[str, object]) -> dict[str, object]:
    """Write what an order did, in the time zone of whoever reads, and return the service's answer to it."""
    # A service that was not restarted after an update does not say what.
    did = cast("shapes.Done", answer).get("did", [spoken(say("order.done"))])
    told(map(Face(datetime.now(UTC)).local, did))
    return answer


def items(sentences: Iterable[str]) -> None:
    """Write the sentences as a list."""
    told(f"- {spoken(sentence)}" for sentence in sentences)


def headline(text: str, *, well: bool) -> None:
    _write(f"{coloured(one_line(text), well=well)}\n")


def as_json(value: Mapping[str, object]) -> None:
    _write(indented(value))


def result(value: Mapping[str, object], text: Iterable[str], in_json: bool) -> None:
    """Write a result in the form that was asked for: as JSON, or as these lines."""
    if in_json:
        as_json(value)
    else:
        lines(text)


def flush() -> None:
    """Let what was written be read now, through a pipe too."""
    with _writing():
        sys.stdout.flush()


def confirm(refusal: str, question: str) -> None:
    """Ask that, and raise `CmgrError` on no, and with this refusal where nobody can be asked."""
    if not sys.stdin.isatty():
        raise CmgrError(refusal, hint=say("error.yes"))
    import typer

    if not typer.confirm(spoken(question), err=True):
        raise CmgrError(say("error.nothing-was-done"))


def ask(question: str, proposal: str, take: Callable[[str], object]) -> str:
    """Return the answer that is typed, or the proposal; asked again where `take` raises `ValueError`."""
    import typer

    def taken(text: str) -> str:
        try:
            take(text.strip())
        except ValueError as error:
            raise typer.BadParameter(spoken(say("setup.must-be", allowed=error.args[0]))) from None
        return text.strip()

    told([question])
    flush()
    return str(typer.prompt(">", default=proposal, show_default=bool(proposal), value_proc=taken, err=True))


def agreed(question: str, proposal: bool) -> bool:
    """Return whether whoever types says yes."""
    import typer

    flush()
    return bool(typer.confirm(spoken(question), default=proposal, err=True))


def remark(text: str) -> None:
    error(f"cmgr: {spoken(text)}")


def error(text: str) -> None:
    """Write to standard error; the text may have several lines."""
    flush()
    sys.stderr.write("".join(f"{one_line(line)}\n" for line in text.split("\n")))


def nobody_reads() -> bool:
    """Return whether the reader of a pipe has left: without a change nothing is written, and nothing would tell."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), select.POLLERR)
    except (OSError, ValueError):
        return False
    return any(found & select.POLLERR for _, found in poll.poll(0))


def width() -> int:
    """Return the columns of the terminal, at least 80, and 80 where there is none."""
    return max(columns(), WIDTH)


def height() -> int:
    """Return the lines of the terminal."""
    import shutil

    return shutil.get_terminal_size((WIDTH, 24)).lines
