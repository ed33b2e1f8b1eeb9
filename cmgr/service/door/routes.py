"""The questions: a route for each, how a request finds its own, and what an answer may be."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from cmgr.config.roles import Role
from cmgr.errors import (
    BadRequest,
    CmgrError,
    ConfigError,
    Denied,
    NotIn,
    NotThere,
    ServiceDown,
    ServiceHangs,
    StoreError,
    TooMany,
    Unsure,
)
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import ENGLISH, chained, language_of, messages, say, translated
from cmgr.words import json_of

JSON = "application/json"
LINES = "application/x-ndjson"
TEXT = "text/plain; charset=utf-8"
SVG = "image/svg+xml"


@dataclass(frozen=True, slots=True)
class Request:
    """A peer's question (`do` is the route's name), and who it is as the kernel says; over TCP nobody can tell (-1).

    `groups`: the numbers of the groups that it is in. `role`: what it may do. `on_page`: it came through the page, from
    whom the session says. `authorization`, `accept`: the headers of these names. `whose`: as in `Peer`.
    """

    do: str
    args: Mapping[str, object]
    uid: int = -1
    pid: int = 0
    groups: frozenset[int] = frozenset()
    role: Role = Role.OPERATE
    on_page: bool = False
    authorization: str = field(default="", repr=False)
    accept: str = ""
    whose: Hashable = None


def flag_of(request: Request, name: str) -> bool:
    value = request.args.get(name, False)
    if not isinstance(value, bool):
        raise BadRequest(say("error.must-be-flag", do=request.do, name=name))
    return value


def number_of(request: Request, name: str, usual: int = 0) -> int:
    value = request.args.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or value >= 1 << 63:
        raise BadRequest(unread(say("error.is-no-number", name=name)))
    return value


def unread(why: str) -> str:
    return say("error.unread", why=why)


@dataclass(frozen=True, slots=True)
class Page:
    """An answer that is no document, of the route's kind where it says no other."""

    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Unwell:
    """A document that says that something is wrong: it is answered with 503."""

    value: Mapping[str, object]


class Stream:
    """An answer without an end: everything that is `Server.tell` from now on."""


Answer = Mapping[str, object] | Page | Unwell | Stream

Answering = Callable[[Request], Answer]
"""Is called on several threads. A `CmgrError` of it is told to the peer."""


@dataclass(frozen=True, slots=True)
class Arg:
    """What a request may say: in the path, behind the `?`, or in the body. `kind` is JSON's word for its type."""

    name: str
    kind: str
    says: str
    required: bool = False


LANG = Arg("lang", "string", "The language of its sentences: zh; else en.")


def language_in(args: Mapping[str, object]) -> str:
    """Return the language in which whoever says this wants the answer."""
    return language_of(str(args.get(LANG.name, ENGLISH)))


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked.

    `tag` changes whenever the answer may: a peer that has the answer of this tag is told that in its stead, and
    `answer` is not called. Without `args` (None) whatever stands behind the `?` is passed over. `role`: who may order
    it; for a question (GET) it is enough to have the role look.
    """

    method: str
    path: str
    do: str
    answer: Answering
    says: str
    args: tuple[Arg, ...] | None = ()
    tag: Callable[[], str] | None = None
    kind: str = JSON
    role: Role = Role.OPERATE

    def refuse(self, role: Role) -> None:
        """Raise `Denied` where this role does not allow it."""
        if role < (needed := Role.LOOK if self.method == "GET" else self.role):
            told = say("error.takes-role", do=self.do, role=needed.name.lower(), has=role.name.lower())
            if not role:
                told = say("error.takes-role-has-none", do=self.do, role=needed.name.lower())
            raise Denied(told, hint=say("error.who-may"))

    def match(self, path: str) -> dict[str, str] | None:
        """Return what this path says for each `{name}` of the route's own, or None where it is another route."""
        if "{" not in self.path:  # Most have no name in them, and each request is held against all.
            return {} if path == self.path else None
        wanted, found = self.path.split("/"), path.split("/")
        if len(wanted) != len(found):
            return None
        args = {}
        for part, text in zip(wanted, found, strict=True):
            if part.startswith("{") and text:
                args[part[1:-1]] = unquote(text)
            elif part != text:
                return None
        return args


class Found(NamedTuple):
    route: Route
    args: Mapping[str, object]


class WrongMethod(CmgrError):
    """There is such a path, for these methods only."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(say("error.wrong-method", method=method[:20], allowed=allowed))
        self.headers = (("Allow", allowed),)


class NoPassword(NotIn):
    """No password was told, or a wrong one."""

    headers = (("WWW-Authenticate", 'Basic realm="cmgr"'),)


def find(routes: Sequence[Route], method: str, target: str, body: bytes, role: Role = Role.OPERATE) -> Found:
    """Return the route that is meant and what is said to it, which nobody looks at whose role does not allow it.

    Raises `NotThere`, `WrongMethod`, `Denied` or `BadRequest`.
    """
    path, _, query = _local(target).partition("?")
    matching = {route.method: (route, args) for route in routes if (args := route.match(path)) is not None}
    if not matching:
        # The last route describes the others, or is the only one.
        raise NotThere(say("error.no-path", path=path[:80]), hint=say("error.there-is", path=routes[-1].path))
    if "GET" in matching:
        matching["HEAD"] = matching["GET"]
    if method not in matching:
        raise WrongMethod(method, ", ".join(sorted(matching)))
    route, in_path = matching[method]
    route.refuse(role)
    if route.args is None:
        return Found(route, {})
    queried = _queried(route, [*in_path.items(), *parse_qsl(query, keep_blank_values=True)])
    return Found(route, _known(route, {**_said(body), **queried}))


def _local(target: str) -> str:
    """Return the target without the server's name, which a proxy's client may put in front of it."""
    return target if target.startswith("/") else f"/{target.partition('://')[2].partition('/')[2]}"


def _known(route: Route, args: Mapping[str, object]) -> Mapping[str, object]:
    names = [arg.name for arg in route.args or ()]
    for name in args:
        if name not in names:
            one_of = say("error.one-of", those=names) if names else say("error.takes-none")
            raise BadRequest(unread(say("error.no-argument", name=repr(name[:40]))), hint=one_of)
    for arg in route.args or ():
        if arg.required and arg.name not in args:
            raise BadRequest(unread(say("error.is-missing", name=arg.name)), hint=arg.says)
    return args


def _queried(route: Route, pairs: Sequence[tuple[str, str]]) -> dict[str, object]:
    kinds = {arg.name: arg.kind for arg in route.args or ()}
    return {name: _value(name, text, kinds.get(name, "string")) for name, text in pairs}


def _value(name: str, text: str, kind: str) -> object:
    if kind == "integer":
        # As long as any number that is meant, and nothing that int() would take ages for.
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise BadRequest(unread(say("error.is-no-number", name=name)))
        return int(text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise BadRequest(unread(say("error.is-no-flag", name=name)))
        return text == "true"
    return text


def _said(body: bytes) -> dict[str, object]:
    if not body.strip():
        return {}
    try:
        said = json_of(body.decode())
    except ValueError as error:
        raise BadRequest(unread(say("error.body-not-json")), hint=say("error.send-an-object")) from error
    if not isinstance(said, dict):
        raise BadRequest(unread(say("error.body-no-object")), hint=say("error.such-an-object"))
    return said


STATUS: tuple[tuple[type[CmgrError], int], ...] = (
    (BadRequest, 400),
    (NotThere, 404),
    (NotIn, 401),
    (Denied, 403),
    (WrongMethod, 405),
    (TooMany, 429),
    (StoreError, 503),
    (ServiceHangs, 504),
    (ServiceDown, 503),
    (Unsure, 504),
    (CmgrError, 409),
)
"""The status code of an error: that of the first class that it belongs to. 409: not now, as things are."""


def status_of(error: CmgrError) -> int:
    return next(code for kind, code in STATUS if isinstance(error, kind))


def refusal(error: CmgrError, language: str) -> dict[str, object]:
    """Return what a peer is told of an error."""
    mistakes = error.mistakes if isinstance(error, ConfigError) else ()
    said = {"error": chained(error), "hint": error.hint, "mistakes": [*mistakes]}
    told: dict[str, object] = {**translated(said, language)}
    return {**told, "messages": found} if (found := messages(**said)) else told
