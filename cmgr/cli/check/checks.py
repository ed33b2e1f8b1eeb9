"""The checks of `cmgr check`, one function for each thing. None of them changes anything."""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import listener
from cmgr.cli.check import around, cdi, fleet, machine, permitted
from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.cli.check.reloads import reloads
from cmgr.cli.check.rings import divided, rings, told_apart
from cmgr.cli.check.units import clients, units
from cmgr.cli.source import database_of, known_better
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_levels, load_rules
from cmgr.errors import CmgrError, ServiceDown, ServiceHangs, StoreError, chain, system_words
from cmgr.host.mounts import in_the_host
from cmgr.model.values.handling.catalog import is_of_machine
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.rules import RuleKind
from cmgr.ports import Ailing, Describing, Dividing
from cmgr.runtimes import documents
from cmgr.runtimes.docker.origin import is_podman, origin_of
from cmgr.runtimes.docker.wire import asked
from cmgr.runtimes.systemd.clients import watched
from cmgr.sentences.sentence import because, chained, say
from cmgr.service.door.client import status
from cmgr.vendor import Vendor, vendors
from cmgr.view.advice import clearing
from cmgr.view.containers import SPARED, SPARED_HINT, UNCLEAR, owned

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
    told = _asked(config)
    rows = () if isinstance(told, CmgrError) else told["containers"]
    yield _strategy(config)
    yield from _tables(config)
    yield from _rules(config)
    if not isinstance(told, CmgrError) and (busy := [ring for ring in told["rings"] if ring["phase"] == "resetting"]):
        # A driver that is opened beside a reset has the chips open, too, and is in its way.
        text = say("check.being-reset", chips=busy[0]["chips"])
        yield Finding("driver", WARNING, text, say("check.again-later"))
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
        return Finding("strategy", WARNING, say("check.observes"), say("check.let-act"))
    if config.strategy is Strategy.NEVER:
        return Finding("strategy", WARNING, say("check.never"), say("check.let-recover"))
    return Finding("strategy", OK, str(config.strategy))


def _asked(config: Config) -> "shapes.Status | CmgrError":
    """Return what the service says, or why it does not."""
    try:
        return status(config.socket)
    except ServiceDown as why:
        return known_better(config, why)
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
        yield Finding(what, OK, say("check.tables", codes=len(catalog.entries) - others, others=others))
    yield from (Finding(what, WARNING, sentence) for sentence in odd)


def _rules(config: Config) -> Iterator[Finding]:
    what, odd = "escalation rules", list[str]()
    try:
        rules = load_rules(config, odd.append)
    except CmgrError as error:
        yield of_error(what, error)
    else:
        text = say(
            "check.rules", frequency=len(rules.frequency), by_frequency=RuleKind.FREQUENCY,
            duration=len(rules.duration), by_duration=RuleKind.DURATION,
        )  # fmt: skip
        yield Finding(what, OK, text)
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
            how = driver.describe() if isinstance(driver, Describing) else ""
            doubts = driver.doubts() if isinstance(driver, Describing) else ()
            obstacle = driver.share_obstacle() if isinstance(driver, Dividing) else ""
        finally:
            driver.close()
    except CmgrError as error:
        yield of_error("driver", error)
        return
    page = next((vendor.page for vendor in vendors() if vendor.name == driver.name), "") or driver.name
    if chips:
        sees = say("check.sees", driver=driver.name, count=len(chips))
        yield Finding("driver", OK, say("check.how", sees=sees, how=how) if how else sees)
    else:
        yield Finding("driver", ERROR, say("check.sees-none", driver=driver.name), say("check.own-tool"))
    for text in ails:
        yield Finding("driver", WARNING, text, say("check.expects", page=f"docs/{page}.md"))
    yield from (Finding("driver", WARNING, doubt.text, doubt.hint) for doubt in doubts)
    yield from _others(config, driver.name)
    yield from rings(config, chips, users)
    yield from divided(chips, obstacle)
    yield from told_apart(chips)


def _drivers(service: int) -> Iterator[Finding]:
    """Yield where the processes are that drive the chips for the service of that number. This command is elsewhere."""
    from cmgr.drivers.program.launch import drivers_of

    for pid in drivers_of(service):
        if in_the_host(pid):
            yield Finding("chips", OK, say("check.drives", pid=pid))
        else:
            yield Finding("chips", ERROR, say("check.drives-apart", pid=pid), say("check.take-out-of-unit"))


def _others(config: Config, taken: str) -> Iterator[Finding]:
    """Yield a warning for each other make whose library is here: one service serves one make of chips."""
    for vendor in vendors():
        here = any(not place.refusal for place in vendor.places(config)) if config.driver == "auto" else False
        if here and vendor.name != taken:
            text = say("check.other-make", library=vendor.library, taken=taken)
            yield Finding("driver", WARNING, text, say("check.set-driver", taken=taken, other=vendor.name))


def _injection(config: Config) -> Iterator[Finding]:
    if config.allow_injection and config.driver != "sim":
        yield Finding("injection", WARNING, say("check.injection"), say("check.no-injection"))


def _library(vendor: Vendor, config: Config) -> Iterator[Finding]:
    """Yield every place where the library of the vendor's driver was found, and what speaks against it."""
    for place in vendor.places(config):
        text = say("check.place", path=str(place.path), origin=place.origin)
        if place.refusal:
            text = say("word.because", what=text, why=place.refusal)
        yield Finding(vendor.library, WARNING if place.refusal else OK, text, place.hint)


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
            yield Finding(say("check.runtime", name=name), OK, say("check.simulated", count=len(config.sim.containers)))
        elif name == "docker":
            yield from _docker(sockets[name], [row for row in rows if row["runtime"] == name])
        else:
            yield _listening(say("check.runtime", name=name), sockets[name])
    for trouble in troubles:
        # Of one that was used before, and whose socket is gone, only the service knows.
        if trouble["kind"] == "runtime" and trouble["about"] not in names:
            text = say("word.because", what=trouble["text"], why=trouble["why"])
            yield Finding(say("check.runtime", name=trouble["about"]), WARNING, text, trouble["hint"])


def _docker(path: Path, rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    found = _listening(say("check.runtime", name="docker"), path)
    if found.state != OK:
        yield found
        return
    try:
        with asked(str(path), "ask Docker", SECONDS) as docker:
            info = docker.info()
    except CmgrError as error:
        text = say("check.not-docker", path=str(path), error=chain(error))
        yield Finding(found.what, ERROR, text, say("check.dockerd-well"))
        return
    engine = "podman" if is_podman(info) else "Docker"
    version = documents.text(info, "ServerVersion") or say("check.no-version")
    answers, words = say("check.engine", engine=engine, version=version, path=str(path)), origin_of(info).words
    yield Finding(found.what, OK, because(answers, words))
    if is_podman(info):
        yield from _unwatched(rows)
    major = version.partition(".")[0]
    if info.get("LiveRestoreEnabled") is True and major.isdigit() and int(major) < CHECKS_ON:
        yield Finding(found.what, WARNING, say("check.no-checks", version=version), say("check.restart-checked"))


def _unwatched(rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    monitored = watched()
    for row in (each for each in rows if each["status"] == "running" and each["id"] not in monitored):
        text = say("check.unwatched", name=row["called"])
        yield Finding("container", WARNING, text, say("check.recreate-podman", name=row["called"]))


def _listening(what: str, path: Path) -> Finding:
    try:
        listener.reached(str(path), SECONDS).close()
    except PermissionError:
        return Finding(what, ERROR, say("check.denied", path=str(path)), say("check.as-root"))
    except OSError as error:
        why = system_words(error)
        return Finding(what, ERROR, say("check.nobody-answers", path=str(path), why=why), say("check.start-or-name"))
    return Finding(what, OK, say("check.answers", path=str(path)))


def _database(path: Path) -> Finding:
    from cmgr.store import files

    try:
        if not path.exists():
            return _no_database(path)
        files.examine(path)
    except PermissionError:
        return Finding("database", WARNING, say("check.not-readable", path=str(path)), say("check.as-root"))
    except StoreError as error:
        return of_error("database", error)
    if _is_read_only(path.parent):
        text, hint = say("check.not-written", path=str(path.parent)), say("check.mounted", path=str(path.parent))
        return Finding("database", ERROR, text, hint)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o640:
        return Finding("database", WARNING, say("check.mode", path=str(path), mode=f"{mode:04o}"), f"chmod 640 {path}")
    return Finding("database", OK, say("check.sound", path=str(path)))


def _is_read_only(directory: Path) -> bool:
    # Root may write everywhere but where the file system lets nobody.
    by_root = not os.geteuid() and not os.access(directory, os.W_OK)
    return by_root or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)


def _no_database(path: Path) -> Finding:
    from cmgr.store.moved import former

    first = next(parent for parent in path.parents if parent.exists())
    if os.access(first, os.W_OK | os.X_OK):
        was = former(path, Path(os.environ.get("STATE_DIRECTORY", Config().state_dir)))
        if was is None:
            return Finding("database", OK, say("check.not-there-yet", path=str(path)))
        return Finding("database", OK, say("check.brought-along", path=str(path), was=str(was)))
    hint = say("check.cmgr-as-root") if os.geteuid() else say("check.writable", path=str(first))
    return Finding("database", ERROR, say("check.cannot-make", path=str(path), first=str(first)), hint)


def _socket(path: Path, told: "shapes.Status | CmgrError") -> Finding:
    if isinstance(told, ServiceDown):
        if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
            text, hint = say("check.no-socket", path=str(path)), say("check.move-away", path=str(path))
            return Finding("service", ERROR, text, hint)
        return Finding("service", ERROR if isinstance(told, ServiceHangs) else WARNING, chained(told), told.hint)
    if isinstance(told, CmgrError):
        return of_error("service", told)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~0o660:
        text = say("check.mode", path=str(path), mode=f"{mode:04o}")
        return Finding("service", WARNING, text, say("check.makes-again"))
    return Finding("service", OK, say("check.service", state=told["service"]["state"], path=str(path)))


def _in_the_way(rows: "Collection[shapes.Container]", known: Iterable[str]) -> Iterator[Finding]:
    """Yield the containers that would keep rings from a reset until a person acts. `known`: what is ignored."""
    clear = clearing(known, [row["name"] for row in rows if row["unclear"]])
    for row in rows:
        if row["spared"]:
            yield Finding("container", WARNING, say("check.spared", name=row["called"], how=SPARED), SPARED_HINT)
        elif row["unclear"]:
            yield Finding("container", WARNING, say("word.because", what=row["called"], why=UNCLEAR), clear)


def _owned(rows: "Iterable[shapes.Container]") -> Iterator[Finding]:
    """Yield who starts containers of his own on chips."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row["owner"] and row["status"] == "running":
            names.setdefault(row["owner"], []).append(row["called"])
    for owner, called in sorted(names.items()):
        yield Finding("container", OK, say("check.owned", names=called, how=owned(owner)))


def _blind(rows: "Iterable[shapes.Container]", troubles: "Iterable[shapes.Trouble]") -> Iterator[Finding]:
    """Yield, once, who is healed by its end alone. Of one that is paused, or not checked any more, that is told."""
    told = {trouble["about"] for trouble in troubles}
    healed = [row for row in rows if row["runtime"] == "docker" and row["heal"] is not None and not row["health"]]
    running = [row for row in healed if row["status"] == "running" and f"docker//{row['id']}" not in told]
    if running:
        text = say("check.blind", names=[row["called"] for row in running])
        yield Finding("container", WARNING, text, say("check.give-check"))
