"""The worst that can be asked of each route, and answers to it by a whole door on the books of a large machine."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from cmgr.config.reporters import Reporter, Reports
from cmgr.errors import CmgrError
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Fault, FaultCode, Level
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import CHINESE, translated
from cmgr.service.door.http.talk import BODY_LIMIT, HEAD_LIMIT, as_json
from cmgr.service.door.routes import Page, Request, Route, Stream, Unwell, find, language_in
from cmgr.store import open_store
from tests.cli.scenes import SERVICE
from tests.support.door import Books, table
from tests.support.picture import T0, key
from tests.view.crowd import anew, crowd

CONTAINERS = 512
"""With 64 chips."""

REPORTER = Reporter("any", 985, ("*",), (), "SeparateNPU")

NUMBERS = (10**400, -1, 1e308, 1000, 1)
TEXTS = ("0-9999,", "é", "[")


class Ask(NamedTuple):
    """One request: what is asked, by which user, and the call that answers it."""

    do: str
    target: str
    body: bytes
    uid: int
    answer: Callable[[], None]


def worst_requests(database: Path) -> Iterator[list[Ask]]:
    """Yield those of each route. `database`: where `long_history` has written."""
    node = crowd(CONTAINERS)
    routes = table(SERVICE, Books(lambda: node, database, lambda: Reports(sources=(REPORTER,))))
    for route in routes:
        node = anew(node)
        users = (0, REPORTER.uid, 7) if route.do == "report" else (0,)
        yield [
            Ask(route.do, target, body, uid, partial(_answered, routes, route.method, target, body, uid))
            for uid in users
            for target, body in worst_of(route)
        ]


def long_history(path: Path) -> None:
    """Write a history that is longer than anything that is told of it at once, all of it of one episode."""
    store = open_store(path)
    ring, text = RingId(0), "a container is stopped and started again, and here stands why"
    notes = [Note(T0, NoteKind.WARNING, text, ring, 1, ChipId(n % 64), key(f"well-{n % 64}")) for n in range(5000)]
    began = Note(T0, NoteKind.OPENED, "a fault", ring, 1)
    over = {}
    for number in range(5000):
        code, at = FaultCode(f"{number:08X}"), T0 + timedelta(seconds=number)
        fault = Fault(ChipId(0), code, "1.0", Level.NotHandleFault, since=at, risen=at, changed=at, cleared=at)
        over[fault.key] = fault
    store.save(Node(episodes=1, past_faults={ChipId(0): over}), [], [began, *notes])
    store.close()


def worst_of(route: Route) -> Iterator[tuple[str, bytes]]:
    """Yield what is worst in a request: as much as it can hold, of each that it can say."""
    names = [arg.name for arg in route.args or ()]
    plain, before = route.path.replace("{", "").replace("}", ""), route.path.partition("{")[0]
    well = {arg.name: "c" for arg in route.args or () if arg.required}
    well |= {name: said for name, said in (("id", "a"), ("code", "220001001")) if name in names}
    if "lang" in names:
        # The first answer is made of books of which nothing is known by heart.
        yield f"{plain if plain == route.path else before + '1'}?lang={CHINESE}", b""
    for text in TEXTS:
        much = text * (BODY_LIMIT // len(text.encode()) // 2)
        for name in names:
            yield plain, json.dumps({**well, name: much.rstrip(",")}).encode()[:BODY_LIMIT]
        filled = quote(text * ((HEAD_LIMIT - 200) // len(quote(text))))
        yield before + filled, b""
        yield f"{plain}?{'&'.join(f'{name}={filled}'[: HEAD_LIMIT // len(names)] for name in names)}", b""
        yield plain, much.encode()
    for number in NUMBERS:
        yield plain, json.dumps(dict.fromkeys(names, number)).encode()
        yield f"{before}{number}?{urlencode(dict.fromkeys(names, number))}", b""
    yield f"{plain}?all=true", b""
    yield plain, json.dumps(dict.fromkeys(names, True)).encode()
    yield plain, json.dumps({str(n): n for n in range(5000)}).encode()
    yield plain, b""


def _answered(routes: tuple[Route, ...], method: str, target: str, body: bytes, uid: int) -> None:
    """Answer as the door does, down to the bytes; a refusal is an answer."""
    with suppress(CmgrError):
        found = find(routes, method, target, body)
        match found.route.answer(Request(found.route.do, found.args, uid)):
            case Stream() | Page():
                pass
            case Unwell() as told:
                as_json(503, translated(told.value, language_in(found.args)))
            case told:
                as_json(200, translated(told, language_in(found.args)))
