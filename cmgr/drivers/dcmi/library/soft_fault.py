"""A fault that the maker's driver raises by itself: a real event, and a real code in the chip's list, for a drill.

libascend_hal.so lets a process of the host register sensors of software, whose faults the kernel tells like all others.
They are the process's, so this is a process of its own: `cmgr chips --soft-fault`, which the service starts, and which
ends the fault itself, whatever becomes of the service.
"""

import ctypes
import os
import signal
import socket
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from ctypes import POINTER, Structure, byref, c_char, c_int, c_uint8, c_uint16, c_uint32, c_uint64
from pathlib import Path
from typing import Any

from cmgr import ports
from cmgr.drivers import libraries
from cmgr.drivers.dcmi.library import load
from cmgr.errors import CmgrError, DriverError, DriverMissing
from cmgr.frozen import replace
from cmgr.sentences.sentence import chained, say

LIBRARY = "libascend_hal.so"
WANTED = replace(load.WANTED, name=LIBRARY)

NODE_TYPE, SENSOR_TYPE, STATE = 0x625, 0xD0, 12
"""The kernel's own, which it raises for its driver (drv_kernel_soft.c of the maker's driver of 2026-07)."""

CODE = f"{1 << 30 | NODE_TYPE << 17 | SENSOR_TYPE << 9 | STATE:08X}"

RESUMED, OCCURRED = 0, 1

RAISED = b"raised\n"
"""It says so once the driver has taken the fault."""

_SCANNED = 1.0
"""So many seconds after the fault is over its sensor may go. The kernel looks every 300 ms."""

_TRIES, _AGAIN = 5, 0.2


class SensorCfg(Structure):
    """A GUESS: nobody has told how this structure is laid out. The room behind it is for one that is longer."""

    _fields_ = (
        ("name", c_char * 20),
        ("node_type", c_uint16),
        ("sensor_type", c_uint8),
        ("reserved", c_uint8),
        ("assert_mask", c_uint32),
        ("deassert_mask", c_uint32),
        ("more", c_uint8 * 256),
    )


_REGISTER, _UPDATE, _UNREGISTER = "halSensorNodeRegister", "halSensorNodeUpdateState", "halSensorNodeUnregister"

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    _REGISTER: (c_uint32, POINTER(SensorCfg), POINTER(c_uint64)),
    _UPDATE: (c_uint32, c_uint64, c_int, c_int),
    _UNREGISTER: (c_uint32, c_uint64),
}


def of(beside: str, chip: int) -> ports.SoftFault:
    """Return the fault of the chip of this logical id. Raises `DriverError` where there is no library that raises it.

    The library is looked for beside that one, and then where libraries are.
    """
    near = Path(beside).with_name(LIBRARY)
    try:
        path = libraries.find(libraries.Where(WANTED, str(near) if near.exists() else ""))
        _opened(path)
    except DriverError as error:
        raise DriverError(say("driver.raises-none-because", why=chained(error))) from None
    searched = "LD_LIBRARY_PATH"
    around = (f"{searched}={os.environ[searched]}",) if searched in os.environ else ()
    return ports.SoftFault(CODE, ("chips", "--soft-fault", "dcmi", str(chip), "--library", path), around)


def _opened(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise DriverMissing(say("driver.not-opened", path=path)) from error
    for name, types in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise DriverMissing(say("driver.has-no-function", path=path, name=name))
        function.argtypes = types
    return library


class SoftFault:
    """Raised when it is made, for the chip of this logical id. Raises `DriverError`."""

    def __init__(self, library: ctypes.CDLL, chip: int) -> None:
        self._library = library
        self._chip = chip
        self._handle = c_uint64()
        mask = 1 << STATE
        cfg = SensorCfg(b"cmgr drill", NODE_TYPE, SENSOR_TYPE, 0, mask, mask)
        self._call(_REGISTER, byref(cfg), byref(self._handle))
        try:
            self._call(_UPDATE, self._handle, STATE, OCCURRED)
        except DriverError:
            self.end()
            raise

    def end(self) -> None:
        """Say that it is over, and let its sensor go only when the kernel has seen that. Raises `DriverError`."""
        try:
            for left in reversed(range(_TRIES)):
                try:
                    self._call(_UPDATE, self._handle, STATE, RESUMED)
                    break
                except DriverError:
                    if not left:
                        raise
                    time.sleep(_AGAIN)
            time.sleep(_SCANNED)
        finally:
            self._call(_UNREGISTER, self._handle)

    def _call(self, name: str, *args: object) -> None:
        if (code := getattr(self._library, name)(self._chip, *args)) != 0:
            raise DriverError(say("driver.call-failed", name=name, chip=self._chip, library=LIBRARY, code=code))


def main(words: Sequence[str]) -> int:
    """Raise it and end it: `LOGICAL --library PATH --for SECONDS`.

    It ends with its time, with SIGTERM and its like, and when the other end of standard input, a socket, is closed.
    """
    match words:
        case [chip, "--library", path, "--for", seconds] if stat.S_ISSOCK(os.fstat(0).st_mode):
            return _raise(int(chip), float(seconds), path, socket.socket(fileno=os.dup(0)))
    raise CmgrError(say("driver.service-alone"), hint="cmgr drill CHIP --real")


def _raise(chip: int, seconds: float, path: str, line: socket.socket) -> int:
    load.check_host()
    library = _opened(libraries.find(libraries.Where(WANTED, path)))
    why = ["its time was up"]

    def stop(number: int, _frame: object) -> None:
        why[0] = f"its process was sent {signal.Signals(number).name}"
        with suppress(OSError):
            line.shutdown(socket.SHUT_RD)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    line.settimeout(seconds)
    fault = SoftFault(library, chip)
    try:
        line.send(RAISED)
        if not line.recv(1) and why[0] == "its time was up":
            why[0] = "cmgr let go of it"
    except OSError:
        pass  # Its time was up, or nobody listens any more.
    finally:
        fault.end()
    with suppress(OSError):
        os.write(1, why[0].encode())
    return 0
