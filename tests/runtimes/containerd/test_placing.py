"""Containers without a slot in containerd, given other chips: what is rewritten, what is refused, and the way back."""

import json
import os
import secrets
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cmgr.errors import ContainerError
from cmgr.model.values.chips import ALL_CHIPS, BY_ID, UNCLEAR, Chip, ChipId, RingId
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.claims import majors_here
from cmgr.runtimes.containerd import looks, placing, start
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from tests.runtimes.containerd.world import ContainerdWorld
from tests.support.daemons.dockerd import OBEYS

ASCEND = {240: BY_ID}
NVIDIA = {195: "/dev/nvidia"}


def chip(number: int) -> Chip:
    # As NVIDIA's: the number of the device file is another one.
    aliases = frozenset({f"/dev/nvidia{number + 1}"})
    return Chip(
        ChipId(number), RingId(0), number, bus=f"0000:8{number}:00.0", serial=f"GPU-{number:08x}", aliases=aliases
    )


def pairs(*numbers: int | tuple[int, int | None]) -> placing.Pairs:
    both = [(n, n) if isinstance(n, int) else n for n in numbers]
    return [(chip(old), chip(new) if new is not None else None) for old, new in both]


def spec(*env: str, devices: list[tuple[str, int, int]] | None = None, **more: Any) -> dict[str, Any]:
    nodes = devices or []
    return {
        "process": {"env": ["PATH=/bin", *env], "args": ["serve"]},
        "linux": {
            "devices": [{"path": p, "type": "c", "major": a, "minor": b, "fileMode": 0o600} for p, a, b in nodes],
            "resources": {
                "devices": [
                    {"allow": False, "access": "rwm"},
                    *({"allow": True, "type": "c", "major": a, "minor": b, "access": "rw"} for _, a, b in nodes),
                ],
                "memory": {"limit": 7},
            },
        },
        **more,
    }


def placed(made: dict[str, Any], wanted: placing.Pairs, majors: dict[int, str] = ASCEND) -> dict[str, Any]:
    return placing.placed(made, placing.original_of(made), wanted, majors)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ASCEND_VISIBLE_DEVICES=3", "ASCEND_VISIBLE_DEVICES=5"),
        ("ASCEND_VISIBLE_DEVICES=0, 3", "ASCEND_VISIBLE_DEVICES=0,5"),
        ("ASCEND_VISIBLE_DEVICES=2-4", "ASCEND_VISIBLE_DEVICES=2,5,4"),
        ("ASCEND_VISIBLE_DEVICES=0-2", "ASCEND_VISIBLE_DEVICES=0-2"),
        ("ASCEND_VISIBLE_DEVICES=Ascend910-3", "ASCEND_VISIBLE_DEVICES=Ascend910-5"),
        ("NVIDIA_VISIBLE_DEVICES=GPU-00000003", "NVIDIA_VISIBLE_DEVICES=GPU-00000005"),
        ("NVIDIA_VISIBLE_DEVICES=0000:83:00.0", "NVIDIA_VISIBLE_DEVICES=0000:85:00.0"),
        ("OTHER=3", "OTHER=3"),
    ],
)
def test_the_variables_call_the_new_chip_as_they_called_the_old(before: str, after: str) -> None:
    env = placed(spec(before), pairs((3, 5)))["process"]["env"]
    assert env == ["PATH=/bin", after, "CMGR_CHIPS=5", "CMGR_CHIP_COUNT=1", "CMGR_CHIP_COUNT_FULL=1"]


def test_device_files_and_their_rules_follow_under_the_chips_own_numbers() -> None:
    made = spec(devices=[("/dev/davinci3", 240, 3), ("/dev/inside", 240, 4), ("/dev/davinci_manager", 241, 0)])
    moved = placed(made, pairs((3, 5), (4, 6)))
    nodes = [(d["path"], d["major"], d["minor"], d["fileMode"]) for d in moved["linux"]["devices"]]
    assert nodes[:2] == [("/dev/davinci5", 240, 5, 0o600), ("/dev/inside", 240, 6, 0o600)]
    assert nodes[2][0] == "/dev/davinci_manager"
    rules = moved["linux"]["resources"]["devices"]
    assert [(r.get("major"), r.get("minor")) for r in rules] == [(None, None), (240, 5), (240, 6), (241, 0)]
    assert moved["linux"]["resources"]["memory"] == {"limit": 7}


def test_an_npu_is_called_by_its_number_and_has_its_id_as_minor_number() -> None:
    old, new = (Chip(ChipId(n), RingId(n), number, number=number) for n, number in ((5, 2), (6, 3)))
    made = spec("ASCEND_VISIBLE_DEVICES=2", devices=[("/dev/davinci2", 240, 5), ("/dev/davinci0", 240, 2)])
    moved = placed(made, [(old, new)])
    assert moved["process"]["env"][1:3] == ["ASCEND_VISIBLE_DEVICES=3", "CMGR_CHIPS=6"]
    files = [(device["path"], device["minor"]) for device in moved["linux"]["devices"]]
    assert files == [("/dev/davinci3", 6), ("/dev/davinci0", 2)]
    assert [rule.get("minor") for rule in moved["linux"]["resources"]["devices"]] == [None, 6, 2]
    unmoved = spec("ASCEND_VISIBLE_DEVICES=5")
    assert placed(unmoved, [(old, new)])["process"]["env"][1] == "ASCEND_VISIBLE_DEVICES=5", "that is another chip"


def test_the_number_of_nvidias_device_file_is_not_the_gpus() -> None:
    moved = placed(spec(devices=[("/dev/nvidia4", 195, 4)]), pairs((3, 5)), NVIDIA)
    (node,) = moved["linux"]["devices"]
    assert (node["path"], node["minor"]) == ("/dev/nvidia6", 6)
    nameless = [(chip(3), Chip(ChipId(5), RingId(0), 5))]
    with pytest.raises(ContainerError, match="the device file of chip 5 is not known"):
        placed(spec(devices=[("/dev/nvidia4", 195, 4)]), nameless, NVIDIA)


def test_fewer_chips_are_given_and_told() -> None:
    made = spec("ASCEND_VISIBLE_DEVICES=3,4", devices=[("/dev/davinci3", 240, 3), ("/dev/davinci4", 240, 4)])
    moved = placed(made, pairs((3, None), 4))
    assert moved["process"]["env"][1:] == [
        "ASCEND_VISIBLE_DEVICES=4", "CMGR_CHIPS=4", "CMGR_CHIP_COUNT=1", "CMGR_CHIP_COUNT_FULL=2"
    ]  # fmt: skip
    assert [d["path"] for d in moved["linux"]["devices"]] == ["/dev/davinci4"]


def test_each_move_begins_with_what_was_and_the_way_back_gives_just_that() -> None:
    made = spec("ASCEND_VISIBLE_DEVICES=3", devices=[("/dev/davinci3", 240, 3)])
    original = placing.original_of(made)
    first = placing.placed(made, original, pairs((3, 5)), ASCEND)
    assert placing.placed(first, original, pairs((3, 5)), ASCEND) == first
    second = placing.placed(first, original, pairs((3, 6)), ASCEND)
    assert second["process"]["env"][1] == "ASCEND_VISIBLE_DEVICES=6"
    updated = {**second, "mounts": ["of somebody who changed it meanwhile"]}
    assert placing.placed(updated, original, pairs(3), ASCEND) == {**made, "mounts": updated["mounts"]}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"mounts": [{"source": "/dev/davinci3", "destination": "/dev/davinci3"}]}, "'/dev/davinci3' mounted"),
        ({"mounts": [{"source": "/dev/null", "destination": "/var/run/nvidia-container-devices/GPU-1234"}]}, "mounted"),
        ({"mounts": [{"source": "/proc/driver/nvidia/gpus/0000:83:00.0"}]}, "which is of its chip"),
        ({"hooks": {"prestart": [{"path": "/usr/bin/nvidia-container-cli", "args": ["x", "--device=3"]}]}}, "a hook"),
        ({"hooks": {"createContainer": [{"args": ["nvidia-cdi-hook", "--link", "/dev/nvidia3::/dev/gpu"]}]}}, "a hook"),
        ({"annotations": {"cdi.k8s.io/x": "huawei.com/npu=3"}}, "annotations"),
        ({"linux": {"devices": [{"path": "/npu", "type": "c", "major": 240, "minor": 3}]}}, "outside of /dev"),
        ({"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0:1"]}}, "'0:1', which may be a part of a chip"),
        ({"process": {"env": ["ASCEND_VISIBLE_DEVICES=Ascend910-2c-100-0"]}}, "may be a part"),
        ({"process": {"env": ["ASCEND_VISIBLE_DEVICES=3", "ASCEND_RUNTIME_OPTIONS=NODRV,VIRTUAL"]}}, "may be a part"),
        ({"process": {"env": ["ASCEND_VISIBLE_DEVICES=3", "ASCEND_VNPU_SPECS=vir04"]}}, "may be a part"),
        ({"process": {"args": ["serve", "--on=/dev/davinci3"]}}, "names the device file"),
        ({"process": {"env": ["NPU=/dev/davinci3"]}}, "names the device file"),
    ],
)
def test_what_cannot_be_moved_faithfully_is_refused_with_the_reason(more: dict[str, Any], why: str) -> None:
    assert why in placing.why_tied({**spec("ASCEND_VISIBLE_DEVICES=3"), **more}, frozenset({"3"}), ASCEND)


def test_what_can_be_moved_is_not_refused() -> None:
    hook = {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook", "args": ["x", "prestart"]}]}
    plain = spec("ASCEND_VISIBLE_DEVICES=3", devices=[("/dev/davinci3", 240, 3)], hooks=hook)
    plain["mounts"] = [{"source": "/usr/local/dcmi", "destination": "/usr/local/dcmi"}]
    assert placing.why_tied(plain, frozenset({"3"}), ASCEND) == ""
    unlike = spec(
        "ASCEND_VISIBLE_DEVICES=3",
        "ASCEND_RUNTIME_OPTIONS=NODRV",
        "ASCEND_VNPU_SPECS=",
        "CUDA_DEVICE_MEMORY_LIMIT_0=8g",
    )
    assert placing.why_tied(unlike, frozenset({"3"}), ASCEND) == ""
    for claim in (ALL_CHIPS, UNCLEAR):
        assert placing.why_tied(plain, frozenset({claim}), ASCEND) == "can reach every chip"


@pytest.mark.parametrize("value", [b"", b"{", b"[1]", b"[" * 100_000])
def test_originals_that_cannot_be_read_are_none(value: bytes) -> None:
    assert placing.kept(value) == {}


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return a device file that counts as that of chip 7, of a driver that no container is given anyway."""
    # Where a container's own files are, a device file of an earlier life would stay.
    path = f"/dev/cmgr-test-{secrets.token_hex(4)}"
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(7, 7))
    # Nobody can fake /proc/devices.
    for module in (start, looks):
        monkeypatch.setattr(module, "majors_here", lambda: {**majors_here(), 7: BY_ID})
    yield path
    os.unlink(path)


@pytest.mark.containerd
def test_a_container_moves_and_comes_back_for_real(world: ContainerdWorld, key: ContainerKey, node: str) -> None:
    log = f"file://{world.log(key)}"
    options = ("--log-uri", log, "--env", "ASCEND_VISIBLE_DEVICES=7", "--device", node)
    world.run(key, *OBEYS, chips="", labels={"cmgr.spare": "auto"}, options=options)
    world.ready(key, 0)
    runtime = ContainerdRuntime(world.containerd.socket)
    before = _definition(world, key)
    try:
        (known,) = [c for c in runtime.list() if c.key == key]
        assert (known.claims, known.made_for, known.tied) == (frozenset({"7", f"{BY_ID}7"}), frozenset(), "")
        runtime.place(key, pairs((7, 5)))
        assert _definition(world, key) == before, "it runs"
        runtime.stop(key, timedelta(seconds=5))
        for number in (5, 5, 7):
            runtime.place(key, pairs((7, number)))
            runtime.place(key, pairs((7, number)))
            said = len(world.said(key))
            runtime.start(key, NO_RESTART)
            world.ready(key, said)
            (known,) = [c for c in runtime.list() if c.key == key]
            assert (known.claims, known.tied) == (frozenset({str(number), f"{BY_ID}{number}"}), "")
            assert known.made_for == (frozenset() if number == 7 else {"7", f"{BY_ID}7"})
            pid = world.task(key)[0]
            assert f"ASCEND_VISIBLE_DEVICES={number}" in Path(f"/proc/{pid}/environ").read_text().split("\0")
            found = os.stat(f"/proc/{pid}/root{node}").st_rdev
            assert (os.major(found), os.minor(found)) == (7, number)
            runtime.stop(key, timedelta(seconds=5))
        assert _definition(world, key) == before
    finally:
        runtime.close()


def _definition(world: ContainerdWorld, key: ContainerKey) -> Any:
    return json.loads(world.containerd.ctr("containers", "info", key.id, namespace=key.namespace))["Spec"]
