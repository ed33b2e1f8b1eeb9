"""The way to a fleet's engine by its settings: addresses, certificates, password. Files are read when they are used."""

import re
import socket
import ssl
from functools import partial
from pathlib import Path

from cmgr import network, trust
from cmgr.config.engine import FleetSettings
from cmgr.errors import CmgrError, ConfigError, FleetError, chain
from cmgr.fleet.appliance_text import machine_of
from cmgr.fleet.gateway import Access
from cmgr.model.values.names import APPLIANCE

MACHINE_ID = Path("/etc/machine-id")


def access(settings: FleetSettings) -> Access:
    """Return the way to the engine. Nothing is read or asked yet."""
    secure = any(endpoint.startswith("https:") for endpoint in settings.endpoints)
    tls = partial(context, settings) if secure else lambda: None
    return Access(settings.endpoints, tls, settings.user, partial(password, settings.password_file))


def context(settings: FleetSettings) -> ssl.SSLContext:
    """Return whom to believe, and who we are. Raises `FleetError`, with what is wrong with the files."""
    try:
        for path in filter(None, (settings.ca, settings.cert)):
            _refuse_weak(path)
        found = network.trusting(settings.ca)
        if settings.cert:
            trust.read(settings.key)
            found.load_cert_chain(settings.cert, settings.key)
    except CmgrError as error:
        raise FleetError(error.message, hint=error.hint) from None
    except (OSError, ValueError) as error:
        files = f"{settings.cert} and {settings.key}"
        raise FleetError(f"cannot use {files}: they are no certificate and its key: {chain(error)}") from None
    return found


def password(path: str) -> str:
    """Return it. Raises `FleetError`, with the command that mends the file."""
    try:
        found = trust.read(path).rstrip("\n")
    except ConfigError as error:
        raise FleetError(error.message, hint=error.hint) from None
    if not found:
        raise FleetError(f"cannot use {path}: it is empty", hint="write the password into it")
    return found


def name_of(settings: FleetSettings) -> str:
    """Return this appliance's name. Raises `ConfigError` when its host has none that can be used."""
    name = settings.name or socket.gethostname().lower()
    if not APPLIANCE.fullmatch(name):
        raise ConfigError(f"cannot call this appliance {name!r} in the fleet", hint="set fleet.name")
    return name


def machine(path: Path = MACHINE_ID) -> str:
    """Return the word of this machine that others may know. Raises `FleetError`."""
    try:
        found = path.read_text().strip()
    except (OSError, ValueError):
        found = ""
    if not re.fullmatch(r"[0-9a-f]{32}", found):
        raise FleetError(f"cannot tell this machine from others: {path} has no id", hint="systemd-machine-id-setup")
    return machine_of(found)


def _refuse_weak(path: str) -> None:
    try:
        weak = trust.weakness(path, itself=True)
    except OSError as error:
        raise FleetError(f"cannot look at {path}: {error.strerror or error}") from None
    if weak is not None:
        raise FleetError(f"cannot use {path}: {weak.reason}", hint=weak.hint)
