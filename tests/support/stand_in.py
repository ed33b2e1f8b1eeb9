"""A daemon of ours in the place of a real one, for as long as a test needs it."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar


class StandIn(Protocol):
    """Listens in a directory of its own."""

    def up(self) -> None: ...

    def down(self) -> None: ...


D = TypeVar("D", bound=StandIn)


@contextmanager
def standing_in(make: Callable[[Path], D]) -> Iterator[D]:
    """Have a daemon that is up."""
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    with tempfile.TemporaryDirectory(prefix="cmgr-fake-") as folder:
        daemon = make(Path(folder))
        daemon.up()
        try:
            yield daemon
        finally:
            daemon.down()
