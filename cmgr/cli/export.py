"""The command that prints what programs of a cluster read of a machine's chips: export."""

from dataclasses import dataclass
from typing import Annotated

import typer

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.cli.text import out
from cmgr.service.door.client import document


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Common):
    name: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="deviceinfo, nodeinfo, switchinfo, fault-node, events, or cluster-device, -node or -switch.",
        ),
    ]


def export(options: ExportOptions) -> int:
    """Print what cluster tools publish of the chips.

    With export.dir the service keeps all of them as files.
    """
    out.lines([document(source.socket_of(options), f"export/{options.name}").decode()])
    return 0
