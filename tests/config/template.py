"""The commented configuration file and the reference page, both made from the declarations."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING
from enum import StrEnum
from fnmatch import fnmatchcase

from cmgr.cli.setup.dozen import ASKED
from cmgr.config.kinds import Rows
from cmgr.config.load import CONFIG_VARIABLE, DEFAULT_PATH
from cmgr.config.schema import Section, Setting, row, sections
from cmgr.declare import Form

_WIDTH = 100


class Shelf(StrEnum):
    """How often somebody sets it."""

    NEEDED = "needed"
    SOMETIMES = "sometimes"
    RARELY = "rarely"


MEANING = {
    Shelf.NEEDED: "what everybody decides; `cmgr setup` asks for it",
    Shelf.SOMETIMES: "what a machine, its services or a habit of the house asks for",
    Shelf.RARELY: "times, paths and budgets that are right as they are, until a page or a trouble says otherwise",
}

SOMETIMES = (
    "driver", "runtimes", "time_zone", "allow_injection", "roles", "drills", "docker.socket", "containerd.address",
    "containerd.skip_namespaces", "systemd.adopt", "systemd.units", "dcmi.out_of_band", "dcmi.hccn_tool",
    "dcmi.npu_exporter_names", "nvml.mig_tool", "nvml.stop_units", "tool.program", "sim.chips", "sim.ring",
    "sim.containers", "spares.policy", "cdi.chips", "export.dir", "export.node", "faults.file", "faults.unknown",
    "faults.rules", "reports.sources", "machine.sources", "levels.*.stop", "levels.*.reset", "levels.*.window",
    "levels.*.observe", "reset.attempts", "reset.window", "reset.widen_after", "reset.window_hours", "reset.test",
    "isolation.*", "limits.mercy", "retry.settle", "retry.ready", "ready.services", "maintenance.windows",
    "fleet.engine", "fleet.endpoints", "fleet.name", "fleet.ca", "fleet.cert", "fleet.key", "fleet.user",
    "fleet.password_file", "history.keep", "metrics.*", "web.orders", "alarms.down_after", "hooks.dir",
    "bundles.keep", "log.*",
)  # fmt: skip
"""By their keys, as patterns; those that `cmgr setup` asks for are needed, and all others are set rarely."""


def shelf_of(setting: Setting) -> Shelf:
    if setting.key in ASKED:
        return Shelf.NEEDED
    return Shelf.SOMETIMES if any(fnmatchcase(setting.key, each) for each in SOMETIMES) else Shelf.RARELY


def _shelves(settings: Iterable[Setting]) -> Iterator[tuple[Shelf, list[Setting]]]:
    """Yield each shelf that has some of these, with them in their order; lists of tables are left out."""
    plain = [setting for setting in settings if not isinstance(setting.kind, Rows)]
    for shelf in Shelf:
        if here := [setting for setting in plain if shelf_of(setting) is shelf]:
            yield shelf, here


_HEAD = f"""\
# The configuration of cmgr. Every setting stands here with its default, commented out.
# After a change: cmgr check, then cmgr reload. Owned by root, mode 0640 at most, no symbolic link.
# A variable of the environment overrides the file ([docker] socket: CMGR_DOCKER_SOCKET), a flag overrides both.
# {CONFIG_VARIABLE} names another file than {DEFAULT_PATH}.
#
# Each table has up to three shelves:
"""

_PAGE_HEAD = f"""\
# Configuration

`cmgr` reads `{DEFAULT_PATH}`, or the file that `--config` or the variable `{CONFIG_VARIABLE}` names. The file is TOML.
It must be owned by root or by the user who runs cmgr, have a mode no wider than 0640, and be no symbolic link; the
same holds for the fault table and the rules that it names. No directory that leads there may be another user's, or be
writable by others without a sticky bit. `cmgr check` lists every mistake in it, and the settings
of a former version, which are taken and do nothing any more.

A variable of the environment overrides the file, a flag overrides both. The value of a variable is written without
quotes, a list with commas. Durations are written `500ms`, `60s`, `5m`, `2h30m` or `90d`.

After a change: `cmgr check`, then `cmgr reload`, which says what is in force now, and what only after a restart of the
service ([commands.md](commands.md#cmgr-reload)). [levels.md](levels.md) says what levels, limits and isolation mean.

Each setting stands on one of three shelves:
"""


def template() -> str:
    """Return the text of etc/cmgr.toml."""
    return (
        "\n".join(
            [
                _HEAD.rstrip(),
                *(line for shelf, text in MEANING.items() for line in _comment(f"{shelf}: {text.replace('`', '')}.")),
                *(line for section in sections() for line in _table(section)),
            ]
        ).rstrip("\n")
        + "\n"
    )


def reference() -> str:
    """Return the text of docs/configuration.md."""
    told = [f"- *{shelf}*: {text}." for shelf, text in MEANING.items()]
    chapters = (line for section in sections() for line in _chapter(section))
    return "\n".join([_PAGE_HEAD, *told, "", *chapters]).rstrip("\n") + "\n"


def _table(section: Section) -> Iterator[str]:
    if section.key:
        yield from ("#" * _WIDTH, *_comment(section.sentence))
    if section.key and section.settings:
        yield f"[{section.key}]"
    yield ""
    for shelf, here in _shelves(section.settings):
        yield f"## {shelf}"
        for setting in here:
            yield from _comment(setting.meta.sentence, setting.kind.brief)
            yield f"#{_name(setting)} = {setting.kind.show(setting.default)}"
            yield ""
    for setting in section.settings:
        if isinstance(setting.kind, Rows):
            yield from _rows(setting, setting.kind)
            yield ""


def _rows(setting: Setting, kind: Rows) -> Iterator[str]:
    yield from _comment(f"{setting.meta.sentence} Any number of such tables, {shelf_of(setting)}:")
    yield f"#[[{setting.key}]]"
    for inner in row(kind.of):
        needed = inner.default is MISSING
        shown = inner.meta.example or (_example(inner) if needed else inner.kind.show(inner.default))
        notes = [word for word in ("needed" if needed else "", inner.kind.brief) if word]
        yield from _comment(inner.meta.sentence, "; ".join(notes))
        yield f"#{inner.key} = {shown}"


def _example(setting: Setting) -> str:
    return '"llm.service"' if setting.meta.form is Form.UNIT else _EXAMPLES[setting.key]


_EXAMPLES = {
    "chip": "3",
    "code": '"80E24E00"',
    "pid": "4242",
    "uid": "985",
    "name": '"llm-0"',
    "chips": "[0]",
    "when": '"Sat 03:00"',
    "what": '"reset"',
    "url": '"https://alarms.example/cmgr"',
}


def _comment(text: str, limits: str = "") -> list[str]:
    text = f"{text} ({limits})" if limits else text
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _name(setting: Setting) -> str:
    return setting.key.rpartition(".")[2]


def _chapter(section: Section) -> Iterator[str]:
    yield f"## `[{section.key}]`\n\n{section.sentence}\n" if section.key else "## At the top\n"
    if not section.settings:
        return
    plain = [(shelf, setting) for shelf, here in _shelves(section.settings) for setting in here]
    yield "| setting | default | may be | what it is for | shelf |\n|---|---|---|---|---|"
    yield from (f"{_line(_name(setting), setting)} {shelf} |" for shelf, setting in plain)
    yield ""
    yield f"From the environment: `{plain[0][1].variable}` and so on.\n"
    for setting in section.settings:
        if isinstance(setting.kind, Rows):
            many = f"In the file only; any number of such tables. Shelf: {shelf_of(setting)}."
            yield f"### `[[{setting.key}]]`\n\n{setting.meta.sentence} {many}\n"
            yield "| setting | default | may be | what it is for |\n|---|---|---|---|"
            yield from (_line(inner.key, inner) for inner in row(setting.kind.of))
            yield ""


def _line(name: str, setting: Setting) -> str:
    default = "must be given" if setting.default is MISSING else f"`{setting.kind.show(setting.default)}`"
    cells = (f"`{name}`", default, setting.kind.allowed, setting.meta.sentence)
    return f"| {' | '.join(cells)} |"
