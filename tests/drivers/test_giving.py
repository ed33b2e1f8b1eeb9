"""How each make of chips is given to a container by CDI."""

from pathlib import Path

from cmgr.drivers.dcmi import giving as ascend
from cmgr.drivers.nvml import giving as nvidia
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.vendor import giving, notations, vendors

CHIPS = (Chip(ChipId(2), RingId(0), 2, serial="GPU-22"), Chip(ChipId(5), RingId(0), 6, serial="GPU-55"))


def test_the_names_are_those_that_containers_are_understood_to_ask_by() -> None:
    known = frozenset[str]().union(*(notation.cdi for notation in notations()))
    # Of a program's chips that is learned with its first description (tests/drivers/tool).
    described = [vendor.name for vendor in vendors() if vendor.tables is not None]
    assert {giving(name).kind.partition("/")[0] for name in described} <= known


def test_an_npu_keeps_its_number_and_comes_with_what_is_installed_of_its_driver(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci_manager").touch()
    (tmp_path / "usr/local/dcmi").mkdir(parents=True)
    edits = ascend.devices(CHIPS, tmp_path)
    assert [node["path"] for node in edits["deviceNodes"]] == [
        "/dev/davinci2",
        "/dev/davinci5",
        "/dev/davinci_manager",
    ]
    assert [(mount["hostPath"], mount["containerPath"]) for mount in edits["mounts"]] == [("/usr/local/dcmi",) * 2]
    assert ascend.variable(CHIPS) == "ASCEND_VISIBLE_DEVICES=2,5"


def test_an_npu_that_is_asked_for_by_another_number_than_its_id_is_given_by_that(tmp_path: Path) -> None:
    chips = [Chip(ChipId(5), RingId(5), 2, number=2), Chip(ChipId(6), RingId(6), 3, number=3)]
    paths = [node["path"] for node in ascend.devices(chips, tmp_path)["deviceNodes"]]
    assert paths == ["/dev/davinci2", "/dev/davinci3"]
    assert ascend.variable(chips) == "ASCEND_VISIBLE_DEVICES=2,3"


def test_a_gpu_is_named_by_its_uuid_and_comes_with_what_is_installed_of_its_driver(tmp_path: Path) -> None:
    for file in ("dev/nvidiactl", "usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/bin/nvidia-smi"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    edits = nvidia.devices(CHIPS, tmp_path)
    assert [node["path"] for node in edits["deviceNodes"]] == ["/dev/nvidia2", "/dev/nvidia6", "/dev/nvidiactl"]
    libraries = [mount["hostPath"] for mount in edits["mounts"]]
    assert libraries == ["/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/bin/nvidia-smi"]
    assert nvidia.variable(CHIPS) == "NVIDIA_VISIBLE_DEVICES=GPU-22,GPU-55"
