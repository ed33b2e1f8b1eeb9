"""`cmgr status --watch`: the picture redrawn on a terminal; in a pipe a line for each change, and nothing else."""

import json
import select
import sys
import threading
from collections.abc import Callable, Mapping

from cmgr.cli import reading
from cmgr.cli.text import out, texts
from cmgr.errors import CmgrError, chain
from cmgr.words import Json

PERIOD = 1.0
_CLEAR = "\x1b[H\x1b[J"
_AROUND = 4  # The headline, the two lines at the end, and the cursor's.

Read = Callable[[], Json]


def watch(read: Read, page: Callable[[], texts.Page], *, as_json: bool) -> int:
    """Show it until Ctrl-C, or until nobody reads any more. What `read` raises the first time goes to the caller."""
    told = read()
    screen = sys.stdout.isatty() and not as_json
    before: Mapping[str, str] | None = None
    try:
        while True:
            if screen:
                _draw(told, page())
            else:
                before = _append(told, page(), before, as_json=as_json)
            if _nobody_reads():
                return 0
            told = _next(read)
    except KeyboardInterrupt:
        # The usual way to end it: no failure.
        out.lines([""] if screen else [])
        return 0


def _next(read: Read) -> Json:
    threading.Event().wait(PERIOD)
    try:
        return read()
    except CmgrError as error:
        return {"service": {"state": "not to be reached", "troubles": [chain(error)]}}


def _draw(told: Json, page: texts.Page) -> None:
    sys.stdout.write(_CLEAR)
    out.headline(texts.headline(told, page.width), well=not reading.troubles(told))
    room = out.height() - _AROUND
    out.lines([*texts.screen(told, page, room), "", f"{page.face.clock(page.face.now.isoformat())}; Ctrl-C ends it"])
    out.flush()


def _append(told: Json, page: texts.Page, before: Mapping[str, str] | None, *, as_json: bool) -> Mapping[str, str]:
    now = reading.subjects(told)
    at = page.face.clock(page.face.now.isoformat())
    if as_json:
        if now != before:
            out.lines([json.dumps(told, ensure_ascii=False)])
    else:
        shown = {s: t for s, t in now.items() if t != (before or {}).get(s)}
        gone = [s for s in before or {} if s not in now]
        out.lines([*(f"{at} {s}: {t}" for s, t in shown.items()), *(f"{at} {s}: {reading.WELL}" for s in gone)])
    out.flush()
    return now


def _nobody_reads() -> bool:
    """Return whether the reader of a pipe has left: without a change nothing is written, and nothing would tell."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), select.POLLERR)
    except (OSError, ValueError):
        return False
    return any(found & select.POLLERR for _, found in poll.poll(0))
