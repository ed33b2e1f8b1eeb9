"""The command that prints what programs of a cluster read of a machine's chips: export."""

from enum import StrEnum
from urllib.parse import quote

from cmgr.cli import source
from cmgr.cli.options import Common, argument, option
from cmgr.cli.text import out
from cmgr.frozen import dataclass
from cmgr.service.door.client import document


class Shown(StrEnum):
    JSON = "json"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Common):
    name: str = argument(
        "DOCUMENT",
        "deviceinfo, nodeinfo, switchinfo, fault-node, events, or cluster-device, -node or -switch.",
        complete="exports",
    )
    output: Shown = option("--output -o", "The document, or what kubectl describe cm shows.", Shown.JSON)


def export(options: ExportOptions) -> None:
    """Print what cluster tools publish of the chips.

    With export.dir the service keeps all of them as files.
    """
    described = "?described=true" if options.output is Shown.DESCRIBE else ""
    told = document(source.socket_of(options), f"export/{quote(options.name, safe='')}{described}").decode()
    out.lines(told.split("\n"))
