"""Units of systemd that run containers of other runtimes: which unit covers a container, and what that means.

While its unit covers a container, orders go to the unit. The container itself is not held, stopped or started, but for
one that outlives the stop of its unit. A container whose unit is not there is one like any other. So is one whose unit
does not run it: a label is a word of the container's maker, who can name the unit of somebody else.
"""

from collections.abc import Iterator, Sequence

from cmgr.model.values.holds import HoldState
from cmgr.model.values.lookup import Indexed
from cmgr.model.values.node import SYSTEMD, Node, RuntimeState
from cmgr.model.values.services.containers import Container, ContainerKey


def unit_key(name: str) -> ContainerKey:
    return ContainerKey(SYSTEMD, "", name)


def unit_of(node: Node, container: Container) -> Container | None:
    """Return the unit that runs the container; None where it has none, or systemd knows no such unit that does.

    A unit that has run containers counts as running one more that names it, until systemd has said that it does not.
    """
    unit = node.containers.get(unit_key(container.unit)) if container.unit else None
    if unit is None or is_run_by(unit, container):
        return unit
    return unit if (unit.kept.covers or unit.vouches) and is_asked_for(node, container) else None


def is_run_by(unit: Container, container: Container) -> bool:
    """Return whether the unit was found to run the container."""
    return container.key in unit.vouches or has_client_of(unit, container)


def has_client_of(unit: Container, container: Container) -> bool:
    """Return whether a client of the container was found in the unit, where the configuration has these looked for."""
    return not unit.runs.isdisjoint((container.name, container.key.id))


def with_client_of(node: Node, container: Container) -> Sequence[Container]:
    """Return the units in which a client of the container was found."""
    found = (unit for name in (container.name, container.key.id) for unit in _by_client(node.containers).get(name, ()))
    return [*{unit.key: unit for unit in found if unit.key.runtime == SYSTEMD}.values()]


def kept_vouches(node: Node, unit: Container) -> frozenset[ContainerKey]:
    """Return what is remembered of those that the unit was found to run: all that are there, or else the last ones."""
    return unit.vouches & {c.key for c in _by_unit(node.containers).get(unit.name, ())} or unit.vouches


_by_unit = Indexed[str, Container](lambda container: (container.unit,) if container.unit else ())
_by_client = Indexed[str, Container](lambda unit: unit.runs)


def run_by(node: Node, unit: Container) -> Sequence[Container]:
    """Return the containers of which the books say that the unit runs them."""
    return [c for c in _by_unit(node.containers).get(unit.name, ()) if is_run_by(unit, c)]


def is_asked_for(node: Node, container: Container) -> bool:
    """Return whether systemd has yet to say whether the container's unit is there, and runs it."""
    unit = node.containers.get(unit_key(container.unit)) if container.unit else None
    if not container.unit or SYSTEMD in node.gone or (unit is not None and is_run_by(unit, container)):
        return False
    state = node.runtimes.get(SYSTEMD)
    if state is None:
        return True  # The service takes systemd on as soon as a container names a unit.
    return not state.why_down and (
        state.listed is None or (container.kept.since is None or state.listed < container.kept.since)
    )


def is_covered(node: Node, container: Container) -> bool:
    """Return whether the container is its unit's business: it is stopped and started by stopping and starting that.

    It is not while it runs and its unit does not: whatever has started it, or left it behind, is not the unit.
    """
    unit = unit_of(node, container)
    return is_asked_for(node, container) if unit is None else unit.running or not container.running


def is_left_behind(node: Node, container: Container) -> bool:
    """Return whether the container runs while its unit is held down: it is stopped, and its unit starts it again.

    Docker may tell of a new one before systemd says that its unit, which cmgr has told to start, is starting.
    """
    unit = unit_of(node, container)
    if unit is None or unit.running or not container.running:
        return False
    hold = node.holds.get(unit.key)
    if hold is None or not hold.is_held_down:
        return False
    told = hold.attempt.told if hold.state is HoldState.STARTING else None
    return told is None or container.kept.since is None or container.kept.since < told


def outlives(node: Node, container: Container) -> bool:
    """Return whether it is sure that the container runs on though its unit is down: a list has said so since.

    That the unit is down must have been seen in this life: the last one may have started it before it died.
    """
    unit, state = unit_of(node, container), node.runtimes.get(container.key.runtime)
    if unit is None or unit.kept.seen is None or unit.running or not container.running:
        return False
    return (
        state is not None
        and state.listed is not None
        and unit.kept.since is not None
        and state.listed >= unit.kept.since
    )


def is_stood_for(node: Node, container: Container) -> bool:
    """Return whether its unit stands for a container that is down: it is down itself, or runs another in its place."""
    unit = unit_of(node, container)
    if unit is None:
        return False
    if not unit.running or unit.key in node.holds:
        return True
    return any(mate.running and mate.kept.chips >= container.kept.chips for mate in run_by(node, unit))


def tells_of_users(node: Node) -> Iterator[RuntimeState]:
    """Yield the runtimes of which each must say who uses a chip: all but a systemd whose units only run containers."""
    yield from (state for _, state in sorted(node.runtimes.items()) if not state.covering)


def is_of(node: Node, container: Container, whose: frozenset[str]) -> bool:
    """Return whether one of these is the container, one that it runs as a unit, or a share that it uses."""
    key = container.key
    ids = {key.id, *(c.key.id for c in run_by(node, container))} if key.runtime == SYSTEMD else {key.id}
    if not whose.isdisjoint(ids):
        return True
    chips = [node.chips[chip] for chip in container.kept.chips if chip in node.chips]
    shares = (share for chip in chips for share in chip.shares if share.id in whose)
    if any(not container.claims.isdisjoint({share.id, *share.aliases}) for share in shares):
        return True
    listed = (report for chip in chips if (report := node.reports.get(chip.id)) is not None)
    return any(
        process.container == key.id and process.share in whose for report in listed for process in report.processes
    )
