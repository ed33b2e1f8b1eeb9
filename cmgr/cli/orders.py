"""The commands by which a person orders something of chips, containers, and the service."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, cast

import typer

from cmgr.cli import complete, reading, source
from cmgr.cli.options import Common
from cmgr.cli.text import out, render
from cmgr.cli.text.render import Face, counted
from cmgr.errors import CmgrError
from cmgr.service.client import ask


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions(Common):
    chip: Annotated[
        int, typer.Argument(metavar="CHIP", min=0, help="The chip's physical id.", autocompletion=complete.isolated)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolateOptions(Common):
    chip: Annotated[
        int, typer.Argument(metavar="CHIP", min=0, help="The chip's physical id.", autocompletion=complete.chips)
    ]
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why: everybody who looks is shown it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions(Common):
    chip: Annotated[
        int, typer.Argument(metavar="CHIP", min=0, help="A chip of the ring.", autocompletion=complete.chips)
    ]
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop the containers on its ring, and start them again afterwards.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before containers are stopped.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOptions(Common):
    container: Annotated[
        str,
        typer.Argument(
            metavar="CONTAINER", help="Its name, NAMESPACE/NAME, or id.", autocompletion=complete.held_containers
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions(Common):
    container: Annotated[
        str | None,
        typer.Argument(
            metavar="CONTAINER", help="Its name, NAMESPACE/NAME, or id.", autocompletion=complete.held_containers
        ),
    ] = None
    all_: Annotated[
        bool, typer.Option("--all", help="Every container that was given up, and every ring that is kept back.")
    ] = False


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceOptions(Common):
    switch: Annotated[Switch, typer.Argument(metavar="on|off", help="Whether it begins or ends.")]
    length: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="It ends by itself after that: 2h, 30m.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadOptions(Common):
    pass


def release(options: ReleaseOptions) -> int:
    """End a chip's isolation.

    Faults that the chip still reports count again from now on.
    """
    told = ask(source.socket_of(options), "release", chip=options.chip)
    if told.get("isolated"):
        raise CmgrError(f"cannot release chip {options.chip}: {told['reason']}", hint="it is isolated anew; cmgr chips")
    out.told([f"chip {options.chip}: released"])
    return 0


def isolate(options: IsolateOptions) -> int:
    """Take a chip out of use, until cmgr release.

    It is not reset for its faults, and cmgr starts nothing on it. What runs on it goes on, unless isolation.on_isolate
    is stop.
    """
    told = ask(source.socket_of(options), "isolate", chip=options.chip, reason=options.reason)
    lines = [f"chip {options.chip}: isolated; cmgr release {options.chip} ends it"]
    users = _names(told.get("containers"))
    out.told([*lines, f"on it: {', '.join(users)}"] if users else lines)
    return 0


def reset(options: ResetOptions) -> int:
    """Reset the ring of a chip.

    All its chips together, under the rules of every reset: nobody may be on them, and it counts in the budget.
    """
    path = source.socket_of(options)
    if options.stop and not options.yes:
        _confirm(reading.users_of_ring(ask(path, "status"), options.chip), options.chip)
    told = ask(path, "reset", chip=options.chip, stop=options.stop)
    chips = render.numbers(told.get("chips"))
    lines = [f"chip {options.chip}: the reset of ring {told.get('ring')} (chips {chips}) is ordered"]
    users = _names(told.get("containers"))
    lines += [f"stopped for it, and started again afterwards: {', '.join(users)}"] if users else []
    out.told([*lines, "cmgr status shows how it goes"])
    return 0


def _confirm(users: list[str], chip: int) -> None:
    if not users:
        return
    if not sys.stdin.isatty():
        raise CmgrError(
            f"cannot reset chip {chip}: this stops {', '.join(users)}, and nobody can be asked", hint="--yes says yes"
        )
    if not typer.confirm(f"This stops {', '.join(users)}. Go on?", err=True):
        raise CmgrError("nothing was done")


def resume(options: ResumeOptions) -> int:
    """Start a container again that was given up.

    With --all every one of them, and the rings begin that the limits keep back. The same safety rules hold as for
    every start.
    """
    if options.all_ is (options.container is not None):
        raise typer.BadParameter("give a CONTAINER or --all")
    if options.all_:
        return _resume_all(ask(source.socket_of(options), "resume", all=True))
    told = ask(source.socket_of(options), "resume", container=options.container)
    out.told([f"{told.get('container', options.container)}: will be started as soon as its chips allow"])
    return 0


def _resume_all(told: Mapping[str, object]) -> int:
    kept, names = render.numbers(told.get("rings")), _names(told.get("containers"))
    lines = [f"kept back no longer: ring {kept}"] if kept else []
    lines += [f"{name}: will be started as soon as its chips allow" for name in names]
    out.lines(lines)
    return 0


def forget(options: HeldOptions) -> int:
    """Give a held container back to you.

    cmgr puts its restart policy back, leaves it as it is, and does not start it any more.
    """
    told = ask(source.socket_of(options), "forget", container=options.container)
    out.told([f"{told.get('container', options.container)}: forgotten; {_left_as(told)}"])
    return 0


def _left_as(told: Mapping[str, object]) -> str:
    if told.get("under_way"):
        return "its stop or start that is under way takes its course, and cmgr does nothing more to it"
    return "it runs" if told.get("running") else "it is down, and stays so until somebody starts it"


def maintenance(options: MaintenanceOptions) -> int:
    """Let cmgr record recoveries and act on none, or act again.

    What is held when it begins stays down until it ends. Then what is true at that moment is acted on.
    """
    on = options.switch is Switch.ON
    if options.length is not None and not on:
        raise typer.BadParameter("--for goes with on")
    seconds = None if options.length is None else source.length("--for", options.length).total_seconds()
    told = ask(source.socket_of(options), "maintenance", on=on, seconds=seconds)
    if not on:
        out.told(["maintenance is over: what is true now is acted on"])
        return 0
    until = f"until {Face(source.now()).when(told['until'])}" if told.get("until") else "until cmgr maintenance off"
    held = _names(told.get("held"))
    stay = [f"{counted(len(held), 'held container')} down until then: {', '.join(held)}"] if held else []
    out.told([f"maintenance {until}: recoveries are recorded, and none is acted on", *stay])
    return 0


def reload(options: ReloadOptions) -> int:
    """Have the configuration and fault tables read again.

    One with mistakes changes nothing: every mistake is told.
    """
    told = ask(source.socket_of(options), "reload")
    changed, later = _names(told.get("changed")), _names(told.get("after_restart"))
    lines = [f"in force now: {', '.join(changed)}"] if changed else []
    lines += [f"in force only after systemctl restart cmgr: {', '.join(later)}"] if later else []
    out.told(lines or ["configuration and fault tables were read again: no setting has changed"])
    return 0


def _names(value: object) -> list[str]:
    return [str(name) for name in cast("list[object]", value)] if isinstance(value, list) else []
