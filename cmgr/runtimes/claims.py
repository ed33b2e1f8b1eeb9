"""Which chips a container asks for, read from everything in its definition that can say so.

Pure, but for `majors_here`, `mounted_in`, and what a notation looks up. The same for every runtime and every make of
chips; how one make is asked for, its `vendor.Notation` says. A claim is what `chips.resolve` takes: a number in decimal
digits, `chips.BY_ID`, `chips.ALL_CHIPS`, a slot's name, a share (`0:1`), or a serial, uuid, bus id or device file, the
share's too. An unreadable item becomes a warning that names where it stands, and `chips.UNCLEAR`: it never hides the
other claims, and is never taken for chip 0, nor for none.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cmgr import redact
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ALL_CHIPS, BY_ID, SLOT, UNCLEAR
from cmgr.vendor import Notation, notations

_MOST = 4096
"""No machine has as many chips: a larger number is a mistake, and a range up to it would fill the memory."""

_CONTROL = 192
"""Minor numbers from here on are control devices, such as 254 and 255: no chip's."""

_NONE = ("", "none", "void")
_NUMBER = re.compile(r"[0-9]{1,4}")
_RANGE = re.compile(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})")
BUS = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?")
"""A bus id, with or without zeros in front, and the function: all that is read by "%x:%02x:%02x.0" with sscanf."""

_CDI = re.compile(r"([A-Za-z0-9.-]+)/([A-Za-z0-9._-]+)=(.+)", re.DOTALL)
_DEVICE = re.compile(r"(?m)^\s*([0-9]{1,4}) (\S+)\s*$")


Majors = Mapping[int, str]
"""The chip drivers' major numbers here, and how claims begin that are minor numbers of each."""


@dataclass(frozen=True, slots=True)
class Claims:
    """One place of a definition: the chips asked for, and a warning for each item that cannot be read."""

    chips: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A device request of Docker. `count` is used where no `ids` are given; -1 is all.

    `capabilities`: sets of them, of which a driver has to have one whole.
    """

    driver: str = ""
    ids: tuple[str, ...] = ()
    count: int = 0
    capabilities: tuple[frozenset[str], ...] = ()

    def asks_in(self, notation: Notation) -> bool:
        """Return whether the part of Docker serves it that knows this make of chips."""
        if self.driver:
            return self.driver in notation.requests
        return any(asked <= notation.capabilities for asked in self.capabilities)


def joined(parts: Iterable[Claims]) -> Claims:
    """Return what all the parts say together, each warning once."""
    everything = list(parts)
    chips = frozenset[str]().union(*(part.chips for part in everything))
    warnings = list(dict.fromkeys(w for part in everything for w in part.warnings))
    return Claims(chips, _few(warnings, "its definition", most=24))


def from_environment(
    environment: Sequence[str], requests: Sequence[Request] = (), programs: Sequence[str] | None = None
) -> Claims:
    """Return what `NAME=value` lines say; the last assignment of a name wins.

    `programs`: the OCI runtime and the hooks that make the container, by name or path; None where nobody can tell. A
    variable that only programs of its make give out counts where one of them is among these.
    A device request makes Docker set the variable of that make anew at each start, so that whatever the image or the
    user had assigned does not count.
    """
    return joined(
        _of_variables(notation, environment)
        for notation in notations()
        if not any(request.asks_in(notation) for request in requests) and _is_given(notation, programs)
    )


def _is_given(notation: Notation, programs: Sequence[str] | None) -> bool:
    if notation.given_by is None or programs is None:
        return True
    return any(notation.given_by.fullmatch(posixpath.basename(program)) for program in programs)


def _of_variables(notation: Notation, environment: Sequence[str]) -> Claims:
    name, asked = _listed(notation, environment)
    if asked is None:
        if notation.all_if is None:
            return Claims()
        has, lacks = (_assigned(environment, variable) for variable in notation.all_if)
        return Claims(frozenset({ALL_CHIPS}) if has and not lacks else frozenset())
    if notation.none & {item.strip().casefold() for item in asked.split(",")}:
        return Claims()
    read = from_list(name, asked)
    if notation.parts_if is None or not _has_word(environment, *notation.parts_if):
        return read
    named = (f"{notation.parts}{chip}" if _NUMBER.fullmatch(chip) else chip for chip in read.chips)
    return replace(read, chips=frozenset(named))


def _listed(notation: Notation, environment: Sequence[str]) -> tuple[str, str | None]:
    """Return the variable of this make that has the list of chips, and the list; None where none is set."""
    others = {name: text for name in notation.instead() if (text := _assigned(environment, name)) is not None}
    if others:
        return next(iter(others)), ",".join(others.values())
    return notation.variable, _assigned(environment, notation.variable)


def _has_word(environment: Sequence[str], variable: str, word: str) -> bool:
    return word in [option.strip().upper() for option in (_assigned(environment, variable) or "").split(",")]


def _assigned(environment: Sequence[str], name: str) -> str | None:
    value = None
    for line in environment:
        left, _, right = line.partition("=")
        if left == name:
            value = right
    return value


def from_list(where: str, text: str) -> Claims:
    """Return what a list of chips says: `0,1`, `0-3`, `all`, `none`, and what any make of chips has besides."""
    if text.strip().casefold() in _NONE:
        return Claims()
    chips: set[str] = set()
    warnings = []
    for item in dict.fromkeys(part.strip() for part in text.split(",")):
        named = _cdi(item) if _CDI.fullmatch(item) else _item(item) if item else frozenset[str]()
        if named is None:
            warnings.append(f"cannot read {_shown(item)} in {where}")
        chips |= frozenset({UNCLEAR}) if named is None else named
    return Claims(frozenset(chips), _few(warnings, where))


def _item(item: str) -> frozenset[str] | None:
    """Return the chips that one item of a list names, or None when it cannot be read."""
    if item.casefold() == ALL_CHIPS:
        return frozenset({ALL_CHIPS})
    if _NUMBER.fullmatch(item):
        return _numbers(item, item)
    if span := _RANGE.fullmatch(item):
        return _numbers(span[1], span[2])
    if bus := BUS.fullmatch(item):
        return frozenset({_bus(bus)})
    if part := _part(item):
        return part
    if any(item in notation.names for notation in notations()):
        return frozenset({item})
    named = _first(item, (pattern for notation in notations() for pattern in notation.items))
    if named is None:
        return None
    return _numbers(named[1], named[1]) if _NUMBER.fullmatch(named[1]) else frozenset({_as_told(named[1])})


def _bus(found: re.Match[str]) -> str:
    domain, bus, device = (int(part, 16) for part in found.groups()[:3])
    return f"{domain:04x}:{bus:02x}:{device:02x}.{found[4] or 0}"


def _as_told(name: str) -> str:
    """Return a chip's name as its driver writes it, whose kind is in capitals, whatever letters it is asked for by."""
    kind, dash, rest = name.partition("-")
    return f"{kind.upper()}{dash}{rest.lower()}"


def _part(item: str) -> frozenset[str]:
    """Return the place of the part that an item names together with its chip; nothing where it does not."""
    for notation in notations():
        named = _first(item, (pattern for pattern in notation.items if "part" in pattern.groupindex))
        if named is not None:
            return frozenset({f"{int(named['chip'])}:{int(named['part'])}"})
    return frozenset()


def renamed(text: str, name: Callable[[str], str | None]) -> str:
    """Return a list of chips with each called as `name` says, which is asked by its claim; None: it is left out."""
    found: list[str | None] = []
    for item in (part.strip() for part in text.split(",")):
        span, bus = _RANGE.fullmatch(item), BUS.fullmatch(item)
        if _NUMBER.fullmatch(item):
            found.append(name(str(int(item))))
        elif span:
            asked = [str(number) for number in range(int(span[1]), int(span[2]) + 1)]
            fresh = [name(claim) for claim in asked]
            found += [item] if fresh == asked else fresh
        elif bus:
            found.append(name(_bus(bus)))
        else:
            found.append(_renamed(item, name))
    return ",".join(item for item in found if item is not None)


def _renamed(item: str, name: Callable[[str], str | None]) -> str | None:
    named = _first(item, (pattern for notation in notations() for pattern in notation.items))
    if named is None:
        return item
    fresh = name(str(int(named[1])) if _NUMBER.fullmatch(named[1]) else _as_told(named[1]))
    return None if fresh is None else f"{item[: named.start(1)]}{fresh}{item[named.end(1) :]}"


def _first(text: str, patterns: Iterable[re.Pattern[str] | None]) -> re.Match[str] | None:
    return next((found for pattern in patterns if pattern and (found := pattern.fullmatch(text))), None)


def _numbers(first: str, last: str) -> frozenset[str] | None:
    if not int(first) <= int(last) < _MOST:
        return None
    return frozenset(str(number) for number in range(int(first), int(last) + 1))


def from_devices(paths: Iterable[str]) -> Claims:
    """Return what device paths on the host say. Devices that are no chips say nothing."""
    chips: set[str] = set()
    warnings = []
    for given in dict.fromkeys(paths):
        # POSIX keeps two leading slashes as they are; the kernel does not tell them from one.
        path = "/" + posixpath.normpath(given).lstrip("/")
        if node := _node(path):
            chips.add(node)
        elif part := _part_file(path):
            chips.add(part)
        elif within := [file for notation in notations() for file in notation.files if file.startswith(f"{path}/")]:
            chips.update(within)
        elif path == "/dev":
            chips.add(UNCLEAR)
            warnings.append("is given all of /dev, so it can reach every chip; which it uses cannot be told")
    return Claims(frozenset(chips), _few(warnings, "the devices"))


def _node(path: str) -> str:
    """Return the claim that a chip's device file is; nothing for other files."""
    if any(path in notation.files for notation in notations()):
        return path
    found = ((notation.file, notation.node.fullmatch(path)) for notation in notations())
    return next((f"{file}{int(node[1])}" for file, node in found if node), "")


def _part_file(path: str) -> str:
    """Return the claim that the device file of a part is; nothing for other files."""
    starts = [notation.parts for notation in notations() if notation.parts and path.startswith(notation.parts)]
    numbers = [path.removeprefix(start) for start in starts]
    return next((f"{start}{int(n)}" for start, n in zip(starts, numbers, strict=True) if _NUMBER.fullmatch(n)), "")


def from_mounts(places: Iterable[str]) -> Claims:
    """Return what the places say at which files are mounted inside the container."""
    found = (notation.mounts.fullmatch(place) for place in places for notation in notations() if notation.mounts)
    named = [re.sub(r"\Acdi/(?:([^/=]+)/([^/=]+)/)?(.+)", _cdi_name, match[1]) for match in found if match]
    return joined(
        from_cdi([item], "the mounts") if _CDI.fullmatch(item) else from_list("the mounts", item) for item in named
    )


def _cdi_name(mounted: re.Match[str]) -> str:
    return f"{mounted[1]}/{mounted[2]}={mounted[3]}" if mounted[1] else mounted[3]


def from_mountinfo(table: str) -> frozenset[str]:
    """Return the chips whose device files are mounted by this content of /proc/PID/mountinfo.

    Some runtimes give chips so, and what they gave stands nowhere else: the definition may ask for any two.
    """
    fields = (line.split(" ") for line in table.splitlines())
    # The fourth field is the file's path in its file system, which for device files is that of /dev; then comes its
    # place in the container.
    return frozenset(
        filter(None, (_node(f"/dev{field[3]}") for field in fields if len(field) > 4 and field[4].startswith("/dev/")))
    )


def mounted_in(pid: int, proc: Path = Path("/proc")) -> frozenset[str]:
    """Return the chips whose device files are mounted in a container, by its first process; nothing when it is gone."""
    try:
        return from_mountinfo((proc / str(pid) / "mountinfo").read_text("utf-8", "replace")) if pid > 0 else frozenset()
    except OSError:
        return frozenset()


def from_requests(requests: Iterable[Request]) -> Claims:
    """Return what Docker's device requests say. Those for other vendors' drivers say nothing."""
    return joined(_requested(request) for request in requests)


def _requested(request: Request) -> Claims:
    if request.driver == "cdi":
        return from_cdi(request.ids, "the device requests")
    if not any(request.asks_in(notation) for notation in notations()):
        return Claims()
    if request.ids:
        return from_list("the device requests", ",".join(request.ids))
    if request.count < 0:
        return Claims(frozenset({ALL_CHIPS}))
    if request.count >= _MOST:
        return Claims(frozenset({UNCLEAR}), (f"cannot read a device request for {_MOST} chips or more",))
    # Docker hands out the first ones.
    return Claims(frozenset(str(number) for number in range(request.count)))


def from_cdi(names: Iterable[str], where: str) -> Claims:
    """Return what CDI device names say: `vendor/class=0`, `vendor/class=all`. Those of no make of chips say nothing."""
    chips: set[str] = set()
    warnings = []
    for name in dict.fromkeys(names):
        named = _cdi(name)
        if named is None:
            warnings.append(f"cannot read {_shown(name)} in {where}")
        chips |= frozenset({UNCLEAR}) if named is None else named
    return Claims(frozenset(chips), _few(warnings, where))


def _cdi(name: str) -> frozenset[str] | None:
    """Return the chips that a CDI name says, which are none where the device is no chip; None: it cannot be read."""
    if name.startswith(SLOT):
        return frozenset({name})
    parts = _CDI.fullmatch(name)
    if parts is None:
        return None if any(make in name for notation in notations() for make in notation.cdi) else frozenset()
    asked = [notation for notation in notations() if parts[1].casefold() in notation.cdi]
    return _item(parts[3]) if asked and parts[2] not in asked[0].cdi_others else frozenset()


def from_annotations(annotations: Mapping[str, str]) -> Claims:
    """Return what the CDI annotations (`cdi.k8s.io/…`) among these say."""
    return joined(
        from_cdi((name.strip() for name in value.split(",")), f"annotation {_shown(key)}")
        for key, value in sorted(annotations.items())
        if key.startswith("cdi.k8s.io/")
    )


def from_numbers(numbers: Iterable[tuple[int, int]], majors: Majors) -> Claims:
    """Return what character devices' major and minor numbers say; `majors` as `majors_here` has them.

    A negative number stands for all: such a rule lets the container reach chips, and asks for none.
    """
    chips: set[str] = set()
    warnings = []
    known = {numbered: path for notation in notations() for numbered, path in notation.numbers.items()}
    theirs = {int(numbered.partition(":")[0]) for numbered in known}
    for major, minor in dict.fromkeys(numbers):
        if f"{major}:{minor}" in known:
            chips.add(known[f"{major}:{minor}"])
            continue
        if major >= 0 and major not in majors and (major not in theirs or minor >= 0):
            continue
        if major < 0 or minor < 0:
            rule = f"{'*' if major < 0 else major}:{'*' if minor < 0 else minor}"
            chips.add(UNCLEAR)
            warnings.append(f"may reach every chip by its device rule for {rule}; which it uses cannot be told")
        elif minor < _CONTROL:
            chips.add(f"{majors[major]}{minor}")
    return Claims(frozenset(chips), _few(warnings, "the device numbers"))


def chip_majors(table: str) -> Majors:
    """Return the chip drivers' major numbers from the text of `/proc/devices`."""
    files = {name: notation.file or BY_ID for notation in notations() for name in notation.majors}
    return {int(major): files[name] for major, name in _DEVICE.findall(table.partition("Block")[0]) if name in files}


def majors_here() -> Majors:
    """Return the chip drivers' major numbers on this machine."""
    try:
        return chip_majors(Path("/proc/devices").read_text("ascii", "replace"))
    except OSError:
        return {}


def _few(warnings: list[str], where: str, most: int = 8) -> tuple[str, ...]:
    # A container's definition is a stranger's text: it must not fill the log.
    if len(warnings) <= most:
        return tuple(warnings)
    return (*warnings[:most], f"cannot read {len(warnings) - most} more items in {where}")


def _shown(text: str) -> str:
    text = redact.shell(text)
    return repr(text if len(text) <= 48 else text[:47] + "…")
