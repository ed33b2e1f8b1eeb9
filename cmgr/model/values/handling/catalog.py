"""Fault tables: which level a code has, and where that level comes from."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultClass, FaultCode, Handling, Level, Severity, within_class
from cmgr.model.values.handling.rules import Rules
from cmgr.sentences.sentence import say

BY_SEVERITY = "severity"
"""The rule for unknown codes that follows the driver's own word."""

NAMES = ("Xid", "SXid")
"""The names under which some makes of chips number their faults, as their people write them."""

FORMS = say("usage.code-forms", digits="80E24E00", number="Xid 79", words="raid-degraded", alarm="ALM-0x0300000D")
"""The forms of a code, for a message about a text that is none."""

_HEX = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,8})")

_REPORTED_DIGITS = 9
"""So many digits has a code that other programs report. No driver's has nine."""
_WORDS = re.compile(r"(?=.{3,40}\Z)[a-z]+(?:-[a-z]+)+", re.ASCII)
"""A code of the machine's own."""

_NAMED = re.compile(rf"({'|'.join(NAMES)})[ _-]?0*([1-9][0-9]{{0,5}})", re.ASCII | re.IGNORECASE)
_ALARM = re.compile(r"ALM-0x([0-9A-F]{8})", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)

# Made once: a storm has a thousand codes judged a second.
_UNLISTED, _REPORTED = say("fault.in-no-table"), say("fault.in-no-table-reported")
_BY_SETTING = say("fault.in-no-table-setting")
_BY_DRIVER: Mapping[Severity | None, str] = {
    None: say("fault.in-no-table-none"),
    **{severity: say("fault.in-no-table-severity", severity=severity.name) for severity in Severity},
}


class Words(NamedTuple):
    """The meaning of a code and what a person can do about it, in one language; nothing where nobody has written it."""

    meaning: str = ""
    advice: str = ""


UNSAID = Words()


@dataclass(frozen=True, slots=True)
class Entry:
    """A code's handling and class, and the table that gave them. `advice`: what a person can do about it.

    `chinese`: the meaning and the advice in Chinese. `reboots`: nothing less than a restart of the machine cures it.
    """

    handling: Handling
    origin: str
    meaning: str = ""
    fault_class: FaultClass = FaultClass.CHIP
    advice: str = ""
    chinese: Words = UNSAID
    reboots: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The handling of a fault, its class, and in words where they come from. `advice`: its maker's."""

    handling: Handling
    origin: str
    known: bool
    meaning: str = ""
    fault_class: FaultClass = FaultClass.CHIP
    advice: str = ""
    chinese: Words = UNSAID

    @property
    def level(self) -> Level:
        """Return what is done about it on the chip that has it: nothing for what concerns the whole machine."""
        return Level.NotHandleFault if self.fault_class is FaultClass.MACHINE else self.handling.level

    @property
    def words(self) -> str:
        """Return what the code means, for a sentence."""
        meanings = [self.meaning, self.chinese.meaning]
        return say("fault.meaning", meaning=meanings) if self.meaning else say("fault.no-meaning")


@dataclass(frozen=True, slots=True)
class Catalog:
    """All codes with their levels. `unknown` is `BY_SEVERITY` or the level that every code in no table gets."""

    entries: Mapping[FaultCode, Entry] = field(default_factory=dict)
    unknown: Level | str = BY_SEVERITY
    rules: Rules = field(default_factory=Rules)

    def judge(self, code: FaultCode, severity: Severity | None) -> Verdict:
        """Return the level of a fault with this code that the driver calls this grave."""
        entry, fault_class = self.entries.get(code), self.class_of(code)
        if entry is not None:
            handling = within_class(entry.handling, fault_class)
            words = entry.meaning, fault_class, entry.advice, entry.chinese
            return Verdict(handling, entry.origin, True, *words)
        if fault_class is FaultClass.REPORTED:
            return Verdict(Handling.NotHandleFault, _REPORTED, known=False, fault_class=fault_class)
        if fault_class is FaultClass.MACHINE:
            return Verdict(Handling.NotHandleFault, _UNLISTED, known=False, fault_class=fault_class)
        if isinstance(self.unknown, Level):
            return Verdict(Handling[self.unknown.name], _BY_SETTING, known=False)
        # Nobody said how grave it is, so it is taken for grave: better a person looks once too often.
        grave = severity is None or severity >= Severity.major
        handling = Handling.SeparateNPU if grave else Handling.NotHandleFault
        return Verdict(handling, _BY_DRIVER[severity], known=False)

    def class_of(self, code: FaultCode) -> FaultClass:
        """Return what a fault with this code concerns."""
        if is_reported(code):
            return FaultClass.REPORTED
        if is_of_machine(code):
            return FaultClass.MACHINE
        entry = self.entries.get(code)
        return FaultClass.CHIP if entry is None else entry.fault_class

    def reboots(self, code: FaultCode | None) -> bool:
        """Return whether nothing less than a restart of the machine cures a fault with this code."""
        entry = None if code is None else self.entries.get(code)
        return entry is not None and entry.reboots


def is_reported(code: str) -> bool:
    """Return whether this is a code that other programs report: nine decimal digits."""
    return len(code) == _REPORTED_DIGITS and code.isascii() and code.isdigit()


def is_of_machine(code: str) -> bool:
    """Return whether this is a code of the machine around the chips: words, or the error of a switch, or of a BMC."""
    return _is_words(code) or code.startswith(("SXid ", "ALM-"))


def _is_words(code: str) -> bool:
    return "-" in code and _WORDS.fullmatch(code) is not None


def normal_code(text: str) -> FaultCode | None:
    """Return a code in its one spelling, or None when it is not a code.

    That is eight upper-case hex digits, a name and a number, words with hyphens or a BMC's alarm where it is the
    machine's, or nine digits where another program has reported it. A number alone, of up to five decimal digits, is
    taken for a named one: codes in hex digits are written with all eight. Xids have up to four, SXids five.
    """
    given = text.strip()
    if len(given) == 8 and (code := _of_hex(given)):  # As most drivers tell all of theirs.
        return code
    if is_reported(given) or _is_words(given):
        return FaultCode(given)
    if _NUMBER.fullmatch(given):
        return FaultCode(f"{NAMES[len(given) > 4]} {given}")
    if named := _NAMED.fullmatch(given):
        (name,) = (name for name in NAMES if name.casefold() == named[1].casefold())
        return FaultCode(f"{name} {named[2]}")
    if alarm := _ALARM.fullmatch(given):
        return FaultCode(f"ALM-0x{alarm[1].upper()}")
    return _of_hex(given)


def _of_hex(given: str) -> FaultCode | None:
    match = _HEX.fullmatch(given)
    return FaultCode(match[1].upper().rjust(8, "0")) if match and int(match[1], 16) else None


Key = tuple[FaultClass, Handling]
"""The class and the handling under which a table lists codes."""


def table(keys: Mapping[Key, tuple[FaultCode, ...]], origin: str) -> dict[FaultCode, Entry]:
    """Return a table's entries. A code listed twice has the graver handling, and is the network's if either says so."""
    entries: dict[FaultCode, Entry] = {}
    for fault_class, handling in sorted(keys, key=lambda key: key[1]):
        for code in keys[fault_class, handling]:
            known = entries[code].fault_class if code in entries else FaultClass.CHIP
            entries[code] = Entry(handling, origin, fault_class=_either(fault_class, known))
    return entries


def _either(one: FaultClass, other: FaultClass) -> FaultClass:
    return other if one is FaultClass.CHIP else one


def merged(
    builtin: Mapping[FaultCode, Entry], operator: Mapping[FaultCode, Entry], *, replace: bool
) -> Mapping[FaultCode, Entry]:
    """Return the operator's table laid over the built-in one, or alone when it replaces that.

    A code that the built-in table calls the network's stays that: what it concerns is no matter of opinion.
    """
    own = {
        code: dataclasses.replace(entry, fault_class=_either(entry.fault_class, builtin[code].fault_class))
        if code in builtin
        else entry
        for code, entry in operator.items()
    }
    return own if replace else {**builtin, **own}
