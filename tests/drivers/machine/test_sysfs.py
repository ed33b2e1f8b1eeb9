"""The sources that are files of the kernel."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.machine.source import Off, Source
from cmgr.drivers.machine.sysfs import Disks, Memory, Raid, Sensors
from tests.fakes.machine.tree import BOOT, Tree


def found(source: Source) -> list[tuple[str, str, str]]:
    return [(symptom.code, symptom.part, symptom.text) for symptom in source.look()]


@pytest.mark.parametrize("kind", [Memory, Disks, Raid, Sensors])
def test_a_machine_that_is_well_has_nothing_and_an_empty_one_is_off(
    kind: Callable[[Path], Source], tree: Tree, tmp_path: Path
) -> None:
    assert found(kind(tree.root)) == []
    with pytest.raises(Off):
        kind(tmp_path / "nothing").look()


def test_memory_errors_are_those_since_the_start_of_the_machine_and_marked_by_it(tree: Tree) -> None:
    tree.memory("dimm1", corrected=5, uncorrected=1)
    symptoms = Memory(tree.root).look()
    assert [(s.code, s.part, s.text, s.mark) for s in symptoms] == [
        ("memory-uncorrected", "mc0 CPU0_DIMM1", "1 uncorrected error since the machine was started", f"{BOOT}:1"),
        ("memory-corrected", "mc0 CPU0_DIMM1", "5 corrected errors since the machine was started", f"{BOOT}:5"),
    ]


def test_errors_that_no_module_is_named_for_are_its_controllers(tree: Tree) -> None:
    tree.memory("dimm1", uncorrected=1, unplaced=2)
    parts = {part: text for code, part, text in found(Memory(tree.root)) if code == "memory-uncorrected"}
    assert parts["mc0"] == "2 uncorrected errors since the machine was started"


@pytest.mark.parametrize(
    ("path", "state", "part"),
    [("sys/class/nvme/nvme0/state", "dead", "nvme0"), ("sys/block/sda/device/state", "offline", "sda")],
)
def test_a_disk_that_the_kernel_has_given_up(tree: Tree, path: str, state: str, part: str) -> None:
    tree.put(path, state)
    assert found(Disks(tree.root)) == [("disk-gone", part, f"its state is {state}")]
    tree.put(path, "blocked")
    assert found(Disks(tree.root)) == []


@pytest.mark.parametrize(
    ("level", "disks", "missing", "state", "code"),
    [
        ("raid1", 2, 1, "clean", "raid-degraded"),
        ("raid1", 2, 2, "clean", "raid-failed"),
        ("raid5", 4, 1, "active", "raid-degraded"),
        ("raid5", 4, 2, "active", "raid-failed"),
        ("raid6", 8, 2, "active", "raid-degraded"),
        ("raid10", 4, 2, "active", "raid-degraded"),
        ("raid0", 2, 0, "broken", "raid-failed"),
    ],
)
def test_an_array_that_misses_disks(tree: Tree, level: str, disks: int, missing: int, state: str, code: str) -> None:
    tree.array(state, missing=missing, level=level, disks=disks)
    tree.put("sys/block/md0/md/dev-sdb1/state", "faulty")
    assert [(code, "md0", f"{level}: {missing} of {disks} disks missing (sdb1 failed)")] == found(Raid(tree.root))


def test_an_array_that_is_rebuilt_says_so(tree: Tree) -> None:
    tree.array(missing=1)
    tree.put("sys/block/md0/md/sync_action", "recover")
    ((_, _, text),) = found(Raid(tree.root))
    assert text.endswith(", and is rebuilt")


def test_heat_is_told_by_the_measure_and_by_the_alarm(tree: Tree) -> None:
    tree.heat(101_500)
    assert found(Sensors(tree.root)) == [
        ("temperature-critical", "coretemp Package id 0", "101 °C, and 100 °C is critical")
    ]
    tree.heat(45_000, alarm=1)
    assert [code for code, *_ in found(Sensors(tree.root))] == ["temperature-critical"]
    # A limit that nobody has set.
    tree.heat(45_000, critical=0)
    assert found(Sensors(tree.root)) == []


def test_a_fan_that_has_failed(tree: Tree) -> None:
    tree.put("sys/class/hwmon/hwmon1/fan1_fault", "1")
    assert found(Sensors(tree.root)) == [("fan-failed", "chassis fan1", "")]
