"""The configuration, read from file, environment and flags, checked as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cmgr.config import files, toml
from cmgr.config.checks import contradictions
from cmgr.config.kinds import Rows
from cmgr.config.rows import rows
from cmgr.config.schema import build, sections, settings
from cmgr.config.settings import Config
from cmgr.config.sources import CONFIG_VARIABLE, Given, from_environment, from_file, from_flags
from cmgr.config.words import counted
from cmgr.errors import ConfigError, chain

DEFAULT_PATH = "/etc/cmgr/cmgr.toml"

_NOTHING: Mapping[str, object] = MappingProxyType({})


def load(path: str | None, *, environ: Mapping[str, str], overrides: Mapping[str, object] = _NOTHING) -> Config:
    """Return the configuration. Raises `ConfigError` with every mistake.

    The file is `path`, else the one that CMGR_CONFIG names, else the default one, which may be missing. Then come the
    `CMGR_*` variables of `environ`, and last `overrides`: values or texts by key ("docker.socket"), None for a flag
    that was not given.
    """
    path = path or environ.get(CONFIG_VARIABLE) or None
    mistakes: list[str] = []
    hint = ""
    table: Mapping[str, Any] = {}
    try:
        table = _table(path)
    except ConfigError as error:
        mistakes, hint = [chain(error)], error.hint
    known = settings()
    said: list[Given | str] = [
        *from_file(table, sections(), path or DEFAULT_PATH),
        *from_environment(environ, known.values()),
        *from_flags(overrides, known),
    ]
    values, wrong = _values(said)
    mistakes += wrong
    if mistakes:
        raise _refused(mistakes, hint)
    return _whole(build(values))


def _whole(config: Config) -> Config:
    mistakes: list[str] = []
    hint = ""
    try:
        config = _with_script(config)
    except ConfigError as error:
        mistakes, hint = list(error.mistakes or (chain(error),)), error.hint
    mistakes.extend(contradictions(config))
    if mistakes:
        raise _refused(mistakes, hint)
    return config


def _table(path: str | None) -> Mapping[str, Any]:
    text = files.read(path) if path else files.read_if_there(DEFAULT_PATH)
    return toml.parse(text or "", path or DEFAULT_PATH)


def _values(said: Iterable[Given | str]) -> tuple[dict[str, object], list[str]]:
    values: dict[str, object] = {}
    mistakes: list[str] = []
    for item in said:
        if isinstance(item, str):
            mistakes.append(item)
            continue
        # A wrong value is a mistake also where a later source overrides it: it comes to light later otherwise.
        setting = item.setting
        if isinstance(setting.kind, Rows):
            values[setting.key], wrong = rows(item, setting.kind)
            mistakes += wrong
            continue
        try:
            values[setting.key] = setting.kind.take(item.raw)
        except ValueError as error:
            mistakes.append(item.mistake(str(error)))
    return values, mistakes


def _with_script(config: Config) -> Config:
    path = config.sim.script_file
    if config.driver != "sim" or not path:
        return config
    table = {"sim": toml.parse(files.read(path), path)}
    script = [section for section in sections() if section.key == "sim"]
    only = tuple(replace(s, settings=tuple(x for x in s.settings if x.key == "sim.script")) for s in script)
    values, mistakes = _values(from_file(table, only, path))
    if mistakes:
        raise _refused(mistakes)
    events = values.get("sim.script", ())
    assert isinstance(events, tuple)
    return replace(config, sim=replace(config.sim, script=config.sim.script + events))


def _refused(mistakes: list[str], hint: str = "") -> ConfigError:
    # One alone is the message: whoever prints only that still says what is wrong.
    if len(mistakes) == 1:
        first = mistakes[0]
        message = first if first.startswith("cannot ") else f"cannot use the configuration: {first}"
        return ConfigError(message, mistakes=(first,), hint=hint)
    return ConfigError(f"cannot use the configuration: {counted(mistakes)}", mistakes=tuple(mistakes), hint=hint)
