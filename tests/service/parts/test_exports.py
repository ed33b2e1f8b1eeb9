"""Documents for other programs: on the socket, and as files that grow old when nobody renews them."""

import json
import threading
from pathlib import Path

import pytest

from cmgr.config.settings import Export
from cmgr.errors import NotThere
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.service.part import Step
from cmgr.service.parts import exports
from cmgr.service.parts.exports import MODE, Exports
from tests.drivers.dcmi.test_export import dead_links, example, machine, moment
from tests.support.waiting import eventually


class Box:
    """A service's node and clock, and its exports."""

    def __init__(self, directory: Path | str, node: Node) -> None:
        self.node, self.at = node, 1744182144000
        settings = Export(dir=str(directory), node="box")
        self.exports = Exports(settings, lambda: self.node, lambda: moment(self.at))


def test_files_have_the_bytes_of_the_socket_and_are_for_group_only(tmp_path: Path) -> None:
    box = Box(tmp_path / "export", example())
    box.exports.write()
    files = {path.name: path for path in (tmp_path / "export").iterdir()}
    assert set(files) == {"mindx-dl-deviceinfo-box.json", "cluster-info-device-0.json", "vcjob-fault-npu-cm.json"}
    assert files["mindx-dl-deviceinfo-box.json"].read_bytes() == box.exports.text("deviceinfo")
    assert {path.stat().st_mode & 0o777 for path in files.values()} == {MODE}


def test_a_file_is_renewed_when_something_is_decided_and_by_time(tmp_path: Path) -> None:
    box = Box(tmp_path, machine())
    path = tmp_path / "mindx-dl-deviceinfo-box.json"
    box.exports.start()
    eventually(path.exists)
    before, box.node = box.node, example()
    box.exports.observe(Step((), before, box.node, (), [Note(moment(box.at), NoteKind.FAULT, "a fault")]))
    eventually(lambda: "81078603" in path.read_text())
    box.exports.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "exports"]
    assert json.loads(path.read_text())["DeviceInfo"]["UpdateTime"] == box.at // 1000


def test_time_alone_renews_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "RENEWED", 0)
    box = Box(tmp_path, machine())
    box.exports.start()
    path = tmp_path / "mindx-dl-deviceinfo-box.json"
    eventually(path.exists)
    box.at += 5000
    eventually(lambda: json.loads(path.read_text())["DeviceInfo"]["UpdateTime"] == box.at // 1000)
    box.exports.close()


def test_the_file_of_a_document_that_is_no_more_goes(tmp_path: Path) -> None:
    box = Box(tmp_path, dead_links())
    (tmp_path / "mine.json").write_text("{}")
    box.exports.write()
    names = {"mindx-dl-switchinfo-box.json", "cluster-info-switch-0.json"}
    assert names < {path.name for path in tmp_path.iterdir()}
    box.node = machine()
    box.exports.write()
    left = {path.name for path in tmp_path.iterdir()}
    assert not names & left
    assert {"mindx-dl-deviceinfo-box.json", "mine.json"} < left


def test_a_reader_never_finds_half_a_file(tmp_path: Path) -> None:
    box = Box(tmp_path, machine())
    box.exports.write()
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            box.node = machine() if box.node.faults else example()
            box.exports.write()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(300):
        assert json.loads((tmp_path / "mindx-dl-deviceinfo-box.json").read_bytes())["CheckCode"]
    over.set()
    writer.join()


def test_a_directory_that_cannot_be_written_is_a_trouble_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "RENEWED", 0)
    (tmp_path / "export").write_text("in the way")
    box = Box(tmp_path / "export", machine())
    box.exports.start()
    eventually(lambda: box.exports.trouble.startswith("cannot write to"))
    (tmp_path / "export").unlink()
    eventually(lambda: not box.exports.trouble)
    box.exports.close()


@pytest.mark.parametrize(
    ("name", "node", "why"), [("deviceinfo", Node(), "of no make"), ("../x", machine(), "no such")]
)
def test_a_document_that_is_not_there_is_refused(name: str, node: Node, why: str) -> None:
    with pytest.raises(NotThere, match=why):
        Box("", node).exports.text(name)


def test_without_a_directory_nothing_is_kept() -> None:
    box = Box("", machine())
    box.exports.start()
    box.exports.close()
    assert box.exports.trouble == ""


def test_what_is_not_there_says_why_and_what_is() -> None:
    box = Box("", machine())
    with pytest.raises(NotThere, match="nobody looks at that part") as nobody:
        box.exports.text("nodeinfo")
    assert "deviceinfo" in nobody.value.hint
    assert "switchinfo" not in nobody.value.hint
    with pytest.raises(NotThere, match="no such document") as unknown:
        box.exports.text("podinfo")
    assert "events" in unknown.value.hint
    assert box.exports.events(()) == b"[]"
    assert b"DeviceInfoCfg:" in box.exports.text("deviceinfo", described=True)
    others = Box("", machine(model="NVIDIA H200"))
    with pytest.raises(NotThere, match="of no make that has it"):
        others.exports.events(())
    with pytest.raises(NotThere, match="of no make that has it"):
        others.exports.text("deviceinfo")
