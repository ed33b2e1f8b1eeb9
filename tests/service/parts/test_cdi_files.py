"""CDI files: their text, and that the directory has them, whatever others do there."""

import json
from pathlib import Path
from typing import Any

import pytest

from cmgr.errors import CmgrError, chain
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.services.cdi import EVERY_CHIP, Device, Spec
from cmgr.service.parts.cdi_files import LONGEST_REFUSAL, CdiFiles, by_variable, document
from cmgr.vendor import Giving, giving, vendors
from tests.service.parts.cdi import is_valid

SIM = giving("sim")
ASCEND = giving("dcmi")


def chip(number: int) -> Chip:
    return Chip(ChipId(number), RingId(0), number, serial=f"GPU-{number}")


EVERY = Spec(EVERY_CHIP, (Device("0", (chip(0),)), Device("1", (chip(1),), "chip 1 is isolated: it smells")))
CHAT = Spec("slot-chat", (Device("chat", (chip(4), chip(5)), full=3),))
CODE = Spec("slot-code", (Device("code", (chip(6),), full=1),))


@pytest.fixture
def files(tmp_path: Path) -> CdiFiles:
    return CdiFiles(tmp_path / "cdi", SIM, "auto")


def names(files: CdiFiles) -> list[str]:
    return sorted(path.name for path in files.path("x").parent.iterdir())


def read(files: CdiFiles, name: str) -> dict[str, Any]:
    return dict(json.loads(files.path(name).read_text()))


@pytest.mark.parametrize("maker", [*(vendor.name for vendor in vendors()), "sim"])
@pytest.mark.parametrize("variable", [True, False])
def test_every_file_is_a_valid_specification(maker: str, variable: bool) -> None:
    for spec in (EVERY, CHAT):
        is_valid(document(spec, giving(maker), by_variable=variable and bool(giving(maker).runtimes)))


def test_a_chip_that_is_not_to_be_used_is_refused_with_the_reason() -> None:
    told = document(EVERY, ASCEND, by_variable=False)
    assert told["kind"] == "huawei.com/npu"
    assert told["devices"][1]["containerEdits"] == {"deviceNodes": [{"path": "/chip 1 is isolated: it smells"}]}


def test_a_chip_without_a_device_file_is_refused_and_makes_no_other_void() -> None:
    told = document(EVERY, giving("tool"), by_variable=False)
    is_valid(told)
    first = told["devices"][0]
    assert first["containerEdits"] == {"deviceNodes": [{"path": f"/no device file of chip {first['name']} is known"}]}


def test_a_reason_is_one_short_printable_path() -> None:
    long = Spec("slot-x", (Device("x", (), "a/b\n\x1b[31m" + "c" * 999),))
    (device,) = document(long, SIM, by_variable=False)["devices"]
    path = device["containerEdits"]["deviceNodes"][0]["path"]
    assert path.startswith("/a|b[31mccc")
    assert len(path) == LONGEST_REFUSAL + 1


def test_a_slot_says_its_name_and_chips_whichever_way_they_are_given() -> None:
    for variable, more in ((True, ["ASCEND_VISIBLE_DEVICES=4,5"]), (False, [])):
        (device,) = document(CHAT, ASCEND, by_variable=variable)["devices"]
        counts = ["CMGR_CHIP_COUNT=2", "CMGR_CHIP_COUNT_FULL=3"]
        assert device["containerEdits"]["env"] == [*more, "CMGR_SLOT=chat", "CMGR_CHIPS=4,5", *counts]
    assert [node["path"] for node in device["containerEdits"]["deviceNodes"]][:2] == ["/dev/davinci4", "/dev/davinci5"]


def test_slots_are_given_by_the_variable_where_the_makers_runtime_is_installed() -> None:
    here, nowhere = (Giving("a.b/c", ASCEND.devices, runtimes=(name,)) for name in ("sh", "no!"))
    assert [by_variable("auto", each) for each in (here, nowhere, SIM)] == [True, False, False]
    assert [by_variable("variable", each) for each in (here, nowhere, SIM)] == [True, True, False]
    assert not by_variable("devices", here)


def test_the_directory_has_just_the_files_that_were_ordered(files: CdiFiles) -> None:
    assert files.write((EVERY, CHAT)) == ()
    assert names(files) == ["cmgr-chips.json", "cmgr-slot-chat.json"]
    assert files.path("chips").stat().st_mode & 0o777 == 0o644, "runtimes of other users read it, too"
    assert files.write((CODE,)) == ()
    assert names(files) == ["cmgr-slot-code.json"]
    assert files.write(()) == ()
    assert names(files) == []


def test_nothing_is_touched_that_is_as_it_ought_to_be(files: CdiFiles) -> None:
    files.write((CHAT,))
    before = files.path("slot-chat").stat()
    assert files.write((CHAT,)) == ()
    after = files.path("slot-chat").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_nothing_is_made_where_nothing_is_to_be_written(files: CdiFiles) -> None:
    assert files.write(()) == ()
    assert not files.path("x").parent.exists()


def test_what_others_do_to_the_files_is_put_right_and_told(files: CdiFiles) -> None:
    files.write((CHAT, CODE))
    files.path("slot-chat").unlink()
    files.path("slot-code").write_text("{")
    files.path("slot-old").write_text("{}")
    told = files.write((CHAT, CODE))
    assert [text.partition(" ")[2] for text in told] == [
        "was gone: it is written again",
        "had been changed: it is written again",
        "is none of the files that cmgr writes: it is removed",
    ]
    assert names(files) == ["cmgr-slot-chat.json", "cmgr-slot-code.json"]
    assert [read(files, f"slot-{name}")["devices"][0]["name"] for name in ("chat", "code")] == ["chat", "code"]


def test_a_double_of_a_slots_file_is_set_aside(files: CdiFiles) -> None:
    files.write((CHAT,))
    double = files.path("x").with_name("backup.json")
    double.write_text(files.path("slot-chat").read_text())
    files.path("x").with_name("other.json").write_text('{"cdiVersion": "0.5.0", "kind": "a.b/c", "devices": []}')
    (told,) = files.write((CHAT,))
    assert told == f"{double} names slots of cmgr, too, so that no runtime knew them: it is set aside"
    assert names(files) == ["backup.json.set-aside", "cmgr-slot-chat.json", "other.json"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("npu.json", '{"cdiVersion": "0.5.0", "kind": "cmgr.io/chip"}'),
        ("npu.yaml", 'cdiVersion: 0.5.0\nkind: "cmgr.io/chip"\n'),
        ("npu.yaml", "---\nkind: cmgr.io/chip\n"),
    ],
)
def test_a_file_of_the_chips_makers_own_tool_is_left_and_told(files: CdiFiles, name: str, text: str) -> None:
    files.write((CHAT,))
    theirs = files.path("x").with_name(name)
    theirs.write_text(text)
    with pytest.raises(CmgrError, match=r"gives devices of cmgr.io/chip, too: no runtime would know any"):
        files.write((CHAT, EVERY))
    assert names(files) == ["cmgr-slot-chat.json", name]


def test_what_a_killed_writer_left_is_cleared_away(files: CdiFiles) -> None:
    files.write((CHAT,))
    files.path("x").with_name("cmgr-slot-chat.json.77.new").write_text("{")
    assert files.write((CHAT,)) == ()
    assert names(files) == ["cmgr-slot-chat.json"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "cdi").write_text("no folder")
    with pytest.raises(CmgrError) as error:
        CdiFiles(tmp_path / "cdi", SIM, "auto").write((CHAT,))
    assert chain(error.value).startswith(f"cannot write {tmp_path / 'cdi'}: ")
    assert error.value.hint == f"look at {tmp_path / 'cdi'}, or set cdi.dir"
