"""The parts of a bundle: the machine as cmgr sees it, the story so far, what drivers and runtimes can tell."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from functools import partial
from pathlib import Path

from cmgr import __version__, redact
from cmgr.config.around import Bundles
from cmgr.errors import CmgrError, StoreError, chain
from cmgr.frozen import dataclass
from cmgr.model.scope import on_ring
from cmgr.model.values.chips import ChipReport
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container
from cmgr.ports import ChipDriver, Diagnosing, Runtime
from cmgr.store.history import NoteRow
from cmgr.store.reader import open_reader
from cmgr.vendor import notations
from cmgr.view import status as view
from cmgr.words import Json, one_line, stamp

_THREADS = 8
_NOTES = 1000
"""So many lines of the story, the newest. A storm makes tens of thousands, which the history has."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the parts come from. Any thread may ask them."""

    driver: ChipDriver
    runtimes: Mapping[str, Runtime]
    database: Path
    node: Callable[[], Node]
    now: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the bundle."""

    name: str
    content: str | bytes


@dataclass(frozen=True, slots=True)
class Made:
    """A reset that was ordered: the machine as it was then, the time, and until when its parts are waited for.

    `until`: in seconds of the monotonic clock.
    """

    order: ResetRing
    node: Node
    ring: Ring
    at: datetime
    until: float


def parts(sources: Sources, made_for: Made, settings: Bundles) -> list[Part]:
    """Return the parts for this reset. A part that is late, with the time nearly up, is left out and named."""
    node, ring, at = made_for.node, made_for.ring, made_for.at
    own = view.Own("ready", sources.driver.name, tuple(node.runtimes))
    made = [
        json_part("about.json", _about(made_for.order, ring, at)),
        json_part("status.json", view.status(node, own, at)),
        json_part("faults.json", view.faults(node)),
        json_part("driver.json", _driver(sources.driver, node, ring)),
    ]
    jobs: list[Callable[[], Iterable[Part]]] = [lambda: [_timeline(sources.database, ring.episode)]]
    jobs += [
        partial(_of_container, sources, container, settings.log_lines, number)
        for number, container in enumerate(on_ring(node, ring), 1)
    ]
    found, missing = _gathered(jobs, made_for.until)
    made += found
    return [*made, Part("missing.txt", "".join(f"{line}\n" for line in missing))] if missing else made


def _about(action: ResetRing, ring: Ring, now: datetime) -> Json:
    return {
        "cmgr": __version__,
        "at": stamp(now),
        "episode": ring.episode,
        "ring": ring.id,
        "chips": list(ring.chips),
        "faulty": list(action.faulty),
        "codes": sorted(action.codes),
        "reset": len(ring.resets),
        "reason": one_line(action.reason),
    }


def _timeline(database: Path, episode: int) -> Part:
    """Return the story so far, a line in a line: so it is read best, and made fastest."""
    try:
        with open_reader(database) as reader:
            lines = [json.dumps(redact.plain(_note(note))) for note in reader.notes(episode, _NOTES)]
    except StoreError as error:
        lines = [json.dumps({"error": chain(error)})]
    return Part("timeline.json", '{"notes": [\n' + ",\n".join(lines) + "\n]}\n")


def _note(note: NoteRow) -> Json:
    key = note.container
    return {
        "at": stamp(note.at),
        "kind": str(note.kind),
        "text": one_line(note.text),
        "chip": note.chip,
        "container": None if key is None else list(key),
    }


def _driver(driver: ChipDriver, node: Node, ring: Ring) -> Json:
    """Return what the last look before the reset has found, moments ago.

    Nothing is measured: a sick chip may take a minute over each gauge, and is not reset while it is asked.
    """
    return {"driver": driver.name, "chips": [_report(node.reports[c]) for c in ring.chips if c in node.reports]}


def _report(report: ChipReport) -> Json:
    return {
        "chip": report.chip,
        "booted": report.booted,
        "error": one_line(report.error),
        "faults": [{"code": f.code, "severity": f.severity} for f in report.faults],
        "processes": [{"pid": p.pid, "name": one_line(p.name), "memory": p.memory} for p in report.processes],
    }


def _of_container(sources: Sources, container: Container, lines: int, number: int) -> Iterator[Part]:
    # The name is for people only, and comes from outside: the number makes it one of a kind.
    name = f"containers/{number:02}-{re.sub(r'[^A-Za-z0-9_.-]', '_', container.name)[:60]}"
    runtime = sources.runtimes[container.key.runtime]
    if not isinstance(runtime, Diagnosing):
        return
    try:
        yield inspected_part(f"{name}.inspect.json", dict(runtime.document(container.key)))
    except CmgrError as error:
        yield Part(f"{name}.inspect.txt", f"{chain(error)}\n")
    if lines:
        try:
            yield Part(f"{name}.log", redact.text(runtime.output(container.key, lines)))
        except CmgrError as error:
            yield Part(f"{name}.log", f"{chain(error)}\n")


def _gathered(jobs: Sequence[Callable[[], Iterable[Part]]], until: float) -> tuple[list[Part], list[str]]:
    """Do the jobs side by side, and return what has come in by then, in their order, and what has not."""
    pool = ThreadPoolExecutor(_THREADS, "bundle-part")
    doing = [pool.submit(_done, job) for job in jobs]
    done, late = wait(doing, max(0.0, until - time.monotonic()))
    pool.shutdown(wait=False, cancel_futures=True)
    found, missing = list[Part](), list[str]()
    for each in (each for each in doing if each in done):
        # A bug in one part must cost neither the others nor the reset.
        if (error := each.exception()) is not None:
            missing.append(f"a part met a bug: {type(error).__name__} {error}")
        else:
            found += each.result()
    missing += [f"{len(late)} of {len(jobs)} parts were not there in time"] if late else []
    return found, missing


def _done(job: Callable[[], Iterable[Part]]) -> list[Part]:
    return list(job())


def json_part(name: str, value: object) -> Part:
    return _json_part(name, redact.plain(value))


def inspected_part(name: str, value: object) -> Part:
    """Return what a runtime tells of a container, without its secrets."""
    return _json_part(name, redact.document(value, _of_chips()))


def _json_part(name: str, value: object) -> Part:
    # A runtime's JSON can hold anything, also halves of characters: those become escapes.
    return Part(name, json.dumps(value, indent=2, default=str) + "\n")


def _of_chips() -> frozenset[str]:
    """Return variables and labels that say which chips a container uses: no secrets, and what a diagnosis is about."""
    return frozenset(name for each in notations() for name in (*each.variables, each.jobs) if name)
