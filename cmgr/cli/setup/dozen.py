"""The configuration as `cmgr setup` writes it, and as the package brings it: what people choose, and nothing else."""

from collections.abc import Iterator, Mapping

from cmgr.config.kinds import Rows
from cmgr.config.schema import Section, Setting, row, sections

HEAD = """\
# The configuration of cmgr. A setting that does not stand here has its default; all of them stand, with their
# purpose, in /usr/share/doc/cmgr/cmgr.toml and in cmgr.toml(5). cmgr setup asks for these and writes this file.
# After a change by hand: cmgr check, then cmgr reload.
"""

STRATEGY, OBSERVE, IGNORE = "strategy", "observe", "containers.ignore"
RESERVE, WINDOW, RECEIVERS = "spares.reserve", "levels.FreeRestartNPU.window", "alarms.receivers"

ASKED: Mapping[str, str] = {
    STRATEGY: "whose containers are stopped when a chip faults: never, singleRecover or ringRecover",
    OBSERVE: "true: decides and records everything, and does nothing",
    IGNORE: 'names of containers that use no chip, such as "exporter*"',
    RESERVE: "free chips that are kept for services on slots",
    WINDOW: 'when services are stopped for faults that can wait: "Sat 02:00-04:00"',
    RECEIVERS: "who is told, each under a head of its own",
}
"""The settings that are asked for and stand in the file whatever they are, each with its purpose."""

_EXAMPLE = ("#[[alarms.receivers]]", '#url = "https://alarms.example/cmgr"')
_COLUMN = 28


def text(given: Mapping[str, object]) -> str:
    """Return the file that sets this, by key, as TOML gives it; all of it must be allowed."""
    return "\n".join([HEAD, *body(given), ""])


def body(given: Mapping[str, object]) -> list[str]:
    """Return the lines of the file below its head."""
    made = [line for section in sections() for line in _table(section, given)]
    return made[:-1]  # The last one is empty.


def _table(section: Section, given: Mapping[str, object]) -> Iterator[str]:
    here = [setting for setting in section.settings if setting.key in given or setting.key in ASKED]
    plain = [setting for setting in here if not isinstance(setting.kind, Rows)]
    if plain:
        yield from [f"[{section.key}]"] * bool(section.key)
        yield from (_line(setting, given) for setting in plain)
        yield ""
    for setting in here:
        if isinstance(setting.kind, Rows):
            yield from _rows(setting, setting.kind, given.get(setting.key))


def _line(setting: Setting, given: Mapping[str, object]) -> str:
    value = setting.kind.take(given[setting.key]) if setting.key in given else setting.default
    line = f"{setting.key.rpartition('.')[2]} = {setting.kind.show(value)}"
    return f"{line:<{_COLUMN}}  # {ASKED[setting.key]}" if setting.key in ASKED else line


def _rows(setting: Setting, kind: Rows, tables: object) -> Iterator[str]:
    if setting.key in ASKED:
        yield f"# {setting.key}: {ASKED[setting.key]}."
        yield from () if tables else (*_EXAMPLE, "")
    for table in tables if isinstance(tables, list) else ():
        yield f"[[{setting.key}]]"
        yield from (f"{s.key} = {s.kind.show(s.kind.take(table[s.key]))}" for s in row(kind.of) if s.key in table)
        yield ""
