"""What `cmgr check` looks at, one function for each thing. None of them changes anything."""

import grp
import http.client
import json
import os
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmgr.cli.source import database_of
from cmgr.cli.text import render
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_levels, load_rules
from cmgr.errors import CmgrError, ConfigError, ServiceDown, StoreError, chain
from cmgr.model.policy import Strategy
from cmgr.model.values.rules import RuleKind
from cmgr.ports import Ailing, Describing
from cmgr.service.client import ask

OK, WARNING, ERROR = "ok", "warning", "error"

GROUP = "cmgr"
SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is (`OK`, `WARNING`, `ERROR`), and what to do about it."""

    what: str
    state: str
    text: str
    hint: str = ""


def of_error(what: str, error: CmgrError) -> Finding:
    mistakes = error.mistakes if isinstance(error, ConfigError) else ()
    listed = "" if len(mistakes) < 2 else "".join(f"\n{mistake}" for mistake in mistakes)
    return Finding(what, ERROR, chain(error) + listed, error.hint)


def lines(found: Sequence[Finding], width: int) -> list[str]:
    """Return a row for each finding, its hint below it, and the sum."""
    table = [(f.state, f.what, f.text + (f"\nhint: {f.hint}" if f.hint else "")) for f in found]
    errors = sum(f.state == ERROR for f in found)
    rest = len(found) - errors - sum(f.state == OK for f in found)
    total = f"{render.counted(errors, 'error')}, {render.counted(rest, 'warning')}"
    return [*render.table(("STATE", "WHAT", "FOUND"), table, width), "", total]


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found with this configuration, the service's parts in the order in which it opens them."""
    yield _strategy(config)
    yield from _tables(config)
    yield from _rules(config)
    yield from _driver(config)
    yield from _injection(config)
    yield from _runtimes(config)
    from cmgr.cli import checks_around

    yield from checks_around.findings(config)
    yield _database(database_of(config))
    yield _socket(Path(config.socket))
    yield _metrics(config.metrics.listen)
    yield _group(config)


def _strategy(config: Config) -> Finding:
    if config.observe:
        return Finding("strategy", WARNING, "observe = true: nothing is done", "set observe = false to let cmgr act")
    if config.strategy is Strategy.NEVER:
        hint = "set strategy = singleRecover or ringRecover to have containers recovered"
        return Finding("strategy", WARNING, "strategy = never: no container is stopped or started", hint)
    return Finding("strategy", OK, str(config.strategy))


def _tables(config: Config) -> Iterator[Finding]:
    what, odd = "fault tables", list[str]()
    try:
        catalog = load_levels(config, odd.append)
    except CmgrError as error:
        yield of_error(what, error)
    else:
        yield Finding(what, OK, f"{len(catalog.entries)} codes")
    yield from (Finding(what, WARNING, sentence) for sentence in odd)


def _rules(config: Config) -> Iterator[Finding]:
    what, odd = "escalation rules", list[str]()
    try:
        rules = load_rules(config, odd.append)
    except CmgrError as error:
        yield of_error(what, error)
    else:
        frequency, duration = (render.counted(len(of), "code") for of in (rules.frequency, rules.duration))
        yield Finding(what, OK, f"{frequency} by {RuleKind.FREQUENCY}, {duration} by {RuleKind.DURATION}")
    yield from (Finding(what, WARNING, sentence) for sentence in odd)


def _driver(config: Config) -> Iterator[Finding]:
    from cmgr.drivers import open_driver

    if config.driver in ("auto", "dcmi"):
        yield from _library(config)
    try:
        driver = open_driver(config)
        try:
            count = len(driver.chips())
            ails = driver.trouble() if isinstance(driver, Ailing) else ()
            how = f" ({driver.describe()})" if isinstance(driver, Describing) else ""
        finally:
            driver.close()
    except CmgrError as error:
        yield of_error("driver", error)
        return
    if count:
        yield Finding("driver", OK, f"{driver.name} sees {count} chips{how}")
    else:
        yield Finding("driver", ERROR, f"{driver.name} sees no chips", "see whether the chips' own tool sees them")
    for text in ails:
        yield Finding("driver", WARNING, text, "docs/dcmi.md tells what the driver expects")


def _injection(config: Config) -> Iterator[Finding]:
    if config.allow_injection and config.driver != "sim":
        text = (
            "allow_injection = true: whoever may use the service can have faults pretended on real chips, and acted on"
        )
        hint = "when the drill is over set allow_injection = false, then type: systemctl restart cmgr"
        yield Finding("injection", WARNING, text, hint)


def _library(config: Config) -> Iterator[Finding]:
    """Yield every place where the library of Ascend's driver was found, and what speaks against it."""
    from cmgr.drivers.libraries import Where, search

    for place in search(Where(config.dcmi.library)):
        state, text = (WARNING, f": {place.refusal}") if place.refusal else (OK, "")
        yield Finding("libdcmi", state, f"{place.path} ({place.origin}){text}", place.hint)


def _runtimes(config: Config) -> Iterator[Finding]:
    auto = "auto" in config.runtimes
    found = []
    for name in ("docker", "containerd") if auto else config.runtimes:
        if name == "sim":
            found.append(Finding("runtime sim", OK, f"{len(config.sim.containers)} pretended containers"))
        elif name == "docker":
            found.append(_docker(Path(config.docker.socket)))
        else:
            found.append(_listening("runtime containerd", Path(config.containerd.address)))
    if auto and any(f.state == OK for f in found):
        # With auto a runtime that is not here is none that is missed.
        found = [f for f in found if f.state == OK]
    yield from found


def _docker(path: Path) -> Finding:
    found = _listening("runtime docker", path)
    if found.state != OK:
        return found
    try:
        version = _docker_version(path)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Finding(found.what, ERROR, f"{path} does not answer as Docker does: {error}", "is dockerd well?")
    return Finding(found.what, OK, f"Docker {version} answers on {path}")


def _docker_version(path: Path) -> str:
    connection = http.client.HTTPConnection("localhost", timeout=SECONDS)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.sock.settimeout(SECONDS)
        connection.sock.connect(str(path))
        connection.request("GET", "/version")
        told = json.loads(connection.getresponse().read(1 << 20))
    finally:
        connection.close()
    return str(told["Version"]) if isinstance(told, dict) and "Version" in told else "of no version"


def _listening(what: str, path: Path) -> Finding:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(SECONDS)
        try:
            probe.connect(str(path))
        except PermissionError:
            return Finding(what, ERROR, f"cannot open {path}: permission denied", "run cmgr check as root")
        except OSError as error:
            why = error.strerror or str(error)
            return Finding(what, ERROR, f"nobody answers on {path}: {why}", "start it, or name its socket")
    return Finding(what, OK, f"answers on {path}")


def _database(path: Path) -> Finding:
    from cmgr.store import files

    try:
        if not path.exists():
            return _no_database(path)
        files.examine(path)
    except PermissionError:
        return Finding("database", WARNING, f"{path} may not be read by you", "run cmgr check as root")
    except StoreError as error:
        return of_error("database", error)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o640:
        return Finding("database", WARNING, f"{path} has mode {mode:04o}", f"chmod 640 {path}")
    return Finding("database", OK, f"{path} is sound")


def _no_database(path: Path) -> Finding:
    first = next(parent for parent in path.parents if parent.exists())
    if os.access(first, os.W_OK | os.X_OK):
        return Finding("database", OK, f"{path} is not there yet; the service makes it")
    hint = "run cmgr as root" if os.geteuid() else f"make {first} writable, or name another directory in state_dir"
    return Finding("database", ERROR, f"{path} is not there, and you may not make it in {first}", hint)


def _socket(path: Path) -> Finding:
    try:
        service = ask(path, "status").get("service")
    except ServiceDown as down:
        if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
            return Finding("service", ERROR, f"{path} is not a socket", f"move {path} away")
        return Finding("service", WARNING, chain(down), down.hint)
    except CmgrError as error:
        return of_error("service", error)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o660:
        return Finding("service", WARNING, f"{path} has mode {mode:04o}", "restart the service: it makes it anew")
    state = service.get("state") if isinstance(service, dict) else None
    return Finding("service", OK, f"{state} on {path}")


def _metrics(listen: str) -> Finding:
    from cmgr.cli.checks_metrics import metrics

    return metrics(listen)


def _group(config: Config) -> Finding:
    try:
        members = grp.getgrnam(GROUP).gr_mem
    except KeyError:
        text = f"there is no group {GROUP}: only root and the service's own user reach it"
        if config.driver == "sim":
            # For drills and tours that is as it should be; the packages make the group on an appliance.
            return Finding("group", OK, text)
        hint = (
            f"to let others use it: groupadd --system {GROUP}, then usermod -aG {GROUP} USER, and restart the service"
        )
        return Finding("group", WARNING, text, hint)
    return Finding("group", OK, f"group {GROUP} may use the service: {', '.join(members) or 'nobody is in it yet'}")
