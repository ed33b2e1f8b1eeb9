"""How a container is asked whether it serves, or is busy, and where. Pure: whoever asks is elsewhere."""

import re
import shlex
from enum import StrEnum

from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

MOST = 1000
"""So many characters has the text of a question at the most."""

_SUCH = ("http://:8000/health", "https://:8443/ready status=200-204 text=ok", "tcp://:6379", "exec COMMAND ARGUMENTS")

FORM = say("config.question", such=[f'"{each}"' for each in _SUCH])

BUSY_FORM = say("config.busy-question", question=FORM)

_ADDRESS = re.compile(r"(http|https|tcp)://(?:localhost|127\.0\.0\.1)?:([0-9]{1,5})(/[!-~]*)?")
_STATUS = re.compile(r"([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


class Way(StrEnum):
    """By what a container is asked."""

    HTTP = "http"
    HTTPS = "https"
    TCP = "tcp"
    COMMAND = "exec"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and which answers are good: they say that the container serves, or that it is busy.

    `text`: as its author wrote it. `port`: the container's own. `path`: of the request, or of the file that must be
    there. `least`, `most`: the statuses that are good. `expects`: what the answer must contain. `command`: with its
    arguments, it must end with 0.
    """

    text: str
    way: Way
    port: int = 0
    path: str = "/"
    least: int = 200
    most: int = 299
    expects: str = ""
    command: tuple[str, ...] = ()


def question(text: str) -> Question:
    """Return the question that such a text asks. Raises `ValueError`, which says in words what is wrong with it."""
    if len(text) > MOST or not text.isprintable():
        raise ValueError(f"it has more than {MOST} characters, or some that cannot be printed")
    try:
        first, *others = shlex.split(text)
    except ValueError:
        raise ValueError("it is empty, or a quotation mark is missing") from None
    if first == Way.COMMAND:
        if not others:
            raise ValueError("the command is missing")
        return Question(text, Way.COMMAND, command=tuple(others))
    address = _ADDRESS.fullmatch(first)
    if address is None:
        raise ValueError("it begins with http://:PORT, https://:PORT, tcp://:PORT or exec; the host is its own")
    way, port = Way(address[1]), int(address[2])
    if not 0 < port < 65536:
        raise ValueError("its port is none")
    if way is Way.TCP and (address[3] or others):
        raise ValueError("of a TCP port only that it is open is asked")
    least, most, expects = _good(others)
    return Question(text, way, port, address[3] or "/", least, most, expects)


def busy_question(text: str) -> Question:
    """Return as `question`; a path alone asks whether that file is there, in the container."""
    if not text.startswith("/"):
        return question(text)
    if len(text) > MOST or not text.isprintable() or " " in text or text.endswith("/"):
        raise ValueError("its path has spaces, or ends with a slash, or is too long")
    return Question(text, Way.FILE, path=text)


def _good(words: list[str]) -> tuple[int, int, str]:
    """Return which statuses are good, and what the answer must contain."""
    said = dict(word.partition("=")[::2] for word in words)
    if not said.keys() <= {"status", "text"} or len(said) < len(words):
        raise ValueError("what follows the address is status=NUMBER, status=FROM-TO or text=WORDS")
    statuses = _STATUS.fullmatch(said.get("status", "200-299"))
    if statuses is None:
        raise ValueError("its status is none: 200, or 200-204")
    return int(statuses[1]), int(statuses[2] or statuses[1]), said.get("text", "")


@dataclass(frozen=True, slots=True)
class Asking:
    """A setting: those that the pattern `name` fits, by their name, image or service, are asked this."""

    name: str
    question: Question


@dataclass(frozen=True, slots=True)
class Network:
    """Where the ports of a container are reached from the machine.

    `ip`: the address that its runtime names. `published`: its ports, each with the machine's address and port.
    """

    ip: str = ""
    published: tuple[tuple[int, str, int], ...] = ()

    def place(self, port: int) -> tuple[str, int] | None:
        """Return the address and port at which this port of the container is reached; None where it is not."""
        found = next(((ip, there) for own, ip, there in self.published if own == port), None)
        return found or ((self.ip, port) if self.ip else None)


OWN_MACHINE = Network(ip="127.0.0.1")
"""That of a container without a network of its own, and of a unit."""


def published(port: int, host: str, there: int) -> tuple[int, str, int]:
    """Return a published port; `host`: the machine's address, where any address is the one within."""
    return port, {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), there  # noqa: S104 - looked for
