"""The process that drives chips: `cmgr chips --serve`, which the service starts and nobody else."""

import faulthandler
import os
import signal
import socket
import stat
import sys
from contextlib import suppress
from functools import partial

from cmgr.errors import CmgrError, system_words
from cmgr.listener import reached
from cmgr.sentences.sentence import say

CONNECTS = 10.0


def drive(connect: str | None) -> int:
    """Serve the service at this socket, or the one on standard input, until that is gone."""
    line = _line(connect)
    os.umask(0o027)
    # Whatever a library prints goes where errors go: into the journal.
    os.dup2(2, 1)
    sys.setswitchinterval(0.0005)
    faulthandler.enable()
    from cmgr.config.schema import sections
    from cmgr.drivers import open_here
    from cmgr.drivers.program.serving import Server
    from cmgr.runtimes import open_units

    sections()  # Kept for when the settings come: whoever sends them loads as much before that.

    def begun() -> None:
        # Until now nothing is lost when it is killed; from now on it would be in the midst of a reset.
        signal.signal(signal.SIGTERM, lambda *_: _let_go(line))

    Server(line, lambda config: open_here(config, partial(open_units, config)), begun).run()
    return 0


def _let_go(line: socket.socket) -> None:
    """Have the process end as if the service had let go of it: it answers what it was asked for."""
    with suppress(OSError):
        line.shutdown(socket.SHUT_RD)


def _line(connect: str | None) -> socket.socket:
    if connect is not None:
        try:
            line = reached(connect, CONNECTS)
        except OSError as error:
            what = say("start.not-there-to-drive", path=connect, why=system_words(error))
            raise CmgrError(what) from error
        line.settimeout(None)
        return line
    if not stat.S_ISSOCK(os.fstat(0).st_mode):
        raise CmgrError(say("start.service-alone"), hint="systemctl start cmgr")
    return socket.socket(fileno=os.dup(0))
