"""Other chips for a container without a slot: its stored definition, rewritten while it has no task. Pure.

The former words of the definition about its chips are kept beside it, in the record's own extensions, by the same call:
whoever is killed after that has lost nothing. Every change begins with those originals, so that it may be repeated, and
the way back gives just what was.
"""

import re
from collections.abc import Sequence
from typing import Any

from cmgr.errors import ContainerError
from cmgr.model.values.chips import ALL_CHIPS, BY_ID, UNCLEAR, Chip, listed
from cmgr.runtimes import claims
from cmgr.runtimes.documents import Json, items, mapping, text
from cmgr.vendor import counts, notations
from cmgr.words import json_of

ORIGINAL = "cmgr.io/original"
"""The extension of containerd's record that has the originals; without a value there are none."""

Pairs = Sequence[tuple[Chip, Chip | None]]
"""Each chip that the definition was made for, and the one that it is to give instead: mostly itself; None: none."""

_NAMED_IN_HOOKS = re.compile(
    "|".join(
        (
            r"--device=",
            r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]",
            r"[A-Z]{3}-[0-9a-fA-F]",
            *(notation.node.pattern for notation in notations()),
        )
    )
)
"""How a text names one chip: the argument of a maker's tool, a bus id, a uuid, a device file."""


def original_of(spec: Json) -> Json:
    """Return what a definition says of its chips, in all places that are ever rewritten."""
    linux = mapping(spec.get("linux"))
    return {
        "env": items(mapping(spec.get("process")).get("env")),
        "devices": items(linux.get("devices")),
        "rules": items(mapping(linux.get("resources")).get("devices")),
    }


def with_original(spec: Json, original: Json) -> dict[str, Any]:
    """Return the definition with these in the place of what it says of its chips."""
    process, linux = dict(mapping(spec.get("process"))), dict(mapping(spec.get("linux")))
    resources = dict(mapping(linux.get("resources")))
    process["env"] = items(original.get("env"))
    linux["devices"] = items(original.get("devices"))
    resources["devices"] = items(original.get("rules"))
    return {**spec, "process": process, "linux": {**linux, "resources": resources}}


def kept(value: bytes) -> Json:
    """Return the originals that the extension has; nothing where there are none."""
    try:
        return mapping(json_of(value)) if value else {}
    except ValueError:
        return {}


def why_tied(spec: Json, asked: frozenset[str], majors: claims.Majors) -> str:
    """Return why the container cannot be given other chips, in words that follow its name; nothing where it can."""
    if why := _too_wide(asked):
        return why
    if part := _part(mapping(spec.get("process"))):
        return f"asks for {part!r}, which may be a part of a chip"
    if any(text(mapping(spec.get("annotations")), name) for name in mapping(spec.get("annotations")) if _is_cdi(name)):
        return "has annotations that name its chips"
    for mount in map(mapping, items(spec.get("mounts"))):
        for path in (text(mount, "source"), text(mount, "destination")):
            if _NAMED_IN_HOOKS.search(path) or claims.from_mounts([path]).chips:
                return f"has {path[:80]!r} mounted, which is of its chip"
    for hook in (mapping(hook) for stage in mapping(spec.get("hooks")).values() for hook in items(stage)):
        for word in (*items(hook.get("args")), *items(hook.get("env"))):
            if isinstance(word, str) and _NAMED_IN_HOOKS.search(word):
                return f"has a hook that names its chip: {word[:80]!r}"
    return _kept_on_disk(mapping(spec.get("linux")), majors) or _named_by_hand(mapping(spec.get("process")))


def _too_wide(asked: frozenset[str]) -> str:
    if asked & {ALL_CHIPS, UNCLEAR}:
        return "can reach every chip"
    learned = any(claim in notation.names or claim in notation.files for claim in asked for notation in notations())
    return "asks for chips in words that only their program knows" if learned else ""


def _kept_on_disk(linux: Json, majors: claims.Majors) -> str:
    """Return which device file of a chip lies among its own files: there it stays as it was made in an earlier life."""
    for device in map(mapping, items(linux.get("devices"))):
        path = text(device, "path")
        if device.get("major") in majors and path and not path.startswith("/dev/"):
            return f"has the device file of its chip outside of /dev: {path[:80]!r}"
    return ""


_WHOLE = re.compile(
    "|".join(
        (
            r"\s*",
            r"[0-9]{1,4}(?:\s*-\s*[0-9]{1,4})?",
            claims.BUS.pattern,
            # A make's first pattern is that of whole chips: the others may be of parts, which stay where they are.
            *(notation.items[0].pattern for notation in notations() if notation.items),
        )
    ),
    re.IGNORECASE,
)


def _part(process: Json) -> str:
    """Return what in a maker's variables names anything but whole chips, or has parts of them meant."""
    variables = {notation.variable: notation.none for notation in notations()}
    lines = [str(line) for line in items(process.get("env"))]
    if line := next(filter(_means_parts, lines), ""):
        return line[:80]
    for line in lines:
        name, _, value = line.partition("=")
        for item in value.split(",") if name in variables else ():
            if not _WHOLE.fullmatch(item.strip()) and item.strip().casefold() not in {"none", *variables[name]}:
                return item.strip()[:80]
    return ""


def _means_parts(line: str) -> bool:
    name, _, value = line.partition("=")
    for notation in notations():
        options, word = notation.parts_if or ("", "")
        said = {option.strip().upper() for option in value.split(",")}
        if (name == notation.parts_made and value) or (name == options and word in said):
            return True
    return False


def _is_cdi(name: object) -> bool:
    return isinstance(name, str) and name.startswith("cdi.k8s.io/")


def _named_by_hand(process: Json) -> str:
    """Return where its command or another variable names a device file of a chip: nobody could change that for it."""
    ours = {variable for notation in notations() for variable in notation.variables}
    lines = [line for line in items(process.get("env")) if str(line).partition("=")[0] not in ours]
    for word in (*items(process.get("args")), *lines):
        if any(notation.node.search(str(word)) for notation in notations()):
            return f"names the device file of its chip: {str(word)[:80]!r}"
    return ""


def placed(spec: Json, original: Json, pairs: Pairs, majors: claims.Majors) -> dict[str, Any]:
    """Return the definition with other chips in the place of those that it was made for. Raises `ContainerError`."""
    made = with_original(spec, original)
    if all(old == new for old, new in pairs):
        return made
    process, linux = made["process"], made["linux"]
    process["env"] = [*_renamed(items(original.get("env")), pairs), *_told(pairs)]
    linux["devices"] = _renumbered(items(original.get("devices")), pairs, majors)
    linux["resources"]["devices"] = _renumbered(items(original.get("rules")), pairs, majors)
    return made


def _told(pairs: Pairs) -> list[str]:
    return counts([new for _, new in pairs if new is not None], len(pairs))


def _renamed(lines: Sequence[object], pairs: Pairs) -> list[object]:
    """Return the assignments, with the chips in the variables of their makers called by their new names."""
    told = {line.partition("=")[0] for line in _told(pairs)}
    return [_line(line, pairs) for line in lines if str(line).partition("=")[0] not in told]


def _line(line: object, pairs: Pairs) -> object:
    name, _, value = str(line).partition("=")
    if name not in {notation.variable for notation in notations()}:
        return line
    return f"{name}={claims.renamed(value, lambda claim: _other(claim, pairs))}"


def _other(claim: str, pairs: Pairs) -> str | None:
    """Return what is to stand where this claim stands: the new chip called in the same way; None: nothing."""
    for old, new in pairs:
        if claim in (str(old.asked_as), old.serial, old.bus, *old.aliases) and claim:
            return _called(claim, old, new) if new is not None else None
    return claim


def _called(claim: str, old: Chip, new: Chip) -> str:
    if old == new:
        return claim
    ways: tuple[tuple[str, str], ...] = ((old.serial, new.serial), (old.bus, new.bus))
    return next((fresh for was, fresh in ways if claim == was and fresh), str(new.asked_as))


def _renumbered(entries: Sequence[object], pairs: Pairs, majors: claims.Majors) -> list[object]:
    """Return device files, or the rules that let a container reach them, with those of the new chips."""
    found = (_entry(mapping(entry), pairs, majors) if isinstance(entry, dict) else entry for entry in entries)
    return [entry for entry in found if entry is not None]


def _entry(entry: Json, pairs: Pairs, majors: claims.Majors) -> Json | None:
    major, minor = entry.get("major"), entry.get("minor")
    if entry.get("type") != "c" or major not in majors or not isinstance(minor, int) or entry.get("allow") is False:
        return entry
    assert isinstance(major, int)
    file = majors[major]
    pair = next((p for p in pairs if f"{file}{minor}" in (f"{BY_ID}{p[0].id}", *p[0].aliases)), None)
    if pair is None or pair[1] is None:
        return entry if pair is None else None
    path = text(entry, "path")
    changes = {"path": _path(path, pair[1])} if path else {}
    return {**entry, **changes, "minor": _minor(pair[1], file)}


def _minor(chip: Chip, file: str) -> int:
    """Return the chip's minor number; `file` as `claims.Majors` has it."""
    if file == BY_ID:
        return chip.id
    numbers = [alias.removeprefix(file) for alias in chip.aliases if alias.startswith(file)]
    found = next((number for number in numbers if number.isdigit()), None)
    if found is None:
        raise ContainerError(f"the device file of {listed([chip.id])} is not known")
    return int(found)


def _path(path: str, chip: Chip) -> str:
    """Return the path inside the container: another number where it has one, as the makers' software wants it."""
    for notation in notations():
        if named := notation.node.fullmatch(path):
            number = _minor(chip, notation.file) if notation.file else chip.asked_as
            return f"{path[: named.start(1)]}{number}{path[named.end(1) :]}"
    return path
