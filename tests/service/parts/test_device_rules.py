"""Which chips containers can open, by the device rules that the kernel shows of their control groups."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cmgr.model.reduce import reduce
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.messages.facts import Event
from cmgr.model.values.messages.health_facts import RulesRead
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.service.parts.device_rules import DeviceRules, opened
from tests.model.builders import T0, container

CHIPS = {ChipId(c): Chip(ChipId(c), RingId(0), c, aliases=frozenset({f"/dev/nvidia{c}"})) for c in range(4)}
MAJORS = {195: "/dev/nvidia", 236: "cmgr.io/chip="}
ID = "4f" * 32

WEB = ContainerKey("docker", "", ID)

DOCKERS = """c 136:* rwm
c 5:2 rwm
c 5:0 rwm
c 1:3 rwm
b *:* m
c *:* m
"""
"""Some of the rules that every container of Docker 20.10 with runc 1.1 has, as the kernel shows them."""


@pytest.mark.parametrize(
    ("rules", "chips"),
    [
        ("", []),
        ("c 195:2 rwm", [2]),
        ("c 195:2 rw\nc 195:255 rw\nc 195:0 rw", [0, 2]),
        ("c 195:2 r\nc 195:1 m\nb 195:3 rwm", []),
        ("c 195:* rw", [0, 1, 2, 3]),
        ("c 236:3 rwm", [3]),
        ("c 237:3 rwm", []),
        ("a *:* rwm", [0, 1, 2, 3]),
    ],
)
def test_rules_say_which_chips_can_be_opened(rules: str, chips: list[int]) -> None:
    assert opened(DOCKERS + rules, CHIPS, MAJORS) == frozenset(map(ChipId, chips))


@dataclass
class Scene:
    """A machine with containers on chips 0 and 1, and what was told of them."""

    root: Path
    group: str = f"docker/{ID}"
    key: ContainerKey = WEB
    told: list[RulesRead] = field(default_factory=list)
    version_2: bool = False

    def __post_init__(self) -> None:
        web = replace(
            container("web", 0, 1),
            key=self.key,
            kept=replace(container("web", 0, 1).kept, chips=frozenset({ChipId(0), ChipId(1)})),
        )
        self.node = Node(
            chips=CHIPS,
            rings={RingId(0): Ring(RingId(0), tuple(CHIPS))},
            containers={self.key: web},
            runtimes={self.key.runtime: RuntimeState(self.key.runtime)},
        )
        (self.root / "proc").mkdir()
        self.drivers("195 nvidia-frontend")
        if not self.version_2:
            self.place.mkdir(parents=True)
        self.rules = DeviceRules(lambda: self.node, self.told.append, self.root)

    @property
    def place(self) -> Path:
        return self.root / "sys/fs/cgroup/devices" / self.group

    @property
    def web(self) -> Container:
        return self.node.containers[self.key]

    def drivers(self, line: str) -> None:
        (self.root / "proc/devices").write_text(f"Character devices:\n  1 mem\n{line}\n\nBlock devices:\n  7 loop\n")

    def look(self, rules: str) -> list[list[int]]:
        """Have the rules read, and what is told taken in; return which chips it could open each time it was told."""
        (self.place / "devices.list").write_text(DOCKERS + rules)
        before = len(self.told)
        self.rules.look(0.0)
        for fact in self.told[before:]:
            self.node, _ = reduce(self.node, Event(T0, fact))
        return [sorted(fact.chips) for fact in self.told]


def test_it_is_told_when_the_rules_say_otherwise_than_is_known(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert scene.rules.is_wished(scene.node)
    assert scene.look("c 195:0 rw") == [[0]]
    assert scene.look("c 195:0 rw") == [[0]]
    assert scene.look("c 195:* rw") == [[0], [0, 1]]
    assert scene.look("") == scene.look("") == [[0], [0, 1], []]
    assert (scene.web.kept.reached, scene.web.kept.denied) == (frozenset({0, 1}), frozenset({0, 1}))
    assert scene.look("a *:* rwm")[-1] == [0, 1]
    assert scene.web.kept.denied == frozenset()


@pytest.mark.parametrize(
    ("key", "group"),
    [
        (ContainerKey("docker", "", ID), f"system.slice/docker-{ID}.scope"),
        (ContainerKey("docker", "", ID), f"outer/docker/{ID}"),
        (ContainerKey("containerd", "default", ID), f"default/{ID}"),
        (ContainerKey("containerd", "default", ID), f"user.slice/nerdctl-{ID}.scope"),
        (ContainerKey("containerd", "ai", "web-1"), "ai/web-1"),
    ],
)
def test_its_control_group_is_found_by_its_id(tmp_path: Path, key: ContainerKey, group: str) -> None:
    assert Scene(tmp_path, group, key).look("c 195:0 rw") == [[0]]


@pytest.mark.parametrize("group", ["other/web", "web", f"ai/{ID}", "ai/x-web.scope"])
def test_a_short_id_is_that_of_its_namespace_only(tmp_path: Path, group: str) -> None:
    assert Scene(tmp_path, group, ContainerKey("containerd", "ai", "web")).look("c 195:0 rw") == []


def test_a_group_that_another_container_calls_like_it_says_nothing_of_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look("c 195:0 rw")
    (scene.place.parent / ("b" * 64) / ID).mkdir(parents=True)
    (scene.place.parent / ("b" * 64) / ID / "devices.list").write_text(DOCKERS)
    assert scene.look("c 195:0 rw") == [[0]]
    anew = DeviceRules(lambda: scene.node, scene.told.append, tmp_path)
    anew.look(0.0)
    assert len(scene.told) == 1


def test_one_that_ends_and_begins_anew_is_found_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look("c 195:0 rw")
    (scene.place / "devices.list").unlink()
    scene.place.rmdir()
    scene.rules.look(0.0)
    assert (len(scene.told), scene.web.kept.denied) == (1, frozenset()), (
        "one whose group is gone has not lost its chips"
    )
    scene.group = f"docker/again/{ID}"
    scene.place.mkdir(parents=True)
    assert scene.look("") == [[0], []]


def test_without_the_chips_driver_in_the_kernel_nobody_knows_their_numbers(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look("c 195:0 rw")
    scene.drivers("10 misc")
    assert scene.look("") == [[0]]


def test_where_the_kernel_shows_no_rules_nobody_looks(tmp_path: Path) -> None:
    scene = Scene(tmp_path, version_2=True)
    assert not scene.rules.is_wished(scene.node)


def test_nor_where_nobody_runs_on_chips(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert not scene.rules.is_wished(replace(scene.node, containers={}))
    down = replace(scene.web, running=False)
    assert not scene.rules.is_wished(replace(scene.node, containers={down.key: down}))
