"""The check that Docker can give what containers ask for by CDI: slots, and chips by `cdi.chips`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.errors import CmgrError
from cmgr.runtimes.docker.cdi import cdi_of
from cmgr.sentences.sentence import say
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
        yield Finding(WHAT, ERROR, say("check.no-cdi", version=version, users=users), say("check.docker-can"))
    elif not places:
        hint = say("check.switch-on", line='{"features": {"cdi": true}}', file="/etc/docker/daemon.json")
        yield Finding(WHAT, ERROR, say("check.cdi-off", version=version, users=users), hint)
    elif config.cdi.dir.rstrip("/") not in [place.rstrip("/") for place in places]:
        text = say("check.cdi-elsewhere", version=version, places=places, dir=config.cdi.dir)
        yield Finding(WHAT, ERROR, text, say("check.set-cdi-dir", dir=config.cdi.dir))
    elif version.partition(".")[0].isdigit() and int(version.partition(".")[0]) < RESTARTS_SINCE:
        yield Finding(WHAT, WARNING, say("check.cdi-no-restart", version=version), say("check.docker-does"))
    else:
        yield Finding(WHAT, OK, say("check.gives", version=version, users=users, dir=config.cdi.dir))


def _users(config: Config) -> list[str]:
    """Return in words what is given by CDI, as far as the service says."""
    try:
        slots = cast("slot_shapes.Slots", {"slots": [], **get(config.socket, "slots")})["slots"]
    except CmgrError:
        slots = []
    names: list[str] = [say("check.slot", name=slot["name"]) for slot in slots]
    return [*names, say("check.single-chips")] if config.cdi.chips else names
