"""The commands that show the present: status, chips, faults, explain."""

# `cmgr status` loads neither typer, which took a third of its time, nor dataclasses, which took a fifth.
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, cast

from cmgr.cli import source
from cmgr.cli.source import misused
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ServiceDown
from cmgr.errors import chain as error_chain
from cmgr.sentences.sentence import LANGUAGES, say
from cmgr.service.door.client import get, order
from cmgr.shortcut import code_of
from cmgr.view.text import reading, texts
from cmgr.view.text.render import Face
from cmgr.words import runs

if TYPE_CHECKING:
    from cmgr.cli.options import ChipsOptions, Common, ExplainOptions, FaultsOptions, Listing, Showing, StatusOptions
    from cmgr.view import shapes, slot_shapes

UNKNOWN = 3
"""Of Nagios' plugins: nobody can tell."""

USUAL = (source.SERVICE, source.HISTORY)


class Table(NamedTuple, Generic[source.Document]):
    """A list as it was read: its document, its lines, and the names of its rows."""

    told: source.Told[source.Document]
    lines: list[str]
    names: list[str]


def page(common: Common | source.Asked, *, heads: bool = True, order: str | None = None) -> texts.Page:
    face = Face(source.now(), language=source.language(common))
    return texts.Page(face, out.width(), heads, order or "")


def status(options: StatusOptions | source.Asked) -> int:
    """Show whether all is well, and if not why.

    It says what cmgr does about it, what it waits for, and what you can do. Where names, chips or a group are given the
    tables have these alone; the first line and --check are of the whole machine.
    """
    if options.watch + options.check + options.nagios > 1:
        raise misused(say("usage.exclude", names=["--watch", "--check", "-o nagios"]))
    if options.watch and (options.as_names or _is_narrowed(options)):
        raise misused(say("usage.shows-whole", option="--watch", output="-o name", other="--unhealthy"))
    if options.nagios:
        return _for_nagios(options)
    if options.watch:
        from cmgr.cli.text import watch

        return watch.watch(
            lambda: source.read(options, "status").value, lambda: _sheet(options), as_json=options.as_json
        )
    whole = source.read(options, "status")
    told = whole._replace(value=_narrowed(options, whole.value)) if _is_narrowed(options) else whole
    emit(options, told, (), (container["called"] for container in told.value["containers"]))
    if not (options.as_json or options.as_names):
        first, *rest = texts.picture(told.value, _sheet(options), whole.value)
        out.headline(first, well=reading.state(told.value) == "well")
        out.lines(rest)
    return code_of(reading.state(told.value), check=options.check)


def _sheet(options: StatusOptions | source.Asked) -> texts.Page:
    return page(options, heads=not options.no_headers, order=options.sort)


def _is_narrowed(options: StatusOptions | source.Asked) -> bool:
    return bool(options.names or options.chip or options.group is not None or options.unhealthy)


def _narrowed(options: StatusOptions | source.Asked, whole: shapes.Status) -> shapes.Status:
    """Return the rows that are asked for. Raises `CmgrError` where there is no such thing."""
    from cmgr.view.text import sift

    chips = None if options.chip is None else frozenset[int](source.chips_of([options.chip]))
    wish = sift.Wish(tuple(options.names or ()), chips, options.group, options.unhealthy)
    if unknown := sift.unknown(whole, wish):
        raise CmgrError(say("error.show-none", names=unknown), hint=say("error.status-has-all"))
    return sift.status(whole, wish)


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
        raise misused(say("usage.goes-with", names=["--count"], other="--available"))
    if options.available and (options.chips or options.unhealthy or options.watch or options.as_names):
        names = ["CHIPS", "--unhealthy", "--watch", "-o name"]
        raise misused(say("usage.goes-not-with", names=names, other="--available"))
    if options.policy or options.model or options.reserve:
        if options.count is None:
            raise misused(
                say("usage.goes-with", names=["--policy", "--model", "--reserve"], other="--available --count N")
            )
        _reserved(options, options.count)
        return 0
    if options.available:
        _available(options)
        return 0
    return _listed(options, lambda: _chips(options), "cmgr chips")


def _chips(options: ChipsOptions) -> Table[shapes.Chips]:
    told = source.read(options, "chips")
    wanted = _wanted(options.chips, (chip["id"] for chip in told.value["chips"]))
    rows = [c for c in told.value["chips"] if c["id"] in wanted and not (options.unhealthy and c["healthy"])]
    told = told._replace(value={**told.value, "chips": rows})
    lines = texts.chips(told.value, page(options, heads=not options.no_headers))
    return Table(told, lines, [str(chip["id"]) for chip in rows])


def _listed(options: ChipsOptions | FaultsOptions, read: Callable[[], Table[Any]], command: str) -> int:
    if not options.watch:
        told, lines, names = read()
        emit(options, told, lines, names)
        return told.code
    if options.as_names:
        raise misused(say("usage.exclude", names=["--watch", "-o name"]))
    from cmgr.cli.text import watch

    def now() -> tuple[object, list[str]]:
        told, lines, _ = read()
        return told.value, lines if told.origin in USUAL else [page(options).face.said(told.origin), *lines]

    return watch.table(now, lambda: page(options), command, as_json=options.as_json)


def _wanted(spelled: Sequence[str] | None, there: Iterable[int]) -> frozenset[int]:
    """Return those of the chips that are asked for: all where no list is given."""
    known = frozenset(there)
    wanted = known if not spelled else frozenset[int](source.chips_of(spelled))
    if missing := wanted - known:
        raise CmgrError(say("error.show-no-chip", chip=runs(missing)), hint=say("error.chips-lists"))
    return wanted


def faults(options: FaultsOptions) -> int:
    """Show the active faults, or all that are kept."""
    return _listed(options, lambda: _faults(options), "cmgr faults")


def _faults(options: FaultsOptions) -> Table[shapes.Faults]:
    since = None if options.since is None else source.now() - source.length("--since", options.since)
    past = options.all or since is not None
    told = _past_faults(options, since) if past else source.read(options, "faults")
    if options.chips:
        wanted = source.chips_of(options.chips)  # A chip that is gone has had faults, too.
        theirs = [row for row in told.value["faults"] if row["chip"] in wanted]
        told = told._replace(value={"faults": theirs, "machine": []})
    if options.sort is not None:
        key = options.sort.value
        told.value["faults"].sort(key=lambda row: texts.in_order(row, key))
    lines = texts.faults(told.value, page(options, heads=not options.no_headers), history=past)
    rows = [*told.value["faults"], *told.value["machine"]]
    return Table(told, lines, [*dict.fromkeys(row["code"] for row in rows)])


def explain(options: ExplainOptions) -> None:
    """Show what a fault code means.

    Its level, where that comes from, and what cmgr does about it. Works without the service.
    """
    from urllib.parse import quote

    from cmgr.model.values.handling.catalog import FORMS, normal_code

    if options.lang not in (None, *LANGUAGES):
        raise misused(say("usage.one-of", name="--lang", those=[*LANGUAGES]))
    code = normal_code(options.code)
    if code is None:
        wrong = say("usage.no-code", text=repr(options.code[:40]), forms=FORMS)
        raise misused(say("usage.explains-container", what=wrong, command="cmgr show NAME"))
    try:
        answer = source.answer(options, f"explain/{quote(code)}")
        told = source.Told(cast("shapes.Explanation", answer), source.SERVICE)
    except ServiceDown:
        from cmgr.cli import stored

        known = stored.explain(source.configuration(options), options.code)
        told = source.Told(source.spoken(options, known), source.CONFIGURATION)
    emit(options, told, texts.explanation(told.value, page(options)))


def emit(
    options: Showing | Listing | StatusOptions | source.Asked,
    told: source.Told[source.Document],
    lines: Sequence[str],
    names: Iterable[str] = (),
) -> None:
    """Write the answer as it was asked for, and who gave it where that is not who is usually asked.

    `names`: what the rows of a list are called.
    """
    if told.origin not in USUAL:
        out.remark(page(options).face.said(told.origin))
    if options.as_names:
        out.lines(names)
    else:
        out.result(told.value, lines, options.as_json)


def _available(options: ChipsOptions) -> None:
    # Only the service knows which processes are on a chip, so the database is no substitute here.
    told = cast("shapes.Chips", get(source.socket_of(options), "chips"))
    free = {chip["id"]: chip["ring"] for chip in told["chips"] if chip["available"]}
    hint = say("error.chips-shows-users")
    if not free:
        # An empty line would start a container without any chip.
        raise CmgrError(say("error.no-chip-unused"), hint=hint)
    wanted = len(free) if options.count is None else options.count
    if len(free) < wanted:
        raise CmgrError(say("error.too-few-unused", wanted=wanted, free=len(free)), hint=hint)
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
