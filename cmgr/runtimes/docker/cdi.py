"""Whether a Docker daemon can give by CDI what containers ask for."""

import http.client
from contextlib import closing

from cmgr import listener
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.runtimes.documents import items, mapping, text
from cmgr.words import json_of

SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Cdi:
    """`known`: Docker knows CDI, as from 25 on. `places`: its directories of CDI files; none where that is off."""

    version: str
    known: bool
    places: tuple[str, ...]


def cdi_of(path: str) -> Cdi:
    """Return what the daemon on this socket tells of itself. Blocks up to 3 s. Raises `CmgrError`."""
    try:
        with closing(listener.spoken_to(path, SECONDS)) as connection:
            connection.request("GET", "/info")
            told = mapping(json_of(connection.getresponse().read(1 << 20)))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise CmgrError(f"cannot ask Docker on {path} of CDI") from error
    places = tuple(str(place) for place in items(told.get("CDISpecDirs")))
    return Cdi(text(told, "ServerVersion"), "CDISpecDirs" in told, places)
