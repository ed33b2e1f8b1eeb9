"""Whether a Docker daemon can give by CDI what containers ask for."""

from cmgr.frozen import dataclass
from cmgr.runtimes.docker.wire import asked
from cmgr.runtimes.documents import items, text

SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Cdi:
    """`known`: Docker knows CDI, as from 25 on. `places`: its directories of CDI files; none where that is off."""

    version: str
    known: bool
    places: tuple[str, ...]


def cdi_of(path: str) -> Cdi:
    """Return what the daemon on this socket tells of itself. Blocks up to 3 s. Raises `CmgrError`."""
    with asked(path, "ask Docker of CDI", SECONDS) as docker:
        told = docker.info()
    places = tuple(str(place) for place in items(told.get("CDISpecDirs")))
    return Cdi(text(told, "ServerVersion"), "CDISpecDirs" in told, places)
