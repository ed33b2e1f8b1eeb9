"""Looks that are made where they are wished, and nowhere else."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from cmgr.model.values.node import Node
from cmgr.service.parts.looking import Looks
from tests.model.builders import container, key
from tests.support.waiting import eventually


@dataclass(eq=False)
class Counted:
    """A look that is wished while a container has this label in its name, and that counts."""

    name: str
    every: timedelta = timedelta(milliseconds=1)
    made: int = 0

    def is_wished(self, node: Node) -> bool:
        return key(self.name) in node.containers

    def look(self, _at: float) -> None:
        self.made += 1


@dataclass
class Scene:
    """Two looks, and a node that others come to and go from."""

    web: Counted = field(default_factory=lambda: Counted("web"))
    job: Counted = field(default_factory=lambda: Counted("job"))
    node: Node = field(default_factory=Node)

    def __post_init__(self) -> None:
        self.looks = Looks(lambda: self.node, (self.web, self.job))

    def has(self, *names: str) -> None:
        self.node = replace(self.node, containers={key(name): container(name, 0) for name in names})
        self.looks.look()

    def goes_on(self, look: Counted) -> None:
        before = look.made
        eventually(lambda: look.made > before + 3)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    with closing(made.looks):
        yield made


def test_what_nobody_wishes_is_not_looked_at(scene: Scene) -> None:
    before = threading.active_count()
    scene.has("other")
    assert threading.active_count() <= before
    scene.has("web")
    scene.goes_on(scene.web)
    assert scene.job.made == 0


def test_what_is_wished_later_is_looked_at_from_then_on(scene: Scene) -> None:
    scene.web.every = timedelta(hours=1)
    scene.has("web")
    scene.has("web", "job")
    scene.goes_on(scene.job)
    assert scene.web.made == 0


def test_what_is_wished_no_longer_is_looked_at_once_more_and_wished_again_it_goes_on(scene: Scene) -> None:
    scene.has("web", "job")
    scene.goes_on(scene.job)
    scene.has("web")
    scene.goes_on(scene.web)
    made = scene.job.made
    scene.goes_on(scene.web)
    assert scene.job.made == made
    scene.has("web", "job")
    scene.goes_on(scene.job)
