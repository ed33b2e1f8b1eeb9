"""The commands about what containers are given chips by: cdi."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.cli.text import out
from cmgr.service.door.client import get

if TYPE_CHECKING:
    from cmgr.view import shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class CdiOptions(Common):
    pass


def cdi(options: CdiOptions) -> int:
    """Print the chips as a CDI specification.

    Containers ask for a chip by the name that it has there. An isolated chip is refused, with the reason. With
    cdi.chips = true the service keeps this file itself, and writes it anew when chips are isolated or released.
    """
    told = cast("shapes.Cdi", get(source.socket_of(options), "cdi"))
    out.as_json(told["specification"])
    return 0
