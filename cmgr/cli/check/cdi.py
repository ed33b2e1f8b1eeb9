"""The check that Docker can give what containers ask for by CDI: slots, and chips by `cdi.chips`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.errors import CmgrError
from cmgr.runtimes.docker.cdi import cdi_of
from cmgr.service.door.client import get

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

WHAT = "cdi"
RESTARTS_SINCE = 28
"""The version of Docker from which on a restart policy starts a container with CDI after dockerd's own restart."""


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found, where slots are used or a file of the chips is kept, and Docker is there to be asked."""
    users = _users(config)
    if not users:
        return
    try:
        told = cdi_of(config.docker.socket)
    except CmgrError:
        return  # Whether Docker answers, another check tells.
    version, places = told.version, told.places
    if not told.known:
        text = f"Docker {version} knows no CDI: it can give nobody {users}"
        yield Finding(WHAT, ERROR, text, "Docker 28 or later can")
    elif not places:
        hint = 'write {"features": {"cdi": true}} into /etc/docker/daemon.json, and restart Docker'
        yield Finding(WHAT, ERROR, f"CDI is switched off in Docker {version}: it can give nobody {users}", hint)
    elif config.cdi.dir.rstrip("/") not in [place.rstrip("/") for place in places]:
        text = f"Docker {version} reads CDI files in {', '.join(places)}, and not in {config.cdi.dir}"
        yield Finding(WHAT, ERROR, text, f"set cdi.dir, or start dockerd with --cdi-spec-dir={config.cdi.dir}")
    elif version.partition(".")[0].isdigit() and int(version.partition(".")[0]) < RESTARTS_SINCE:
        text = f"Docker {version} starts no container with CDI by its restart policy after a restart of its own"
        yield Finding(WHAT, WARNING, text, "Docker 28 or later does")
    else:
        yield Finding(WHAT, OK, f"Docker {version} gives {users} from {config.cdi.dir}")


def _users(config: Config) -> str:
    """Return in words what is given by CDI; nothing where nothing is, as far as the service says."""
    try:
        slots = cast("slot_shapes.Slots", {"slots": [], **get(config.socket, "slots")})["slots"]
    except CmgrError:
        slots = []
    names = [f"slot {slot['name']}" for slot in slots]
    return ", ".join([*names, "single chips"] if config.cdi.chips else names)
