"""The configuration, read from file, environment and flags, checked as a whole.

A later source overrides an earlier one.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, replace
from types import MappingProxyType
from typing import Any

from cmgr import trust
from cmgr.config import former
from cmgr.config.engine import contradictions as of_fleet
from cmgr.config.kinds import Many, Rows
from cmgr.config.receivers import contradictions as of_receivers
from cmgr.config.reporters import Reporter
from cmgr.config.roles import ANYBODY, Holder
from cmgr.config.schema import PREFIX, Section, Setting, build, row, sections, settings, values, variable
from cmgr.config.settings import Config, DrillSettings
from cmgr.config.sim import contradictions as of_sim
from cmgr.config.spelling import did_you_mean, doubled, parse_toml, plain, quoted, told
from cmgr.errors import ConfigError, Misused
from cmgr.frozen import dataclass
from cmgr.model.values.handling.calendar import Exercise
from cmgr.model.values.handling.policy import RebootWhen
from cmgr.sentences.sentence import because, chained, parts, say
from cmgr.vendor import vendors

DEFAULT_PATH = "/etc/cmgr/cmgr.toml"

_NOTHING: Mapping[str, object] = MappingProxyType({})

CONFIG_VARIABLE = "CMGR_CONFIG"
"""Names the configuration file, where no flag does."""

HOOK_VARIABLE = "CMGR_HOOK"
"""This and what begins so is told to hooks, which may run `cmgr` themselves: it sets nothing."""

_FLAG = say("config.flag")

_ELSEWHERE: Mapping[str, str] = {
    "levels.NotHandleFault": say("config.nothing-is-done"),
    "levels.SeparateNPU": say("config.are-isolated", setting="isolation.on_isolate"),
}


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave a setting. `raw` is as TOML gives it."""

    setting: Setting
    raw: object
    source: str

    def mistake(self, allowed: str, key: str = "") -> str:
        """Return the sentence that tells what is wrong with it."""
        key = key or self.setting.key
        return say("config.must-be", key=key, value=told(key, self.raw), source=self.source, allowed=allowed)


def load(path: str | None, *, environ: Mapping[str, str], overrides: Mapping[str, object] = _NOTHING) -> Config:
    """Return the configuration. Raises `ConfigError` with every mistake, `Misused` where the flags alone are wrong.

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
        mistakes, hint = [chained(error)], error.hint
    known = settings()
    said: list[Given | str] = [
        *_from_file(table, sections(), path or DEFAULT_PATH),
        *_from_environment(environ, known.values()),
    ]
    found, wrong = _values(said)
    flags, misused = _values(_from_flags(overrides, known))
    mistakes += wrong
    if mistakes or misused:
        raise _refused([*mistakes, *misused], hint, ConfigError if mistakes else Misused)
    return _whole(build({**found, **flags}))


def in_file(path: str) -> dict[str, object]:
    """Return what the file sets, by key, as TOML gives it; nothing where there is none. Raises `ConfigError`."""
    text = trust.read_if_there(path)
    said = [*_from_file(parse_toml(text or "", path), sections(), path)]
    _, mistakes = _values(said)
    if mistakes:
        raise _refused(mistakes)
    return {item.setting.key: item.raw for item in said if isinstance(item, Given)}


def without_effect(path: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is set and does nothing any more, as it is written there, with what is so in its place.

    Raises `ConfigError`.
    """
    table = _table(path or environ.get(CONFIG_VARIABLE) or None)
    for key, why in former.FORMER.items():
        at, _, name = key.rpartition(".")
        if name in table.get(at, _NOTHING):
            yield key, why
        if variable(key) in environ:
            yield variable(key), why


def mistakes_of(receivers: Sequence[object], source: str) -> tuple[str, ...]:
    """Return a sentence for each mistake in these receivers of alarms, tables as TOML gives them."""
    setting = settings()["alarms.receivers"]
    assert isinstance(setting.kind, Rows)
    good, mistakes = _rows(Given(setting, receivers, source), setting.kind)
    return mistakes or tuple(of_receivers(good))


def written(config: Config) -> str:
    """Return the settings that are not as by default as a file has them; lists of tables are left out."""
    known, default, given = settings(), values(Config()), values(config)
    changed = (key for key in given if given[key] != default[key] and not isinstance(known[key].kind, Rows))
    return "".join(f"{key} = {known[key].kind.show(given[key])}\n" for key in changed)


def read_back(text: str) -> Config:
    """Return the configuration of which this was written. Raises `ConfigError`."""
    source = say("config.what-was-written")
    found, mistakes = _values(_from_file(parse_toml(text, source), sections(), source))
    if mistakes:
        raise _refused(mistakes)
    return build(found)


def _whole(config: Config) -> Config:
    mistakes: list[str] = []
    hint = ""
    try:
        config = _with_script(config)
    except ConfigError as error:
        mistakes, hint = list(error.mistakes or (chained(error),)), error.hint
    mistakes.extend(_contradictions(config))
    if mistakes:
        raise _refused(mistakes, hint)
    return config


def _table(path: str | None) -> Mapping[str, Any]:
    text = trust.read(path) if path else trust.read_if_there(DEFAULT_PATH)
    return parse_toml(text or "", path or DEFAULT_PATH)


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
            values[setting.key], wrong = _rows(item, setting.kind)
            mistakes += wrong
            continue
        try:
            values[setting.key] = setting.kind.take(item.raw)
        except ValueError as error:
            mistakes.append(item.mistake(error.args[0]))
    return values, mistakes


_PLAYED = ("sim.script", "sim.machine")


def _with_script(config: Config) -> Config:
    path = config.sim.script_file
    if config.driver != "sim" or not path:
        return config
    table = {"sim": parse_toml(trust.read(path), path)}
    script = [section for section in sections() if section.key == "sim"]
    only = tuple(replace(s, settings=tuple(x for x in s.settings if x.key in _PLAYED)) for s in script)
    values, mistakes = _values(_from_file(table, only, path))
    if mistakes:
        raise _refused(mistakes)
    events, others = (values.get(key, ()) for key in _PLAYED)
    assert isinstance(events, tuple)
    assert isinstance(others, tuple)
    sim = config.sim
    return replace(config, sim=replace(sim, script=sim.script + events, machine=sim.machine + others))


def _refused(mistakes: list[str], hint: str = "", kind: type[ConfigError] = ConfigError) -> ConfigError:
    # One alone is the message: whoever prints only that still says what is wrong.
    if len(mistakes) == 1:
        first = mistakes[0]
        message = first if first.startswith("cannot ") else say("config.cannot-use", why=first)
        return kind(message, mistakes=(first,), hint=hint)
    why = say("config.mistakes", count=len(mistakes))
    return kind(say("config.cannot-use", why=why), mistakes=tuple(mistakes), hint=hint)


def _from_file(table: Mapping[str, Any], tables: Iterable[Section], source: str) -> Iterator[Given | str]:
    """Yield what the file says, and a sentence for each mistake in its keys."""
    known = {section.key: section for section in tables}
    settings = {setting.key: setting for section in known.values() for setting in section.settings}

    def walk(inner: Mapping[str, Any], at: str) -> Iterator[Given | str]:
        for name, raw in inner.items():
            key = f"{at}.{name}" if at else name
            if key in former.FORMER and "." not in name:
                continue
            # A quoted name with a dot in it ("docker.socket" = ...) is another name than the dotted key.
            if "." in name or (key not in settings and key not in known):
                yield _unknown(at, name, source, [*known, *settings])
            elif key in settings:
                yield Given(settings[key], raw, source)
            elif isinstance(raw, dict):
                yield from walk(raw, key)
            else:
                yield say("config.must-be-table", key=key, source=source, heading=f"[{key}]")

    return walk(table, "")


def _unknown(at: str, name: str, source: str, keys: Collection[str]) -> str:
    """Return the sentence about a key that is none."""
    key = f"{at}.{plain(name)}" if at else plain(name)
    hint = _ELSEWHERE.get(key) or _ELSEWHERE.get(at)
    if hint is None and at and name in keys:  # At the end of the file, below whatever head stands there.
        hint = say("config.belongs-above", name=name)
    hint = hint or did_you_mean(f"{at}.{name}" if at else name, keys)
    return parts([say("config.no-such", key=key, source=source), hint])


def _from_environment(environ: Mapping[str, str], settings: Iterable[Setting]) -> Iterator[Given | str]:
    """Yield what the variables say that begin with `CMGR_`."""
    variables = {setting.variable: setting for setting in settings}
    without_effect = {variable(key) for key in former.FORMER}
    for name in sorted(environ):
        setting = variables.get(name)
        if setting is not None:
            yield Given(setting, setting.kind.parse(environ[name]), say("config.variable", name=name))
        elif name.startswith(PREFIX) and name not in (CONFIG_VARIABLE, *without_effect) and not _is_told(name):
            unknown = say("config.no-such", key=plain(name), source=say("config.environment"))
            yield parts([unknown, did_you_mean(name, variables)])


def _is_told(name: str) -> bool:
    return name == HOOK_VARIABLE or name.startswith(f"{HOOK_VARIABLE}_")


def _from_flags(overrides: Mapping[str, object], settings: Mapping[str, Setting]) -> Iterator[Given | str]:
    """Yield what the flags say. A flag that is None was not given."""
    for key, value in overrides.items():
        if value is None:
            continue
        if key not in settings:
            at, _, name = key.rpartition(".")
            yield _unknown(at, name, _FLAG, settings)
            continue
        kind = settings[key].kind
        yield Given(settings[key], _plainly(kind.parse(value) if isinstance(value, str) else value, kind), _FLAG)


def _plainly(value: object, kind: object) -> object:
    # A flag may be repeated: --runtime docker --runtime sim.
    return list(value) if isinstance(kind, Many | Rows) and isinstance(value, tuple) else value


def _rows(given: Given, kind: Rows) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the values of the good tables of the list, and a sentence for each mistake in the others."""
    if not isinstance(given.raw, list) or not all(isinstance(item, dict) for item in given.raw):
        return (), (given.mistake(say("config.tables", heading=f"[[{given.setting.key}]]")),)
    settings = row(kind.of)
    good: list[Any] = []
    mistakes: list[str] = []
    for number, table in enumerate(given.raw, start=1):
        key = f"{given.setting.key}[{number}]"
        wrong = tuple(_mistakes_of_row(table, settings, key, given.source))
        mistakes.extend(wrong)
        if not wrong:
            good.append(kind.of(**{s.key: s.kind.take(table[s.key]) for s in settings if s.key in table}))
    return tuple(good), tuple(mistakes)


def _mistakes_of_row(table: dict[str, Any], settings: tuple[Setting, ...], key: str, source: str) -> Iterator[str]:
    names = [setting.key for setting in settings]
    for name in table:
        if name not in names:
            yield _unknown(key, name, source, [f"{key}.{known}" for known in names])
    for setting in settings:
        if setting.key in table:
            try:
                setting.kind.take(table[setting.key])
            except ValueError as error:
                given = Given(setting, table[setting.key], source)
                yield given.mistake(error.args[0], f"{key}.{setting.key}")
        elif setting.default is MISSING:
            yield say("config.is-missing", key=f"{key}.{setting.key}", source=source, allowed=setting.kind.allowed)


def _contradictions(config: Config) -> Iterator[str]:
    """Yield a sentence for each."""
    if "auto" in config.runtimes and len(config.runtimes) > 1:
        yield because("runtimes", say("config.alone", word="auto"))
    for name, backoff, most in (
        ("reset", config.reset.backoff, config.reset.backoff_max),
        ("retry", config.retry.backoff, config.retry.backoff_max),
    ):
        if backoff > most:
            yield say("config.longer", key=f"{name}.backoff", other=f"{name}.backoff_max")
    for name, file in (("file", config.faults.file), ("rules", config.faults.rules)):
        if file and not file.endswith((".json", ".toml")):
            yield say("config.must-end-in", key=f"faults.{name}", value=f'"{file}"', endings=[".json", ".toml"])
    if config.faults.mode == "replace" and not config.faults.file:
        yield say("config.replaces-table", key="faults.mode", word="replace", file="faults.file")
    if config.faults.rules_mode == "replace" and not config.faults.rules:
        yield say("config.replaces-rules", key="faults.rules_mode", word="replace", file="faults.rules")
    if (config.machine.reboot is RebootWhen.WINDOW) != bool(config.machine.reboot_window):
        yield say("config.this-and", key="machine.reboot_window", other='reboot = "window"')
    yield from _of_strangers(config)
    yield from of_fleet(config.fleet)
    yield from of_receivers(config.alarms.receivers)
    yield from _of_drills(config.drills)
    yield from _of_units(config)
    yield from of_sim(config.sim)


def _of_strangers(config: Config) -> Iterator[str]:
    if bool(config.metrics.cert) != bool(config.metrics.key):
        yield say("config.both-or-none", keys=["metrics.cert", "metrics.key"])
    if config.metrics.client_ca and not config.metrics.cert:
        yield say("config.over-tls", key="metrics.client_ca", keys=["metrics.cert", "metrics.key"])
    named: list[tuple[str, Sequence[Holder | Reporter]]]
    named = [("roles", config.roles), ("reports.sources", config.reports.sources)]
    for key, holders in named:
        for number, holder in enumerate(holders, start=1):
            if holder.uid == ANYBODY and not holder.group:
                yield say("config.uid-or-group", key=f"{key}[{number}]", uid="uid", group="group")


def _of_units(config: Config) -> Iterator[str]:
    names = [unit.name for unit in config.systemd.units]
    yield from doubled("systemd.units", names)
    for vendor in vendors():
        key, stopped = f"{vendor.name}.stop_units", vendor.stopped(config)
        yield from doubled(key, list(stopped))
        for name in sorted(set(names) & set(stopped)):
            yield say("config.stopped-already", key=key, name=name, other="systemd.units")


def _of_drills(drills: tuple[DrillSettings, ...]) -> Iterator[str]:
    yield from doubled("drills", [quoted(drill.name) for drill in drills])
    for drill in drills:
        if bool(drill.chips) == bool(drill.container):
            yield say("config.chips-or-container", key="drills", name=quoted(drill.name))
        if (drill.what is Exercise.FAULT) != bool(drill.code):
            one, other = 'what = "fault"', 'what = "reset"'
            yield say("config.code-or-not", key="drills", name=quoted(drill.name), one=one, other=other)
