"""The service's first part: the rights that one service alone has, and the driver, which tells of faults then."""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from cmgr import drivers
from cmgr.config.settings import Config
from cmgr.errors import ConfigError
from cmgr.ports import ChipDriver, Runtime
from cmgr.service.door import claim
from cmgr.service.inbox import Inbox
from cmgr.service.timing.clock import SteadyClock
from cmgr.store import files
from cmgr.vendor import OpenUnits


class Listening(NamedTuple):
    """The driver, which is watched already, and what waits to be decided on. `right`: to write the database."""

    clock: SteadyClock
    inbox: Inbox
    driver: ChipDriver
    right: files.Lock


Open = Callable[[Config, OpenUnits], ChipDriver]


def listen(config: Config, stack: ExitStack, opened: Open | None = None) -> Listening:
    """Take the rights that one service alone has, open the driver and watch it. `stack` gives all that back.

    Raises `CmgrError`.
    """

    def open_units(names: Collection[str]) -> Runtime:
        from cmgr import runtimes

        return runtimes.open_units(config, names)

    # Before anything is opened: a second service on the same state or socket must change nothing.
    stack.callback(_claim(Path(config.socket)).release)
    database = Path(config.state_dir) / files.NAME
    files.make_directory(database)
    right = files.Lock(database)
    stack.callback(right.release)
    clock = SteadyClock()
    inbox = Inbox(clock)
    driver = (opened or drivers.open_driver)(config, open_units)
    stack.callback(driver.close)
    driver.watch(inbox.put)
    return Listening(clock, inbox, driver, right)


def _claim(path: Path) -> files.Lock:
    try:
        return claim.claim(path)
    except ConfigError:
        claim.refuse_if_live(path)  # That can name another which listens.
        raise
