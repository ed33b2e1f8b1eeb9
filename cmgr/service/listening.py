"""The service's first part: the rights that one service alone has, and the driver, which tells of faults then."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cmgr import drivers
from cmgr.config.settings import Config
from cmgr.errors import DriverError, sentence
from cmgr.ports import ChipDriver
from cmgr.service.door.claim import claim, refuse_if_live
from cmgr.service.inbox import Inbox
from cmgr.service.systemd import Notifier
from cmgr.service.timing.clock import SteadyClock
from cmgr.store import files

SAYS = 60
"""It is said again after so many seconds, and after 10 for the first time."""

EXTENDS = 30.0
"""So many seconds more systemd waits for the service to be ready, each time that it is told."""


class Listening(NamedTuple):
    """The driver, which is watched already, and what waits to be decided on. `right`: to write the database."""

    clock: SteadyClock
    inbox: Inbox
    driver: ChipDriver
    right: files.Lock


Open = Callable[[Config, Callable[[float], None]], ChipDriver]


def listen(config: Config, stack: ExitStack, opened: Open | None = None) -> Listening:
    """Take the rights that one service alone has, open the driver and watch it. `stack` gives all that back.

    Raises `CmgrError`.
    """
    # Before anything is opened: a second service on the same state or socket must change nothing.
    socket = Path(config.socket)
    refuse_if_live(socket)
    stack.callback(claim(socket).release)
    right = files.claim(Path(config.state_dir) / files.NAME)
    stack.callback(right.release)
    clock = SteadyClock()
    inbox = Inbox(clock)
    notifier = Notifier()
    try:
        driver = (opened or drivers.open_driver)(config, partial(_say_waiting, notifier))
    except DriverError as error:
        notifier.tell(f"STATUS={sentence(error)}")  # systemctl status cmgr shows it until the next start.
        raise
    stack.callback(driver.close)
    driver.watch(inbox.put)
    return Listening(clock, inbox, driver, right)


def _say_waiting(notifier: Notifier, seconds: float) -> None:
    """Tell systemd that the service still starts: a library may take ten minutes to begin where a chip is dead."""
    text = f"starting: the library of the chips has not begun for {seconds:.0f} s"
    notifier.tell(f"EXTEND_TIMEOUT_USEC={int(EXTENDS * 1e6)}", f"STATUS={text}")
    if round(seconds) % SAYS == 10:  # There is no log yet; it goes to the journal all the same.
        sys.stderr.write(f"cmgr: {text}\n")
