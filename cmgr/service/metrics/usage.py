"""The users of the chips, as metrics: containers, processes, and the parts of chips that these are given.

These are the only metrics with names in their labels that containers and processes chose. They are cut, and there are
at most `MOST` series of each metric, as many of each chip as there is room: whoever makes containers in a loop fills no
Prometheus, and hides no other chip.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from cmgr.model.index import running_in
from cmgr.model.values.chips import ChipId, Process, Share
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.service.metrics.look import Kind, Look, Samples, Table
from cmgr.words import one_line

MOST = 512
"""Series of one metric."""

_MOST_LETTERS = 64

_table = Table()
_gauge = partial(_table.declare, Kind.GAUGE)


def _cut(text: str) -> str:
    return one_line(text)[:_MOST_LETTERS]


def _bounded(found: Iterable[tuple[tuple[str, ...], float]]) -> Samples:
    told: dict[tuple[str, ...], float] = {}
    for labels, value in found:
        told[labels] = told.get(labels, 0.0) + value  # Names that were cut may be the same.
    if len(told) <= MOST:
        return told.items()
    before: Counter[str] = Counter()
    places: dict[tuple[str, ...], int] = {}
    for labels in told:
        # The chip is the first label: one series of each chip is kept before a second one of any.
        places[labels] = before[labels[0]]
        before[labels[0]] += 1
    kept = set(sorted(told, key=places.__getitem__)[:MOST])
    return ((labels, value) for labels, value in told.items() if labels in kept)


def _labels(chip: ChipId, container: Container) -> tuple[str, ...]:
    return str(chip), container.key.runtime, container.key.namespace, _cut(container.name)


def _users(node: Node) -> Iterator[tuple[ChipId, Container]]:
    running = [each for each in node.containers.values() if each.running]
    yield from sorted(((c, each) for each in running for c in each.kept.chips), key=lambda one: (one[0], one[1].key))


@_gauge(
    "cmgr_chip_container_info",
    "Always 1. A container that runs on the chip.",
    *("chip", "runtime", "namespace", "container"),
)
def _containers(look: Look) -> Samples:
    return _bounded(dict.fromkeys((_labels(chip, each) for chip, each in _users(look.node)), 1.0).items())


def _processes(node: Node) -> Iterator[tuple[ChipId, Process]]:
    for chip, report in sorted(node.reports.items()):
        if report.is_up:
            yield from ((chip, process) for process in sorted(report.processes, key=lambda process: process.pid))


def _user(node: Node, process: Process) -> Container | None:
    return next(iter(running_in(node, process)), None)


@_gauge(
    "cmgr_chip_container_memory_bytes",
    "The memory of the chip that a container's processes use, as of the last reading.",
    *("chip", "runtime", "namespace", "container"),
)
def _container_memory(look: Look) -> Samples:
    inside = ((chip, _user(look.node, process), process) for chip, process in _processes(look.node))
    return _bounded((_labels(chip, each), float(p.memory)) for chip, each, p in inside if each is not None)


@_gauge(
    "cmgr_chip_process_memory_bytes",
    "The memory of the chip that a process uses, as of the last reading; container is empty for one outside of all.",
    *("chip", "pid", "process", "container"),
)
def _process_memory(look: Look) -> Samples:
    def container(process: Process) -> str:
        each = _user(look.node, process)
        return _cut(each.name) if each is not None else process.container[:12]

    return _bounded(
        ((str(chip), str(p.pid), _cut(p.name), container(p)), float(p.memory)) for chip, p in _processes(look.node)
    )


@_gauge(
    "cmgr_chip_share_info",
    "A part of the chip: 1 when it is there, 0 when it is to be made again.",
    *("chip", "share", "template"),
)
def _share_info(look: Look) -> Samples:
    return _bounded(
        ((str(chip), _cut(share.id), _cut(share.template)), float(share.there)) for chip, share in _shares(look.node)
    )


def _shares(node: Node) -> Iterator[tuple[ChipId, Share]]:
    yield from ((chip, share) for chip, known in sorted(node.chips.items()) for share in known.shares)


@_gauge(
    "cmgr_chip_share_container_info",
    "Always 1. A container that runs on a part of the chip: its definition names the part, or a process is on it.",
    *("chip", "share", "runtime", "namespace", "container"),
)
def _share_users(look: Look) -> Samples:
    return _bounded(dict.fromkeys(_on_shares(look.node), 1.0).items())


def _on_shares(node: Node) -> Iterator[tuple[str, ...]]:
    running = sorted((each for each in node.containers.values() if each.running), key=lambda each: each.key)
    for chip, share in _shares(node):
        report = node.reports.get(chip)
        inside = {id_ for p in report.processes if p.share == share.id for id_ in p.containers} if report else set()
        for each in running:
            if each.key.id in inside or each.claims & share.aliases:
                where, *who = _labels(chip, each)
                yield where, _cut(share.id), *who


USERS = tuple(_table.metrics)
