"""What was said about each setting, and where: file, environment, flags. A later source overrides an earlier one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cmgr.config.kinds import Many, Rows
from cmgr.config.schema import PREFIX, Section, Setting
from cmgr.config.words import did_you_mean, plain, quoted

CONFIG_VARIABLE = "CMGR_CONFIG"
"""Names the configuration file, where no flag does."""

HOOK_VARIABLE = "CMGR_HOOK"
"""This and what begins so is told to hooks, which may run `cmgr` themselves: it sets nothing."""

_ELSEWHERE: Mapping[str, str] = {
    "levels.NotHandleFault": "; nothing is done about such faults",
    "levels.SeparateNPU": "; chips with such faults are isolated, see isolation.on_isolate",
}


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave a setting. `raw` is as TOML gives it."""

    setting: Setting
    raw: object
    source: str

    def mistake(self, allowed: str, key: str = "") -> str:
        """Return the sentence that tells what is wrong with it."""
        return f"{key or self.setting.key} = {quoted(self.raw)} ({self.source}): must be {allowed}"


def from_file(table: Mapping[str, Any], tables: Iterable[Section], source: str) -> Iterator[Given | str]:
    """Yield what the file says, and a sentence for each mistake in its keys."""
    known = {section.key: section for section in tables}
    settings = {setting.key: setting for section in known.values() for setting in section.settings}

    def walk(inner: Mapping[str, Any], at: str) -> Iterator[Given | str]:
        for name, raw in inner.items():
            key = f"{at}.{name}" if at else name
            # A quoted name with a dot in it ("docker.socket" = ...) is another name than the dotted key.
            if "." in name or (key not in settings and key not in known):
                yield unknown(at, name, source, [*known, *settings])
            elif key in settings:
                yield Given(settings[key], raw, source)
            elif isinstance(raw, dict):
                yield from walk(raw, key)
            else:
                yield f"{key} ({source}): must be a table, written [{key}]"

    return walk(table, "")


def unknown(at: str, name: str, source: str, keys: Iterable[str]) -> str:
    """Return the sentence about a key that is none."""
    key = f"{at}.{plain(name)}" if at else plain(name)
    hint = _ELSEWHERE.get(key) or _ELSEWHERE.get(at) or did_you_mean(f"{at}.{name}" if at else name, keys)
    return f"{key} ({source}): there is no such setting{hint}"


def from_environment(environ: Mapping[str, str], settings: Iterable[Setting]) -> Iterator[Given | str]:
    """Yield what the variables say that begin with `CMGR_`."""
    variables = {setting.variable: setting for setting in settings}
    for name in sorted(environ):
        setting = variables.get(name)
        if setting is not None:
            yield Given(setting, setting.kind.parse(environ[name]), f"environment variable {name}")
        elif name.startswith(PREFIX) and name != CONFIG_VARIABLE and not _is_told(name):
            yield f"{plain(name)} (environment): there is no such setting{did_you_mean(name, variables)}"


def _is_told(name: str) -> bool:
    return name == HOOK_VARIABLE or name.startswith(f"{HOOK_VARIABLE}_")


def from_flags(overrides: Mapping[str, object], settings: Mapping[str, Setting]) -> Iterator[Given | str]:
    """Yield what the flags say. One that is None was not given."""
    for key, value in overrides.items():
        if value is None:
            continue
        if key not in settings:
            at, _, name = key.rpartition(".")
            yield unknown(at, name, "flag", settings)
            continue
        kind = settings[key].kind
        yield Given(settings[key], _plainly(kind.parse(value) if isinstance(value, str) else value, kind), "flag")


def _plainly(value: object, kind: object) -> object:
    # A flag may be repeated: --runtime docker --runtime sim.
    return list(value) if isinstance(kind, Many | Rows) and isinstance(value, tuple) else value
