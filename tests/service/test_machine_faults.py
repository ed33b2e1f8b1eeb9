"""Faults of the machine, from the files of its kernel to `cmgr status`, `faults` and the metrics."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.machine.tree import Program, Tree
from tests.support.service import NOW, Service, Setting
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone


@pytest.fixture
def folder() -> Iterator[Path]:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    made = Path(tempfile.mkdtemp(prefix="cmgr-machine-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def tree(folder: Path) -> Iterator[Tree]:
    made = Tree(folder / "root")
    made.put("dev/ipmi0", "")
    yield made
    made.close()


@pytest.fixture
def bmc(tree: Tree) -> Program:
    made = tree.program("ipmitool")
    made.answers("sdr elist", "Fan1 | 30h | ok | 7.1 | 5000 RPM\n")
    made.answers("sel time get", "11/24/26 06:00:00 UTC\n")
    made.answers("sel list", "")
    return made


@pytest.fixture
def service(folder: Path, tree: Tree, bmc: Program) -> Iterator[Service]:
    settings: dict[str, Setting] = {
        "machine.sources": ["memory", "disks", "raid", "file-systems", "sensors", "ipmi", "kernel"],
        "machine.every": "1s",
        "machine.timeout": "1s",
        "machine.root": str(tree.root),
        "machine.ipmitool": str(bmc.path),
    }
    made = Service(folder, settings)
    made.pretend("one")
    yield made
    made.close()


def troubles(service: Service) -> dict[str, str]:
    return {t["id"]: t["text"] for t in service.status()["troubles"]}


def faults(service: Service) -> dict[str, Any]:
    rows = json.loads(service.cmgr("faults", "--json").out)["machine"]
    return {row["code"]: row for row in rows}


def test_a_fault_is_told_until_it_is_over_and_outlives_the_service(service: Service, tree: Tree) -> None:
    service.start()
    assert len(service.cmgr("chips", "--available").out.split(",")) == 7  # One runs.
    tree.array(missing=1)
    tree.memory("dimm1", uncorrected=1)
    eventually(lambda: set(troubles(service)) == {"machine-raid-degraded", "machine-memory-uncorrected"})
    assert troubles(service)["machine-memory-uncorrected"] == "memory-uncorrected on mc0 CPU0_DIMM1"
    assert service.cmgr("chips", "--available").code == 1
    assert "\nPART" in "\n" + service.cmgr("faults").out
    service.kill9()
    # From the database, while nobody looks.
    assert set(faults(service)) == {"raid-degraded", "memory-uncorrected"}
    tree.array()
    service.start()
    eventually(lambda: set(troubles(service)) == {"machine-memory-uncorrected"})
    assert service.cmgr("acknowledge", "machine-memory-uncorrected").code == 0
    eventually(lambda: not troubles(service))
    service.kill9()
    service.start()
    service.until_said("is ready")
    # The same count since the machine was started is no news.
    assert set(faults(service)) == set()


def test_a_chip_is_recovered_on_a_machine_that_ails(service: Service, tree: Tree) -> None:
    tree.put("sys/class/nvme/nvme0/state", "dead")
    service.start()
    eventually(lambda: set(troubles(service)) == {"machine-disk-gone"})
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    assert not [chip for chip in service.status()["chips"] if chip["isolated"]]


def test_a_source_that_hangs_is_deaf_and_keeps_nothing_back(service: Service, tree: Tree, bmc: Program) -> None:
    bmc.hangs()
    service.start()
    eventually(lambda: "source-ipmi" in troubles(service))

    def sources() -> dict[str, tuple[bool, str]]:
        return {s["name"]: (s["on"], s["why"]) for s in service.status()["service"]["sources"]}

    # Whoever waits for the source has as long as the program, and may say first that there is no answer.
    eventually(lambda: sources()["ipmi"] == (True, "ipmitool elist has not ended within 1 s"))
    assert (sources()["raid"], sources()["kernel"][0]) == ((True, ""), False)
    tree.heat(101_000)
    eventually(lambda: "machine-temperature-critical" in troubles(service))
    assert service.cmgr("status", "--check").code == 4
    service.terminate()
