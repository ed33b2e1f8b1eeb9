"""The command that shows one thing whole: show."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from cmgr.cli import groups, past, source
from cmgr.cli.options import NEEDED, Showing, argument
from cmgr.cli.show import emit, page
from cmgr.cli.source import misused
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.view.text import reading, sheet

if TYPE_CHECKING:
    from cmgr.view.one import one_shapes

Shown = Callable[["ShowOptions", str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(Showing):
    words: list[str] = argument(
        "[chip|container|episode|group] NAME",
        "A chip's number or a container's name; of the others, and where two have it, the kind before it.",
        NEEDED,
        complete="things",
    )


def show(options: ShowOptions) -> int:
    """Show all about one chip, container, episode or group.

    That is: whether it serves or is well, what to do, who decides about it, and what was done to it. A number is a
    chip; an episode is called by its kind: episode 7. Chips and containers are shown without the service, too.
    """
    kind, name = _meant(options)
    return KINDS[kind](options, name)


def _meant(options: ShowOptions) -> tuple[str, str]:
    first, *rest = options.words
    if len(rest) > 1:
        raise misused(say("usage.one-name", kinds=[*KINDS]))
    if rest and first not in KINDS:
        raise misused(say("error.none-of", name=repr(first[:40]), those=[*KINDS]))
    if rest:
        return first, rest[0]
    found = reading.fitting(source.read(options, "status").value, first)
    if len(found) > 1:
        which = [f"cmgr show {kind} {typed}" for kind, _, typed in found]
        raise misused(say("usage.several", text=repr(first[:40]), count=len(found), which=which))
    if found:
        return found[0][0], found[0][1]
    if first in KINDS:
        raise misused(say("usage.give-name", command=f"cmgr show {first} NAME"))
    return ("chip" if _is_number(first) else "container"), first


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _number(kind: str, text: str) -> int:
    if not _is_number(text):
        raise misused(say("usage.no-number", text=repr(text[:40]), command=f"cmgr show {kind} NUMBER"))
    return int(text)


def _chip(options: ShowOptions, name: str) -> int:
    from cmgr.cli import stored

    number = _number("chip", name)
    told = source.either(
        options, f"chips/{number}", lambda config, database, _why: stored.about_chip(config, database, number)
    )
    emit(options, told, sheet.chip(cast("one_shapes.AboutChip", told.value), page(options)))
    return told.code


def _container(options: ShowOptions, name: str) -> int:
    from cmgr.cli import stored

    told = source.either(
        options,
        f"containers/{quote(name, safe='')}",
        lambda config, database, _why: stored.about_container(config, database, name),
    )
    emit(options, told, sheet.container(cast("one_shapes.AboutContainer", told.value), page(options)))
    return told.code


def _episode(options: ShowOptions, name: str) -> int:
    past.show_episode(options, _number("episode", name))
    return 0


def _group(options: ShowOptions, name: str) -> int:
    groups.show_group(options, name)
    return 0


KINDS: Mapping[str, Shown] = {"chip": _chip, "container": _container, "episode": _episode, "group": _group}
