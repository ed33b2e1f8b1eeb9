"""The knowledge that the rest of cmgr needs of each make of chips, without knowing its name.

A directory of `cmgr.drivers` with a module `vendor` is the driver of one make of real chips. That module's `VENDOR`
says all of this; everything else that is true of this make only stands beside it. It imports its driver only when that
is opened, and never the configuration: that knows the vendors.

A directory with a module `giving` says in that one's `GIVING` how a container is given its chips by CDI.

A directory with a module `export` says in that one's `EXPORT` what the make's own programs want to read of a machine.

A directory with a module `notation` says in that one's `NOTATION` how containers ask for chips of its make. It stands
alone, because definitions are read before anybody knows whose chips the machine has, or whether cmgr can drive them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.catalog import Entry
from cmgr.model.values.messages.commands import FaultSaid
from cmgr.model.values.ranks import Server
from cmgr.ports import Runtime
from cmgr.sentences.sentence import say

_DRIVERS = Path(__file__).parent / "drivers"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a driver's library was looked for. `refusal`: why it is not taken, if it is not, and what mends it."""

    path: str
    origin: str
    refusal: str = ""
    hint: str = ""


OpenUnits = Callable[[Collection[str]], Runtime]
"""Returns the runtime whose containers are the units of systemd of these names; it need not answer yet."""


@dataclass(frozen=True, slots=True)
class Told:
    """A value as an exporter of the make's own tells it: the metric's name, its labels by name, and the value."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Given:
    """The fate of something that was to be given back, such as a hold. `left`: why it was not; empty when all is done.

    `advice`: what a person can do then.
    """

    text: str
    left: str = ""
    advice: str = say("back.start-it")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of a maker's that tells something for a diagnosis. It may leave files in the directory that it runs in.

    `name`: that of the directory that has what it tells; no two have the same. `words`: the program, with its path
    where that is not one of the usual, and its arguments.
    """

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """The things that a maker's support asks for when chips ail.

    `files`: paths, which may have `*` in them, or `**` for all that is below. `tools`: programs that can be asked at
    any time. `lost`: those that tell what a reset of these chips wipes away; they are run before one, beside the stops.
    """

    files: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    lost: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Vendor:
    """One make of chips.

    `name`: that of the driver, in the configuration and everywhere. `chips`: how its chips, and the tables of their
    faults, are called. `library`: the name of the library that the driver calls. `tables`: the directory of
    levels.json, rules.json, meanings.json, and advice.json with the kinds of advice that meanings name. `settings`: the
    table of the configuration that has the driver's name, a frozen dataclass of settings that all have defaults.
    `sentence`: what that table is for. `former`: settings that it had, by
    name, as in `config.former`.
    `open` takes the configuration, and how units of systemd are reached, if this one may reset, and returns a
    `drivers.RealDriver`; it raises `DriverError`. `places` takes the configuration and returns where the library was
    looked for, `stopped` takes it and returns the units of systemd that are stopped for each reset, those of the
    setting stop_units.
    `told_too` takes the configuration, the node, and what is measured of each chip, and returns what is told by the
    names of the make's own exporter beside cmgr's, if the configuration wishes that. `rank_table` returns the table by
    which the chips of these machines find one another in a collective, ranks going on from one machine to the next, as
    JSON can hold it; None: they need none. `give_back` takes the
    configuration and how units are reached, gives back what resets had taken away when the service was killed, and
    yields what came of that; the service does not run. All find their own table in `Config.drivers`.
    `support` takes chips and returns what the maker's support asks for about them. `page`: that of docs/ about the
    driver, where it has another name.
    `codes` and `notations` take the configuration and return what a driver has learned of its chips' codes, and of how
    containers ask for them, beside what is known of its make before; `tables` None: all is learned, and the driver is
    taken where the configuration names it alone.
    """

    name: str
    chips: str
    library: str
    tables: Path | None
    settings: type
    sentence: str
    open: Callable[[Any, OpenUnits | None], Any]
    places: Callable[[Any], Iterable[Place]]
    stopped: Callable[[Any], tuple[str, ...]] = lambda _: ()
    told_too: Callable[[Any, Any, Mapping[Any, Mapping[str, float | str]]], Iterable[Told]] = lambda *_: ()
    rank_table: Callable[[Sequence[Server]], Mapping[str, object]] | None = None
    former: Mapping[str, str] = field(default_factory=dict)
    give_back: Callable[[Any, OpenUnits], Iterable[Given]] = lambda *_: ()
    support: Callable[[Sequence[Chip]], Support] = lambda _: Support()
    page: str = ""
    codes: Callable[[Any], Mapping[FaultCode, Entry]] = lambda _: {}
    notations: "Callable[[Any], tuple[Notation, ...]]" = lambda _: ()


@dataclass(frozen=True, slots=True)
class Notation:
    """How the definitions of containers ask for chips of one make.

    `variable`: the one of a container's environment that lists chips. `parts_if`: a variable and a word; where that
    variable has this word, the numbers in the list are those of parts of chips. `parts_made`: a variable; where it says
    anything, each start makes a part of the chip in the list.
    `instead` returns variables that count in its stead where any of them is set; it may look at a file of the machine.
    `given_by`: the names of the OCI runtimes and hooks that give out what `variable` lists. Without one of them in its
    definition the variable means nothing, and images have it all the same; None: it always means what it says.
    `items`: what an item of a list looks like, whole chips first, besides numbers, ranges and bus ids, which every make
    has. The first group is the chip, a number or a name that its driver gives it, or a part of one (`0:1`); or the
    group `part` is a part's number, and `chip` its chip. A list with an item of `none` is empty.
    `all_if`: two variables; an image that has the first and not the second asks for every chip where `variable` is not
    set at all. `mounts`: the place inside the container of a mounted file that is such an item, its first group, or a
    CDI name, `cdi/vendor/class/name`.
    `node`: the device file of a chip, its number the first group. That is the number by which lists name it, or, where
    `file` is given, not always: then the claim is that path with the number. `parts`: how the device files of parts
    begin; the number of the part follows, and the claim is that file. `majors`: the names that `/proc/devices` has for
    the driver of those files; their minor numbers are the chips' ids, or with `file` those of the paths.
    `cdi`: the vendors in the names of CDI devices, and `cdi_others`: their classes that are no chips. `requests`: the
    drivers, and `capabilities`: all those by which Docker takes a request that names no driver for one of this make;
    such a request sets `variable` anew at each start.
    `jobs`: how the labels begin with which the maker's own software says what job a container is a member of, and
    whether it is recovered; they are understood as those of a group. Empty: there are none.
    `names`, `files` and `numbers` are for a make whose chips are known one by one: what else an item of a list may be,
    the device files, and those by "major:minor"; a claim is the name or the path.
    """

    variable: str
    items: tuple[re.Pattern[str], ...]
    node: re.Pattern[str]
    majors: frozenset[str]
    cdi: frozenset[str]
    file: str = ""
    instead: Callable[[], tuple[str, ...]] = tuple
    none: frozenset[str] = frozenset()
    all_if: tuple[str, str] | None = None
    mounts: re.Pattern[str] | None = None
    parts: str = ""
    given_by: re.Pattern[str] | None = None
    parts_if: tuple[str, str] | None = None
    parts_made: str = ""
    cdi_others: frozenset[str] = frozenset()
    requests: frozenset[str] = frozenset()
    capabilities: frozenset[str] = frozenset()
    jobs: str = ""
    names: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """Return every variable of a container's environment that concerns its chips."""
        parts = (self.parts_if[0] if self.parts_if else "", self.parts_made)
        return tuple(filter(None, (self.variable, *self.instead(), *parts)))


Edits = Mapping[str, Any]
"""Changes of a container that CDI makes: `containerEdits` of its specification."""


def edits(nodes: Sequence[str], files: Sequence[str]) -> Edits:
    """Return the edits that give these device files, and these files of the host in their places, not to be changed."""
    return {
        "deviceNodes": [{"path": path, "permissions": "rw"} for path in nodes],
        "mounts": [{"hostPath": p, "containerPath": p, "options": ["ro", "nosuid", "nodev", "bind"]} for p in files],
    }


def counts(chips: Sequence[Chip], full: int) -> list[str]:
    """Return the variables that tell a container which chips it has, how many, and how many these are to be."""
    ids = ",".join(str(chip.id) for chip in chips)
    return [f"CMGR_CHIPS={ids}", f"CMGR_CHIP_COUNT={len(chips)}", f"CMGR_CHIP_COUNT_FULL={full}"]


@dataclass(frozen=True, slots=True)
class Giving:
    """How a container is given chips of one make by CDI.

    `kind`: the vendor and class of the chips' CDI names. `variable` returns the assignment by which the maker's own
    OCI runtime gives these chips, and `runtimes` are the names of that one's program; without any there is no such way.
    `devices` returns what a container needs to use these chips under any OCI runtime; it may look at what is installed.
    """

    kind: str
    devices: Callable[[Sequence[Chip]], Edits]
    variable: Callable[[Sequence[Chip]], str] = lambda _: ""
    runtimes: tuple[str, ...] = ()


@cache
def vendors() -> tuple[Vendor, ...]:
    """Return every make of chips that this cmgr has a driver for, by name."""
    return tuple(module.VENDOR for module in _modules("vendor"))


def rank_table(driver: str) -> Callable[[Sequence[Server]], Mapping[str, object]] | None:
    """Return how the rank table of the driver of this name is made. See `Vendor.rank_table`."""
    return next((vendor.rank_table for vendor in vendors() if vendor.name == driver), None)


def support(driver: str, chips: Sequence[Chip]) -> Support:
    """Return what the maker of these chips, which the driver of this name has, wants to know for a diagnosis."""
    found = (vendor for vendor in vendors() if vendor.name == driver)
    return next((vendor.support(chips) for vendor in found), Support())


def told_too(config: Any, node: Any, measured: Mapping[Any, Mapping[str, float | str]]) -> Iterator[Told]:
    """Yield what is told by the names of other exporters, as the configuration wishes. See `Vendor.told_too`."""
    for vendor in vendors():
        yield from vendor.told_too(config, node, measured)


_learned: tuple[Notation, ...] = ()


def learn(config: Any) -> None:
    """Have `notations` return what the driver that is configured has learned, too, from now on. Any thread."""
    global _learned  # Definitions of containers are read in many places, and there is one driver.
    _learned = tuple(each for vendor in vendors() if vendor.name == config.driver for each in vendor.notations(config))


def notations() -> tuple[Notation, ...]:
    """Return how containers ask for chips, of each make that is known, by the names of their directories."""
    return _static() + _learned


@cache
def _static() -> tuple[Notation, ...]:
    return tuple(module.NOTATION for module in _modules("notation"))


def giving(driver: str) -> Giving:
    """Return how the chips of the driver of this name are given."""
    found: Giving = import_module(f"cmgr.drivers.{driver}.giving").GIVING
    return found


class Line(Protocol):
    """A line of the history, as far as documents are made of it."""

    @property
    def at(self) -> datetime: ...
    @property
    def chip(self) -> ChipId | None: ...
    @property
    def card(self) -> int | None: ...
    @property
    def device(self) -> int | None: ...
    @property
    def fault(self) -> FaultSaid | None: ...


@dataclass(frozen=True, slots=True)
class Export:
    """The documents that programs read which know the components of one make of chips.

    `names`: what the documents are called in commands. `documents` returns each of them for this machine's name and
    time: the name of its file without the ending, and its text; none where the chips are not of this make. `events`
    returns the text of the document `events`, made of lines of the history, the oldest first, for this machine's name.
    `described` takes a document's name, that of its file, and its text, and returns what the cluster's command shows.
    """

    names: tuple[str, ...]
    documents: Callable[[Any, str, datetime], Mapping[str, tuple[str, bytes]]]
    events: Callable[[Iterable[Any], str], bytes]
    described: Callable[[str, str, str], str]


@cache
def exports() -> tuple[Export, ...]:
    """Return the documents of each make that has any."""
    return tuple(module.EXPORT for module in _modules("export"))


def _modules(name: str) -> tuple[Any, ...]:
    places = sorted(path.parent.name for path in _DRIVERS.glob(f"*/{name}.py"))
    return tuple(import_module(f"cmgr.drivers.{place}.{name}") for place in places)
