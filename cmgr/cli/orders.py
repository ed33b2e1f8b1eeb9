"""The commands by which a person orders something of chips, containers, and the service."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar, cast

import typer

from cmgr.cli import source
from cmgr.cli.options import NEEDED, Common, argument, option
from cmgr.cli.text import out, progress
from cmgr.errors import CmgrError, ServiceDown
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import chained, parts, say
from cmgr.service.door.client import order, status
from cmgr.view.text import reading

if TYPE_CHECKING:
    from cmgr.view import shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering(Common):
    dry_run: bool = option("--dry-run", "Say what would happen, and do nothing.", False)


def _given(options: Ordering, do: str, **args: object) -> dict[str, object]:
    return given(source.socket_of(options), options.dry_run, do, **args)


def given(path: str, dry_run: bool, do: str, **args: object) -> dict[str, object]:
    """Give the order, tell what was done, and return the answer; or tell what would be done, and end."""
    if dry_run:
        does = cast("shapes.Preview", order(path, do, **args, preview=True))["does"]
        out.told([*does, say("order.dry-run", option="--dry-run")])
        raise typer.Exit
    return out.done(order(path, do, **args))


T = TypeVar("T")

CHIPS = "By their physical ids: 5, or 0-3,7."
RINGS = "Any of each ring: 5, or 0-3,7."
NAMES = "Names, NAMESPACE/NAME, or ids."
WAIT = "Show what happens until it is over; end with 1 if it does not end well."


def _each(things: Iterable[T], give: Callable[[T], object]) -> None:
    """Give the order for each of these, whatever becomes of the others. Raises what has become of those in vain."""
    failed, ended = list[CmgrError](), False
    for thing in things:
        try:
            give(thing)
        except ServiceDown:
            raise
        except CmgrError as error:
            failed.append(error)
        except typer.Exit:
            ended = True
    if len(failed) > 1:
        raise CmgrError(parts(map(chained, failed)), hint=failed[0].hint)
    if failed:
        raise failed[0]
    if ended:
        raise typer.Exit


def _chips(spelled: str) -> list[int]:
    return sorted(source.chips_of([spelled]))


def _one_of_each_ring(path: str, spelled: str) -> Iterable[int]:
    """Return of these chips one of each ring: a ring is reset once. An unknown one is left to be refused."""
    chips = _chips(spelled)
    if len(chips) == 1:
        return chips
    rings = {chip["id"]: chip["ring"] for chip in status(path)["chips"]}
    first: dict[int, int] = {}
    for chip in chips:
        first.setdefault(rings.get(chip, -1 - chip), chip)
    return first.values()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions(Ordering):
    chips: str = argument("CHIPS", CHIPS, complete="isolated")
    wait: bool = option("--wait", WAIT, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolateOptions(Ordering):
    chips: str = argument("CHIPS", CHIPS, complete="chips")
    reason: str = option("--reason TEXT", "Why: everybody who looks is shown it.", NEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions(Ordering):
    chips: str = argument("CHIPS", RINGS, complete="chips")
    stop: bool = option("--stop", "Stop the containers on its ring, and start them again afterwards.", False)
    yes: bool = option("--yes -y", "Do not ask before containers are stopped.", False)
    wait: bool = option("--wait", WAIT, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelOptions(Ordering):
    chips: str | None = argument("CHIPS", RINGS, None, complete="chips")
    reboot: bool = option("--reboot", "The reboot of this machine that cmgr has announced.", False)
    wait: bool = option("--wait", WAIT, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOptions(Ordering):
    containers: list[str] | None = argument("[CONTAINER]...", NAMES, None, complete="held_containers")
    runtime: str | None = option("--runtime NAME", "A runtime that is gone for good, with its containers.")
    chip: int | None = option("--chip NUMBER", "A chip that is missing, and gone for good.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions(Ordering):
    containers: list[str] | None = argument("[CONTAINER]...", NAMES, None, complete="held_containers")
    all_: bool = option("--all", "Every container that was given up, and every ring that is kept back.", False)
    wait: bool = option("--wait", WAIT, False)


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceOptions(Ordering):
    switch: Switch = argument("on|off", "Whether it begins or ends.")
    length: str | None = option("--for TIME", "It ends by itself after that: 30m, 2d; else after 4h.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeOptions(Ordering):
    trouble: str | None = argument("TROUBLE", "As cmgr status names it.", None, complete="troubles")
    all_: bool = option("--all", "Every trouble that waits for it.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadOptions(Common):
    pass


def release(options: ReleaseOptions) -> int:
    """End a chip's isolation.

    Faults that the chip still reports count again from now on. With --wait what was to be started on it is followed.
    """

    def give(chip: int) -> None:
        told = cast("shapes.Released", _given(options, "release", chip=chip))
        if told["isolated"]:
            again = say("error.cannot-release", chip=chip, why=told["reason"])
            raise CmgrError(again, hint=say("error.isolated-again"))

    chips, path = _chips(options.chips), source.socket_of(options)
    _each(chips, give)
    return _served(path, progress.held_on(path, chips)) if options.wait else 0


def _served(path: str, names: Iterable[str]) -> int:
    """Show how these containers do until each runs or has failed, and return the exit code: whether all serve."""
    served = [progress.container(path, name) for name in names]
    return 0 if all(served) else 1


def isolate(options: IsolateOptions) -> None:
    """Take a chip out of use, until cmgr release.

    It is not reset for its faults, and cmgr starts nothing on it. Its containers go on, unless isolation.on_isolate
    is stop.
    """
    _each(_chips(options.chips), lambda chip: _given(options, "isolate", chip=chip, reason=options.reason))


def reset(options: ResetOptions) -> int:
    """Reset the ring of a chip.

    All its chips together, under the rules of every reset: nobody must use them, and it counts in the budget.
    """
    return _emptied(options, "reset")


def test(options: ResetOptions) -> int:
    """Test the ring of a chip.

    By the program in reset.test, chip by chip, when nobody uses them; an isolated one too, where it is the one that you
    name. A chip that fails is reset within the budget of its ring, and then isolated.
    """
    return _emptied(options, "test")


def _emptied(options: ResetOptions, do: str) -> int:
    """Order what rings have to be empty for."""
    path = source.socket_of(options)
    if options.stop and not options.yes and not options.dry_run:
        _agreed(path, options.chips, do)
    known = progress.episodes(path) if options.wait else []
    rings: dict[int, int] = {}

    def give(chip: int) -> None:
        told = cast("shapes.ResetOrdered", _given(options, do, chip=chip, stop=options.stop))
        rings[told["ring"]] = chip
        out.told([say("order.status-shows")] * (not options.wait))

    _each(_one_of_each_ring(path, options.chips), give)
    return _awaited(path, rings, known) if options.wait else 0


def _agreed(path: str, spelled: str, do: str) -> None:
    """Ask whether those on the rings of these chips are to be stopped."""
    told, chips = status(path), source.chips_of([spelled])
    stopped = [*dict.fromkeys(name for chip in sorted(chips) for name in reading.users_of_ring(told, chip))]
    if stopped:
        refusal = say("error.cannot-chip", do=do, chip=spelled, why=say("error.this-stops", names=stopped))
        out.confirm(refusal, say("order.this-stops", names=stopped))


def _awaited(path: str, rings: Mapping[int, int], known: "list[shapes.Episode]") -> int:
    """Show the episodes of these rings, by each the chip that was named, until they are over."""
    well = True
    for ring, chip in rings.items():
        try:
            told = progress.episode(path, ring, known)["episode"]
        except KeyboardInterrupt:
            out.remark(say("order.stands", chip=chip))
            raise
        well = well and told["outcome"] == "recovered"
        took = timedelta(seconds=told["seconds"])
        out.told([say("order.over", ring=ring, outcome=told["outcome"], episode=told["number"], length=took)])
    return 0 if well else 1


def cancel(options: CancelOptions) -> int:
    """Take back an ordered reset or test that waits, or a reboot.

    Containers that were stopped for a reset are started again. After its beginning it cannot be taken back. A reboot of
    the machine that is taken back is not announced again within a day.
    """
    if (options.chips is None) is not options.reboot:
        raise typer.BadParameter(say("usage.give", names=["CHIPS", "--reboot"]))
    if options.chips is None:
        _given(options, "cancel", reboot=True)
        return 0

    path, started = source.socket_of(options), list[str]()

    def give(chip: int) -> None:
        started.extend(cast("shapes.ResetOrdered", _given(options, "cancel", chip=chip))["containers"])

    _each(_one_of_each_ring(path, options.chips), give)
    return _served(path, started) if options.wait else 0


def resume(options: ResumeOptions) -> int:
    """Start a container again that has failed or was given up.

    With --all every one of them, and the rings begin that the limits keep back. The same safety rules hold as for
    every start.
    """
    names = options.containers or []
    if options.all_ is bool(names):
        raise typer.BadParameter(say("usage.give", names=["CONTAINER", "--all"]))
    if options.wait and options.all_:
        raise typer.BadParameter(say("usage.goes-with", names=["--wait"], other="CONTAINER"))
    if options.all_:
        _given(options, "resume", all=True)
        return 0
    _each(names, lambda name: _given(options, "resume", container=name))
    return _served(source.socket_of(options), names) if options.wait else 0


def forget(options: ForgetOptions) -> None:
    """Give a held container back to you.

    cmgr puts its restart policy back, leaves it as it is, and does not start it any more. With --runtime nothing waits
    any more for a runtime that does not answer: its containers are forgotten. Should it answer again, it counts again.
    With --chip nothing is remembered any more of a chip that is missing.
    """
    names = options.containers or []
    if bool(names) + (options.runtime is not None) + (options.chip is not None) != 1:
        raise typer.BadParameter(say("usage.give", names=["CONTAINER", "--runtime", "--chip"]))
    if options.runtime is not None:
        _given(options, "forget", runtime=options.runtime)
    if options.chip is not None:
        _given(options, "forget", chip=options.chip)
    _each(names, lambda name: _given(options, "forget", container=name))


def maintenance(options: MaintenanceOptions) -> None:
    """Let cmgr record recoveries and act on none, or act again.

    It ends by itself after 4 h, or after what --for says. Containers held when it begins stay down until it ends. Then
    what is true at that moment is acted on.
    """
    on = options.switch is Switch.ON
    if options.length is not None and not on:
        raise typer.BadParameter(say("usage.goes-with", names=["--for"], other="on"))
    seconds = None if options.length is None else source.length("--for", options.length).total_seconds()
    _given(options, "maintenance", on=on, seconds=seconds)


def acknowledge(options: AcknowledgeOptions) -> None:
    """Say that you have seen to a trouble.

    Most troubles end when they are over. One whose end nobody can see, such as a damaged database, is told until this.
    """
    if options.all_ is (options.trouble is not None):
        raise typer.BadParameter(say("usage.give", names=["TROUBLE", "--all"]))
    _given(options, "acknowledge", trouble=options.trouble, all=options.all_)


def reload(options: ReloadOptions) -> None:
    """Have the configuration and fault tables read again.

    One with mistakes changes nothing: every mistake is told.
    """
    out.done(order(source.socket_of(options), "reload"))
