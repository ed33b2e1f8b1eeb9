"""The words of a program that speaks for chips, as docs/drivers.md has them: one JSON object a line. Pure, strict."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from cmgr import typed
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, RingId, Share
from cmgr.model.values.faults import Assertion, FaultClass, Handling
from cmgr.typed import Bound, like, line, most, within
from cmgr.words import counted, json_of

VERSION = 1
"""Of all that is said here. A program of another version is refused."""

MOST_CHIPS = 1024
NUMBERED = "/dev/char/"
"""The name of a device file by its numbers begins so; udev makes such a link for each."""

Number = Annotated[int, within(0, 9999)]
Code = Annotated[
    str, like(re.compile(r"(?!0{8})[0-9A-F]{8}"), "8 hexadecimal digits in capitals, not all 0, such as 0000A001")
]
Word = Annotated[str, like(re.compile(r"[a-z][a-z0-9-]{0,31}"), "a word of small letters, digits and hyphens")]
Variable = Annotated[str, like(re.compile(r"[A-Z][A-Z0-9_]{0,63}"), "the name of a variable, such as MY_VISIBLE_CHIPS")]
Kind = Annotated[
    str, like(re.compile(r"(?:[a-z0-9.-]{1,63}/[A-Za-z0-9._-]{1,63})?"), "a vendor and a class, such as maker.com/chip")
]
Path = Annotated[str, like(re.compile(r"/dev/[!-~]{1,120}"), "the path of a device file in /dev, such as /dev/chip0")]
Name = Annotated[str, like(re.compile(r"[!-~]{1,80}"), "a name of at most 80 letters, without spaces")]
Bus = Annotated[
    str,
    like(
        re.compile(r"(?:[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])?"),
        "a PCI address in small letters, such as 0000:3b:00.0",
    ),
]
Text = Annotated[str, line(400)]
Pid = Annotated[int, within(1, 1 << 22)]
LevelWord = Annotated[
    str, Bound(f"one of {', '.join(Handling.__members__)}", lambda word: word in Handling.__members__)
]
Concern = Annotated[FaultClass, Bound("chip or network", lambda found: found in (FaultClass.CHIP, FaultClass.NETWORK))]

T = TypeVar("T")


class Ability(StrEnum):
    """The calls that a program may lack."""

    RESET = "reset"
    PROCESSES = "processes"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True)
class About:
    """The program itself. `variables` and `cdi`: by which containers ask for its chips. See docs/drivers.md.

    `sweep`: so many seconds lie between two readings that nobody has asked for, at the least. `beat`: in so many
    seconds `watch` says something, or it hangs; 0: it need not.
    """

    version: int
    name: Word
    can: tuple[Ability, ...] = ()
    variables: Annotated[tuple[Variable, ...], most(8)] = ()
    cdi: Kind = ""
    sweep: Annotated[float, within(0, 3600)] = 0
    beat: Annotated[float, within(0, 3600)] = 0


@dataclass(frozen=True, slots=True)
class File:
    """A device file. Without numbers the path is looked at."""

    path: Path
    major: Annotated[int | None, Bound("a number", lambda n: n is None or n >= 0)] = None
    minor: Annotated[int | None, Bound("a number", lambda n: n is None or n >= 0)] = None


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a chip."""

    id: Name
    template: Text = ""
    names: Annotated[tuple[Name, ...], most(8)] = ()

    @property
    def share(self) -> Share:
        return Share(self.id, self.template, aliases=frozenset({self.id, *self.names}))


@dataclass(frozen=True, slots=True)
class Described:
    """A chip. `reset_with`: the numbers of those that are reset with it. `number`: as `Chip.number` has it."""

    chip: Number
    serial: Text = ""
    bus: Bus = ""
    model: Text = ""
    reset_with: Annotated[tuple[Number, ...], most(MOST_CHIPS)] = ()
    devices: Annotated[tuple[File, ...], most(16)] = ()
    names: Annotated[tuple[Name, ...], most(16)] = ()
    number: Number | None = None
    shares: Annotated[tuple[Part, ...], most(64)] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """A code: its meaning, what a person can do about it, its level, and what it concerns."""

    code: Code
    text: Text
    level: LevelWord
    advice: Text = ""
    concerns: Concern = FaultClass.CHIP


@dataclass(frozen=True, slots=True)
class Description:
    """All that `describe` says."""

    about: About
    chips: tuple[Described, ...]
    codes: tuple[Known, ...] = ()

    def can(self, ability: Ability) -> bool:
        return ability in self.about.can

    def rings(self) -> Mapping[int, int]:
        """Return the ring of each chip: the lowest number of those that are reset together, directly or not."""
        rings = {each.chip: each.chip for each in self.chips}
        for each in self.chips:
            together = {rings[number] for number in (each.chip, *each.reset_with)}
            rings = {chip: min(together) if ring in together else ring for chip, ring in rings.items()}
        return rings

    def listed(self, numbers: Callable[[File], str]) -> tuple[Chip, ...]:
        """Return the chips. `numbers` returns a device file's name by its numbers, or nothing."""
        rings = self.rings()
        return tuple(
            Chip(
                ChipId(each.chip), RingId(rings[each.chip]), each.chip, model=each.model, bus=each.bus,
                serial=each.serial, number=each.number, shares=tuple(part.share for part in each.shares),
                aliases=frozenset(filter(None, (
                    *each.names, *(file.path for file in each.devices), *map(numbers, each.devices)
                ))),
            )
            for each in sorted(self.chips, key=lambda each: each.chip)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A chip's answer to `read`. See `ChipReport`."""

    chip: Number
    booted: bool = True
    faults: Annotated[tuple[Code, ...], most(256)] = ()
    error: Text = ""
    unwell: Text = ""
    shares: Annotated[tuple[Part, ...], most(64)] | None = None


@dataclass(frozen=True, slots=True)
class User:
    pid: Pid
    memory: Annotated[int, within(0, 1 << 62)] = 0
    share: Annotated[str, line(80)] = ""


@dataclass(frozen=True, slots=True)
class Users:
    """A chip's answer to `processes`."""

    chip: Number
    processes: Annotated[tuple[User, ...], most(4096)]


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault that `watch` tells of. `pid`, `share`: the process, or else the part, that it came of."""

    fault: Code
    chip: Number
    state: Assertion
    module: Annotated[str, line(80)] = ""
    severity: Annotated[int, within(0, 3)] | None = None
    pid: Pid | None = None
    share: Annotated[str, line(80)] = ""


@dataclass(frozen=True, slots=True)
class ToRead:
    """`watch` says that something about this chip has changed."""

    read: Number


@dataclass(frozen=True, slots=True)
class Anew:
    """`watch` says that there are other chips, or codes."""

    describe: bool


@dataclass(frozen=True, slots=True)
class Alive:
    """`watch` says that it hears."""


News = Happened | ToRead | Anew | Alive

_NEWS: Mapping[str, type[News]] = {"fault": Happened, "read": ToRead, "describe": Anew}
_PARTS: Mapping[str, type[Any]] = {"version": About, "chip": Described, "code": Known}

_MEASURED = re.compile(r"[a-z][a-z0-9_]{0,63}")


def news(text: str | bytes) -> News:
    """Return what a line of `watch` says. Raises `ValueError`."""
    raw = _object(text)
    if not raw:
        return Alive()
    return _by_name(raw, _NEWS, exact=False)  # type: ignore[no-any-return]


def description(text: str, *, exact: bool = False) -> Description:
    """Return what `describe` has said. Raises `ValueError` with every mistake, one a line.

    `exact`: a name that nobody knows is a mistake, too, and not a newer program's.
    """
    found, mistakes = _lines(text, lambda raw: _by_name(raw, _PARTS, exact=exact))
    about = [each for each in found if isinstance(each, About)]
    if len(about) != 1 and not mistakes:
        mistakes.append(f"one line has version and name: there are {counted(len(about), 'line')} of that kind")
    chips = tuple(each for each in found if isinstance(each, Described))
    codes = tuple(each for each in found if isinstance(each, Known))
    mistakes += _contradictions(chips, codes)
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return Description(about[0], chips, codes)


def answers(kind: type[T], text: str, *, exact: bool = False) -> dict[ChipId, T]:
    """Return what was said of each chip. Raises `ValueError` with every mistake, one a line."""
    found, mistakes = _lines(text, lambda raw: typed.value(kind, raw, exact=exact))
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return {each.chip: each for each in found}


def measured(text: str) -> dict[ChipId, Mapping[str, float | str]]:
    """Return what was measured of each chip. Raises `ValueError` as `answers` does."""
    found, mistakes = _lines(text, _measured)
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return dict(found)


def _measured(raw: Mapping[str, Any]) -> tuple[ChipId, Mapping[str, float | str]]:
    chip = typed.value(Number, raw.get("chip"), "chip")
    rest = {name: each for name, each in raw.items() if name != "chip"}
    for name, each in rest.items():
        if not _MEASURED.fullmatch(name):
            raise ValueError(f"{name!a:.80}: must be small letters, digits and underscores")
        typed.value(float | Annotated[str, line(200)], each, name)
    return ChipId(chip), rest


def refusal(output: str) -> str:
    """Return the reason of a program that has refused a reset; nothing where it has not."""
    for said in reversed(output.splitlines()):
        try:
            raw = _object(said)
            return str(typed.value(Text, raw["refused"], "refused"))
        except (ValueError, LookupError):
            continue
    return ""


def _object(text: str | bytes) -> dict[str, Any]:
    raw = json_of(text)
    if not isinstance(raw, dict):
        raise ValueError("it must be an object, {…}")
    return raw


def _by_name(raw: Mapping[str, Any], kinds: Mapping[str, type[Any]], *, exact: bool) -> Any:
    for name, kind in kinds.items():
        if name in raw:
            return typed.value(kind, raw, exact=exact)
    raise ValueError(f"it must have one of {', '.join(kinds)}")


def _lines(text: str, take: Callable[[Mapping[str, Any]], Any]) -> tuple[list[Any], list[str]]:
    found, mistakes = [], []
    for number, said in enumerate(text.splitlines(), start=1):
        if said.strip():
            try:
                found.append(take(_object(said)))
            except ValueError as error:
                mistakes.append(f"line {number}: {error}: {said!a:.400}")
    return found, mistakes


def _contradictions(chips: tuple[Described, ...], codes: tuple[Known, ...]) -> list[str]:
    there = {each.chip for each in chips}
    unknown = sorted({number for each in chips for number in each.reset_with} - there)
    # A device file may serve several chips; then its name says none of them, and it is left out of devices.
    once: Mapping[str, Iterable[object]] = {
        "chip": [each.chip for each in chips],
        "code": [each.code for each in codes],
        "serial": filter(None, (each.serial for each in chips)),
        "bus": filter(None, (each.bus for each in chips)),
        "device": [path for each in chips for path in {file.path for file in each.devices}],
        "name": [name for each in chips for name in {*each.names}],
        "number": [each.number for each in chips if each.number is not None],
    }
    mistakes = [f"{what} {each!a} stands twice" for what, every in once.items() for each in _doubled(every)]
    if not chips:
        mistakes.append("there is no chip")
    return [*mistakes, *(f"reset_with names chip {number}, which is not described" for number in unknown)]


def _doubled(every: Iterable[object]) -> list[object]:
    seen: set[object] = set()
    return list(dict.fromkeys(each for each in every if each in seen or seen.add(each)))  # type: ignore[func-returns-value]
