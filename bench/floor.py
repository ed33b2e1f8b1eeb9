"""The floor under the figures: what this machine needs for the same without cmgr, measured in the same run."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import docker

from bench.cases.idle import wall
from bench.records import Records, covered, of
from bench.report.figures import Figure, quantile
from bench.service import BOOT_SECONDS, PRETENDED_START, PRETENDED_STOP, RESET_SECONDS, interpreter
from bench.site import Site

CHIPS = 8
ROUNDS, SYNCS, STARTS, REQUESTS, WAKES = 5, 50, 10, 20, 5
PACKAGES = ("apscheduler.schedulers.background", "loguru", "h11", "sqlite3", "http.client")
"""Those that the service loads."""

_RSS = f"import {', '.join(PACKAGES)}; print(open('/proc/self/status').read().partition('VmRSS:')[2].split()[0])"

RULES: Sequence[tuple[str, str, Sequence[str]]] = (
    (r"to (the|its) first stop( request| order|,|$)", "ms", ("sync",)),
    (r"^Fault to containers running again: 1 container: stops", "ms", ("stop 1",)),
    (r"^Fault to containers running again: 1 container: starts", "ms", ("start 1",)),
    (r"^Fault to containers running again: 1 container: in all", "ms", ("stop 1", "reset and boot", "start 1")),
    (r"^Fault to containers running again: 8 containers: stops", "ms", ("stop 8",)),
    (r"^Fault to containers running again: 8 containers: starts", "ms", ("start 8",)),
    (r"^Fault to containers running again: 8 containers: in all", "ms", ("stop 8", "reset and boot", "start 8")),
    (r": cmgr (status|version|history)", "ms", ("interpreter",)),
    (r": start to (READY|subscribed)", "ms", ("interpreter",)),
    (r": start to all containers known", "ms", ("interpreter", "request")),
    (r": first answer after the socket was asked", "ms", ("interpreter",)),
    (r": memory( of the service)? \(RSS\)$", "MB", ("packages",)),
    (r"[Ii]dle.*: processor$", "% of a core", ("wake",)),
)
"""The figures that have a floor, by part and name and by unit, and of what it is the sum."""


def measured(site: Site) -> Mapping[str, float]:
    """Return each thing that `RULES` name, in ms, MB or % of a core, the median of some tries."""
    return {
        "sync": _median(SYNCS, lambda: _sync(site.folder / "sync")),
        "interpreter": _median(STARTS, lambda: wall([*interpreter(), "-c", "pass"])),
        "packages": int(subprocess.check_output([sys.executable, "-c", _RSS])) * 1024 / 1e6,
        "wake": _median(WAKES, _wake) * 100,
        "reset and boot": (RESET_SECONDS + BOOT_SECONDS) * 1000,
        **_of_runtime(site),
    }


def laid(figures: Sequence[Figure], floors: Mapping[str, float]) -> list[Figure]:
    """Return the figures with the floors of those that have one."""
    return [replace(figure, floor=_under(figure, floors)) for figure in figures]


def _under(figure: Figure, floors: Mapping[str, float]) -> float | None:
    for pattern, unit, terms in RULES:
        if floors and figure.unit == unit and re.search(pattern, f"{figure.part}: {figure.what}"):
            return sum(floors[term] for term in terms)
    return figure.floor


def _median(count: int, value: Callable[[], float]) -> float:
    return quantile([value() for _ in range(count)], 0.5)


def _sync(path: Path) -> float:
    """Return how many ms it takes to append a page to the file and sync that, as each step of cmgr does."""
    with path.open("ab", buffering=0) as file:
        began = time.monotonic()
        file.write(bytes(4096))
        os.fdatasync(file)
        return (time.monotonic() - began) * 1000


def _wake() -> float:
    """Return what share of a core it takes to wake once a second, where a virtual machine's core sleeps until then."""
    used, began = time.process_time(), time.monotonic()
    time.sleep(1)
    return (time.process_time() - used) / (time.monotonic() - began)


def _of_runtime(site: Site) -> Mapping[str, float]:
    """Return what stops and starts of one and of eight at once take, and a list of the containers."""
    if site.docker is None:
        stop, start = (float(time.removesuffix("ms")) for time in (PRETENDED_STOP, PRETENDED_START))
        return {"stop 1": stop, "stop 8": stop, "start 1": start, "start 8": start, "request": 0.0}
    site.containers(CHIPS, CHIPS)
    path = site.docker.socket
    found = {"request": _median(REQUESTS, lambda: _request(path))}
    for count in (1, CHIPS):
        stops, starts = zip(*_cycles(site, count), strict=True)
        found |= {f"stop {count}": quantile(stops, 0.5), f"start {count}": quantile(starts, 0.5)}
    return found


def _cycles(site: Site, count: int) -> list[tuple[float, float]]:
    """Stop so many containers side by side, and start them: return how many ms that took dockerd, again and again."""
    with ExitStack() as stack:
        folder, records = site.new_folder(), Records()
        path = site.proxied(folder, records, stack)
        clients = [stack.enter_context(closing(docker.APIClient(f"unix://{path}"))) for _ in range(count)]
        names = [f"bench-{number}" for number in range(count)]
        pool = stack.enter_context(ThreadPoolExecutor(count))
        found = []
        for _ in range(ROUNDS):
            mark = records.mark()
            list(pool.map(lambda client, name: client.stop(site.id_of(name)), clients, names))
            list(pool.map(lambda client, name: client.start(site.id_of(name)), clients, names))
            calls = records.since(mark)
            found.append((covered(of(calls, "stop")) * 1000, covered(of(calls, "start")) * 1000))
        return found


def _request(path: str) -> float:
    """Return how many ms the list of all containers takes on a fresh connection, unread by anybody."""
    with socket.socket(socket.AF_UNIX) as line:
        began = time.monotonic()
        line.connect(path)
        line.sendall(b"GET /containers/json?all=1 HTTP/1.0\r\nHost: docker\r\n\r\n")
        while line.recv(65536):
            pass
        return (time.monotonic() - began) * 1000
