"""Real drills: a fault that the maker's own driver raises on a chip for a while, and that breaks nothing.

A program in the host raises it and ends it (`ports.SoftFault`). It has one end of a connection: when that is closed, be
it because this process is gone, it ends the fault. One drill at a time.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from threading import Event, Lock, Thread

from cmgr import again
from cmgr.errors import CmgrError, DriverError
from cmgr.host.act import Act, Begun, CannotBegin, Ended
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.ports import ChipDriver, Drilling, SoftFault
from cmgr.sentences.sentence import say
from cmgr.service.part import Part

RAISES = 20.0
"""So many seconds it may take until the fault is raised."""

ENDS = 10.0
"""So many seconds a reset waits for the fault's end, before which it would be there again after the boot."""

_LOOK_EVERY = 0.1
_NEVER = Event()
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


class Drill:
    """One drill. `chip`, `code`, `who` and `until` say what it is."""

    def __init__(self, chip: Chip, code: str, who: str, until: datetime) -> None:
        self.chip, self.code, self.who, self.until = chip, code, who, until
        self.line, self.theirs = socket.socketpair()
        self.line.setblocking(False)
        self.why = ""
        self.raised = False
        self.known = Event()
        """Set once it has been raised, or could not be."""
        self.over = Event()
        self.ended: Ended | None = None

    def end(self, why: str) -> None:
        """Have the fault ended. Any thread; does not wait for that, and may be repeated."""
        self.why = self.why or why
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_WR)

    def look(self) -> None:
        """See whether it has been raised by now."""
        if not self.raised:
            with suppress(OSError):
                self.raised = bool(self.line.recv(64))
            if self.raised:
                self.known.set()


class Drills(Part):
    """Any thread. `tell` takes what is to stand in the timeline."""

    def __init__(
        self, driver: ChipDriver, host: Host, tell: Callable[[Remarked], None], now: Callable[[], datetime]
    ) -> None:
        self._driver = driver
        self._host = host
        self._tell = tell
        self._now = now
        self._lock = Lock()
        self._numbers = count(1)
        self._drill: Drill | None = None

    @property
    def now(self) -> Drill | None:
        """The drill that is under way."""
        return self._drill

    def fault_of(self, chip: ChipId) -> SoftFault:
        """Return the fault that can be raised on this chip. Raises `CmgrError` where that cannot be."""
        try:
            if not isinstance(self._driver, Drilling):
                raise DriverError(say("error.raises-none"))
            return self._driver.soft_fault(chip)
        except DriverError as error:
            raise CmgrError(_cannot(chip, error.message), hint=say("error.to-inject")) from None

    def begin(self, chip: Chip, length: timedelta, who: str) -> Drill:
        """Return when the fault is raised. Blocks for up to 20 s. Raises `CmgrError`."""
        fault = self.fault_of(chip.id)
        drill = Drill(chip, fault.code, who, self._now() + length)
        with self._lock, drill.theirs:
            if (other := self._drill) is not None:
                drill.line.close()
                raise CmgrError(_cannot(chip.id, say("error.drills-now", who=other.who, chip=other.chip.id)))
            self._drill = drill  # From now on it can be ended.
            begun = self._begun(drill, fault, length)
        raises = say("drill.raises", who=who, code=fault.code, chip=chip.id, length=length)
        self._tell(Remarked(raises, chip.ring))
        Thread(target=self._look_after, args=(drill, begun), name="drill", daemon=True).start()
        if not drill.known.wait(RAISES):
            drill.end(say("drill.not-in-time"))
            raise CmgrError(_cannot(chip.id, say("error.not-raised", length=timedelta(seconds=RAISES))))
        if not drill.raised and (ended := drill.ended) is not None:
            raise CmgrError(_cannot(chip.id, _said(ended)))
        return drill

    def _begun(self, drill: Drill, fault: SoftFault, length: timedelta) -> Begun:
        around = dict(each.split("=", 1) for each in fault.environment)
        words = (*again.program(), *fault.words, "--for", str(length.total_seconds()))
        name = f"drill-{drill.chip.id}-{os.getpid()}-{next(self._numbers)}"
        try:
            return self._host.begin(Act(name, words, {**_ENVIRONMENT, **around}, None), drill.theirs.fileno())
        except CannotBegin as error:
            drill.line.close()
            self._drill = None
            raise CmgrError(_cannot(drill.chip.id, f"{words[0]} {error.message}"), hint=error.hint) from None

    def end(self, who: str) -> Drill:
        """Have the drill that is under way ended. Raises `CmgrError` where there is none."""
        drill = self._drill
        if drill is None:
            raise CmgrError(say("error.no-drill"), hint="cmgr status")
        drill.end(say("drill.ended-by", who=who))
        return drill

    def codes(self, action: ResetRing) -> frozenset[str]:
        """Return the codes for which this ring is to be reset, right before that; a drill's fault is ended first.

        It is known what that was, so that nobody has to see it once more.
        """
        drill, codes = self._drill, frozenset[str](action.codes)
        if drill is None or drill.chip.id not in action.chips:
            return codes
        drill.end(say("drill.reset-begins"))
        drill.over.wait(ENDS)
        return frozenset() if drill.code in codes else codes

    def close(self) -> None:
        """End it: the program does so, whether or not anybody waits for that."""
        if (drill := self._drill) is not None:
            drill.end(say("drill.cmgr-ends"))

    def _look_after(self, drill: Drill, begun: Begun) -> None:
        while (ended := begun.wait(_LOOK_EVERY, _NEVER)) is None:
            drill.look()
        drill.look()
        drill.ended, self._drill = ended, None
        drill.line.close()
        chip = drill.chip.id
        if not drill.raised:
            text = say("drill.raised-none", chip=chip, why=_said(ended))
        elif ended.well:
            text = say("drill.chip-over", chip=chip, why=drill.why or ended.output)
        else:
            text = say("drill.may-go-on", code=drill.code, chip=chip, why=_said(ended))
        self._tell(Remarked(text, drill.chip.ring, loud=not (drill.raised and ended.well)))
        drill.known.set()
        drill.over.set()


def _cannot(chip: ChipId, why: str) -> str:
    return say("error.cannot-chip", do="drill", chip=chip, why=why)


def _said(ended: Ended) -> str:
    lines = ended.output.removeprefix("cmgr: ").splitlines()
    return lines[0] if lines else ended.why or say("drill.exit-code", code=ended.code or 0)
