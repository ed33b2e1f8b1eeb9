"""The command line of MindCluster's container-manager (the reference): found in a unit, and read as it does."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from cmgr.config.spelling import quoted
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

PROGRAM = "container-manager"

_SHELLS = ("sh", "bash", "dash", "ash")
_REDIRECTION = re.compile(r"(?:(?<=\s)\d+|&)?>>?\s*(?:&[\d-]|[^\s<>;&|()]+)|(?:(?<=\s)0)?<\s*[^\s<>;&|()]+")
_AND_MORE = re.compile(r"[;&|<>()`\n]|\$\(")
_SHELL_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

STRING_FLAGS = ("ctrStrategy", "runtimeType", "runtimeMode", "sockPath", "logPath", "faultConfigPath")
NUMBER_FLAGS: Mapping[str, tuple[int, int]] = {"logLevel": (-1, 3), "maxAge": (7, 700), "maxBackups": (1, 180)}
"""With what the reference lets them be."""

CLUSTER_FLAGS = ("leaderIp", "leaderPort", "nodeID", "leaderAddrs", "eventSyncInterval", "scheduledSyncInterval")
"""Those of newer versions, for services that span several appliances."""

FLAGS = (*STRING_FLAGS, *NUMBER_FLAGS, *CLUSTER_FLAGS)


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag and its value. `known`: it is one of the reference's."""

    name: str
    value: str
    known: bool = True

    def __str__(self) -> str:
        return f"-{self.name} {shlex.quote(self.value)}" if self.value or self.known else f"-{self.name}"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of `container-manager run`.

    `before`: words in front of the program (nice, env). `ignored`: words that the reference stops reading at.
    """

    flags: tuple[Flag, ...]
    before: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def command_line(words: Sequence[str], environment: Mapping[str, str]) -> CommandLine:
    """Return what these words start. Raises `ValueError` when that is not `container-manager run`."""
    words = _without_shell(list(words), environment)
    at = next((n for n, word in enumerate(words) if PurePosixPath(word).name.startswith(PROGRAM)), None)
    if at is None:
        # The program may have another name.
        at = 0 if words[1:2] == ["run"] else None
    if at is None:
        raise ValueError(say("migrate.does-not-start", program=PROGRAM, words=quoted(shlex.join(words))))
    if words[at + 1 : at + 2] != ["run"]:
        found = quoted(shlex.join(words[at:]))
        raise ValueError(say("migrate.does-not-run", command=f"{PROGRAM} run", words=found))
    flags, ignored = _flags(words[at + 2 :])
    return CommandLine(flags, tuple(words[:at]), ignored)


def _without_shell(words: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return what a shell runs that is given one simple command, as in the reference's guide."""
    if not words or PurePosixPath(words[0]).name not in _SHELLS:
        return words
    option = next((n for n, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), None)
    if option is None or len(words) <= option + 1:
        raise ValueError(say("migrate.shell-elsewhere", words=quoted(shlex.join(words))))
    script = _REDIRECTION.sub(" ", words[option + 1]).strip().removesuffix(";").removesuffix("&").strip()
    if _AND_MORE.search(script):
        raise ValueError(say("migrate.does-more", program=PROGRAM, words=quoted(words[option + 1])))
    script = _SHELL_VARIABLE.sub(lambda m: environment.get(m[1] or m[2], ""), script)
    try:
        found = shlex.split(script)
    except ValueError as error:
        why = say("migrate.script-unread", why=str(error), words=quoted(words[option + 1]))
        raise ValueError(why) from None
    return found[1:] if found[:1] in (["exec"], ["nohup"], ["setsid"]) else found


def _flags(words: Sequence[str]) -> tuple[tuple[Flag, ...], tuple[str, ...]]:
    """Read flags as Go's package flag does: one or two dashes, the value after = or as the next word.

    The first word that is no flag ends them, whatever comes behind it. Raises `ValueError`.
    """
    left = list(words)
    found: list[Flag] = []
    while left and left[0].startswith("-") and left[0] not in ("-", "--"):
        found.append(_flag(left))
    ignored = left[1:] if left[:1] == ["--"] else left
    return tuple(found), tuple(ignored)


def _flag(left: list[str]) -> Flag:
    """Take one flag off the words."""
    word = left.pop(0)
    name, equals, value = re.sub(r"^--?", "", word).partition("=")
    known = name in FLAGS
    if not equals and (known or (left and not left[0].startswith("-"))):
        # Of an unknown flag only later versions know whether it takes a value; most do.
        if not left:
            raise ValueError(say("migrate.needs-value", flag=quoted(word)))
        value = left.pop(0)
    return Flag(name, value, known)


def unset(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables that a shell's script in these words asks for and nobody has set."""
    if words and PurePosixPath(words[0]).name in _SHELLS:
        for match in _SHELL_VARIABLE.finditer(" ".join(words)):
            name = match[1] or match[2]
            if name not in environment:
                yield name
