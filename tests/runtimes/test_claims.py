"""Which chips a definition asks for, in every spelling, and what cannot be read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.chips import BY_ID, UNCLEAR
from cmgr.runtimes import claims
from cmgr.runtimes.claims import Claims, Request

ASCEND = "ASCEND_VISIBLE_DEVICES"
NVIDIA = "NVIDIA_VISIBLE_DEVICES"
UUID = "GPU-8f6d1e2a-0b3c-4d5e-9f00-112233445566"


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        ("0,1", "0 1"),
        ("0-3", "0 1 2 3"),
        ("0-2,4", "0 1 2 4"),
        (" 0 , 2 - 3 ", "0 2 3"),
        ("Ascend910-0,Ascend910-1", "0 1"),
        ("Ascend310P-7", "7"),
        ("ascend910b-12", "12"),
        ("npu-0", "0"),
        ("npu-0,npu-2", "0 2"),
        ("NPU-11", "11"),
        ("Ascend910-2c-100-0", "0:100"),
        ("Ascend910-16c-180-3", "3:180"),
        ("Ascend310P-4c.3cpu-100-1", "1:100"),
        ("Ascend310P-4c.4cpu.dvpp-107-7,2", "2 7:107"),
        ("Ascend310P-4c.3cpu.ndvpp-101-5", "5:101"),
        ("Ascend910-10c.3cpu.16g.dvpp-116-6", "6:116"),
        ("Ascend910-vir04-102-4", "4:102"),
        ("007", "7"),
        ("5-5", "5"),
        ("1,1,1-2", "1 2"),
        ("0,,1,", "0 1"),
        ("all", "all"),
        ("ALL", "all"),
        ("all,3", "all 3"),
        (UUID, UUID),
        (f"{UUID},2", f"{UUID} 2"),
        ("2:1", "2:1"),
        (f"MIG-{UUID}/1/0", UUID),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("", ""),
        ("  ", ""),
        ("none", ""),
        ("void", ""),
    ],
)
@pytest.mark.parametrize("name", [ASCEND, NVIDIA])
def test_a_list_of_chips_is_read_in_every_spelling(name: str, text: str, chips: str) -> None:
    assert claims.from_environment([f"{name}={text}"]) == Claims(frozenset(chips.split()))


@pytest.mark.parametrize(
    "item",
    [
        "x",
        "-1",
        "5-3",
        "0-99999999",
        "0-9999",
        "99999",
        "1.0",
        "0x1",
        "1_0",
        "٣",
        "Ascend910-",
        "npu0",
        "npu-",
        "npu-0-1",
        "Ascend910-2c-100",
        "Ascend910-2c-100-0-1",
        "davinci0",
        "none",
        "1 2",
    ],
)
def test_an_item_that_cannot_be_read_is_a_warning_and_hides_no_other(item: str) -> None:
    read = claims.from_environment([f"{ASCEND}=3,{item},5"])
    assert read == Claims(frozenset({"3", "5", UNCLEAR}), (f"cannot read {item!r} in {ASCEND}",))


def test_numbers_are_those_of_parts_where_an_option_says_so() -> None:
    lines = [f"{ASCEND}=100,Ascend310P-2c-117-1,104-105,Ascend910-101", "ASCEND_RUNTIME_OPTIONS=NODRV,VIRTUAL"]
    parts = {"/dev/vdavinci100", "/dev/vdavinci101", "/dev/vdavinci104", "/dev/vdavinci105", "1:117"}
    assert claims.from_environment(lines) == Claims(frozenset(parts))
    numbers = {"100", "101", "104", "105", "1:117"}
    assert claims.from_environment([lines[0], "ASCEND_RUNTIME_OPTIONS=NODRV"]) == Claims(frozenset(numbers))
    assert claims.from_environment(lines[1:]) == Claims()


def test_a_part_that_is_made_at_the_start_is_of_the_chip_that_is_named() -> None:
    assert claims.from_environment([f"{ASCEND}=2", "ASCEND_VNPU_SPECS=vir04"]) == Claims(frozenset("2"))


def test_only_the_exact_name_counts() -> None:
    lines = [f"X{ASCEND}=0", f"{ASCEND}X=1", f"{ASCEND.lower()}=2", f"NOTE={ASCEND}=3", ASCEND]
    assert claims.from_environment(lines) == Claims()


def test_the_last_assignment_wins() -> None:
    assert claims.from_environment([f"{ASCEND}=0", "A=b", f"{ASCEND}=1"]).chips == {"1"}
    assert claims.from_environment([f"{ASCEND}=0", f"{ASCEND}="]) == Claims()
    assert claims.from_environment([f"{ASCEND}=0", ASCEND]) == Claims()


def test_a_request_for_nvidia_chips_outdoes_that_variable_and_no_other() -> None:
    lines = [f"{NVIDIA}=all", f"{ASCEND}=1"]
    gpu = Request(ids=("0",), capabilities=(frozenset({"gpu"}),))
    assert claims.from_environment(lines, [gpu]).chips == {"1"}
    assert claims.from_environment(lines, [Request(driver="cdi", ids=("other.com/x=0",))]).chips == {"all", "1"}


@pytest.mark.parametrize(
    ("programs", "counts"),
    [
        (None, True),
        ([], False),
        (["runc"], False),
        (["io.containerd.runc.v2", "/usr/bin/crun"], False),
        (["/opt/nvidia/bin/runc"], False),
        (["nvidia"], True),
        (["nvidia-cdi"], True),
        (["runc", "/usr/bin/nvidia-container-runtime"], True),
        (["/usr/bin/nvidia-container-runtime.legacy"], True),
        (["/usr/bin/nvidia-container-runtime-hook"], True),
    ],
)
def test_nvidias_variable_counts_where_one_of_its_programs_makes_the_container(
    programs: list[str] | None, counts: bool
) -> None:
    read = claims.from_environment([f"{NVIDIA}=all", f"{ASCEND}=1"], programs=programs)
    assert read.chips == ({"all", "1"} if counts else {"1"})


@pytest.mark.parametrize(
    ("path", "chips"),
    [
        ("/dev/davinci3", "3"),
        ("/dev/nvidia0", "/dev/nvidia0"),
        ("//dev//davinci12", "12"),
        ("/dev/../dev/davinci1", "1"),
        ("/dev/davinci_manager", ""),
        ("/dev/davinci", ""),
        ("/dev/davinci0x", ""),
        ("/dev/nvidiactl", ""),
        ("/dev/nvidia-uvm", ""),
        ("/dev/hisi_hdc", ""),
        ("/dev/fuse", ""),
        ("/dev/infiniband/uverbs0", ""),
        ("/data/davinci0", ""),
        ("/dev/vdavinci100", "/dev/vdavinci100"),
        ("/dev//vdavinci007", "/dev/vdavinci7"),
        ("/dev/vdavinci", ""),
    ],
)
def test_a_device_is_a_chip_by_its_path_on_the_host(path: str, chips: str) -> None:
    assert claims.from_devices([path]) == Claims(frozenset(chips.split()))


@pytest.mark.parametrize("path", ["/dev", "/dev/"])
def test_a_device_that_reaches_chips_untold_is_a_warning(path: str) -> None:
    read = claims.from_devices([path, "/dev/davinci1"])
    assert read.chips == {"1", UNCLEAR}
    assert len(read.warnings) == 1


def test_an_absurd_device_request_is_a_warning() -> None:
    read = claims.from_requests([Request(driver="nvidia", count=10**9), Request(driver="nvidia", ids=("x",))])
    assert read.chips == {UNCLEAR}
    assert len(read.warnings) == 2


MOUNTS = """\
22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
611 590 0:6 /nvidiactl /dev/nvidiactl ro,nosuid,noexec master:2 - devtmpfs udev rw,size=4k
612 590 0:6 /nvidia3 /dev/nvidia3 ro,nosuid,noexec master:2 - devtmpfs udev rw,size=4k
613 590 0:6 /nvidia-uvm /dev/nvidia-uvm ro,nosuid,noexec master:2 - devtmpfs udev rw,size=4k
odd
"""


def test_device_files_that_are_mounted_in_a_running_container_are_its_chips(tmp_path: Path) -> None:
    assert claims.from_mountinfo(MOUNTS) == {"/dev/nvidia3"}
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "mountinfo").write_text(MOUNTS)
    assert claims.mounted_in(7, tmp_path) == {"/dev/nvidia3"}
    assert claims.mounted_in(8, tmp_path) == claims.mounted_in(0, tmp_path) == frozenset()


@pytest.mark.parametrize("name", ["huawei.com/npu=x", "huawei.com/npu", "nvidia.com/gpu="])
def test_a_cdi_name_that_cannot_be_read_is_a_warning(name: str) -> None:
    read = claims.from_cdi([name, "huawei.com/npu=1"], "here")
    assert read == Claims(frozenset({"1", UNCLEAR}), (f"cannot read {name!r} in here",))


def test_names_within_names_are_no_burden() -> None:
    name = "nvidia.com/gpu=" * 5000
    assert (
        claims.from_environment([f"{NVIDIA}={name}0"]).chips == claims.from_cdi([f"{name}0"], "here").chips == {UNCLEAR}
    )


def test_device_numbers_are_chips_where_the_major_is_a_chip_driver() -> None:
    read = claims.from_numbers([(236, 3), (10, 0), (195, 255), (195, 1)], {236: BY_ID, 195: "/dev/nvidia"})
    assert read == Claims(frozenset({f"{BY_ID}3", "/dev/nvidia1"}))


def test_a_rule_for_every_minor_reaches_chips_and_asks_for_none() -> None:
    read = claims.from_numbers([(236, -1), (10, -1), (-1, -1)], {236: BY_ID})
    assert read.chips == {UNCLEAR}
    assert len(read.warnings) == 2


def test_majors_are_read_from_the_table_of_character_devices() -> None:
    table = "Character devices:\n  1 mem\n 61 devdrv-cdev\n195 nvidia\n236 davinci_x\n\nBlock devices:\n  7 nvidia\n"
    assert claims.chip_majors(table) == {61: BY_ID, 195: "/dev/nvidia"}
    assert claims.chip_majors("") == {}


def test_a_flood_of_nonsense_stays_small() -> None:
    read = claims.from_list("X", ",".join(f"bad{n}" + "y" * 1000 for n in range(5000)))
    assert read.chips == {UNCLEAR}
    assert len(read.warnings) == 9
    assert max(map(len, read.warnings)) < 100


def test_joined_parts_say_each_thing_once() -> None:
    parts = [Claims(frozenset({"1"}), ("a",)), Claims(frozenset({"2"}), ("a", "b")), Claims()]
    assert claims.joined(parts) == Claims(frozenset({"1", "2"}), ("a", "b"))
    assert claims.joined([]) == Claims()


PIECE = st.sampled_from(
    ["0", "9" * 30, "-", ",", " ", "all", "none", "Ascend910-", "GPU-", "MIG-", ":", "=", "\n", "é", "٣"]
)
TEXT = st.one_of(st.text(max_size=60), st.lists(PIECE, max_size=12).map("".join))


@given(TEXT)
def test_no_text_makes_reading_fail_or_swell(text: str) -> None:
    for read in (
        claims.from_environment([text, f"{ASCEND}={text}", f"{NVIDIA}={text}"]),
        claims.from_devices([text, f"/dev/davinci{text}"]),
        claims.from_cdi([text, f"huawei.com/npu={text}"], "here"),
        claims.from_requests([Request(driver="nvidia", ids=(text,))]),
        claims.from_annotations({"cdi.k8s.io/" + text: text}),
    ):
        assert len(read.chips) <= 10_000
        assert all(claim.isascii() for claim in read.chips)
    assert claims.chip_majors(text) is not None
