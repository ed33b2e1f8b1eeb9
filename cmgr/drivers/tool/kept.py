"""The last description that a program gave, in a file: for who reads codes and definitions of containers without it."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cmgr import atomic, trust, typed
from cmgr.drivers.tool.giving import GIVING
from cmgr.drivers.tool.spoken import NUMBERED, Ability, Description
from cmgr.errors import CmgrError
from cmgr.model.values.faults import FaultCode, Handling
from cmgr.model.values.handling.catalog import Entry
from cmgr.vendor import Notation
from cmgr.words import json_of

NAME = "tool.json"

OURS = GIVING.kind.partition("/")[0]
"""The vendor in the CDI names that cmgr itself gives the chips (`cmgr cdi`)."""

_MODE = 0o640
_NEVER = re.compile(r"(?!)")

WITHOUT_RESET = {Handling.RestartNPU: Handling.SeparateNPU, Handling.FreeRestartNPU: Handling.PreSeparateNPU}
"""The treatment of faults that only a reset cures, where nobody can reset the chips: no one is stopped in vain."""


def keep(directory: Path, said: Description, devices: Mapping[str, str]) -> None:
    """Keep it, with the name by its numbers of each device file, by path. Does not raise."""
    if kept(directory) == (said, devices):
        return
    document = {"said": typed.plain(said), "devices": dict(devices)}
    # At worst the codes are in no table.
    with suppress(OSError), atomic.written(directory / NAME, _MODE, durable=False) as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")


def kept(directory: Path) -> tuple[Description, Mapping[str, str]] | None:
    """Return what was kept last; None where there is nothing that can be read."""
    try:
        text = trust.read_if_there(str(directory / NAME))
        read = None if text is None else json_of(text)
        if read is None:
            return None
        return typed.value(Description, read["said"]), typed.value(Mapping[str, str], read["devices"])
    except (CmgrError, ValueError, LookupError, TypeError):
        return None


def codes(directory: Path) -> Mapping[FaultCode, Entry]:
    """Return what the program says of its codes."""
    found = kept(directory)
    if found is None:
        return {}
    said, _ = found
    resets = said.can(Ability.RESET)
    origin = f"table of the program {said.about.name}" + ("" if resets else ", which resets no chips")
    entries = {}
    for each in said.codes:
        asked = Handling[each.level]
        handling = asked if resets else WITHOUT_RESET.get(asked, asked)
        entries[FaultCode(each.code)] = Entry(handling, origin, each.text, each.concerns, each.advice)
    return entries


def notations(directory: Path) -> tuple[Notation, ...]:
    """Return how containers ask for the chips: a notation for each variable, since any of them may list chips."""
    found = kept(directory)
    if found is None:
        return ()
    said, devices = found
    names = {name for each in said.chips for name in (*each.names, each.serial) if name}
    parts = {name for each in said.chips for part in each.shares for name in (part.id, *part.names)}
    numbers = {name.removeprefix(NUMBERED): path for path, name in devices.items() if name}
    vendor, _, _ = said.about.cdi.partition("/")
    return tuple(
        Notation(
            variable=variable,
            items=(),
            names=frozenset(names | parts),
            node=_NEVER,
            majors=frozenset(),
            cdi=frozenset({vendor, OURS} - {""} if not place else ()),
            files=frozenset(devices) if not place else frozenset(),
            numbers=numbers if not place else {},
        )
        for place, variable in enumerate(said.about.variables or ("",))
    )
