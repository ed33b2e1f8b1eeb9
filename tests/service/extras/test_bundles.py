"""Bundles: what is in them, what is not, how long a start waits for one, and how many there are."""

import grp
import json
import os
import stat
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.config.around import Bundles as Settings
from cmgr.config.sim import Sim
from cmgr.drivers.sim.driver import SimDriver
from cmgr.drivers.sim.gauges import MeasuredSim
from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.sim.runtime import SimRuntime
from cmgr.service.extras import bundles
from cmgr.service.extras.bundle_parts import Part, Sources
from cmgr.service.extras.bundles import Bundles, prune, saved, write
from cmgr.store import open_store
from cmgr.store.files import NAME
from tests.model.builders import RESET, Cmgr, container
from tests.service.door.desk import Heard
from tests.support.waiting import PATIENCE

SETTINGS = Settings()


class Told(SimRuntime):
    """A runtime that tells of each container what the test wants, by its id; `hangs` is an output that never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[str, Mapping[str, object] | Exception] = {}
        self.outputs: dict[str, str | Exception] = {}
        self.go_on = threading.Event()

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        told = self.documents.get(key.id, {"id": key.id})
        if isinstance(told, Exception):
            raise told
        return told

    def output(self, key: ContainerKey, lines: int) -> str:
        told = self.outputs.get(key.id, f"the last {lines} lines of {key.id}\n")
        if told == "hangs":
            self.go_on.wait(PATIENCE)
        if isinstance(told, Exception):
            raise told
        return str(told)


class Site:
    """A ring just before its reset, and all that a bundle is made of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cmgr = Cmgr(container("a", 0), container("b", 1))
        self.cmgr.fault(1)
        self.cmgr.run_until(Phase.RESETTING)
        self.action = self.cmgr.sent(ResetRing)[0]
        self.runtime = Told()
        self.log = Heard()
        self.remarks: list[Remarked] = []
        self.settings = SETTINGS
        sources = Sources(SimDriver(Sim()), {"docker": self.runtime}, folder / NAME, self.node, lambda: self.cmgr.now)
        self.bundles = Bundles(sources, lambda: self.settings, self.remarks.append, self.log)

    def node(self) -> Node:
        return self.cmgr.node

    def save(self) -> dict[str, str]:
        """Save the bundle, and return the texts in it by name."""
        self.save_one()
        return inside(saved(self.folder / "bundles")[-1])

    def save_one(self) -> None:
        self.bundles.save(self.action)
        self.bundles.wait(self.action.ring)


def inside(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file is not None
            found[member.name.partition("/")[2]] = file.read().decode()
        return found


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(bundles, "LATE", PATIENCE)
    with closing(open_store(tmp_path / NAME)):
        made = Site(tmp_path)
        yield made
        made.runtime.go_on.set()


def test_a_bundle_has_the_fault_the_story_the_containers_and_the_drivers_read_out(site: Site) -> None:
    texts = site.save()
    assert sorted(texts) == [
        "about.json",
        "containers/01-a.inspect.json",
        "containers/01-a.log",
        "containers/02-b.inspect.json",
        "containers/02-b.log",
        "driver.json",
        "faults.json",
        "status.json",
        "timeline.json",
    ]
    told = {name: json.loads(text) for name, text in texts.items() if name.endswith(".json")}
    about = told["about.json"]
    assert (about["episode"], about["chips"], about["codes"], about["reset"]) == (1, [0, 1, 2, 3], [RESET], 1)
    assert told["faults.json"]["faults"][0]["code"] == RESET
    assert [chip["chip"] for chip in told["driver.json"]["chips"]] == [0, 1, 2, 3]
    assert told["driver.json"]["chips"][1]["faults"] == [{"code": RESET, "severity": None}]
    assert told["status.json"]["rings"][0]["phase"] == "resetting"
    assert texts["containers/01-a.log"] == "the last 200 lines of a\n"
    path = site.folder / "bundles/episode-000001-reset-1.tar.gz"
    assert [remark.text for remark in site.remarks] == [f"saved for a diagnosis: {path}"]
    assert site.log.warnings == []


class Asked(MeasuredSim):
    """A driver that says when it is asked for anything about chips."""

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        raise AssertionError("measured")

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        raise AssertionError("read")


def test_no_chip_is_asked_for_anything_right_before_its_reset(site: Site) -> None:
    sources = Sources(Asked(Sim()), {"docker": site.runtime}, site.folder / NAME, site.node, lambda: site.cmgr.now)
    site.bundles = Bundles(sources, lambda: SETTINGS, site.remarks.append, site.log)
    site.save_one()
    texts = inside(saved(site.folder / "bundles")[-1])
    assert "missing.txt" not in texts
    assert "measured" not in json.loads(texts["driver.json"])


def test_the_values_of_a_containers_environment_are_not_in_it_and_their_names_are(site: Site) -> None:
    site.runtime.documents["a"] = {
        "Config": {
            "Env": ["DB_PASSWORD=hunter2", "ASCEND_VISIBLE_DEVICES=0", "EMPTY="],
            "Cmd": ["serve", "--api-key", "hunter2", "--port", "80"],
        }
    }
    text = site.save()["containers/01-a.inspect.json"]
    assert "hunter2" not in text
    assert json.loads(text)["Config"]["Env"] == ["DB_PASSWORD=(redacted)", "ASCEND_VISIBLE_DEVICES=0", "EMPTY="]


def test_what_a_runtime_cannot_tell_is_said_in_its_place(site: Site) -> None:
    site.runtime.documents["a"] = ContainerGone("cannot inspect container a: no such container")
    site.runtime.outputs["a"] = ContainerError("cannot read the log of container a: its log driver keeps none")
    site.runtime.outputs["b"] = ZeroDivisionError("a bug")
    texts = site.save()
    assert texts["containers/01-a.inspect.txt"] == "cannot inspect container a: no such container\n"
    assert texts["containers/01-a.log"] == "cannot read the log of container a: its log driver keeps none\n"
    assert texts["missing.txt"] == "a part met a bug: ZeroDivisionError a bug\n"


class Hanging(SimDriver):
    """A driver that says what it is called when the test ends."""

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__(Sim())
        self._go_on = go_on

    @property
    def name(self) -> str:  # type: ignore[override]  # Of others it is an attribute.
        self._go_on.wait(PATIENCE)
        return "sim"


def test_neither_the_order_of_a_reset_waits_for_it_nor_a_start_for_long(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "LATE", 0.1)
    driver = Hanging(site.runtime.go_on)
    sources = Sources(driver, {"docker": site.runtime}, site.folder / NAME, site.node, lambda: site.cmgr.now)
    site.bundles = Bundles(sources, lambda: site.settings, site.remarks.append, site.log)
    site.bundles.save(site.action)
    for _ in range(2):
        site.bundles.wait(site.action.ring)
    assert saved(site.folder / "bundles") == []
    late = "the bundle is not ready: what is to be started does not wait for it any longer"
    assert [(remark.text, remark.loud) for remark in site.remarks] == [(late, True)], "said once"


def test_one_that_hangs_costs_its_part_and_a_bounded_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "LATE", 1.0)
    site.runtime.outputs["a"] = "hangs"
    texts = site.save()
    assert "containers/02-b.log" in texts
    assert "containers/01-a.log" not in texts
    assert texts["missing.txt"] == "1 of 3 parts were not there in time\n"


def test_without_lines_there_are_no_logs_and_without_keeping_there_is_no_bundle(site: Site) -> None:
    site.settings = Settings(log_lines=0)
    assert not [name for name in site.save() if name.endswith(".log")]
    (site.folder / "bundles/episode-000001-reset-1.tar.gz").unlink()
    site.settings = Settings(keep=0)
    site.save_one()
    assert saved(site.folder / "bundles") == []


def test_a_reset_that_is_tried_again_has_the_bundle_of_its_first_try(site: Site) -> None:
    site.save()
    before = saved(site.folder / "bundles")[0].stat().st_mtime_ns
    site.save_one()
    assert saved(site.folder / "bundles")[0].stat().st_mtime_ns == before
    assert len(site.remarks) == 1


def test_names_of_containers_become_no_paths(site: Site) -> None:
    known = site.cmgr.node.containers
    key = next(iter(known))
    odd = replace(known[key], name="../../etc/passwd\n")
    site.cmgr.node = replace(site.cmgr.node, containers={**known, key: odd})
    assert "containers/01-.._.._etc_passwd_.log" in site.save()


def test_a_disk_without_room_costs_the_bundle_and_nothing_else(site: Site) -> None:
    (site.folder / "bundles").write_text("not a directory")
    site.save_one()
    assert site.remarks == []
    assert len(site.log.warnings) == 1
    assert site.log.warnings[0].startswith("cannot save the bundle ")


def test_only_root_and_the_group_can_read_it(site: Site) -> None:
    os.umask(0o077)
    try:
        site.save()
    finally:
        os.umask(0o022)
    folder = site.folder / "bundles"
    (path,) = saved(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    groups = [group.gr_gid for group in grp.getgrall() if group.gr_name == "cmgr"]
    if os.geteuid() == 0 and groups:
        assert (folder.stat().st_gid, path.stat().st_gid) == (groups[0], groups[0])


def test_the_oldest_go_when_there_are_too_many_or_they_take_too_much_room(tmp_path: Path) -> None:
    for episode in (9, 10, 1_000_000):
        for reset in (2, 10):
            write(tmp_path / f"episode-{episode:06}-reset-{reset}.tar.gz", [Part("x", os.urandom(300_000).hex())])
    (tmp_path / "notes").write_text("somebody's")
    names = [path.name for path in saved(tmp_path)]
    assert names[0] == "episode-000009-reset-2.tar.gz"
    assert names[-1] == "episode-1000000-reset-10.tar.gz"
    prune(tmp_path, Settings(keep=4))
    assert [path.name for path in saved(tmp_path)] == names[2:]
    prune(tmp_path, Settings(keep=4, max_mb=1))
    left = saved(tmp_path)
    assert 0 < len(left) < 4
    assert [path.name for path in left] == names[-len(left) :]
    assert (tmp_path / "notes").exists()


def test_what_was_left_unfinished_is_no_bundle_and_goes_in_time(tmp_path: Path) -> None:
    unfinished = tmp_path / "episode-000001-reset-1.tar.gz.1.new"
    unfinished.write_text("half")
    prune(tmp_path, Settings())
    assert unfinished.exists()
    assert saved(tmp_path) == []
    os.utime(unfinished, (0, 0))
    prune(tmp_path, Settings())
    assert not unfinished.exists()
