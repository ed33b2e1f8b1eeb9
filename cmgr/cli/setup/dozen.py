"""The configuration as `cmgr setup` writes it, and as the package brings it: what people choose, and nothing else."""

from collections.abc import Iterator, Mapping

from cmgr.config.kinds import Rows
from cmgr.config.schema import Section, Setting, row, sections
from cmgr.sentences.sentence import ENGLISH, in_language, say
from cmgr.view.text.render import wrapped

STRATEGY, OBSERVE, IGNORE = "strategy", "observe", "containers.ignore"
RESERVE, WINDOW, RECEIVERS = "spares.reserve", "levels.FreeRestartNPU.window", "alarms.receivers"

ASKED: Mapping[str, str] = {
    STRATEGY: say("setup.for-strategy"),
    OBSERVE: say("setup.for-observe"),
    IGNORE: say("setup.for-ignore", example='"exporter*"'),
    RESERVE: say("setup.for-reserve"),
    WINDOW: say("setup.for-window", example='"Sat 02:00-04:00"'),
    RECEIVERS: say("setup.for-receivers"),
}
"""The settings that are asked for and stand in the file whatever they are, each with its purpose."""

_EXAMPLE = ("#[[alarms.receivers]]", '#url = "https://alarms.example/cmgr"')
_COLUMN = 28
_WIDTH = 112
_WHOLE = "/usr/share/doc/cmgr/cmgr.toml"


def text(given: Mapping[str, object], language: str = ENGLISH) -> str:
    """Return the file that sets this, by key, as TOML gives it; all of it must be allowed."""
    told = say("setup.head", file=_WHOLE, page="cmgr.toml(5)"), say("setup.by-hand")
    head = [f"# {line}" for each in told for line in wrapped(in_language(each, language), _WIDTH)]
    return "\n".join([*head, "", *body(given, language), ""])


def body(given: Mapping[str, object], language: str = ENGLISH) -> list[str]:
    """Return the lines of the file below its head."""
    made = [line for section in sections() for line in _table(section, given, language)]
    return made[:-1]  # The last one is empty.


def _table(section: Section, given: Mapping[str, object], language: str) -> Iterator[str]:
    here = [setting for setting in section.settings if setting.key in given or setting.key in ASKED]
    plain = [setting for setting in here if not isinstance(setting.kind, Rows)]
    if plain:
        yield from [f"[{section.key}]"] * bool(section.key)
        yield from (_line(setting, given, language) for setting in plain)
        yield ""
    for setting in here:
        if isinstance(setting.kind, Rows):
            yield from _rows(setting, setting.kind, given.get(setting.key), language)


def _line(setting: Setting, given: Mapping[str, object], language: str) -> str:
    value = setting.kind.take(given[setting.key]) if setting.key in given else setting.default
    line = f"{setting.key.rpartition('.')[2]} = {setting.kind.show(value)}"
    purpose = ASKED.get(setting.key, "")
    return f"{line:<{_COLUMN}}  # {in_language(purpose, language)}" if purpose else line


def _rows(setting: Setting, kind: Rows, tables: object, language: str) -> Iterator[str]:
    if setting.key in ASKED:
        purpose = say("setup.for-tables", key=setting.key, purpose=ASKED[setting.key])
        yield f"# {in_language(purpose, language)}"
        yield from () if tables else (*_EXAMPLE, "")
    for table in tables if isinstance(tables, list) else ():
        yield f"[[{setting.key}]]"
        yield from (f"{s.key} = {s.kind.show(s.kind.take(table[s.key]))}" for s in row(kind.of) if s.key in table)
        yield ""
