"""`cmgr bundle`: what is in it with and without a service, what is not, and that it overwrites nothing."""

import json
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cmgr.service.extras.bundle_parts import Part
from cmgr.service.extras.bundles import write
from tests.cli.conftest import Home, Outcome


def made(home: Home, *more: str) -> Outcome:
    return home.here("bundle", str(home.folder / "out.tar.gz"), *more)


def inside(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = ((member.name, archive.extractfile(member)) for member in archive.getmembers())
        return {name: file.read() for name, file in found if file is not None}


def read(home: Home) -> dict[str, Any]:
    texts = inside(home.folder / "out.tar.gz")
    assert {name.partition("/")[0] for name in texts} == {"out"}
    return {name.partition("/")[2]: json.loads(text) for name, text in texts.items() if name.endswith(".json")}


FILES = {
    "about.json",
    "chips.json",
    "check.json",
    "configuration.json",
    "faults-history.json",
    "faults.json",
    "history.json",
    "status.json",
    "timelines.json",
    "downtime.json",
}


def test_with_a_service_it_has_what_that_says_and_the_history(service: Home, database: Home) -> None:
    told = made(service)
    assert told.code == 0
    assert told.out.startswith(f"{service.folder}/out.tar.gz: 10 files, ")
    assert "look through it before you give it away" in told.err
    found = read(service)
    assert set(found) == FILES
    assert found["status.json"]["origin"] == "from the service"
    assert found["status.json"]["rings"]
    assert found["chips.json"]["chips"]
    assert found["about.json"]["packages"]["SQLAlchemy"]
    episodes = [episode["number"] for episode in found["history.json"]["episodes"]]
    assert episodes
    assert set(found["timelines.json"]) == {str(number) for number in episodes}
    assert {"what", "state", "text", "hint"} == set(found["check.json"][0])


def test_without_a_service_it_has_what_the_database_says(database: Home) -> None:
    assert made(database).code == 0
    found = read(database)
    assert set(found) == FILES
    assert found["status.json"]["origin"].startswith("from the database")
    assert found["status.json"]["rings"]


def test_what_the_chips_maker_asks_for_is_gathered(database: Home) -> None:
    database.config.write_text(database.config.read_text().replace('driver = "sim"', 'driver = "dcmi"'))
    assert made(database).code == 0
    texts = inside(database.folder / "out.tar.gz")
    assert "out/maker/dcmi/dmesg/output.txt" in texts, "the one program of them that every machine has"
    assert not [name for name in texts if "msnpureport" in name]


def test_without_anything_it_says_in_each_file_why(home: Home) -> None:
    assert made(home).code == 0
    found = read(home)
    assert set(found) == FILES
    for name in ("status.json", "history.json", "timelines.json", "faults-history.json", "downtime.json"):
        assert found[name]["error"].startswith("cannot "), name
    assert found["configuration.json"]["driver"] == "sim"


def test_a_wrong_configuration_is_told_and_keeps_nothing_else_from_being_gathered(home: Home) -> None:
    home.configure("nonsense = 1")
    assert made(home).code == 0
    found = read(home)
    assert "nonsense" in found["configuration.json"]["mistakes"][0]
    assert found["about.json"]["cmgr"]


def test_the_newest_saved_bundles_are_in_it(database: Home) -> None:
    folder = database.database.parent / "bundles"
    folder.mkdir()
    for episode in range(1, 8):
        write(folder / f"episode-{episode:06}-reset-1.tar.gz", [Part("about.json", f"{episode}\n")])
    assert made(database).code == 0
    names = sorted(name for name in inside(database.folder / "out.tar.gz") if "bundles/" in name)
    assert names == [f"out/bundles/episode-{n:06}-reset-1.tar.gz" for n in range(3, 8)]


def test_secrets_of_the_configuration_are_not_in_it(home: Home) -> None:
    token = home.folder / "token"
    token.write_text("very-secret")
    token.chmod(0o600)
    url = "https://alarms.example/T0/hidden-path?key=hidden-query"
    home.configure(f'[[alarms.receivers]]\nurl = "{url}"\ntoken_file = "{token}"')
    assert made(home).code == 0
    everything = b"".join(inside(home.folder / "out.tar.gz").values())
    assert b"hidden" not in everything
    assert b"very-secret" not in everything
    told = read(home)["configuration.json"]
    assert told["alarms"]["receivers"][0]["url"] == "https://alarms.example"
    assert "library" in told["dcmi"]


MISTAKEN = (
    'fleet.password_file = "%"',
    'fleet.endpoints = ["https://me:%@etcd:2379"]',
    '[[alarms.receivers]]\nurl = "https://me:%@h/x"',
    '[[alarms.receivers]]\nurl = "ftp://hooks.example/services/%"',
    '[[alarms.receivers]]\nurl = "https://h/x"\ntoken_file = "%"',
    '[[alarms.receivers]]\nurl = "https://h/x"\npassword = "%"',
    '[[alarms.receivers]]\nurl = "https://h/x"\nformat = {"token" = "%"}',
    'metrics.listen = "http://me:%@h:9477"',
    'hooks.dir = "password=%"',
)


@pytest.mark.parametrize("line", MISTAKEN)
def test_a_mistake_in_the_configuration_is_told_without_the_secret_in_it(home: Home, line: str) -> None:
    home.configure(line.replace("%", "hunter2xyz"))
    told = home.here("check")
    assert "hunter2" not in told.out + told.err
    assert told.code != 0
    assert home.here("bundle", str(home.folder / "out.tar.gz")).code == 0
    assert b"hunter2" not in b"".join(inside(home.folder / "out.tar.gz").values())


def test_a_place_that_cannot_be_looked_at_is_no_bug(home: Home) -> None:
    out = home.folder / ("x" * 300)
    told = home.cmgr("bundle", str(out), "--config", str(home.config))
    assert (told.code, told.err) == (1, f"cmgr: cannot write {out}: File name too long\n")


def test_it_overwrites_nothing_unless_told_to(home: Home) -> None:
    out = home.folder / "out.tar.gz"
    out.write_text("precious")
    told = made(home)
    assert told.code == 1
    assert told.err == f"cmgr: cannot write {out}: it is there already\nhint: name another, or add --force\n"
    assert out.read_text() == "precious"
    assert made(home, "--force").code == 0
    assert "about.json" in read(home)
    assert [path.name for path in home.folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("where", ["", "nowhere/out.tar.gz"])
def test_a_place_that_cannot_be_written_is_told(home: Home, where: str) -> None:
    told = home.here("bundle", str(home.folder / where))
    assert told.code == 1
    assert told.err.startswith(f"cmgr: cannot write {home.folder / where}: ")


def test_only_its_owner_can_read_it(home: Home) -> None:
    made(home)
    assert stat.S_IMODE((home.folder / "out.tar.gz").stat().st_mode) == 0o600
