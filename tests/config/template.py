"""The commented configuration file and the reference page, both made from the declarations."""

import textwrap
from collections.abc import Iterator
from dataclasses import MISSING

from cmgr.config.kinds import Rows
from cmgr.config.load import CONFIG_VARIABLE, DEFAULT_PATH
from cmgr.config.schema import Section, Setting, row, sections
from cmgr.declare import Form

_WIDTH = 100

_HEAD = f"""\
# The configuration of cmgr. Every setting stands here with its default, commented out.
# After a change: cmgr check, then cmgr reload. Owned by root, mode 0640 at most, no symbolic link.
# A variable of the environment overrides the file ([docker] socket: CMGR_DOCKER_SOCKET), a flag overrides both.
# {CONFIG_VARIABLE} names another file than {DEFAULT_PATH}.
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
"""


def template() -> str:
    """Return the text of etc/cmgr.toml."""
    return (
        "\n".join([_HEAD.rstrip(), *(line for section in sections() for line in _table(section))]).rstrip("\n") + "\n"
    )


def reference() -> str:
    """Return the text of docs/configuration.md."""
    return "\n".join([_PAGE_HEAD, *(line for section in sections() for line in _chapter(section))]).rstrip("\n") + "\n"


def _table(section: Section) -> Iterator[str]:
    if section.key:
        yield from ("#" * _WIDTH, *_comment(section.sentence))
    if section.key and section.settings:
        yield f"[{section.key}]"
    yield ""
    for setting in section.settings:
        if isinstance(setting.kind, Rows):
            yield from _rows(setting, setting.kind)
        else:
            yield from _comment(setting.meta.sentence, setting.kind.brief)
            yield f"#{_name(setting)} = {setting.kind.show(setting.default)}"
        yield ""


def _rows(setting: Setting, kind: Rows) -> Iterator[str]:
    yield from _comment(f"{setting.meta.sentence} Any number of such tables:")
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
    plain = [setting for setting in section.settings if not isinstance(setting.kind, Rows)]
    yield "| setting | default | may be | what it is for |\n|---|---|---|---|"
    yield from (_line(_name(setting), setting) for setting in plain)
    yield ""
    yield f"From the environment: `{plain[0].variable}` and so on.\n"
    for setting in section.settings:
        if isinstance(setting.kind, Rows):
            yield f"### `[[{setting.key}]]`\n\n{setting.meta.sentence} In the file only; any number of such tables.\n"
            yield "| setting | default | may be | what it is for |\n|---|---|---|---|"
            yield from (_line(inner.key, inner) for inner in row(setting.kind.of))
            yield ""


def _line(name: str, setting: Setting) -> str:
    default = "must be given" if setting.default is MISSING else f"`{setting.kind.show(setting.default)}`"
    cells = (f"`{name}`", default, setting.kind.allowed, setting.meta.sentence)
    return f"| {' | '.join(cells)} |"
