"""Measurements of containers that wish it, and when they say that a container hangs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, RingId
from cmgr.model.values.messages.health_facts import HangsSeen
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.service.metrics.chips import Measuring
from cmgr.service.parts.hangs import Hangs, Sample, same_since
from tests.model.builders import T0, container, key

PID = 4211


@dataclass
class Chips:
    """A driver that measures one chip."""

    busy: float = 100.0
    asked: int = 0
    name: str = "chips"

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        self.asked += 1
        return {chip: {"aicore_percent": self.busy, "hbm_used_megabytes": 7.0 * self.asked} for chip in chips}


@dataclass
class Scene:
    """A container on chip 0 for which 10 minutes are long, and what was told of it."""

    root: Path
    chips: Chips = field(default_factory=Chips)
    told: list[HangsSeen] = field(default_factory=list)
    run: str = "life 1"
    wishes: bool = True
    at: float = 0.0
    spent: float = 0.0

    def __post_init__(self) -> None:
        measuring = Measuring(self.chips, fresh_seconds=0)  # type: ignore[arg-type]  # It measures, and nothing else.
        self.hangs = Hangs(self.node, measuring, self.told.append, lambda: T0, self.root)
        (self.root / f"proc/{PID}").mkdir(parents=True)
        (self.root / f"proc/{PID}/cgroup").write_text("0::/docker/web\n")
        (self.root / "sys/fs/cgroup/docker/web").mkdir(parents=True)

    def node(self) -> Node:
        hang = timedelta(minutes=10) if self.wishes else None
        web = container("web", 0, hang=hang, run=self.run, chips=frozenset({ChipId(0)}))
        report = ChipReport(ChipId(0), processes=(Process(PID, container=web.key.id),))
        return Node(
            chips={ChipId(0): Chip(ChipId(0), RingId(0), 0)},
            rings={RingId(0): Ring(RingId(0), (ChipId(0),))},
            containers={web.key: web},
            reports={ChipId(0): report},
        )

    def look(self, minutes: float, *, rate: float = 1.0) -> None:
        """Let so much time pass, with a look each half minute, and the container use so much of a core."""
        for _ in range(int(minutes * 2)):
            self.at += 30
            self.spent += 30 * rate
            stat = f"usage_usec {int(self.spent * 1e6)}\nuser_usec 1\n"
            (self.root / "sys/fs/cgroup/docker/web/cpu.stat").write_text(stat)
            self.hangs.look(self.at)


def test_one_whose_measurements_stay_where_they_are_hangs(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look(10)
    assert scene.told == []
    scene.look(1)
    ((hang,),) = [told.hangs for told in scene.told]
    assert (hang.key, hang.run) == (key("web"), "life 1")
    assert hang.words == "nothing has changed for 10 min: chip 0 aicore 100 %, processor 100 %"
    assert hang.since == T0 - timedelta(minutes=10)


def test_one_whose_chip_goes_up_and_down_does_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for busy in (97.0, 100.0) * 15:
        scene.chips.busy = busy
        scene.look(1)
    assert scene.told == []


def test_one_whose_processor_time_changes_does_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for rate in (0.1, 0.4) * 15:
        scene.look(1, rate=rate)
    assert scene.told == []


def test_one_that_goes_on_hangs_no_more_and_another_life_begins_anew(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look(11)
    scene.chips.busy = 50.0
    scene.look(1)
    assert [len(told.hangs) for told in scene.told] == [1, 0]
    scene.look(9)
    scene.run = "life 2"
    scene.look(9)
    assert len(scene.told) == 2
    scene.look(2)
    assert scene.told[-1].hangs[0].run == "life 2"


def test_nothing_is_measured_where_nobody_wishes_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, wishes=False)
    scene.look(20)
    assert (scene.chips.asked, scene.told) == (0, [])


def test_without_a_word_of_the_kernel_the_chips_alone_say_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (tmp_path / f"proc/{PID}/cgroup").unlink()
    scene.look(11)
    assert [told.hangs[0].words for told in scene.told] == ["nothing has changed for 10 min: chip 0 aicore 100 %"]


def test_processor_time_is_read_from_version_1_of_control_groups_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (tmp_path / f"proc/{PID}/cgroup").write_text("5:cpu,cpuacct:/docker/web\n1:name=systemd:/docker/web\n")
    group = tmp_path / "sys/fs/cgroup/cpu,cpuacct/docker/web"
    group.mkdir(parents=True)
    (group / "cpuacct.usage").write_text("5000000000\n")
    scene.look(11)
    assert scene.told[0].hangs[0].words.endswith("processor 0 %")


def test_where_nothing_is_measured_nobody_says_that_it_hangs() -> None:
    assert same_since([Sample(0, {}), Sample(900, {})]) is None
    assert same_since([Sample(0, {"a": 1.0})]) is None
    assert same_since([Sample(0, {"a": 9.0}), Sample(1, {"a": 1.0}), Sample(2, {"a": 1.9})]) == 1
    assert same_since([Sample(0, {"a": 1.0, "b": 1.0}), Sample(1, {"a": 1.0}), Sample(2, {"a": 1.0})]) == 1
