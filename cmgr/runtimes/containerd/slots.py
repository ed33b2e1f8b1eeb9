"""A container's slot in its stored definition, which is rewritten before a start.

containerd resolves CDI names only once, when a container is made. Here what the slot's file says now takes the place of
what it said before. Of the earlier chips the definition has what any maker's chips look like (their device files, with
the rules that let the container reach them) and the variables that the slot's file sets: both go, all else stays. Pure,
but for `node_here`.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any

from cmgr.errors import ContainerError
from cmgr.model.values.services.slots import NAME
from cmgr.runtimes.documents import Json, items, mapping, text
from cmgr.vendor import notations

SLOT_VARIABLE = re.compile(rf"CMGR_SLOT=({NAME.pattern})")
"""The variable by which the slot's file says its name."""

Node = tuple[str, int, int]
"""A device file's type, major and minor number."""


def slot_in(spec: Json) -> str:
    """Return the name of the slot that the definition was made with; nothing where there was none."""
    for assigned in items(mapping(spec.get("process")).get("env")):
        found = SLOT_VARIABLE.fullmatch(assigned) if isinstance(assigned, str) else None
        if found is not None:
            return found[1]
    return ""


def file_name(slot: str) -> str:
    return f"cmgr-slot-{slot}.json"


def edits_of(document: Json, slot: str) -> Json:
    """Return what the slot's file gives a container; nothing where it is no such file."""
    devices = [mapping(device) for device in items(document.get("devices"))]
    return next((mapping(d.get("containerEdits")) for d in devices if text(d, "name") == slot), {})


def node_here(path: str) -> Node:
    """Return what this device file of the machine is. Raises `ContainerError` with its name where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        # A file that refuses names a device file that is not there, whose name is the reason.
        raise ContainerError(path.removeprefix("/")) from None
    kind = "c" if stat.S_ISCHR(found.st_mode) else "b"
    return kind, os.major(found.st_rdev), os.minor(found.st_rdev)


def given(spec: Json, edits: Json, node: Callable[[str], Node] = node_here) -> dict[str, Any]:
    """Return the definition with these edits in the place of those of the slot's earlier chips."""
    process, linux = dict(mapping(spec.get("process"))), dict(mapping(spec.get("linux")))
    resources = dict(mapping(linux.get("resources")))
    new = {text(d, "path"): d for d in map(mapping, items(edits.get("deviceNodes"))) if text(d, "path")}
    old = [d for d in map(mapping, items(linux.get("devices"))) if text(d, "path") in new or _is_chip(text(d, "path"))]
    kept = [d for d in items(linux.get("devices")) if d not in old]
    gone = {_numbers(device) for device in old}
    rules = [r for r in items(resources.get("devices")) if not _is_of(mapping(r), gone)]
    found = {path: node(text(device, "hostPath") or path) for path, device in new.items()}
    linux["devices"] = [*kept, *(_device(path, *numbers) for path, numbers in found.items())]
    resources["devices"] = [
        *rules,
        *(_rule(found[path], text(device, "permissions") or "rwm") for path, device in new.items()),
    ]
    linux["resources"] = resources
    process["env"] = _assigned(items(process.get("env")), items(edits.get("env")))
    return {**spec, "process": process, "linux": linux, "mounts": _mounted(items(spec.get("mounts")), edits)}


def _is_chip(path: str) -> bool:
    return any(notation.node.fullmatch(path) for notation in notations())


def _numbers(device: Json) -> tuple[object, object, object]:
    return device.get("type"), device.get("major"), device.get("minor")


def _is_of(rule: Json, gone: set[tuple[object, object, object]]) -> bool:
    return rule.get("allow") is True and _numbers(rule) in gone


def _device(path: str, kind: str, major: int, minor: int) -> dict[str, object]:
    return {"path": path, "type": kind, "major": major, "minor": minor, "fileMode": 0o660, "uid": 0, "gid": 0}


def _rule(node: Node, access: str) -> dict[str, object]:
    return {"allow": True, "type": node[0], "major": node[1], "minor": node[2], "access": access}


def _assigned(before: Iterable[object], fresh: Iterable[object]) -> list[object]:
    lines = [line for line in fresh if isinstance(line, str)]
    names = {line.partition("=")[0] for line in lines}
    return [*(line for line in before if str(line).partition("=")[0] not in names), *lines]


def _mounted(before: list[object], edits: Json) -> list[object]:
    there = {text(mapping(mount), "destination") for mount in before}
    fresh = [mapping(mount) for mount in items(edits.get("mounts"))]
    return [*before, *(_mount(mount) for mount in fresh if text(mount, "containerPath") not in there)]


def _mount(mount: Json) -> dict[str, object]:
    options = [option for option in items(mount.get("options")) if isinstance(option, str)]
    return {
        "destination": text(mount, "containerPath"),
        "source": text(mount, "hostPath"),
        "type": "bind",
        "options": options or ["ro", "bind"],
    }
