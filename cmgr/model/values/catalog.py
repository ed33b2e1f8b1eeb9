"""Fault tables: which level a code has, and where that level comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cmgr.model.values.faults import FaultCode, Level, Severity
from cmgr.model.values.rules import Rules

BY_SEVERITY = "severity"
"""The rule for unknown codes that follows the driver's own word."""

_HEX = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,8})")


@dataclass(frozen=True, slots=True)
class Entry:
    """A code's level and the table that gave it."""

    level: Level
    origin: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level of a fault, and in words where it comes from."""

    level: Level
    origin: str
    known: bool
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All codes with their levels. `unknown` is `BY_SEVERITY` or the level that every code in no table gets."""

    entries: Mapping[FaultCode, Entry] = field(default_factory=dict)
    unknown: Level | str = BY_SEVERITY
    rules: Rules = field(default_factory=Rules)

    def judge(self, code: FaultCode, severity: Severity | None) -> Verdict:
        """Return the level of a fault with this code that the driver calls this grave."""
        entry = self.entries.get(code)
        if entry is not None:
            return Verdict(entry.level, entry.origin, known=True, meaning=entry.meaning)
        if isinstance(self.unknown, Level):
            return Verdict(self.unknown, "in no table; faults.unknown gives this level", known=False)
        # Nobody said how grave it is, so it is taken for grave: better a person looks once too often.
        grave = severity is None or severity >= Severity.major
        level = Level.SeparateNPU if grave else Level.NotHandleFault
        told = "no severity" if severity is None else f"severity {severity.name}"
        return Verdict(level, f"in no table; the driver gave {told}", known=False)


def normal_code(text: str) -> FaultCode | None:
    """Return a code in its one spelling (eight upper-case hex digits), or None when it is not a code."""
    match = _HEX.fullmatch(text.strip())
    if match is None or int(match[1], 16) == 0:
        return None
    return FaultCode(match[1].upper().rjust(8, "0"))


def table(levels: Mapping[Level, tuple[FaultCode, ...]], origin: str) -> dict[FaultCode, Entry]:
    """Return a table's entries. A code listed under two levels has the higher."""
    entries: dict[FaultCode, Entry] = {}
    for level in sorted(levels):
        for code in levels[level]:
            entries[code] = Entry(level, origin)
    return entries


def merged(
    builtin: Mapping[FaultCode, Entry], operator: Mapping[FaultCode, Entry], *, replace: bool
) -> Mapping[FaultCode, Entry]:
    """Return the operator's table laid over the built-in one, or alone when it replaces that."""
    return dict(operator) if replace else {**builtin, **operator}
