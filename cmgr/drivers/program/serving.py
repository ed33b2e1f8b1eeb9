"""The program's side: a driver of this process, asked over a connection by the service.

It ends with the connection, but leaves no reset that is under way: the process goes on until that has returned, also
where its driver waits for it no more.
"""

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from cmgr import typed
from cmgr.config.load import read_back
from cmgr.config.settings import Config
from cmgr.drivers.program import wire
from cmgr.drivers.storms import PAUSE, Storms
from cmgr.errors import CmgrError, DriverError
from cmgr.loading import settled
from cmgr.model.values.chips import ChipId, Share, rings_of
from cmgr.model.values.messages.facts import FaultReported, ReadNeeded
from cmgr.ports import (
    Ailing,
    ChipDriver,
    Describing,
    Dividing,
    Drilling,
    DriverFact,
    Gauge,
    Lasting,
    Ranking,
    Renewable,
)
from cmgr.sentences.sentence import because, say
from cmgr.words import json_of

MOST_TOLD = 20_000
"""So many facts wait for a service that does not read. Beyond that they are lost, and all chips are to be read."""

AT_ONCE = 24
"""So many requests are served at once: more than any driver takes, so that nobody waits behind a reset."""

Request = Mapping[str, Any]


class Server:
    """`opened` opens the driver, with the configuration that the service sends; `begun` is called once it has."""

    def __init__(
        self, line: socket.socket, opened: Callable[[Config], ChipDriver], begun: Callable[[], None] = lambda: None
    ) -> None:
        self._line = line
        self._opened = opened
        self._begun = begun
        self._driver: ChipDriver | None = None
        self._outgoing: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._lost = False
        self._sending = self._urgent = False
        self._storms = Storms()
        self._resets = 0
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._does: Mapping[str, Callable[[Request], Any]] = {
            "begin": self._begin, "doubts": self._doubts, "watch": self._watch, "read": self._read,
            "processes": self._processes, "reset": self._reset, "measure": self._measure, "devices": self._devices,
            "make_shares": self._make_shares, "soft_fault": self._soft_fault, "state": self._state,
        }  # fmt: skip

    def run(self) -> None:
        """Serve until the other side closes the connection, or is gone. The process is to end then."""
        try:
            with self._line.makefile("rb") as lines:
                # The first one opens the driver, which may fork: there are no threads yet.
                if line := lines.readline(wire.MOST):
                    self._serve(json_of(line))
                self._begun()
                threading.Thread(target=self._send, name="tell", daemon=True).start()
                while line := lines.readline(wire.MOST):
                    threading.Thread(target=self._serve_beside, args=(json_of(line),), name="serve").start()
        except OSError:
            pass  # As if it had been closed.
        with self._changed:
            self._changed.wait_for(lambda: not self._resets)
        driver: object = self._driver
        if isinstance(driver, Lasting):
            driver.finish()

    def _serve_beside(self, request: Request) -> None:
        """Serve on a thread that ends with it: for most of the time nothing is asked.

        It waits for its turn here: whoever reads has to see that the other side is gone, though all turns hang.
        """
        with self._room:
            self._serve(request)

    def _serve(self, request: Request) -> None:
        said: dict[str, Any]
        try:
            said = {"result": self._does[request["do"]](request)}
        except DriverError as error:
            said = {"error": wire.failure(error)}
        except CmgrError as error:
            said = {"error": wire.failure(DriverError(error.message, hint=error.hint))}
        except Exception as error:  # Whoever waits for the answer has to have one.
            text = say("driver.cannot-do-bug", what=str(request.get("do")), error=repr(error))
            said = {"error": {"kind": "failed", "text": text}}
        with self._changed:
            self._put(wire.line({"id": request["id"], **said}))

    def _tell(self, fact: DriverFact) -> None:
        line = wire.told(fact)
        with self._changed:
            if len(self._outgoing) >= MOST_TOLD:
                self._lost = True
            elif isinstance(fact, FaultReported) and self._storms.has(fact.chip, time.monotonic()):
                self._hold(line)
            else:
                self._put(line)

    def _hold(self, line: bytes) -> None:
        """Send it together with what else the storm tells; whatever is sent at once takes it along."""
        self._outgoing.append(line)
        if len(self._outgoing) == 1:
            self._changed.notify_all()

    def _put(self, line: bytes) -> None:
        """Send what the service takes at once, without waking another thread for it; the rest waits for one."""
        if not self._outgoing and not self._sending:
            with suppress(OSError):  # The thread that sends meets it, too.
                line = line[self._line.send(line, socket.MSG_DONTWAIT) :]
        if line:
            self._outgoing.append(line)
            self._urgent = True
            self._changed.notify_all()

    def _send(self) -> None:
        while True:
            with self._changed:
                self._sending = False
                self._changed.wait_for(lambda: self._outgoing)
                self._changed.wait_for(lambda: self._urgent, PAUSE)
                self._urgent = False
                lines, lost = b"".join(self._outgoing), self._lost
                self._outgoing.clear()
                self._lost, self._sending = False, True
            if lost and self._driver is not None:
                rings = rings_of(self._driver.chips()).values()
                lines += b"".join(wire.told(ReadNeeded(chips[0])) for chips in rings)
            try:
                self._line.sendall(lines)
            except OSError:
                return  # The reader of requests notices, too.

    def _begin(self, request: Request) -> Any:
        if request["version"] != wire.VERSION:
            why = say("driver.other-version", ours=wire.VERSION, theirs=str(request["version"]))
            raise DriverError(because(say("driver.cannot-drive"), why), hint=say("driver.was-updated"))
        self._driver = driver = self._opened(read_back(request["settings"]))
        return {
            "version": wire.VERSION,
            "name": driver.name,
            "concurrency": driver.concurrency,
            "pid": os.getpid(),
            "chips": typed.plain(driver.chips()),
            "text": driver.describe() if isinstance(driver, Describing) else "",
            "share_obstacle": driver.share_obstacle()
            if isinstance(driver, Dividing)
            else say("driver.makes-no-shares"),
        }

    @property
    def _drives(self) -> ChipDriver:
        if self._driver is None:
            raise DriverError(because(say("driver.cannot-drive"), say("driver.nothing-begun")))
        return self._driver

    def _doubts(self, _request: Request) -> Any:
        driver = self._drives
        return typed.plain(driver.doubts()) if isinstance(driver, Describing) else []

    def _watch(self, _request: Request) -> Any:
        self._drives.watch(self._tell)
        threading.Thread(target=settled, name="settle", daemon=True).start()

    def _read(self, request: Request) -> Any:
        return typed.plain(self._drives.read(_chips(request["chips"])))

    def _processes(self, request: Request) -> Any:
        reports = self._drives.read(_chips(request["chips"]))
        return [{"chip": each.chip, "processes": typed.plain(each.processes), "error": each.error} for each in reports]

    def _reset(self, request: Request) -> Any:
        with self._changed:
            self._resets += 1
        try:
            codes = typed.value(frozenset[str], request["codes"])
            self._drives.reset(_chips(request["chips"]), _chips(request["faulty"]), codes)
        finally:
            with self._changed:
                self._resets -= 1
                self._changed.notify_all()

    def _measure(self, request: Request) -> Any:
        driver = self._drives
        return typed.plain(driver.measure(_chips(request["chips"]))) if isinstance(driver, Gauge) else {}

    def _devices(self, request: Request) -> Any:
        driver = self._drives
        found = driver.devices(_chips(request["chips"])) if isinstance(driver, Ranking) else {}
        return {
            str(chip): {"error": wire.failure(each)} if isinstance(each, DriverError) else typed.plain(each)
            for chip, each in found.items()
        }

    def _make_shares(self, request: Request) -> Any:
        driver = self._drives
        if isinstance(driver, Dividing):
            shares = request["shares"].items()
            driver.make_shares({ChipId(int(chip)): typed.value(tuple[Share, ...], each) for chip, each in shares})

    def _soft_fault(self, request: Request) -> Any:
        driver = self._drives
        if not isinstance(driver, Drilling):
            raise DriverError(say("driver.raises-no-fault"))
        return typed.plain(driver.soft_fault(ChipId(request["chip"])))

    def _state(self, _request: Request) -> Any:
        driver: object = self._driver
        troubles = driver.trouble() if isinstance(driver, Ailing) else ()
        return {"troubles": list(troubles), "stale": driver.stale() if isinstance(driver, Renewable) else ""}


def _chips(raw: Any) -> tuple[ChipId, ...]:
    found: tuple[ChipId, ...] = typed.value(tuple[ChipId, ...], raw)
    return found
