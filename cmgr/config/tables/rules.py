"""Rules of escalation, shipped or an operator's: Ascend's format (JSON, or the same in TOML), checked as a whole."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import timedelta
from typing import Any

from cmgr import trust
from cmgr.config.spelling import did_you_mean, parse_json, parse_toml, plain, quoted
from cmgr.errors import ConfigError
from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultCode, Handling
from cmgr.model.values.handling.catalog import FORMS, is_of_machine, normal_code
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, RuleKind, Rules
from cmgr.sentences.sentence import parts, say

MANUAL = Handling.ManuallySeparateNPU.name
FOREVER = 2**32
"""Seconds that Ascend's files say for "never released"."""

_IGNORED = frozenset({"GraceTolerance"})
"""Keys of Ascend's file that cmgr has settings of its own for."""

_FREQUENCY = ("EventId", "TimeWindow", "Times", "FaultHandling", "ReleaseTimeWindow")
_DURATION = ("EventId", "FaultTimeout", "RecoverTimeout", "FaultHandling")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of a file, and what is odd in it without being wrong."""

    rules: Rules
    warnings: tuple[str, ...] = ()


def read_rules(path: str) -> RuleFile:
    """Return the rules of a file ending in .json or .toml. Raises `ConfigError` with every mistake."""
    text = trust.read(path)
    if path.endswith(".toml"):
        return checked(parse_toml(text, path), path)
    document, repeated = parse_json(text, path)
    return checked(document, path, [say("config.twice-in-object", key=plain(key)) for key in repeated])


def checked(document: object, path: str, mistakes: list[str] | None = None) -> RuleFile:
    """Return the rules that this document means. Raises `ConfigError` with every mistake, these before its own."""
    keys = [*map(str, RuleKind)]
    if not isinstance(document, Mapping):
        raise ConfigError(say("config.rules-cannot", path=path, why=say("config.object-with", keys=keys)))
    reading = _Reading(mistakes=list(mistakes or ()))
    for key, raw in document.items():
        reading.take(str(key), raw)
    if not reading.mistakes and document.keys().isdisjoint(RuleKind):
        reading.mistakes.append(say("config.no-rule", keys=keys))
    if reading.mistakes:
        count = len(reading.mistakes)
        first = reading.mistakes[0] if count == 1 else say("config.mistakes", count=count)
        raise ConfigError(say("config.rules-cannot", path=path, why=first), mistakes=tuple(reading.mistakes))
    return RuleFile(Rules(reading.frequency, reading.duration), tuple(reading.warnings))


def merged(shipped: Rules, own: Rules, *, replace: bool) -> Rules:
    """Return the operator's rules laid over the shipped ones code by code, or alone when they replace those."""
    if replace:
        return own
    return Rules({**shipped.frequency, **own.frequency}, {**shipped.duration, **own.duration})


def sparing(shipped: Rules) -> Rules:
    """Return the shipped rules as an appliance needs them: nobody moves its services away from a chip at once."""
    frequency = {code: dataclasses.replace(rule, after_reset=True) for code, rule in shipped.frequency.items()}
    return Rules(frequency, shipped.duration)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The part of a document that was read so far."""

    frequency: dict[FaultCode, FrequencyRule] = field(default_factory=dict)
    duration: dict[FaultCode, DurationRule] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, key: str, raw: object) -> None:
        if key in _IGNORED:
            self.warnings.append(say("config.own-settings", key=key))
        elif key not in set(RuleKind):
            self.mistakes.append(parts([say("config.no-such-key", key=plain(key)), did_you_mean(key, RuleKind)]))
        elif not isinstance(raw, list):
            allowed = say("config.list-of-rules")
            self.mistakes.append(say("config.value", key=key, value=quoted(raw), allowed=allowed))
        else:
            for number, rule in enumerate(raw, start=1):
                self._take_rule(RuleKind(key), _Rule(f"{key}[{number}]", rule))

    def _take_rule(self, kind: RuleKind, rule: "_Rule") -> None:
        if rule.is_for_no_code():
            # Ascend ships such an example, with values that its own checks refuse.
            self.warnings.append(say("config.empty-event", key=rule.where, field="EventId"))
            return
        # Of two types, but each read for the one mapping that it goes into.
        into: dict[FaultCode, Any] = self.frequency if kind is RuleKind.FREQUENCY else self.duration
        made = _frequency(rule) if kind is RuleKind.FREQUENCY else _duration(rule)
        codes = Counter(rule.codes())
        for code, count in codes.items():
            at = f"{rule.where}.EventId"
            if code in into:
                rule.mistakes.append(say("config.in-another-rule", key=at, code=code, kind=kind))
            elif count > 1:
                self.warnings.append(say("config.stands-times", key=at, code=code, count=count))
        into.update(dict.fromkeys(codes, made))
        self.mistakes.extend(rule.mistakes)


def _frequency(rule: "_Rule") -> FrequencyRule:
    rule.allow(_FREQUENCY)
    window = rule.number("TimeWindow", 60, 864000)
    times = rule.number("Times", 1, 100)
    handling = rule.handling([*Handling.__members__])
    release = _release(rule, handling)
    return FrequencyRule(timedelta(seconds=window), times, _handling(handling), release)


def _release(rule: "_Rule", handling: str) -> timedelta | None:
    if not rule.has("ReleaseTimeWindow"):
        if handling and handling != MANUAL:
            rule.mistakes.append(say("config.no-release", key=f"{rule.where}.ReleaseTimeWindow", handling=MANUAL))
        return None
    # Ascend reads 0 as it reads nothing: never.
    if rule.is_zero("ReleaseTimeWindow"):
        return None
    seconds = rule.number("ReleaseTimeWindow", 60, FOREVER)
    return None if seconds == FOREVER else timedelta(seconds=seconds)


def _duration(rule: "_Rule") -> DurationRule:
    rule.allow(_DURATION)
    fault = rule.number("FaultTimeout", 0, 600)
    recover = rule.number("RecoverTimeout", 0, 86400)
    handling = rule.handling([h for h in Handling.__members__ if h != MANUAL])
    return DurationRule(timedelta(seconds=fault), timedelta(seconds=recover), _handling(handling))


def _handling(word: str) -> Handling:
    return Handling.__members__.get(word, Handling.NotHandleFault)


class _Rule:
    """One rule as it stands in the file, and what is wrong with it; where something is, any value stands in for it."""

    def __init__(self, where: str, raw: object) -> None:
        self.where = where
        self.mistakes: list[str] = []
        # One sentence is enough for what is no rule at all.
        self._is_rule = isinstance(raw, Mapping)
        self._raw: Mapping[str, object] = raw if isinstance(raw, Mapping) else {}
        if not self._is_rule:
            self.mistakes.append(say("config.value", key=where, value=quoted(raw), allowed=say("config.object")))

    def allow(self, keys: tuple[str, ...]) -> None:
        for key in self._raw:
            if key not in keys:
                unknown = say("config.no-such-field", key=f"{self.where}.{plain(key)}")
                self.mistakes.append(parts([unknown, did_you_mean(key, keys)]))

    def has(self, key: str) -> bool:
        return key in self._raw

    def is_zero(self, key: str) -> bool:
        value = self._raw.get(key)
        return type(value) is int and value == 0

    def is_for_no_code(self) -> bool:
        return self._raw.get("EventId") == []

    def number(self, key: str, least: int, most: int) -> int:
        value = self._raw.get(key)
        # bool is a subclass of int, and `Times: true` is a mistake.
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self._wrong(key, say("config.whole", least=least, most=most))
        return least

    def handling(self, allowed: list[str]) -> str:
        """Return the word for the level; empty: there is none that is good."""
        value = self._raw.get("FaultHandling")
        if isinstance(value, str) and value in allowed:
            return value
        guess = did_you_mean(value, allowed) if isinstance(value, str) else ""
        self._wrong("FaultHandling", say("word.either", parts=allowed), guess)
        return ""

    def codes(self) -> Iterator[FaultCode]:
        raw = self._raw.get("EventId")
        if not isinstance(raw, list):
            self._wrong("EventId", say("config.list-of-codes"))
            return
        for number, item in enumerate(raw, start=1):
            code = normal_code(item) if isinstance(item, str) else None
            key, value = f"{self.where}.EventId[{number}]", quoted(item)
            if code is not None and is_of_machine(code):
                self.mistakes.append(say("config.rules-of-chips", key=key, value=value))
            elif code is not None:
                yield code
            else:
                allowed = say("config.in-quotes", forms=FORMS)
                self.mistakes.append(say("config.value", key=key, value=value, allowed=allowed))

    def _wrong(self, key: str, allowed: str, guess: str = "") -> None:
        if not self._is_rule:
            return
        at = f"{self.where}.{key}"
        if self.has(key):
            what = say("config.value", key=at, value=quoted(self._raw[key]), allowed=allowed)
        else:
            what = say("config.value-missing", key=at, allowed=allowed)
        self.mistakes.append(parts([what, guess]))
