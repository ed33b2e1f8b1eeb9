"""The command by which another program reports a fault of chips: report."""

from cmgr.cli import source
from cmgr.cli.options import NEEDED, Common, option
from cmgr.cli.text import out
from cmgr.frozen import dataclass
from cmgr.service.door.client import order


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Common):
    id_: str = option("--id NAME", "Your own name for this fault: disk-7.", NEEDED)
    code: str = option("--code CODE", "Its code: nine digits.", NEEDED)
    chips: str | None = option("--chips CHIPS", "The chips that it concerns: 0-2,5.")
    length: str | None = option("--for TIME", "It counts as over after that, unless it is reported again: 10m.")
    clear: bool = option("--clear", "It is over: on these chips, or wherever you reported it.", False)


def report(options: ReportOptions) -> None:
    """Report a fault of chips, or that it is over.

    For programs that know more than the driver does. The configuration says which of them may report what.
    """
    args: dict[str, object] = {"id": options.id_, "code": options.code, "clear": options.clear}
    args |= {"chips": options.chips} if options.chips is not None else {}
    if options.length is not None:
        args["seconds"] = source.length("--for", options.length).total_seconds()
    out.done(order(source.socket_of(options), "report", **args))
