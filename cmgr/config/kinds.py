"""How the value of a setting is read from a file or a text, checked, and written again."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError

from cmgr.config import week
from cmgr.config.spelling import duration, is_unit, quoted, spelled
from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.model.values.handling.calendar import Window
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.handling.questions import FORM as QUESTION
from cmgr.model.values.handling.questions import question
from cmgr.model.values.names import APPLIANCE
from cmgr.sentences.sentence import say

_SOCKET_LENGTH = 107
"""The most bytes that sockaddr_un holds (man 7 unix)."""


class Kind(Protocol):
    """A type of values."""

    @property
    def allowed(self) -> str:
        """The allowed values: the rest of a sentence that begins with "must be"."""

    @property
    def brief(self) -> str:
        """The limits in a few words; empty where the default shows enough."""

    def take(self, raw: object) -> object:
        """Return the value of a TOML value. Raises `ValueError`, saying what is allowed."""

    def parse(self, text: str) -> object:
        """Return the TOML value that a text from the environment or a flag stands for."""

    def show(self, value: object) -> str:
        """Return the value as TOML."""


@dataclass(frozen=True, slots=True)
class Flag:
    words: tuple[str, ...] = ()
    """Words that it may be besides."""
    brief: str = ""

    @property
    def allowed(self) -> str:
        return say("word.either", parts=["true", "false", *map(quoted, self.words)])

    def take(self, raw: object) -> object:
        if isinstance(raw, bool) or raw in self.words:
            return raw
        raise ValueError(self.allowed)

    def parse(self, text: str) -> object:
        word = text.strip().lower()
        return True if word in ("true", "yes", "on", "1") else False if word in ("false", "no", "off", "0") else text

    def show(self, value: object) -> str:
        return quoted(value) if isinstance(value, str) else "true" if value else "false"


@dataclass(frozen=True, slots=True)
class Whole:
    least: int
    most: int

    @property
    def allowed(self) -> str:
        return say("config.whole", least=self.least, most=self.most)

    @property
    def brief(self) -> str:
        return f"{self.least} to {self.most}"

    def take(self, raw: object) -> int:
        # bool is a subclass of int, and `attempts = true` is a mistake.
        if isinstance(raw, int) and not isinstance(raw, bool) and self.least <= raw <= self.most:
            return raw
        raise ValueError(self.allowed)

    def parse(self, text: str) -> object:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text.strip()) else text

    def show(self, value: object) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Time:
    least: timedelta
    most: timedelta
    optional: bool = False

    @property
    def allowed(self) -> str:
        such, least, most = ['"500ms"', '"60s"', '"2h30m"'], spelled(self.least), spelled(self.most)
        return _or_empty(say("config.duration", such=such, least=least, most=most), self.optional)

    @property
    def brief(self) -> str:
        return f"{spelled(self.least)} to {spelled(self.most)}"

    def take(self, raw: object) -> timedelta | None:
        if self.optional and raw == "":
            return None
        if isinstance(raw, int) and not isinstance(raw, bool):
            raise ValueError(say("config.in-seconds", allowed=self.allowed, text=quoted(f"{raw}s")))
        try:
            value = duration(raw) if isinstance(raw, str) else None
        except ValueError:
            value = None
        if value is None or not self.least <= value <= self.most:
            raise ValueError(self.allowed)
        return value

    def parse(self, text: str) -> object:
        return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text

    def show(self, value: object) -> str:
        return quoted(spelled(value) if isinstance(value, timedelta) else "")


@dataclass(frozen=True, slots=True)
class Choice:
    words: type[StrEnum]
    optional: bool = False

    @property
    def allowed(self) -> str:
        return _or_empty(self.brief, self.optional)

    @property
    def brief(self) -> str:
        return say("word.either", parts=[word.value for word in self.words])

    def take(self, raw: object) -> StrEnum | None:
        if self.optional and raw == "":
            return None
        for word in self.words:
            if raw == word.value:
                return word
        raise ValueError(self.allowed)

    def parse(self, text: str) -> object:
        return text.strip()

    def show(self, value: object) -> str:
        return quoted(str(value) if value is not None else "")


@dataclass(frozen=True, slots=True)
class Text:
    meta: Meta
    empty: bool

    @property
    def allowed(self) -> str:
        return _or_empty(self.brief or _FORMS[self.meta.form][0], self.empty)

    @property
    def brief(self) -> str:
        return say("word.either", parts=self.meta.choices) if self.meta.choices else ""

    def take(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise ValueError(self.allowed)
        if raw == "" and self.empty:
            return raw
        good = raw in self.meta.choices if self.meta.choices else _FORMS[self.meta.form][1](raw)
        if not good:
            raise ValueError(self.allowed)
        return raw

    def parse(self, text: str) -> object:
        return text

    def show(self, value: object) -> str:
        # Whole, unlike what a message shows of it: a file is made of this. A printable text in JSON is one in TOML.
        return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Week:
    """A window of the week; or, if it `begins` something, the minutes at which that happens."""

    begins: bool = False

    @property
    def brief(self) -> str:
        return 'times such as "Sat 03:00"' if self.begins else 'windows such as "Sat 02:00-04:00"'

    @property
    def allowed(self) -> str:
        return week.TIME if self.begins else week.WINDOW

    def take(self, raw: object) -> Window:
        if not isinstance(raw, str):
            raise ValueError(self.allowed)
        return week.time(raw) if self.begins else week.window(raw)

    def parse(self, text: str) -> object:
        return text

    def show(self, value: object) -> str:
        assert isinstance(value, Window)
        return quoted(value.text)


@dataclass(frozen=True, slots=True)
class Many:
    """A list. One with choices needs at least one of them, and each once."""

    one: Kind

    @property
    def chosen(self) -> bool:
        return isinstance(self.one, Text) and bool(self.one.meta.choices)

    @property
    def allowed(self) -> str:
        one = self.one.allowed
        return say("config.list-once", one=one) if self.chosen else say("config.list", one=one)

    @property
    def brief(self) -> str:
        return f"a list of {self.one.brief}" if self.one.brief else "a list"

    def take(self, raw: object) -> tuple[object, ...]:
        if not isinstance(raw, list | tuple):
            raise ValueError(self.allowed)
        try:
            values = tuple(self.one.take(item) for item in raw)
        except ValueError:
            raise ValueError(self.allowed) from None
        if self.chosen and (not values or len(set(values)) < len(values)):
            raise ValueError(self.allowed)
        return values

    def parse(self, text: str) -> object:
        between = ";" if isinstance(self.one, Week) else ","  # "Sat,Sun 02:00-04:00" is one window.
        return [self.one.parse(part.strip()) for part in text.split(between)] if text.strip() else []

    def show(self, value: object) -> str:
        items = value if isinstance(value, tuple) else ()
        return f"[{', '.join(self.one.show(item) for item in items)}]"


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of tables, written [[name]]; `of` is their dataclass. `load` reads it: its mistakes have keys."""

    of: type
    allowed: str = say("config.rows")
    brief: str = ""

    def take(self, raw: object) -> object:
        raise ValueError(self.allowed)

    def parse(self, text: str) -> object:
        return text

    def show(self, value: object) -> str:
        assert value == (), "rows have no default"
        return "[]"


def _or_empty(allowed: str, optional: bool) -> str:
    return say("config.or-empty", allowed=allowed) if optional else allowed


def _printable(text: str) -> bool:
    return text != "" and text.isprintable() and len(text) <= 4096


def _path(text: str) -> bool:
    return _printable(text) and text.startswith("/")


def _socket(text: str) -> bool:
    return _path(text) and len(text.encode()) <= _SOCKET_LENGTH


def _address(text: str) -> bool:
    match = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+):([0-9]{1,5})", text)
    return match is not None and 0 < int(match[1]) < 65536


def _code(text: str) -> bool:
    return normal_code(text) is not None


def is_zone(text: str) -> bool:
    """Return whether this names a time zone that this machine has."""
    # Looked for first: of a name that is not there Python would make a module's name, and import that.
    if not re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", text):
        return False
    try:
        if not any(Path(place, text).is_file() for place in TZPATH):
            return False
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # It is a file, but of no zone; or too long for a name.
        return False
    return True


def _question(text: str) -> bool:
    try:
        question(text)
    except ValueError:
        return False
    return True


def _module(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,5}(\.-?[0-9]{1,5})*", text) is not None


def _url(text: str) -> bool:
    return _is_address("https?", text)


def is_receiver(text: str) -> bool:
    """Return whether this is where some receiver of alarms can be reached."""
    return _url(text) or (_is_address("smtps?|smtp[+]plain|udp|tcp|tls", text) and urlsplit(text).path in ("", "/"))


def _is_address(schemes: str, text: str) -> bool:
    if not re.fullmatch(rf"({schemes})://[!-~]{{1,2000}}", text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc and not parts.fragment
    except ValueError:  # A port that is none, or half an IPv6 address.
        return False


_FORMS: Mapping[Form, tuple[str, Callable[[str], bool]]] = {
    Form.TEXT: (say("config.text"), _printable),
    Form.PATH: (say("config.path"), _path),
    Form.SOCKET: (say("config.socket", most=_SOCKET_LENGTH), _socket),
    Form.ADDRESS: (say("config.address", such='"127.0.0.1:9477"'), _address),
    Form.CODE: (say("config.code", such='"80E24E00"'), _code),
    Form.URL: (say("config.url", such=['"https://alarms.example:8443/cmgr"']), _url),
    Form.RECEIVER: (
        say("config.url", such=['"https://alarms.example:8443/cmgr"', '"smtps://mail.example"']),
        is_receiver,
    ),
    Form.MAIL: (
        say("config.address", such='"duty@mail.example"'),
        lambda text: re.fullmatch(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w.-]{1,255}", text, re.ASCII) is not None,
    ),
    Form.ZONE: (say("config.zone", package="tzdata", such='"Europe/Berlin"'), is_zone),
    Form.UNIT: (say("config.unit", such=['"llm.service"', '"llm@3.service"']), is_unit),
    Form.APPLIANCE: (say("config.appliance"), lambda text: APPLIANCE.fullmatch(text) is not None),
    Form.QUESTION: (QUESTION, _question),
    Form.MODULE: (say("config.module", such='"1.0.0.0"'), _module),
}
