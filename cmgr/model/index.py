"""The containers and holds of each chip, and of each project, looked up: nobody who asks walks through all of them."""

from collections.abc import Iterable, Mapping, Sequence

from cmgr.model.values.chips import ChipId, Process
from cmgr.model.values.holds import Hold
from cmgr.model.values.lookup import Indexed, grouped, kept
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey

_users = Indexed[ChipId, Container](lambda container: container.kept.chips)
_holds = Indexed[ChipId, Hold](lambda hold: hold.chips)
_by_id = Indexed[str, Container](lambda container: (container.key.id,))
_unsteady = Indexed[bool, Container](lambda container: (True,) if container.kept.unsteady is not None else ())


def with_id(node: Node, id_: str) -> Sequence[Container]:
    """Return the containers with this id: of several runtimes there can be several."""
    return _by_id(node.containers).get(id_, ())


def running_in(node: Node, process: Process) -> Sequence[Container]:
    """Return the known containers that the process is in, the outermost first: of each engine one.

    Those of one engine are never in each other, and whoever is given a control group names those in it as he likes.
    """
    found: dict[tuple[str, str], Container] = {}
    for container in (each for id_ in process.containers for each in with_id(node, id_)):
        found.setdefault((container.key.runtime, container.key.namespace), container)
    return tuple(found.values())


def users_on(node: Node, chips: Iterable[ChipId]) -> Iterable[Container]:
    """Return the containers in the books that use any of these chips, running or not, each once."""
    using = _users(node.containers)
    return {container.key: container for chip in chips for container in using.get(chip, ())}.values()


def held_on(node: Node, chips: Iterable[ChipId]) -> Iterable[Hold]:
    """Return the holds that are of any of these chips, each once."""
    using = _holds(node.holds)
    return {hold.key: hold for chip in chips for hold in using.get(chip, ())}.values()


def unsteady(node: Node) -> Sequence[Container]:
    """Return the containers of which one life follows the other."""
    return _unsteady(node.containers).get(True, ())


def project_mates(node: Node, container: Container) -> list[Container]:
    """Return the containers in the books of the same project, by name."""
    return list(_projects(node.containers).get(_project(container), ()))


@kept
def _projects(
    containers: Mapping[ContainerKey, Container],
) -> Mapping[tuple[str, str, str] | None, Sequence[Container]]:
    composed = (container for container in containers.values() if container.composed is not None)
    return grouped((_project(container), container) for container in sorted(composed, key=lambda c: (c.name, c.key)))


def _project(container: Container) -> tuple[str, str, str] | None:
    composed = container.composed
    return None if composed is None else (container.key.runtime, container.key.namespace, composed.project)
