"""The checks of `cmgr check`, one function for each thing. None of them changes anything."""

import http.client
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import listener
from cmgr.cli.check import around, cdi, fleet, machine, permitted
from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.cli.check.reloads import reloads
from cmgr.cli.check.rings import divided, rings, told_apart
from cmgr.cli.check.units import clients, units
from cmgr.cli.source import database_of
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_levels, load_rules
from cmgr.errors import CmgrError, ServiceDown, ServiceHangs, StoreError, chain
from cmgr.host.mounts import in_the_host
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.handling.catalog import is_of_machine
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.rules import RuleKind
from cmgr.ports import Ailing, Describing, Dividing
from cmgr.runtimes import documents
from cmgr.runtimes.docker.origin import is_podman, origin_of
from cmgr.runtimes.systemd.clients import watched
from cmgr.service.door.client import status
from cmgr.vendor import Vendor, vendors
from cmgr.view.advice import clearing
from cmgr.view.containers import SPARED, SPARED_HINT, UNCLEAR, owned
from cmgr.words import counted, json_of

if TYPE_CHECKING:
    from cmgr.view import shapes

SECONDS = 3.0
BEGINS = 15.0
"""So many seconds a maker's library may take to begin. The service waits without a limit."""

CHECKS_ON = 23
"""From this version on Docker runs health checks on after a restart with live-restore (moby issue 41871)."""

RUNNING = ("running", "settling", "pausing")


def running_in_units() -> Mapping[str, frozenset[str]]:
    """Return the containers that units of this machine run."""
    from cmgr.runtimes.systemd.clients import found

    return found()


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found with this configuration, the service's parts in the order in which it opens them."""
    told = _asked(Path(config.socket))
    rows = () if isinstance(told, CmgrError) else told["containers"]
    yield _strategy(config)
    yield from _tables(config)
    yield from _rules(config)
    if not isinstance(told, CmgrError) and (busy := [ring for ring in told["rings"] if ring["phase"] == "resetting"]):
        # A driver that is opened beside a reset has the chips open, too, and is in its way.
        text = f"{listed(map(ChipId, busy[0]['chips']))} is being reset: the driver is not looked at meanwhile"
        yield Finding("driver", WARNING, text, "type cmgr check again when that is over")
    else:
        users = None if isinstance(told, CmgrError) else [row["chips"] for row in rows if row["status"] in RUNNING]
        yield from _driver(config, users)
    yield from _injection(config)
    yield from _runtimes(config, () if isinstance(told, CmgrError) else told["troubles"], rows)
    yield from cdi.findings(config)
    yield from units(config)
    yield from clients(config, None if isinstance(told, CmgrError) else rows, running_in_units())
    yield from fleet.findings(config)
    yield from machine.sources(config, None if isinstance(told, CmgrError) else told["service"].get("sources"))
    yield from around.findings(config)
    if not isinstance(told, CmgrError) and (pid := told["service"]["pid"]) is not None:
        yield around.programs(config.systemd.bus, pid)
        yield from _drivers(pid)
        yield from machine.reboot(config, pid)
    yield _database(database_of(config))
    yield _socket(Path(config.socket), told)
    yield from _in_the_way(rows, config.containers.ignore)
    yield from _owned(rows)
    yield from _blind(rows, () if isinstance(told, CmgrError) else told["troubles"])
    yield from reloads(rows)
    yield around.metrics(config.metrics)
    yield from permitted.findings(config, database_of(config))


def _strategy(config: Config) -> Finding:
    if config.observe:
        return Finding("strategy", WARNING, "observe = true: nothing is done", "set observe = false to let cmgr act")
    if config.strategy is Strategy.NEVER:
        hint = "set strategy = singleRecover or ringRecover to have containers recovered"
        return Finding("strategy", WARNING, "strategy = never: no container is stopped or started", hint)
    return Finding("strategy", OK, str(config.strategy))


def _asked(path: Path) -> "shapes.Status | CmgrError":
    """Return what the service says, or why it does not."""
    try:
        return status(path)
    except CmgrError as error:
        return error


def _tables(config: Config) -> Iterator[Finding]:
    what, odd = "fault tables", list[str]()
    try:
        catalog = load_levels(config, odd.append)
    except CmgrError as error:
        yield of_error(what, error)
    else:
        others = sum(map(is_of_machine, catalog.entries))
        yield Finding(what, OK, f"{len(catalog.entries) - others} codes, and {others} of the machine")
    yield from (Finding(what, WARNING, sentence) for sentence in odd)


def _rules(config: Config) -> Iterator[Finding]:
    what, odd = "escalation rules", list[str]()
    try:
        rules = load_rules(config, odd.append)
    except CmgrError as error:
        yield of_error(what, error)
    else:
        frequency, duration = (counted(len(of), "code") for of in (rules.frequency, rules.duration))
        yield Finding(what, OK, f"{frequency} by {RuleKind.FREQUENCY}, {duration} by {RuleKind.DURATION}")
    yield from (Finding(what, WARNING, sentence) for sentence in odd)


def _driver(config: Config, users: Sequence[Collection[int]] | None) -> Iterator[Finding]:
    """`users`: the chips of each container, where the service has said that."""
    from cmgr.drivers import open_begun

    for vendor in vendors():
        if config.driver in ("auto", vendor.name):
            yield from _library(vendor, config)
    try:
        driver = open_begun(config, BEGINS)
        try:
            chips = driver.chips()
            ails = driver.trouble() if isinstance(driver, Ailing) else ()
            how = f" ({driver.describe()})" if isinstance(driver, Describing) else ""
            doubts = driver.doubts() if isinstance(driver, Describing) else ()
            obstacle = driver.share_obstacle() if isinstance(driver, Dividing) else ""
        finally:
            driver.close()
    except CmgrError as error:
        yield of_error("driver", error)
        return
    page = next((vendor.page for vendor in vendors() if vendor.name == driver.name), "") or driver.name
    if chips:
        yield Finding("driver", OK, f"{driver.name} sees {len(chips)} chips{how}")
    else:
        yield Finding("driver", ERROR, f"{driver.name} sees no chips", "see whether the chips' own tool sees them")
    for text in ails:
        yield Finding("driver", WARNING, text, f"docs/{page}.md tells what the driver expects")
    yield from (Finding("driver", WARNING, doubt.text, doubt.hint) for doubt in doubts)
    yield from _others(config, driver.name)
    yield from rings(config, chips, users)
    yield from divided(chips, obstacle)
    yield from told_apart(chips)


def _drivers(service: int) -> Iterator[Finding]:
    """Yield where the processes are that drive the chips for the service of that number. This command is elsewhere."""
    from cmgr.drivers.program.launch import drivers_of

    for pid in drivers_of(service):
        text = f"process {pid} drives them for the service"
        if in_the_host(pid):
            yield Finding("chips", OK, f"{text}, in the host")
        else:
            hint = (
                "take what makes one out of the unit (Protect…, Private…, ReadWritePaths): systemctl edit cmgr-chips@"
            )
            yield Finding("chips", ERROR, f"{text} in a mount namespace of its own: to drivers it is a container", hint)


def _others(config: Config, taken: str) -> Iterator[Finding]:
    """Yield a warning for each other make whose library is here: one service serves one make of chips."""
    for vendor in vendors():
        here = any(not place.refusal for place in vendor.places(config)) if config.driver == "auto" else False
        if here and vendor.name != taken:
            text = (
                f"{vendor.library} is here, too: one service serves one make of chips, and driver = auto takes {taken}"
            )
            yield Finding("driver", WARNING, text, f'set driver = "{taken}", or "{vendor.name}" to serve these')


def _injection(config: Config) -> Iterator[Finding]:
    if config.allow_injection and config.driver != "sim":
        text = (
            "allow_injection = true: whoever may use the service can have faults simulated on real chips, and acted on"
        )
        hint = "when the drill is over set allow_injection = false, then type: systemctl restart cmgr"
        yield Finding("injection", WARNING, text, hint)


def _library(vendor: Vendor, config: Config) -> Iterator[Finding]:
    """Yield every place where the library of the vendor's driver was found, and what speaks against it."""
    for place in vendor.places(config):
        state, text = (WARNING, f": {place.refusal}") if place.refusal else (OK, "")
        yield Finding(vendor.library, state, f"{place.path} ({place.origin}){text}", place.hint)


def _runtimes(
    config: Config, troubles: "Iterable[shapes.Trouble]", rows: "Iterable[shapes.Container]"
) -> Iterator[Finding]:
    sockets = {"docker": Path(config.docker.socket), "containerd": Path(config.containerd.address)}
    names = config.runtimes
    if "auto" in names:
        # A runtime without a socket here is not missed where there is another.
        names = tuple(name for name, path in sockets.items() if path.is_socket()) or tuple(sockets)
    for name in names:
        if name == "sim":
            yield Finding("runtime sim", OK, f"{len(config.sim.containers)} simulated containers")
        elif name == "docker":
            yield from _docker(sockets[name], [row for row in rows if row["runtime"] == name])
        else:
            yield _listening(f"runtime {name}", sockets[name])
    for trouble in troubles:
        # Of one that was used before, and whose socket is gone, only the service knows.
        if trouble["kind"] == "runtime" and trouble["about"] not in names:
            text = f"{trouble['text']}: {trouble['why']}"
            yield Finding(f"runtime {trouble['about']}", WARNING, text, trouble["hint"])


def _docker(path: Path, rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    found = _listening("runtime docker", path)
    if found.state != OK:
        yield found
        return
    try:
        with closing(listener.spoken_to(str(path), SECONDS)) as connection:
            connection.request("GET", "/info")
            info = documents.mapping(json_of(connection.getresponse().read(1 << 20)))
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield Finding(found.what, ERROR, f"{path} does not answer as Docker does: {chain(error)}", "is dockerd well?")
        return
    engine = "podman" if is_podman(info) else "Docker"
    version = documents.text(info, "ServerVersion") or "of no version"
    words = origin_of(info).words
    yield Finding(found.what, OK, f"{engine} {version} answers on {path}" + (f": {words}" if words else ""))
    if is_podman(info):
        yield from _unwatched(rows)
    major = version.partition(".")[0]
    if info.get("LiveRestoreEnabled") is True and major.isdigit() and int(major) < CHECKS_ON:
        told = f"with live-restore Docker {version} runs no health check of a container on after its own restart"
        yield Finding(found.what, WARNING, told, "after a restart of dockerd: docker restart of those with a check")


def _unwatched(rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    monitored = watched()
    for row in (each for each in rows if each["status"] == "running" and each["id"] not in monitored):
        text = f"{row['called']} runs without its monitor (conmon): its next stop will be its last"
        hint = f"podman says that it stops for ever then: recreate it when that suits (podman rm -f {row['called']})"
        yield Finding("container", WARNING, text, hint)


def _listening(what: str, path: Path) -> Finding:
    try:
        listener.reached(str(path), SECONDS).close()
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
    if _is_read_only(path.parent):
        hint = f"see whether it is mounted read-only, or failed: findmnt -T {path.parent}; dmesg"
        return Finding("database", ERROR, f"state_dir {path.parent} cannot be written", hint)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o640:
        return Finding("database", WARNING, f"{path} has mode {mode:04o}", f"chmod 640 {path}")
    return Finding("database", OK, f"{path} is sound")


def _is_read_only(directory: Path) -> bool:
    # Root may write everywhere but where the file system lets nobody.
    by_root = not os.geteuid() and not os.access(directory, os.W_OK)
    return by_root or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)


def _no_database(path: Path) -> Finding:
    from cmgr.store.moved import former

    first = next(parent for parent in path.parents if parent.exists())
    if os.access(first, os.W_OK | os.X_OK):
        was = former(path, Path(os.environ.get("STATE_DIRECTORY", Config().state_dir)))
        how = "makes it" if was is None else f"brings it along from {was}, with all that is held"
        return Finding("database", OK, f"{path} is not there yet; the service {how}")
    hint = "run cmgr as root" if os.geteuid() else f"make {first} writable, or name another directory in state_dir"
    return Finding("database", ERROR, f"{path} is not there, and you may not make it in {first}", hint)


def _socket(path: Path, told: "shapes.Status | CmgrError") -> Finding:
    if isinstance(told, ServiceDown):
        if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
            return Finding("service", ERROR, f"{path} is not a socket", f"move {path} away")
        return Finding("service", ERROR if isinstance(told, ServiceHangs) else WARNING, chain(told), told.hint)
    if isinstance(told, CmgrError):
        return of_error("service", told)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o660:
        return Finding("service", WARNING, f"{path} has mode {mode:04o}", "restart the service: it makes it again")
    return Finding("service", OK, f"{told['service']['state']} on {path}")


def _in_the_way(rows: "Collection[shapes.Container]", known: Iterable[str]) -> Iterator[Finding]:
    """Yield the containers that would keep rings from a reset until a person acts. `known`: what is ignored."""
    clear = clearing(known, [row["name"] for row in rows if row["unclear"]])
    for row in rows:
        if row["spared"]:
            yield Finding("container", WARNING, f"{row['called']} {SPARED}", SPARED_HINT)
        elif row["unclear"]:
            yield Finding("container", WARNING, f"{row['called']}: {UNCLEAR}", clear)


def _owned(rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    """Yield who starts containers of his own on chips."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row["owner"] and row["status"] == "running":
            names.setdefault(row["owner"], []).append(row["called"])
    for owner, called in sorted(names.items()):
        yield Finding("container", OK, f"{', '.join(called)}: {owned(owner)}")


def _blind(rows: "Iterable[shapes.Container]", troubles: "Iterable[shapes.Trouble]") -> Iterator[Finding]:
    """Yield, once, who is healed by its end alone. Of one that is paused, or not checked any more, that is told."""
    told = {trouble["about"] for trouble in troubles}
    healed = [row for row in rows if row["runtime"] == "docker" and row["heal"] is not None and not row["health"]]
    running = [row for row in healed if row["status"] == "running" and f"docker//{row['id']}" not in told]
    if running:
        names = ", ".join(row["called"] for row in running)
        text = f"{names}: cmgr.heal without a health check sees only the end of the first process"
        yield Finding("container", WARNING, text, "give it one (docker run --health-cmd), or the label cmgr.hang")
