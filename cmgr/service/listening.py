"""The service's first part: the rights that one service alone has, and the driver, which tells of faults then."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from cmgr import drivers
from cmgr.config.settings import Config
from cmgr.errors import DriverError
from cmgr.ports import Beginning, ChipDriver
from cmgr.service.door.claim import claim, refuse_if_live
from cmgr.service.inbox import Inbox
from cmgr.service.timing.clock import SteadyClock
from cmgr.store import files

PATIENCE = 10.0
"""So many seconds the service waits for its chips before it is there without them, which it says then."""


LOOKS = 1.0


class Listening(NamedTuple):
    """The driver, which is watched already if its chips are known, and what waits to be decided on.

    `place`: the right to listen on the socket. `right`: to write the database.
    """

    clock: SteadyClock
    inbox: Inbox
    driver: ChipDriver
    place: files.Lock
    right: files.Lock
    watched: bool


def listen(
    config: Config,
    stack: ExitStack,
    opened: Callable[[Config], ChipDriver] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Listening:
    """Take the rights that one service alone has, open the driver and watch it. `stack` gives all that back.

    Calls `meanwhile` on a thread while another process drives the chips and begins. Raises `CmgrError`.
    """
    # Before anything is opened: a second service on the same state or socket must change nothing.
    socket = Path(config.socket)
    refuse_if_live(socket)
    place = claim(socket)
    stack.callback(place.release)
    right = files.claim(Path(config.state_dir) / files.NAME)
    stack.callback(right.release)
    clock = SteadyClock()
    inbox = Inbox(clock)
    driver = (opened or drivers.open_driver)(config)
    stack.callback(driver.close)
    begun = True
    if isinstance(driver, Beginning):
        Thread(target=meanwhile, name="load", daemon=True).start()
        begun = driver.begins(PATIENCE)
    if begun:
        driver.watch(inbox.put)
    return Listening(clock, inbox, driver, place, right, begun)


def watched(heard: Listening, each: Callable[[DriverError], None]) -> datetime | None:
    """Watch the chips as soon as they are known, and return since when; None where the service is to end first.

    Calls `each` with the reason until then, every second and whenever the driver has failed to begin.
    """
    driver = heard.driver
    while isinstance(driver, Beginning) and (why := driver.refusal()) is not None and not heard.inbox.is_stopped():
        each(why)
        driver.begins(LOOKS)
    if heard.inbox.is_stopped():
        return None
    at = heard.clock.now()
    driver.watch(heard.inbox.put)
    return at
