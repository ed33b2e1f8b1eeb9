"""Containers on slots in containerd: before a start their definition gets the chips that the slot has now."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, RuntimeAils
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.services.cdi import Device, Spec
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from cmgr.runtimes.containerd.slots import Node, edits_of, given, node_here, slot_in
from cmgr.service.parts.cdi_files import CdiFiles
from cmgr.vendor import giving
from tests.runtimes.containerd.world import ContainerdWorld
from tests.support.daemons.dockerd import OBEYS

NODES: dict[str, Node] = {f"/dev/davinci{n}": ("c", 240, n) for n in range(8)} | {"/dev/davinci_manager": ("c", 241, 0)}


def edits(*chips: int) -> dict[str, object]:
    nodes = [f"/dev/davinci{chip}" for chip in chips]
    return {
        "env": [f"CMGR_CHIPS={','.join(map(str, chips))}", "CMGR_SLOT=chat"],
        "deviceNodes": [{"path": path, "permissions": "rw"} for path in (*nodes, "/dev/davinci_manager")],
        "mounts": [{"hostPath": "/usr/local/dcmi", "containerPath": "/usr/local/dcmi", "options": ["ro", "bind"]}],
    }


PLAIN = {
    "process": {"env": ["PATH=/bin", "CMGR_CHIPS=9"], "args": ["sh"]},
    "linux": {
        "devices": [{"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}],
        "resources": {"devices": [{"allow": False, "access": "rwm"}], "memory": {"limit": 7}},
    },
    "mounts": [{"destination": "/proc", "source": "proc"}],
}


def test_the_edits_of_the_slot_take_the_place_of_those_before() -> None:
    first = given(PLAIN, edits(3), NODES.__getitem__)
    assert [d["path"] for d in first["linux"]["devices"]] == ["/dev/fuse", "/dev/davinci3", "/dev/davinci_manager"]
    assert first["process"]["env"] == ["PATH=/bin", "CMGR_CHIPS=3", "CMGR_SLOT=chat"]
    moved = given(first, edits(5, 6), NODES.__getitem__)
    paths = [d["path"] for d in moved["linux"]["devices"]]
    assert paths == ["/dev/fuse", "/dev/davinci5", "/dev/davinci6", "/dev/davinci_manager"]
    rules = moved["linux"]["resources"]["devices"]
    assert rules[0] == {"allow": False, "access": "rwm"}
    numbers = [(r["major"], r["minor"], r["access"]) for r in rules[1:]]
    assert numbers == [(240, 5, "rw"), (240, 6, "rw"), (241, 0, "rw")]
    assert moved["process"] == {"env": ["PATH=/bin", "CMGR_CHIPS=5,6", "CMGR_SLOT=chat"], "args": ["sh"]}
    assert moved["linux"]["resources"]["memory"] == {"limit": 7}
    assert [m["destination"] for m in moved["mounts"]] == ["/proc", "/usr/local/dcmi"]


def test_the_same_chips_change_nothing() -> None:
    once = given(PLAIN, edits(3), NODES.__getitem__)
    assert given(once, edits(3), NODES.__getitem__) == once


ODD: tuple[dict[str, object], ...] = (
    {},
    {"process": 7},
    {"process": {"env": "x"}},
    {"process": {"env": [7, "CMGR_SLOT=../x"]}},
)


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_slot_is_none(odd: dict[str, object]) -> None:
    assert slot_in(odd) == ""
    assert edits_of(odd, "chat") == {}


def test_a_refusal_is_told_in_its_own_words() -> None:
    with pytest.raises(ContainerError, match=r"^chip 3 is isolated: it smells$"):
        node_here("/chip 3 is isolated: it smells")


@pytest.fixture
def files(tmp_path: Path) -> CdiFiles:
    return CdiFiles(tmp_path, giving("sim"), "auto")


def write(files: CdiFiles, *chips: int, refusal: str = "") -> None:
    known = tuple(Chip(ChipId(chip), RingId(0), chip) for chip in chips)
    files.write((Spec("slot-chat", (Device("chat", known, refusal),)),))


@pytest.mark.containerd
def test_a_container_gets_the_chips_of_its_slot_with_each_start(
    world: ContainerdWorld, key: ContainerKey, files: CdiFiles
) -> None:
    told = ("--env", "CMGR_SLOT=chat", "--env", "CMGR_CHIPS=3", "--env", "SIM_CHIPS=3")
    world.run(key, *OBEYS, chips="", options=("--log-uri", f"file://{world.log(key)}", *told))
    world.ready(key, 0)
    runtime = ContainerdRuntime(world.containerd.socket, cdi=files.path("x").parent)
    try:
        (known,) = [c for c in runtime.list() if c.key == key]
        assert known.claims == {"cmgr.io/slot=chat"}
        runtime.stop(key, timedelta(seconds=5))
        with pytest.raises(RuntimeAils, match=r"cannot read .*cmgr-slot-chat.json"):
            runtime.start(key, NO_RESTART)
        write(files, 3, refusal="chip 3 is isolated: it smells")
        with pytest.raises(ContainerError, match=r": chip 3 is isolated: it smells$"):
            runtime.start(key, NO_RESTART)
        for chips in ((5,), (6, 7), (6, 7)):
            write(files, *chips)
            said = len(world.said(key))
            runtime.start(key, NO_RESTART)
            world.ready(key, said)
            told_now = json.loads(world.containerd.ctr("containers", "info", key.id, namespace=key.namespace))
            line = f"CMGR_CHIPS={','.join(map(str, chips))}"
            assert line in told_now["Spec"]["process"]["env"]
            assert line in _variables(world.task(key)[0])
            runtime.stop(key, timedelta(seconds=5))
    finally:
        runtime.close()


def _variables(pid: object) -> set[str]:
    return set(Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0"))
