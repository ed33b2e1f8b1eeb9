"""The commands about what containers are given chips by: slot, cdi."""

from enum import StrEnum
from typing import TYPE_CHECKING, cast

import typer

from cmgr.cli import source
from cmgr.cli.options import Common, Showing, argument, option
from cmgr.cli.orders import given
from cmgr.cli.show import page
from cmgr.cli.text import out
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door.client import get
from cmgr.view.text import together

if TYPE_CHECKING:
    from cmgr.view import slot_shapes


class SlotDeed(StrEnum):
    CREATE = "create"
    ASSIGN = "assign"
    REMOVE = "remove"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotOptions(Showing):
    deed: SlotDeed | None = argument("create|assign|remove|adopt", "What to do; without it all are shown.", None)
    name: str | None = argument(
        "NAME", "The slot's name; with adopt, and assign, also a container's.", None, complete="slots"
    )
    chips: str | None = argument("CHIPS", "Its chips: 4,5 or 0-3.", None)
    count: int | None = option("--count N", "With create: so many free chips.", min=1)
    given: str | None = option("--chips CHIPS", "The same as CHIPS.")
    stop: bool = option("--stop", "With assign: stop what runs on it, and start it again there.", False)
    dry_run: bool = option("--dry-run", "Say what an order would do, and do nothing.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CdiOptions(Common):
    pass


def slot(options: SlotOptions) -> None:
    """Show, make, assign and remove slots.

    A slot is a name for as many chips as a service needs. Its containers ask for that name, and cmgr says which chips
    these are: when one is isolated, the slot and what is held on it move to others of the same model. adopt prints the
    commands that recreate a container of Docker on a slot of its name, and runs none of them.
    """
    if options.dry_run and options.deed in (None, SlotDeed.ADOPT):
        raise typer.BadParameter(say("usage.goes-with", names=["--dry-run"], other="create|assign|remove"))
    if options.deed is None:
        told = cast("slot_shapes.Slots", source.answer(options, "slots"))
        out.result(told, together.slots(told, page(options)), options.as_json)
        return
    if options.name is None:
        raise typer.BadParameter(say("usage.give", names=["NAME"]))
    if options.deed is SlotDeed.ADOPT:
        _adopt(options, options.name)
        return
    chips = options.given or options.chips
    args: dict[str, object] = {}
    match options.deed:
        case SlotDeed.CREATE:
            args = {"chips": chips, "count": options.count}
        case SlotDeed.ASSIGN:
            if chips is None:
                raise typer.BadParameter(say("usage.give", names=["CHIPS"]))
            args = {"chips": chips, "stop": options.stop}
    given(source.socket_of(options), options.dry_run, f"slot-{options.deed}", slot=options.name, **args)


def _adopt(options: SlotOptions, name: str) -> None:
    """Print how a container of Docker is recreated on a slot of its name. Nothing is done."""
    from cmgr.runtimes.docker.adopt import adoption, described
    from cmgr.runtimes.docker.cdi import cdi_of

    config = source.configuration(options)
    docker = cdi_of(config.docker.socket)
    if not docker.known:
        told = say("error.docker-knows-no-cdi", name=name, version=docker.version)
        raise CmgrError(told, hint=say("error.docker-does"))
    container, image = described(config.docker.socket, name)
    made = adoption(container, image, name)
    out.lines([f"docker stop {name}", f"docker rename {name} {name}-before", made.command, f"docker start {name}"])
    out.remark(say("order.look-before"))
    for left in made.left:
        out.remark(f"  {left}")


def cdi(options: CdiOptions) -> None:
    """Print the chips as a CDI specification.

    Containers ask for a chip by the name that it has there. An isolated chip is refused, with the reason. With
    cdi.chips = true the service keeps this file itself, and writes it again when chips are isolated or released.
    """
    told = cast("slot_shapes.Cdi", get(source.socket_of(options), "cdi"))
    out.as_json(told["specification"])
