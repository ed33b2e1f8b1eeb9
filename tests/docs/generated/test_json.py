"""docs/json.md says of every document what the real service, and the database in its stead, give."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.cli import main
from cmgr.service.door.client import order
from cmgr.vendor import vendors
from tests.docs.made.json_page import PAGE, SHAPES, documents, mistakes, page
from tests.support.service import LATER, Service
from tests.support.waiting import eventually

TABLE = next(vendor.tables for vendor in vendors() if vendor.tables) / "levels.json"

DOCUMENTS = documents(PAGE.read_text())


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service with something to say for every key: an episode, holds, isolations, a process, maintenance."""
    folder = Path(tempfile.mkdtemp(prefix="cmgr-json-"))
    made = Service(folder, {"levels.RestartRequest.reset_after": "600s"})
    made.pretend("one", "two")
    with made.config.open("a") as file:
        file.write('[[sim.processes]]\nchip = 5\npid = 4242\nname = "python3"\n')
    made.start()
    eventually(lambda: made.container("one"))
    made.inject(0, LATER)
    made.until_phase("waiting")
    made.inject(4, "80818C00")
    eventually(lambda: made.status()["chips"][4]["isolated"])
    order(made.socket, "isolate", chip=7, reason="its fan is loud")
    order(made.socket, "maintenance", on=True, seconds=3600)
    yield made
    made.close()
    shutil.rmtree(folder)


def words(command: str) -> list[str]:
    given = {"EPISODE": "1", "CODE": "80E24E00", "FILE": str(TABLE), "CHIP": "4", "NAME": "one"}
    return [given.get(word, word) for word in command.split()]


def test_the_tables_are_made_from_the_types_of_the_documents() -> None:
    assert DOCUMENTS.keys() == SHAPES.keys()
    assert PAGE.read_text() == page(), "run: make generated"


@pytest.mark.alone
@pytest.mark.parametrize("command", sorted(DOCUMENTS.keys() - {"version"}))
def test_what_the_service_says_is_what_the_page_says(service: Service, command: str) -> None:
    told = service.cmgr(*words(command), "-o", "json")
    assert list(mistakes(DOCUMENTS[command], json.loads(told.out))) == []


@pytest.mark.alone
@pytest.mark.parametrize("command", ["status", "chips", "faults", "show chip CHIP", "show container NAME"])
def test_what_the_database_says_is_what_the_page_says(service: Service, command: str, tmp_path: Path) -> None:
    copy = tmp_path / "state"
    shutil.copytree(service.database.parent, copy)
    told = service.cmgr(*words(command), "-o", "json", "--state-dir", str(copy), "--socket", str(tmp_path / "none"))
    assert list(mistakes(DOCUMENTS[command], json.loads(told.out))) == []


def test_what_the_version_says_is_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "-o", "json"]) == 0
    assert list(mistakes(DOCUMENTS["version"], json.loads(capsys.readouterr().out))) == []


@pytest.mark.alone
def test_every_list_of_the_picture_has_something_in_it(service: Service) -> None:
    told = service.status()
    assert all(told[name] for name in ("rings", "containers", "chips", "runtimes"))
    assert any(c["faults"] for c in told["chips"])
    assert any(c["processes"] for c in told["chips"])


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"version": "1"}, []),
        ({}, ["version is missing"]),
        ({"version": 1}, ["version is 1, not text"]),
        ({"version": "1", "more": 1}, ["more is not on the page"]),
        ([], ["the document is no object"]),
    ],
)
def test_a_document_that_is_otherwise_is_noticed(value: object, wrong: list[str]) -> None:
    assert list(mistakes(DOCUMENTS["version"], value)) == wrong
