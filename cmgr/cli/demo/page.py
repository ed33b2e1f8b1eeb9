"""The demo with a page to watch it on: faults come by themselves, until somebody ends it."""

import itertools
import subprocess
import time

from cmgr import again
from cmgr.cli.demo.service import CONTAINERS, Service
from cmgr.cli.demo.story import FAULT
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ServiceDown
from cmgr.service.door.client import order, post, status

FIRST_SECONDS = 15.0
PAUSE_SECONDS = 25.0
"""Until the first fault, for whoever opens the link; and between the end of a recovery and the next fault."""


class Watched:
    """Started beside the demo's service, and never left behind: call `stop`."""

    def __init__(self, service: Service, listen: str) -> None:
        self._service = service
        self._listen = listen
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self) -> None:
        """Show the link, and let chips fault one after the other. Returns never; Ctrl-C ends it."""
        out.lines(["A service of its own starts: 8 simulated chips in the rings 0-3 and 4-7, 3 containers on them."])
        self._service.start()
        words = ("web", "--serve", "--listen", self._listen, "--door", str(self._service.door))
        self._process = subprocess.Popen(  # noqa: S603  # This very program.
            [*again.program(), *words],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the demo, which ends the page in order.
        )
        self._link()
        time.sleep(FIRST_SECONDS)
        for chip in itertools.cycle(sorted(chip for chips in CONTAINERS.values() for chip in chips)):
            out.lines([f"chip {chip} faults"])
            out.flush()
            order(self._service.socket, "inject", chip=chip, code=FAULT, assertion="occurred")
            self._service.wait(self._is_well, 120, "recover the ring")
            out.lines(["all is well again; another link, should you want one:"])
            self._link()
            time.sleep(PAUSE_SECONDS)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(10)

    def _link(self) -> None:
        assert self._process is not None, "it was started"
        if self._process.poll() is not None:
            raise CmgrError(f"cannot show the page: it ended with code {self._process.returncode}")
        ticket = post(self._service.socket, "web/ticket")["ticket"]
        out.lines([f"  http://{self._listen}/#t={ticket}"])
        out.flush()

    def _is_well(self) -> bool:
        try:
            told = status(self._service.socket)
        except ServiceDown:
            return False
        return not told["troubles"]
