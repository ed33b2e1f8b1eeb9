"""The command that opens the page in a browser, and the page's process."""

import os
import pwd
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from cmgr.cli import source
from cmgr.cli.options import Common, option
from cmgr.cli.text import out
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import language_of, say
from cmgr.service.door.client import post
from cmgr.shortcut import locale
from cmgr.view.text.render import Face

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

LISTEN = "127.0.0.1:9478"
DOOR = "/run/cmgr-web/door.sock"
USER = "cmgr-web"

_SERVED = "systemctl --no-reload enable --now cmgr-web.socket"
_LISTENS = "0A"
"""TCP_LISTEN, as /proc/net/tcp has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions(Common):
    end: bool = option("--end", "End everybody's sessions, and print no link.", False)
    serve: bool = option("--serve", "Be the page's process, as cmgr-web.service is.", False)
    listen: str = option("--listen ADDRESS", "Where the page is served: this machine only.", LISTEN)
    door: Path = option("--door PATH", "The service's door, web.door, for --serve.", Path(DOOR))
    name: list[str] | None = option(
        "--name HOST", "A further name of the page for --serve, behind a proxy; repeatable."
    )
    idle: int = option("--idle SECONDS", "For --serve by systemd: it ends when nobody looks.", 300, min=1)


def web(options: WebOptions) -> int:
    """Print a link that opens the page in a browser, once.

    The page shows what cmgr does while it does it, and takes the orders that the command line takes. Whoever may use
    the command line may open it: the link is worth a session of 12 h in your name, so give it to nobody.
    """
    if options.serve and options.end:
        raise typer.BadParameter(say("usage.exclude", names=["--serve", "--end"]))
    if options.serve:
        # Of cmgr's commands this one alone loads a server.
        from cmgr.web.serve import Place, run

        place = Place(str(options.door), options.listen, tuple(options.name or ()), options.idle)
        return run(place, _say_where)
    if options.end:
        ended = cast("slot_shapes.SessionsEnded", post(source.socket_of(options), "web/end"))
        out.told([say("usage.sessions-ended", count=ended["sessions"])])
        return 0
    _look_who_listens(options.listen)
    told = cast("slot_shapes.Ticket", post(source.socket_of(options), "web/ticket"))
    until, port = (
        Face(source.now(), None, language_of(locale())).when(told["ends"]),
        options.listen.rpartition(":")[2],
    )
    out.lines([f"http://{options.listen}/#t={told['ticket']}"])
    out.error(out.spoken(say("usage.for-you-alone", until=until)))
    out.error(f"  ssh -L {port}:{options.listen} {socket.gethostname()}")
    return 0


def _say_where(at: str) -> None:
    out.error(out.spoken(say("usage.page-is-at", at=at, command=f"cmgr web --listen {at}")))


def _look_who_listens(listen: str) -> None:
    """Raise where another user's process would get the ticket, and for what is no address of this machine's own."""
    from cmgr.web.guard import address

    port = address(listen)[1]
    owners = _owners(port)
    if not owners:
        raise CmgrError(
            say("error.page-not-served", listen=listen),
            hint=say("error.to-serve-page", command=_SERVED, other="cmgr web --serve"),
        )
    trusted = {0, os.geteuid()}
    with suppress(KeyError):
        trusted.add(pwd.getpwnam(USER).pw_uid)
    if strangers := owners - trusted:
        raise CmgrError(
            say("error.page-of-others", uid=min(strangers), listen=listen, user=USER),
            hint=say("error.see-who", command=f"ss -ltnp 'sport = :{port}'"),
        )


def _owners(port: int) -> set[int]:
    """Return whose sockets listen on this port: the user that made each (proc(5))."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(int(fields[7]))
    return found
