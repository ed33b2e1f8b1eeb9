"""The commands about groups and fleets: group, ranktable, fleet."""

import json
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import typer

from cmgr.cli import source
from cmgr.cli.options import NEEDED, WATCH, Common, FleetOptions, Showing, argument, option
from cmgr.cli.orders import WAIT, given
from cmgr.cli.show import page
from cmgr.cli.text import out, progress, watch
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door.client import document
from cmgr.view.text import together

if TYPE_CHECKING:
    from cmgr.view import group_shapes

DEEDS = ("restart", "cancel", "resume")
FOUNDING = ("setup", "join")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions(Showing):
    deed: str | None = argument(
        "[restart|cancel|resume]", "What to do; without it the group is shown.", None, complete="groups"
    )
    name: str | None = argument("NAME", "The group; without it all are shown.", None, complete="groups")
    reason: str | None = option("--reason TEXT", "With restart: why.")
    watch: bool = option("--watch -w", WATCH, False)
    wait: bool = option("--wait", f"With restart: {WAIT[0].lower()}{WAIT[1:]}", False)
    alone: bool = option("--alone", "With resume: start the members here without the other appliances.", False)
    without: str | None = option("--without NAMES", "With resume: go on without these appliances.")
    dry_run: bool = option("--dry-run", "Say what an order would do, and do nothing.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions(Common):
    group: str = option("--group NAME", "The group whose ranks it is about.", NEEDED, complete="groups")


def fleet(options: FleetOptions) -> int:
    """Show the fleet: its appliances and its engine.

    It says what is wrong on each and what to type there. By the engine the appliances agree on the groups that span
    them. Each shows that of itself; it is for people, and nothing is decided by it. Setup makes a fleet: certificates,
    an etcd on each machine and its users, and a token for each of the others, which joins by it.
    """
    if options.what in FOUNDING:
        from cmgr.cli.founding import found

        if options.watch:
            raise typer.BadParameter(say("usage.for-showing", option="--watch"))
        (found.setup if options.what == "setup" else found.join)(options)
        return 0
    if options.what != "status":
        raise typer.BadParameter(say("error.none-of", name=repr(options.what), those=["status", *FOUNDING]))

    def read() -> tuple["group_shapes.Fleet", list[str]]:
        told = cast("group_shapes.Fleet", source.answer(options, "fleet?nodes=true"))
        return told, together.fleet(told, page(options))

    if options.watch:
        return watch.table(read, lambda: page(options), "cmgr fleet", as_json=options.as_json)
    out.result(*read(), options.as_json)
    return 0


def ranktable(options: RankOptions) -> None:
    """Print the rank table of a group.

    By it the chips of a collective find one another: their addresses as their drivers say them, in the order of the
    group's members, on all appliances. A before_start hook writes it again before the members are started.
    """
    told = document(source.socket_of(options), f"groups/{quote(options.group, safe='')}/ranktable")
    out.as_json(json.loads(told))


def group(options: GroupOptions) -> int:
    """Show groups, restart one, take that back, or have it go on.

    The containers of a group stop together and start together. A restart stops all and starts them when all can be
    started, those that were down too; until then cancel takes it back. Resume starts those that can be started now,
    without waiting for the rest; where a group spans appliances, with --alone without waiting for the others, and with
    --without without some of them.
    """
    if why := _misuse(options):
        raise typer.BadParameter(why)
    path = source.socket_of(options)
    if options.deed in DEEDS and options.name is not None:
        return _order(path, options, options.deed, options.name)
    if options.watch:
        command = f"cmgr group {options.deed}" if options.deed else "cmgr group"
        shown = partial(_shown, options, options.deed)
        return watch.table(shown, lambda: page(options), command, as_json=options.as_json)
    show_group(options, options.deed)
    return 0


def _misuse(options: GroupOptions) -> str:
    """Return what does not go together, the first of it; nothing where all does."""
    deed = options.deed if options.deed in DEEDS else None
    rows = (
        (deed is not None and options.name is None, "give a NAME"),
        (deed is None and options.name is not None, f"{options.deed!r} is none of {', '.join(DEEDS)}"),
        (deed != "resume" and (options.alone or options.without), "--alone and --without go with resume"),
        (
            options.alone and options.without,
            "--alone starts without all others: give it, or --without for some of them",
        ),
        (deed != "restart" and options.wait, "--wait goes with restart"),
        (deed is None and options.dry_run, f"--dry-run goes with {', '.join(DEEDS)}"),
        (deed is not None and options.watch, say("usage.for-showing", option="--watch")),
    )
    return next((why for is_wrong, why in rows if is_wrong), "")


def show_group(options: Showing, name: str | None) -> None:
    """Show one group member by member; without a name all groups."""
    out.result(*_shown(options, name), options.as_json)


def _shown(options: Showing, name: str | None) -> "tuple[group_shapes.Groups, list[str]]":
    what, sheet = f"groups/{quote(name, safe='')}" if name else "groups", page(options)
    told = cast("group_shapes.Groups", source.answer(options, what))
    return told, together.group(told["groups"][0], sheet) if name else together.groups(told, sheet)


def _order(path: str, options: GroupOptions, deed: str, name: str) -> int:
    said: dict[str, object] = {"reason": options.reason} if deed == "restart" else {}
    if deed == "resume":
        said = {"alone": options.alone, **({"without": options.without} if options.without else {})}
    answer = given(path, options.dry_run, f"group-{deed}", group=name, **said)
    if deed == "restart" and options.wait:
        made = cast("group_shapes.GroupRestarted", answer)
        return 0 if progress.group(path, name, made["round"]) else 1
    return 0
