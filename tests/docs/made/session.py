"""The examples of docs/commands.md: read from the page, run against a service of their own, compared, or written anew.

A block is fenced with ```console: each line that begins with `$ ` is a command, what follows is what it says. Between
blocks a comment such as `<!-- until ring 0 waiting -->` says what to wait for. A line `…` ends what is compared of an
output.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.service import Outcome, Service
from tests.support.waiting import eventually

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"
MORE = "…"

_PARTS = re.compile(r"^<!-- until (?P<until>.+?) -->$|^```console\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL)
_TIMES = (
    (r"[+-]\d[\d.:]* (s|min|h)\b", "S"),
    (r"\d{4}-\d\d-\d\d[ T]", ""),
    (r"\d\d:\d\d:\d\d(\.\d+Z)?", "T"),
    (r"(in )?\b\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h))?( ago)?|\bnow\b", "S"),
    (r"pid \d+", "pid N"),
    (r"\bcmgr \d+\.\d+\.\d+\S*", "cmgr V"),
    (r"uid \d+( \(\w[\w-]*\))?", "uid N"),
)


@dataclass(frozen=True, slots=True)
class Example:
    command: str
    output: str


def examples(block: str) -> list[Example]:
    """Return the commands of a block with what they say."""
    found = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [Example(*part.partition("\n")[::2]) for part in found]


def plain(text: str) -> str:
    """Return the text without what is different each time: times, process ids, people, and how it is laid out."""
    text = " ".join(text.split())
    for pattern, word in _TIMES:
        text = re.sub(pattern, word, text)
    return text


def words(text: str) -> list[str]:
    """Return its words, sorted: of things that go on side by side now one and now another is told of first."""
    return sorted(plain(text).split())


class Session:
    """Runs the page from its beginning."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._outcomes: dict[str, Callable[[], object]] = {
            "over": lambda: all(r["phase"] == "healthy" for r in service.status()["rings"]),
        }

    def until(self, text: str) -> None:
        """Wait for `ring 0 waiting`, `chip 5 isolated`, `chip 5 clean`, `container chat running`, or `over`."""
        what, _, rest = text.partition(" ")
        name, _, state = rest.partition(" ")
        if what == "ring":
            self._service.until_phase(state, int(name))
        elif what == "chip":
            eventually(lambda: self._is(int(name), state), why=text)
        elif what == "container":
            eventually(lambda: (self._service.container(name) or {}).get("status") == state, why=text)
        else:
            eventually(self._outcomes[what], why=text)

    def _is(self, number: int, state: str) -> bool:
        chip = next(c for c in self._service.status()["chips"] if c["id"] == number)
        return bool(chip["isolated"] if state == "isolated" else not chip["faults"])

    def say(self, command: str) -> str:
        """Run one command line and return what a person sees, paths as an installation has them."""
        line, _, first = command.partition(" | head -n ")
        line, _, code = line.partition("; echo ")
        program, *given = shlex.split(line)
        assert program == "cmgr", command
        if first:
            return self._head(given, int(first))
        told = self._service.cmgr(*given) if given[0] != "version" else _version()
        said = told.out + told.err + (f"{told.code}\n" if code else "")
        for ours, usual in (
            (str(self._service.config), "/etc/cmgr/cmgr.toml"),
            (str(self._service.database.parent), "/var/lib/cmgr"),
            (str(self._service.folder / "cdi"), "/etc/cdi"),
            (str(self._service.socket), "/run/cmgr/cmgr.sock"),
        ):
            said = said.replace(ours, usual)
        return said

    def _head(self, given: list[str], lines: int) -> str:
        command = [sys.executable, "-m", "cmgr", *given, "--config", str(self._service.config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
            assert running.stdout is not None
            return "".join(running.stdout.readline() for _ in range(lines))


def _version() -> Outcome:
    """The one command that takes no configuration."""
    ended = subprocess.run([sys.executable, "-m", "cmgr", "version"], capture_output=True, text=True, check=True)
    return Outcome(ended.returncode, ended.stdout, ended.stderr)


def parts(text: str) -> list[tuple[str, str, tuple[int, int]]]:
    """Return what to wait for and the blocks, in order: kind, text, and where the text stands."""
    found = []
    for match in _PARTS.finditer(text):
        kind = "until" if match["until"] is not None else "block"
        found.append((kind, match[kind], match.span(kind)))
    return found


def run(text: str, session: Session, differ: Callable[[Example, str], None]) -> str:
    """Run the page; `differ` is told of each example that says something else. Return the page as it should be.

    Where one differs all are written anew: times and process ids of one page are those of one run.
    """
    made, anew, at = "", False, 0
    for kind, part, (begin, end) in parts(text):
        made += text[at:begin]
        at = end
        if kind == "until":
            session.until(part)
            made += part
            continue
        for example in examples(part):
            said = session.say(example.command)
            head, more, _ = example.output.partition(MORE)
            same = plain(said).startswith(plain(head)) if more else words(said) == words(head)
            if not same:
                anew = True
                differ(example, said)
            made += f"$ {example.command}\n{example.output if more else said}"
    return made + text[at:] if anew else text
