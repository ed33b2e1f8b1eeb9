"""The settings of a fleet: by which engine its appliances agree, and how that is reached."""

import re
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

ENGINES = ("etcd",)


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """Groups over several appliances. Nothing of it is loaded while `engine` is empty."""

    engine: Annotated[
        str,
        Meta("The engine by which appliances agree on groups that span them; empty: none.", choices=ENGINES),
    ] = ""
    endpoints: Annotated[
        tuple[str, ...],
        Meta("The engine's addresses; without TLS only on this machine.", form=Form.URL),
    ] = ()
    name: Annotated[str, Meta("This appliance's name in the fleet; empty: its host name.", form=Form.APPLIANCE)] = ""
    prefix: Annotated[
        str, Meta("Where the fleet's keys stand in the engine; each fleet needs its own.", form=Form.PATH)
    ] = "/cmgr"
    ca: Annotated[
        str, Meta("The certificates to trust for https, PEM; empty: those of the system.", form=Form.PATH)
    ] = ""
    cert: Annotated[str, Meta("The certificate to show the engine, PEM; empty: none.", form=Form.PATH)] = ""
    key: Annotated[str, Meta("The key of that certificate, PEM.", form=Form.PATH)] = ""
    user: Annotated[str, Meta("The user that the engine knows this appliance by; empty: none.")] = ""
    password_file: Annotated[
        str, Meta("A file with that user's password; the same rule holds for it as for this file.", form=Form.PATH)
    ] = ""
    lease: Annotated[
        timedelta,
        Meta("How long the others still see an appliance that says nothing any more.", within=("5s", "5m")),
    ] = timedelta(seconds=15)


def contradictions(fleet: FleetSettings) -> Iterator[str]:
    """Yield a sentence for each mistake that no single value shows."""
    if fleet.engine and not fleet.endpoints:
        yield say("config.engine-needs", key="fleet.endpoints", engine=f'engine = "{fleet.engine}"')
    for endpoint in fleet.endpoints:
        parts = urlsplit(endpoint)
        if parts.path.strip("/") or parts.query:
            yield say("config.ends-with-port", key="fleet.endpoints", endpoint=f'"{endpoint}"')
        elif parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            yield say("config.needs-tls", key="fleet.endpoints", endpoint=f'"{endpoint}"')
    if len(set(fleet.endpoints)) < len(fleet.endpoints):
        yield say("config.one-twice", key="fleet.endpoints")
    if not re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", fleet.prefix):
        yield say("config.prefix", key="fleet.prefix", such="/cmgr/hall-2")
    if bool(fleet.cert) != bool(fleet.key):
        yield say("config.both-or-none", keys=["fleet.cert", "fleet.key"])
    if bool(fleet.user) != bool(fleet.password_file):
        yield say("config.both-or-none", keys=["fleet.user", "fleet.password_file"])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
