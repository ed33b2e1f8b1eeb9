"""Asking one container whether it serves, or is busy: by HTTP, by opening a TCP port, or by a command in it.

Whether a file is there, a command is asked, too. Docker could say it without a process (HEAD /containers/ID/archive),
but does not see what lies on a tmpfs, /dev/shm included, and says that it is not there (20.10.24 and 28.5.2, tried).

Only the container itself is asked, at the addresses that its runtime has told of it. No proxy is used, no redirect
followed, no certificate believed or disbelieved (nothing secret is sent, and most are the container's own). Time and
what is read are bounded, whatever it answers.
"""

import re
import socket
import ssl
import time
from functools import cache
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import NamedTuple

from cmgr import redact
from cmgr.errors import CmgrError, RuntimeAils, sentence
from cmgr.model.values.handling.questions import Question, Way
from cmgr.model.values.services.containers import Container
from cmgr.ports import Executing, Runtime
from cmgr.words import one_line

_MOST = 65536
"""So many bytes of an answer are read."""

_SHOWN = 120

_SAYS = {0: "is there", 1: "is not there"}
"""The codes with which `test -e` ends (POSIX); any other says that it could not tell."""

_NOT_RUN = 126
"""From this code on a command did not run, or was killed (POSIX, of the shell; runtimes do as it does)."""


class Reply(NamedTuple):
    """Whether the container gives a good answer, and its answer in words, of one line.

    `mute`: it gives none at all. `ended`: False of a command that may go on in the container: no runtime ends one that
    takes too long.
    """

    good: bool
    words: str
    mute: bool = False
    ended: bool = True


def ask(container: Container, question: Question, runtime: Runtime | None, seconds: float) -> Reply:
    """Ask the container. Blocks for so many seconds, and raises nothing. Any thread."""
    if question.way in (Way.COMMAND, Way.FILE):
        return _run(container, question, runtime, seconds)
    place = container.network.place(question.port)
    if place is None:
        words = f"cannot be asked: its runtime names no address of its port {question.port}; ask by exec"
        return Reply(False, words, mute=True)
    until = time.monotonic() + seconds
    try:
        with socket.create_connection(place, timeout=seconds) as plain:
            if question.way is Way.TCP:
                return Reply(True, f"port {question.port} is open")
            with _tls().wrap_socket(plain) if question.way is Way.HTTPS else plain as line:
                line.sendall(_request(question))
                return _judged(question, _read(line, question, until))
    except TimeoutError:
        return Reply(False, f"no answer in {seconds:g} s", mute=True)
    except OSError as error:
        refused = isinstance(error, ConnectionRefusedError)  # By its machine, which says that nobody listens there.
        return Reply(False, _shown(error.strerror or str(error)).lower(), mute=not refused)


def _run(container: Container, question: Question, runtime: Runtime | None, seconds: float) -> Reply:
    if runtime is None or not isinstance(runtime, Executing):
        return Reply(False, f"cannot be asked: {container.key.runtime} runs no command in what it runs", mute=True)
    command = question.command or ("test", "-e", question.path)
    try:
        code, output = runtime.run_inside(container.key, command, seconds)
    except CmgrError as error:
        return Reply(False, _shown(sentence(error)), mute=True, ended=not isinstance(error, RuntimeAils))
    if question.way is Way.FILE and code in _SAYS:
        return Reply(code == 0, f"{one_line(question.path)} {_SAYS[code]}")
    wrote = f": {_shown(output)}" if output.strip() and code else ""
    words = f"{one_line(command[0])} ended with code {code}{wrote}"
    return Reply(code == 0, words, mute=code >= _NOT_RUN or question.way is Way.FILE)


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _request(question: Question) -> bytes:
    lines = (
        f"GET {question.path} HTTP/1.1",
        f"Host: localhost:{question.port}",
        *("User-Agent: cmgr", "Accept: */*", "Connection: close", "", ""),
    )
    return "\r\n".join(lines).encode("ascii")


def _read(line: socket.socket, question: Question, until: float) -> bytes:
    """Return what is answered, as far as it is needed. Raises `OSError`, and `TimeoutError` when the time is over."""
    told = b""
    while len(told) < _MOST and not _is_enough(told, question):
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        line.settimeout(left)
        more = line.recv(_MOST)
        if not more:
            break
        told += more
    return told


def _is_enough(told: bytes, question: Question) -> bool:
    head, end, body = told.partition(b"\r\n\r\n")
    if not question.expects:
        return b"\r\n" in told
    if not end:
        return False
    length = re.search(rb"\r\ncontent-length: *([0-9]{1,9})", head.lower())
    return question.expects.encode() in body or (length is not None and len(body) >= int(length[1]))


class _Told:
    """The answer that was read, as `http.client` reads from a socket."""

    def __init__(self, told: bytes) -> None:
        self._told = told

    def makefile(self, *_args: object, **_options: object) -> BytesIO:
        return BytesIO(self._told)


def _judged(question: Question, told: bytes) -> Reply:
    first = re.match(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: |\r)", told)
    if first is None:
        words = "what answers does not speak HTTP" if told else "it closes connections without an answer"
        return Reply(False, words, mute=not told)
    status = int(first[1])
    words = f"HTTP {status}" + (", and no redirect is followed" if 300 <= status < 400 else "")
    if not question.least <= status <= question.most:
        return Reply(False, words)
    if question.expects and question.expects not in _body(told):
        return Reply(False, f"{words} without the text {_shown(question.expects)}")
    return Reply(True, words)


def _body(told: bytes) -> str:
    response = HTTPResponse(_Told(told))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except HTTPException as error:
        body = error.args[0] if error.args and isinstance(error.args[0], bytes) else b""
    return body.decode(errors="replace")


def _shown(text: str) -> str:
    line = one_line(redact.text(text.strip()).replace("\n", " | "))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
