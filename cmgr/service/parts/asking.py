"""Asking one container whether it serves, or is busy: by HTTP, by opening a TCP port, or by a command in it.

Whether a file is there, a command is asked, too. Docker could say it without a process (HEAD /containers/ID/archive),
but does not see what lies on a tmpfs, /dev/shm included, and says that it is not there (20.10.24 and 28.5.2, tried).

Only the container itself is asked, at the addresses that its runtime has told of it. No proxy is used, no redirect
followed, no certificate believed or disbelieved (nothing secret is sent, and most are the container's own). Time and
what is read are bounded, whatever it answers.
"""

import ssl
from contextlib import closing, suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import NamedTuple

from cmgr import network, redact
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
    line = (
        HTTPSConnection(*place, timeout=seconds, context=_tls())
        if question.way is Way.HTTPS
        else HTTPConnection(*place, timeout=seconds)
    )
    try:
        with closing(line), network.bounded(line, seconds) as over:
            reply = _answered(question, line)
            if over.is_set() and not reply.good:
                raise TimeoutError  # It has been cut, and ends there only therefore.
            return reply
    except network.NoAnswer as error:
        if isinstance(error.why, HTTPException) and not isinstance(error.why, RemoteDisconnected):
            return Reply(False, "what answers does not speak HTTP")
        refused = isinstance(error.why, ConnectionRefusedError)  # By its machine, which says that nobody listens there.
        return Reply(False, _shown(error.message).lower(), mute=not refused)


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


def _answered(question: Question, line: HTTPConnection) -> Reply:
    line.connect()
    if question.way is Way.TCP:
        return Reply(True, f"port {question.port} is open")
    about = {"Host": f"localhost:{question.port}", "User-Agent": "cmgr", "Accept": "*/*", "Connection": "close"}
    line.request("GET", question.path, headers=about)
    with closing(line.getresponse()) as answer:
        words = f"HTTP {answer.status}" + (", and no redirect is followed" if 300 <= answer.status < 400 else "")
        if not question.least <= answer.status <= question.most:
            return Reply(False, words)
        if question.expects and not _says(answer, question.expects.encode()):
            return Reply(False, f"{words} without the text {_shown(question.expects)}")
        return Reply(True, words)


def _says(answer: HTTPResponse, text: bytes) -> bool:
    """Return whether the text is in what is answered, of which no more is read than is needed."""
    told = b""
    with suppress(HTTPException):  # It ends in the middle; what came counts.
        while text not in told and len(told) < _MOST and (more := answer.read1(_MOST)):
            told += more
    return text in told


def _shown(text: str) -> str:
    line = one_line(redact.text(text.strip()).replace("\n", " | "))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
