"""--watch: redrawn on a terminal; in a pipe a line for each change of the status, or a table when it changes."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cmgr.cli.text import out
from cmgr.errors import CmgrError, chain
from cmgr.sentences.sentence import because
from cmgr.view.text import reading, texts

if TYPE_CHECKING:
    from cmgr.view import shapes

PERIOD = 1.0
_CLEAR = "\x1b[H\x1b[J"
_AROUND = 4  # The headline, the two lines at the end, and the cursor's.

Read = Callable[[], "shapes.Status"]


def watch(read: Read, page: Callable[[], texts.Page], *, as_json: bool) -> int:
    """Show it until Ctrl-C, or until nobody reads any more. The first time the caller gets what `read` raises."""
    told = read()
    screen = sys.stdout.isatty() and not as_json
    before: Mapping[str, str] | None = None
    try:
        while True:
            if screen:
                _draw(told, page())
            else:
                before = _append(told, page(), before, as_json=as_json)
            if out.nobody_reads():
                return 0
            told = _next(read, told)
    except KeyboardInterrupt:
        # The usual way to end it: no failure.
        out.lines([""] if screen else [])
        return 0


def table(
    read: Callable[[], tuple[object, list[str]]], page: Callable[[], texts.Page], command: str, *, as_json: bool
) -> int:
    """Show a table until Ctrl-C, or until nobody reads any more. `read` returns the document and its lines.

    An error of it ends the watch: nothing stands on the screen of which nobody knows whether it is so.
    """
    screen, before = sys.stdout.isatty() and not as_json, list[str]()
    try:
        while True:
            told, shown = read()
            lines = [json.dumps(told, ensure_ascii=False)] if as_json else shown
            if screen:
                sys.stdout.write(_CLEAR)
                sheet = page()
                out.lines([*texts.cut(lines, sheet, out.height() - 3, command), "", sheet.face.says("label.ctrl-c")])
            elif lines != before:
                out.lines(lines)
            before = lines
            out.flush()
            if out.nobody_reads():
                return 0
            threading.Event().wait(PERIOD)
    except KeyboardInterrupt:
        out.lines([""] if screen else [])
        return 0


def _next(read: Read, before: "shapes.Status") -> "shapes.Status":
    threading.Event().wait(PERIOD)
    try:
        return read()
    except CmgrError as error:
        return _lost(before, chain(error))


def _lost(before: "shapes.Status", why: str) -> "shapes.Status":
    """Return the last picture of a service that does not answer any more: of nothing in it is known that it is over."""
    from cmgr.model.values.troubles import Trouble, TroubleKind
    from cmgr.sentences.sentence import say
    from cmgr.view.troubles import in_few_words, row

    gone = row(Trouble(TroubleKind.SERVICE, "", say("label.not-reached"), why))
    others = [trouble for trouble in before["troubles"] if trouble["kind"] != gone["kind"]]
    service: shapes.Service = {**before["service"], "state": "not to be reached", "troubles": [why]}
    found = [gone, *others]
    return {**before, "service": service, "headline": in_few_words(found), "troubles": found}


def _draw(told: "shapes.Status", page: texts.Page) -> None:
    sys.stdout.write(_CLEAR)
    out.headline(texts.headline(told, page.width, page.face.language), well=not reading.troubles(told))
    room, face = out.height() - _AROUND, page.face
    out.lines([*texts.screen(told, page, room), "", face.says("label.as-it-was", at=face.clock(told["at"]))])
    out.flush()


def _append(
    told: "shapes.Status", page: texts.Page, before: Mapping[str, str] | None, *, as_json: bool
) -> Mapping[str, str]:
    now, face = reading.subjects(told), page.face
    at = face.clock(face.now.isoformat())
    if as_json:
        if now != before:
            out.lines([json.dumps(told, ensure_ascii=False)])
    else:
        shown = [(subject, text) for subject, text in now.items() if text != (before or {}).get(subject)]
        shown += [(subject, reading.WELL) for subject in before or {} if subject not in now]
        out.lines(f"{at} {face.said(because(subject, text))}" for subject, text in shown)
    out.flush()
    return now
