"""The cost of news about one container. All that is not looked at for it would have changed nothing."""

from dataclasses import replace
from functools import partial

import pytest

from cmgr.model.reduce import next_deadline, reduce
from cmgr.model.values.holds import Hold
from cmgr.model.values.messages.facts import ContainerSeen, Event, Tick
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from tests.cli.scenes import NOW
from tests.support import picture
from tests.view.crowd import anew, crowd, lines

SIZES = (64, 512, 4096)
"""Containers."""

WELL = picture.key("well-0")


class CountingKey(ContainerKey):
    """A key that counts how often any of its kind is looked up or compared."""

    __slots__ = ()

    steps = 0

    def __hash__(self) -> int:
        CountingKey.steps += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        CountingKey.steps += 1
        return super().__eq__(other)

    __ne__ = object.__ne__


def counting(node: Node) -> Node:
    """Return the node with keys that count."""
    containers: dict[ContainerKey, Container] = {}
    holds: dict[ContainerKey, Hold] = {}
    for key, container in node.containers.items():
        containers[CountingKey(*key)] = replace(container, key=CountingKey(*key))
    for key, hold in node.holds.items():
        holds[CountingKey(*key)] = replace(hold, key=CountingKey(*key))
    return replace(node, containers=containers, holds=holds)


def settled(node: Node) -> Node:
    """Return the node of which all is looked up that anybody looks up."""
    node = reduce(node, Event(NOW, Tick()))[0]
    return reduce(node, Event(NOW, ContainerSeen(told(node, "starting"))))[0]


def told(node: Node, health: str) -> Container:
    return replace(node.containers[WELL], health=health)


@pytest.fixture(scope="module")
def machines() -> list[Node]:
    return [settled(counting(anew(crowd(size)))) for size in SIZES]


def test_news_of_one_container_takes_as_many_steps_on_a_large_machine_as_on_a_small_one(machines: list[Node]) -> None:
    counted, run = [], []
    for node in machines:
        until, fact = next_deadline(node, NOW), ContainerSeen(told(node, "healthy"))
        assert until is not None
        ask = partial(reduce, node, Event(NOW, fact), until=until)
        ask()  # Whatever is looked up for the first time is looked up now.
        before = CountingKey.steps
        ask()
        counted.append(CountingKey.steps - before)
        run.append(lines(ask))
    assert counted[0] == counted[1] == counted[2]
    assert max(run) < min(run) * 1.1


def test_what_is_not_looked_at_would_have_changed_nothing(machines: list[Node]) -> None:
    node = machines[0]
    until = next_deadline(node, NOW)
    for container in node.containers.values():
        for health in ("healthy", "unhealthy", "starting", ""):
            event = Event(NOW, ContainerSeen(replace(container, health=health)))
            assert reduce(node, event, until=until) == reduce(node, event)


def test_when_time_changes_anything_is_known_without_a_look_at_each_container(machines: list[Node]) -> None:
    run = []
    for machine in machines:
        node = Node(containers=machine.containers)
        assert next_deadline(node, NOW) is None
        node = replace(node, containers={**node.containers, WELL: told(node, "healthy")})
        run.append(lines(partial(next_deadline, node, NOW)))
    assert run[0] == run[1] == run[2]
