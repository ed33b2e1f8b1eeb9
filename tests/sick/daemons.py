"""The daemons of ours that fall ill to order, as one suite treats them, whichever runtime's they are."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from tests.sick.lively_containerd import lively_containerd
from tests.sick.lively_dockerd import lively_dockerd
from tests.support.service import Setting
from tests.support.stand_in import StandIn


class Daemon(StandIn, Protocol):
    """Its containers live and end as those of a real one do."""

    socket: str

    well: threading.Event
    """Is set by `heal`."""

    refused: int
    """So many starts have failed because of `cannot_start`."""

    poured: list[int]
    """The sizes of the events that `pour` has told."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """By which a service finds this daemon and no other."""

    def run(self, name: str, chips: str, **labels: str) -> None:
        """Have a container that runs."""

    def is_running(self, name: str) -> bool: ...

    def all_running(self) -> bool: ...

    def done(self, action: str) -> list[str]:
        """Return whose stop or start was carried out, in order."""

    def crash(self, name: str) -> None:
        """Let the container die by itself, with code 139."""

    def suffer(self, ail: str) -> str:
        """Fall ill in this way, and return what cmgr says of it."""

    def never_stop(self, name: str) -> str:
        """Let no stop of this container come to its end, and return what cmgr says of one."""

    def cannot_start(self, name: str, why: str) -> None:
        """Refuse each start of this container."""

    def babble(self) -> int:
        """Tell events that nobody can understand, and return how many."""

    def pour(self, events: str) -> None:
        """Tell whoever follows events nothing but these, without end."""

    def followers(self) -> int:
        """Return how many follow its events now."""

    def heal(self) -> None:
        """Be well again."""


DAEMONS: Mapping[str, Callable[[], AbstractContextManager[Daemon]]] = {
    "docker": lively_dockerd,
    "containerd": lively_containerd,
}

HURRIED: Mapping[str, Setting] = {"docker.timeout": "3s", "containerd.timeout": "3s", "resync": "1s"}
"""A list may take 3 s, a look 0.5 s, a start 4.3 s, and an event stream be silent for 6.4 s."""


D = TypeVar("D", bound=Daemon)


@contextmanager
def furnished(make: Callable[[], AbstractContextManager[D]]) -> Iterator[D]:
    """Have one that is up, with two containers on ring 0 and one on ring 4."""
    with make() as daemon:
        for name, chip in (("one", "0"), ("two", "1"), ("beside", "4")):
            daemon.run(name, chip, **{"cmgr.stop-timeout": "0"})
        yield daemon
        daemon.heal()
