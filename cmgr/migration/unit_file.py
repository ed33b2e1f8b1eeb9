"""systemd's unit files as far as `cmgr migrate` reads them: settings, words, environments (systemd.syntax(7)). Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from cmgr.config.spelling import quoted
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

_PREFIXES = "@-:+!|"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtvs\\\"']))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|\$)")


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and what it is called in messages."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """`key = value` in a section, and where it stands."""

    section: str
    key: str
    value: str
    at: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit file and its drop-ins, in the order given, and what in them cannot be understood."""

    assignments: tuple[Assignment, ...]
    mistakes: tuple[str, ...]

    def of(self, section: str, key: str) -> tuple[Assignment, ...]:
        """Return the assignments that count of a key that may stand several times: an empty one drops those before."""
        found: list[Assignment] = []
        for assignment in self.assignments:
            if (assignment.section, assignment.key) == (section, key):
                found = [*found, assignment] if assignment.value else []
        return tuple(found)


def parsed(sources: Sequence[Source]) -> Unit:
    """Return the settings of a unit file and its drop-ins, as systemd puts them together."""
    found = [item for source in sources for item in _assignments(source)]
    return Unit(
        tuple(item for item in found if isinstance(item, Assignment)),
        tuple(item for item in found if isinstance(item, str)),
    )


def _assignments(source: Source) -> Iterator[Assignment | str]:
    section = ""
    for number, line in _lines(source.text):
        at = say("migrate.at-line", file=source.name, line=number)
        key, equals, value = line.partition("=")
        if re.fullmatch(r"\[[^\[\]]+\]", line):
            section = line[1:-1]
        elif not equals or not section:
            yield say("migrate.no-setting", at=at, line=quoted(line))
        else:
            yield Assignment(section, key.strip(), value.strip(), at)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that count, those that end in a backslash joined with the next one, and their numbers."""
    begun, pending = 0, ""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        # A comment may stand between the parts of a line that goes on.
        if line.startswith(("#", ";")) or (not line and not pending):
            continue
        begun = begun or number
        pending += line.removesuffix("\\")
        if line.endswith("\\"):
            pending = pending.rstrip() + " "
            continue
        yield begun, pending.strip()
        begun, pending = 0, ""
    if pending.strip():
        yield begun, pending.strip()


def words(text: str) -> list[str]:
    """Return the words of a line, quotes and escapes resolved. Raises `ValueError`, saying what is wrong."""
    found: list[str] = []
    word, quote, at = "", "", 0
    begun = False
    while at < len(text):
        letter = text[at]
        escape = _ESCAPE.match(text, at) if letter == "\\" else None
        if escape:
            word, begun, at = word + _unescaped(escape), True, escape.end()
            continue
        if letter == "\\":
            raise ValueError(say("migrate.no-escape", text=quoted(text[at : at + 2])))
        if quote:
            word, quote = (word, "") if letter == quote else (word + letter, quote)
        elif letter in "\"'":
            quote, begun = letter, True
        elif not letter.isspace():
            word, begun = word + letter, True
        elif begun:
            found.append(word)
            word, begun = "", False
        at += 1
    if quote:
        raise ValueError(say("migrate.quote-open", quote=quote))
    return [*found, word] if begun else found


def _unescaped(escape: re.Match[str]) -> str:
    byte, short, long, octal, letter = escape.groups()
    if letter:
        return _ESCAPES.get(letter, letter)
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if not code or code > 0x10FFFF:
        raise ValueError(say("migrate.no-character", text=escape[0]))
    return chr(code)


def command(text: str, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the words that an ExecStart= runs, and the variables that are set nowhere. Raises `ValueError`."""
    prefix = re.match(rf"[{re.escape(_PREFIXES)}]*", text)
    assert prefix is not None
    found = words(percent(text[prefix.end() :]))
    if "@" in prefix[0]:
        del found[1:2]  # The name that the program shall see instead of its own.
    if ";" in found:
        raise ValueError(say("migrate.several-commands"))
    unknown: list[str] = []
    if ":" not in prefix[0]:
        found = [part for word in found for part in _expanded(word, environment, unknown)]
    return found, unknown


def percent(text: str) -> str:
    """Return the text with %% as %. Raises `ValueError` for what else % may stand for: only systemd knows that."""
    other = re.search(r"%[^%]", text.replace("%%", ""))
    if other:
        raise ValueError(say("migrate.systemd-alone", text=other[0]))
    return text.replace("%%", "%")


def _expanded(word: str, environment: Mapping[str, str], unknown: list[str]) -> list[str]:
    whole = _NAME.fullmatch(word[1:]) if word.startswith("$") else None
    if whole:
        # Alone, a variable stands for as many words as its value has.
        return _value(whole[0], environment, unknown).split()
    replaced = _VARIABLE.sub(lambda m: _value(m[1], environment, unknown) if m[1] else "$", word)
    return [replaced]


def _value(name: str, environment: Mapping[str, str], unknown: list[str]) -> str:
    if name not in environment:
        unknown.append(name)
    return environment.get(name, "")


def environment_line(assignment: Assignment) -> dict[str, str]:
    """Return the variables that an Environment= sets. Raises `ValueError`."""
    pairs = [word.partition("=") for word in words(percent(assignment.value))]
    for name, equals, _ in pairs:
        if not equals or not _NAME.fullmatch(name):
            raise ValueError(f"{quoted(name)} sets no variable")
    return {name: value for name, _, value in pairs}


def environment_file(text: str) -> dict[str, str]:
    """Return the variables of a file that EnvironmentFile= names. As systemd, passes over what sets none."""
    found = {}
    for line in re.sub(r"\\\n", "", text).splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and _NAME.fullmatch(name.strip()):
            value = value.strip()
            quote = value[:1] if len(value) > 1 and value[:1] in "\"'" and value.endswith(value[0]) else ""
            value = value[1:-1] if quote else value
            found[name.strip()] = value if quote == "'" else re.sub(r"\\(.)", r"\1", value)
    return found
