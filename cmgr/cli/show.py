"""The commands that show the present: status, chips, faults, explain."""

# `cmgr status` loads neither typer, which took a third of its time, nor dataclasses, which took a fifth.
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, cast

from cmgr.cli import source
from cmgr.cli.source import misused
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ServiceDown
from cmgr.errors import chain as error_chain
from cmgr.service.door.client import get, order
from cmgr.shortcut import code_of
from cmgr.view.text import reading, texts
from cmgr.view.text.render import Face

if TYPE_CHECKING:
    from cmgr.cli.options import ChipsOptions, ExplainOptions, FaultsOptions, Showing, StatusOptions
    from cmgr.view import shapes, slot_shapes

UNKNOWN = 3
"""Of Nagios' plugins: nobody can tell."""

LANGUAGES = ("en", "zh")
"""The languages in which built-in tables say what a code means."""


def page() -> texts.Page:
    return texts.Page(Face(source.now()), out.width())


def status(options: StatusOptions | source.Asked) -> int:
    """Show whether all is well, and if not why.

    It says what cmgr does about it, what it waits for, and what you can do.
    """
    if options.watch + options.check + options.nagios > 1:
        raise misused("--watch, --check and -o nagios exclude each other")
    if options.nagios:
        return _for_nagios(options)
    if options.watch:
        from cmgr.cli.text import watch

        return watch.watch(lambda: source.read(options, "status").value, page, as_json=options.as_json)
    told = source.read(options, "status")
    emit(options, told, ())
    if not options.as_json:
        first, *rest = texts.picture(told.value, page())
        out.headline(first, well=reading.state(told.value) == "well")
        out.lines(rest)
    return code_of(reading.state(told.value), check=options.check)


def _for_nagios(options: StatusOptions | source.Asked) -> int:
    """Answer as its plugins do: with one line on standard output and one of their codes, whatever happens."""
    try:
        line, code = texts.nagios(source.read(options, "status").value)
    except CmgrError as error:
        line, code = f"CMGR UNKNOWN - {error_chain(error)}".replace("|", "/"), UNKNOWN
    out.lines([line])
    return code


def chips(options: ChipsOptions) -> int:
    """Show the chips: health, faults, users."""
    if options.count is not None and not options.available:
        raise misused("--count goes with --available")
    if options.policy or options.model or options.reserve:
        if options.count is None:
            raise misused("--policy, --model and --reserve go with --available --count N")
        _reserved(options, options.count)
        return 0
    if options.available:
        _available(options)
        return 0
    told = source.read(options, "chips")
    emit(options, told, texts.chips(told.value, page()))
    return told.code


def faults(options: FaultsOptions) -> int:
    """Show the active faults, or all that are kept."""
    since = None if options.since is None else source.now() - source.length("--since", options.since)
    past = options.all or since is not None
    told = _past_faults(options, since) if past else source.read(options, "faults")
    emit(options, told, texts.faults(told.value, page(), history=past))
    return told.code


def explain(options: ExplainOptions) -> None:
    """Show what a fault code means.

    Its level, where that comes from, and what cmgr does about it. Works without the service.
    """
    from urllib.parse import quote

    from cmgr.model.values.handling.catalog import FORMS, normal_code

    code = normal_code(options.code)
    if code is None:
        raise misused(f"{options.code[:40]!r} is not a fault code: {FORMS}")
    try:
        answer = get(source.socket_of(options), f"explain/{quote(code)}")
        told = source.Told(cast("shapes.Explanation", answer), source.SERVICE)
    except ServiceDown:
        from cmgr.cli import stored

        told = source.Told(stored.explain(source.configuration(options), options.code), source.CONFIGURATION)
    emit(options, told, texts.explanation(told.value, page(), chinese=_is_chinese(options.lang)))


def _is_chinese(wished: str | None) -> bool:
    """Return whether texts are to be in Chinese: as asked for, else as the locale has it."""
    if wished not in (None, *LANGUAGES):
        raise misused(f"--lang is one of {', '.join(LANGUAGES)}")
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return (wished or locale).casefold().startswith("zh")


def emit(
    options: Showing | StatusOptions | source.Asked, told: source.Told[source.Document], lines: Sequence[str]
) -> None:
    """Write the answer as it was asked for, and who gave it where that is not who is usually asked."""
    if told.origin not in (source.SERVICE, source.HISTORY):
        out.remark(told.origin)
    out.result(told.value, lines, options.as_json)


def _available(options: ChipsOptions) -> None:
    # Only the service knows which processes are on a chip, so the database is no substitute here.
    told = cast("shapes.Chips", get(source.socket_of(options), "chips"))
    free = {chip["id"]: chip["ring"] for chip in told["chips"] if chip["available"]}
    hint = "cmgr chips shows who uses which"
    if not free:
        # An empty line would start a container without any chip.
        raise CmgrError("cannot find a chip that is healthy and unused", hint=hint)
    wanted = len(free) if options.count is None else options.count
    if len(free) < wanted:
        raise CmgrError(f"cannot find {wanted} healthy unused chips: there are {len(free)}", hint=hint)
    chosen = _of_few_rings(free, wanted)
    by_id = {chip["id"]: chip["number"] for chip in told["chips"]}
    numbers = [by_id[chip] for chip in chosen]
    out.result({"available": chosen, "numbers": numbers}, [",".join(map(str, numbers))], options.as_json)


def _reserved(options: ChipsOptions, count: int) -> None:
    seconds = None if options.reserve is None else source.length("--reserve", options.reserve).total_seconds()
    wish = {"count": count, "policy": options.policy, "model": options.model, "seconds": seconds}
    told = cast("slot_shapes.Reserved", order(source.socket_of(options), "reserve", **wish))
    out.result(told, [",".join(map(str, told["numbers"]))], options.as_json)


def _of_few_rings(free: Mapping[int, int], count: int) -> list[int]:
    """Return so many of these chips, of which each has its ring.

    They are of one ring if one has so many, of the fullest of those; else they are those of the emptiest rings.
    """
    rings: dict[int, list[int]] = {}
    for chip, ring in free.items():
        rings.setdefault(ring, []).append(chip)
    enough = [chips for chips in rings.values() if len(chips) >= count]
    if enough:
        return sorted(min(enough, key=len)[:count])
    emptiest_first = sorted(rings.values(), key=len, reverse=True)
    return sorted(list(chain.from_iterable(emptiest_first))[:count])


def _past_faults(options: FaultsOptions, since: datetime | None) -> source.Told[shapes.Faults]:
    from cmgr.cli import stored

    with source.opened(options) as database:
        return source.Told(stored.past_faults(database, since), source.HISTORY)
