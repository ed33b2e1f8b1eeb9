"""The demo with a page to watch it on: faults come by themselves, until somebody ends it."""

import itertools
import subprocess
import time
from datetime import timedelta

from cmgr import again
from cmgr.cli.demo.service import CONTAINERS, Service
from cmgr.cli.demo.story import FAULT
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ServiceDown
from cmgr.sentences.sentence import say
from cmgr.service.door.client import order, post, status

FIRST_SECONDS = 15.0
PAUSE_SECONDS = 25.0
PATIENCE = timedelta(minutes=2)
"""Until the first fault, for whoever opens the link; and between the end of a recovery and the next fault."""


class Watched:
    """Started beside the demo's service, and never left behind: call `stop`."""

    def __init__(self, service: Service, listen: str) -> None:
        self._service = service
        self._listen = listen
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self) -> None:
        """Show the link, and let chips fault one after the other. Returns never; Ctrl-C ends it."""
        out.told([say("demo.starts")])
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
            out.told([say("demo.chip-faults", chip=chip)])
            out.flush()
            order(self._service.socket, "inject", chip=chip, code=FAULT, assertion="occurred")
            self._service.wait(self._is_well, PATIENCE, say("demo.not-recovered", length=PATIENCE))
            out.told([say("demo.well-again")])
            self._link()
            time.sleep(PAUSE_SECONDS)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(10)

    def _link(self) -> None:
        assert self._process is not None, "it was started"
        if self._process.poll() is not None:
            raise CmgrError(say("demo.page-ended", code=self._process.returncode))
        ticket = post(self._service.socket, "web/ticket")["ticket"]
        out.lines([f"  http://{self._listen}/#t={ticket}"])
        out.flush()

    def _is_well(self) -> bool:
        try:
            told = status(self._service.socket)
        except ServiceDown:
            return False
        return not told["troubles"]
