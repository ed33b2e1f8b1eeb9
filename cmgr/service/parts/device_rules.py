"""Which chips containers can open, by the device rules of their control groups.

Rules are written anew while a container runs: by systemd whenever it reads its units anew, and by an update of the
container. Then the rules are gone that a hook had added, and those for devices that systemd cannot name, and no runtime
tells of it. Version 1 of control groups shows the rules in force (`devices.list`); version 2 has them in programs of
the kernel, which show none.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from cmgr.model.values.chips import UNCLEAR, Chip, ChipId, resolve
from cmgr.model.values.messages.health_facts import RulesRead
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.runtimes.claims import Majors, chip_majors, from_numbers
from cmgr.vendor import notations

EVERY = timedelta(seconds=15)

_RULE = re.compile(r"^[ac] (?P<major>[0-9]+|\*):(?P<minor>[0-9]+|\*) (?P<rights>[rwm]+)$", re.MULTILINE)

_WHOLE_ID = 64
"""So long are ids that no two containers have: Docker's and nerdctl's."""


def opened(rules: str, chips: Mapping[ChipId, Chip], majors: Majors) -> frozenset[ChipId]:
    """Return the chips that can be opened by these rules; `majors` as `claims.majors_here` has them."""
    # All devices, as whoever is privileged has them, are "a *:* rwm".
    found = (rule for rule in _RULE.finditer(rules) if {"r", "w"} <= {*rule["rights"]})
    claims = from_numbers([(_number(rule["major"]), _number(rule["minor"])) for rule in found], majors).chips
    return frozenset(chips) if UNCLEAR in claims else resolve(claims, chips, {})[0]


def _number(text: str) -> int:
    return -1 if text == "*" else int(text)


class DeviceRules:
    """Looks on the thread of whoever calls. `tell` is called of each container whose rules say otherwise than known."""

    every = EVERY

    def __init__(self, node: Callable[[], Node], tell: Callable[[RulesRead], None], root: Path = Path("/")) -> None:
        self._node, self._tell = node, tell
        self._groups, self._devices = root / "sys/fs/cgroup/devices", root / "proc/devices"
        self._shows = self._groups.is_dir()
        self._places: dict[ContainerKey, Path] = {}

    def is_wished(self, node: Node) -> bool:
        """Return whether a container runs on chips, and the kernel shows its rules."""
        return self._shows and any(_watched(node))

    def look(self, _at: float) -> None:
        """Read the rules of all. Raises nothing."""
        node, majors = self._node(), chip_majors(_text(self._devices))
        watched = {container.key: container for container in _watched(node)}
        # Without a driver in the kernel nobody knows the numbers of chips.
        if not watched or not (majors or any(notation.numbers for notation in notations())):
            return
        if not watched.keys() <= self._places.keys():
            self._places = self._found(watched)
        for key, place in [*self._places.items()]:
            rules, container = _text(place / "devices.list"), watched.get(key)
            if not rules or container is None:
                del self._places[key]  # It has ended, or has begun anew elsewhere.
                continue
            chips = opened(rules, node.chips, majors) & container.kept.chips
            reached = container.kept.reached | chips
            if (reached, reached - chips) != (container.kept.reached, container.kept.denied):
                self._tell(RulesRead(key, container.run, chips))

    def _found(self, watched: Mapping[ContainerKey, Container]) -> dict[ContainerKey, Path]:
        places: dict[str, list[Path]] = {}
        for directory, names, _ in os.walk(self._groups):
            for name in names:
                # A group that systemd made for Docker's container ID is called docker-ID.scope.
                id_ = name.removesuffix(".scope").rpartition("-")[2] if name.endswith(".scope") else name
                places.setdefault(id_, []).append(Path(directory, name))
        found = {key: [place for place in places.get(key.id, ()) if _is_of(key, place)] for key in watched}
        # Whoever is given a control group names those in it as he likes: of two nobody knows whose rules are whose.
        return {key: those[0] for key, those in found.items() if len(those) == 1}


def _watched(node: Node) -> Iterator[Container]:
    known = node.containers.values()
    return (each for each in known if each.running and each.kept.chips and each.key.runtime != SYSTEMD)


def _is_of(key: ContainerKey, place: Path) -> bool:
    """Return whether the control group is this container's. A short id may be that of another one elsewhere."""
    return len(key.id) == _WHOLE_ID or (place.name == key.id and place.parent.name == key.namespace)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
