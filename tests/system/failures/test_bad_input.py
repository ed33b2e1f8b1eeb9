"""Bad input gets a clear error, and nothing is lost by it. The containers are pretended ones."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from signal import SIGHUP
from typing import Any

import pytest

from cmgr.model.values.node import Node
from cmgr.store.reader import open_reader
from tests.support.service import LATER, NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install


@pytest.fixture
def waiting(install: Install) -> Service:
    """A service that holds a container and waits for its reset to be due."""
    service = install({"levels.RestartRequest.reset_after": "10m"})
    service.pretend("one")
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    return service


def holds_still(service: Service) -> None:
    """Check that the episode goes on as if nothing had happened, and can end."""
    shown = service.container("one")
    assert shown is not None
    assert shown["status"] == "paused"
    assert service.ring()["phase"] == "waiting"
    service.inject(0, LATER, "cleared")
    service.until_said("is over: cleared")
    service.until_over()
    shown = service.container("one")
    assert shown is not None
    assert shown["status"] == "running"


def stored(service: Service) -> Node:
    with open_reader(service.database) as reader:
        return reader.node()


def test_a_configuration_with_three_mistakes_lists_three(install: Install) -> None:
    service = install({"strategy": "sometimes", "reset.attempts": 0, "sim.chip": 8})
    told = service.refused()
    assert told.code == 1
    first, *mistakes = told.err.splitlines()
    assert first.startswith("cmgr: cannot use")
    assert len(mistakes) == 3
    for key, line in zip(("reset.attempts", "sim.chip", "strategy"), sorted(m.strip() for m in mistakes), strict=True):
        assert line.startswith(key), mistakes
    assert not service.database.exists()


def test_a_configuration_that_is_not_there_or_too_open_is_refused(install: Install) -> None:
    service = install({})
    service.config.chmod(0o666)
    told = service.refused()
    assert (told.code, "chmod" in told.err) == (1, True)
    service.config.unlink()
    told = service.refused()
    assert (told.code, "no such file" in told.err) == (1, True)
    assert not service.database.exists()


def holding(text: str, mode: int = 0o640) -> Callable[[Path], None]:
    """Return what makes a file that holds this text."""

    def make(path: Path) -> None:
        path.write_text(text)
        path.chmod(mode)

    return make


BAD_TABLES: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "is not there": (lambda path: None, "no such file"),
    "is a folder": (lambda path: path.mkdir(), "not a regular file"),
    "is open to all": (holding('{"RestartNPUCodes": ["80E24E00"]}', 0o666), "chmod"),
    "is no JSON": (holding("{"), "line 1"),
    "has an unknown key": (holding('{"RestartNPUCode": ["80E24E00"]}'), "RestartNPUCode"),
    "has a bad code": (holding('{"RestartNPUCodes": ["80E2ZZ00"]}'), "80E2ZZ00"),
    "is empty": (holding(""), "empty"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_service_does_not_start_with_a_bad_fault_file_and_loses_nothing(waiting: Service, name: str) -> None:
    make, word = BAD_TABLES[name]
    waiting.kill9()
    before = stored(waiting)
    file = waiting.folder / "faults.json"
    make(file)
    waiting.configure({"faults.file": str(file)})
    told = waiting.refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot ")
    assert str(file) in told.err
    assert word in told.err
    assert "Traceback" not in told.err
    assert stored(waiting) == before
    waiting.configure({"faults.file": ""})
    waiting.start()
    holds_still(waiting)


def test_no_container_runtime_at_all_is_refused_with_what_to_do(install: Install) -> None:
    service = install({"runtimes": ["auto"], "docker.socket": "/nowhere/docker.sock"})
    told = service.refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot find a container runtime: ")
    assert "/nowhere/docker.sock" in told.err
    assert 'runtimes = ["docker"]' in told.err


def test_a_named_docker_that_is_not_there_is_waited_for_and_told(install: Install) -> None:
    service = install({"runtimes": ["docker"], "docker.socket": "/nowhere/docker.sock"})
    service.start()
    eventually(lambda: service.status()["service"]["state"] == "degraded")
    (trouble,) = service.status()["service"]["troubles"]
    assert trouble.startswith("cannot reach docker: nothing answers at /nowhere/docker.sock")
    service.inject(0)
    service.until_reason("cannot ask docker", "/nowhere/docker.sock")
    assert service.resets() == (), "who uses the ring is not known"
    service.terminate()


@pytest.mark.parametrize("words", [("inject", "99", NOW), ("release", "99")])
def test_an_order_for_a_chip_that_does_not_exist_is_refused(waiting: Service, words: tuple[str, ...]) -> None:
    told = waiting.cmgr(*words)
    assert told.code == 1
    assert "there is no chip 99" in told.err
    assert "hint: this machine has chips 0-7" in told.err
    holds_still(waiting)


def test_a_second_service_on_the_same_state_is_refused_with_the_first_ones_pid(waiting: Service) -> None:
    first = waiting.pid
    waiting.configure({"socket": str(waiting.folder / "other.sock")})
    told = waiting.refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot use ")
    assert f"pid {first} " in told.err
    assert not (waiting.folder / "other.sock").exists()
    holds_still(waiting)


def test_a_second_service_on_the_same_socket_is_refused_with_the_first_ones_pid(waiting: Service) -> None:
    first = waiting.pid
    waiting.configure({"state_dir": str(waiting.folder / "other")})
    told = waiting.refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot listen on ")
    assert f"pid {first}" in told.err
    assert not (waiting.folder / "other").exists()
    holds_still(waiting)


def test_a_second_service_just_like_the_first_is_refused_with_the_first_ones_pid(waiting: Service) -> None:
    told = waiting.refused()
    assert told.code == 1
    assert f"pid {waiting.pid}" in told.err
    holds_still(waiting)


def test_the_second_service_can_start_as_soon_as_the_first_was_killed(waiting: Service) -> None:
    waiting.kill9()
    assert waiting.socket.exists()
    waiting.start()
    holds_still(waiting)


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(waiting: Service) -> None:
    waiting.terminate()
    with closing(sqlite3.connect(waiting.database)) as connection:
        connection.execute("UPDATE meta SET level = 99, version = '9.9.9'")
        connection.commit()
    before = waiting.database.read_bytes()
    told = waiting.refused()
    assert told.code == 1
    assert "written by cmgr 9.9.9 (level 99)" in told.err
    assert "hint: install cmgr 9.9.9 or newer" in told.err
    assert waiting.database.read_bytes() == before
    assert list(waiting.database.parent.glob("*damaged*")) == []


DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "its head is gone": lambda data: b"\0" * 4096 + data[4096:],
    "it is no database": lambda data: b"nothing of that kind\n" * 400,
    "it was cut": lambda data: data[: len(data) // 2],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_database_is_set_aside_and_the_service_starts_from_the_truth(waiting: Service, name: str) -> None:
    waiting.terminate()
    damaged = DAMAGES[name](waiting.database.read_bytes())
    waiting.database.write_bytes(damaged)
    waiting.start()
    (aside,) = waiting.database.parent.glob("*damaged*")
    assert aside.read_bytes() == damaged
    status = waiting.status()
    assert status["service"]["state"] == "degraded"
    assert aside.name in status["service"]["troubles"][0]
    assert aside.name in waiting.said()
    # The fault is still there, and what the driver says opens an episode again.
    assert "what was held is known from held.json beside it: one" in waiting.said()
    waiting.until_phase("waiting")
    assert waiting.cmgr("status", "--check").code == 4
    holds_still(waiting)


def _of_damage(service: Service) -> list[Any]:
    # The container that was held may be told, too: nobody knows any more who stopped it.
    return [trouble for trouble in service.status()["troubles"] if trouble["kind"] == "damage"]


def test_a_damaged_database_is_told_across_restarts_until_a_person_acknowledges_it(waiting: Service) -> None:
    waiting.terminate()
    waiting.database.write_bytes(b"no database")
    waiting.start()
    waiting.inject(0, LATER, "cleared")
    waiting.until_over()
    waiting.terminate()
    waiting.start()
    (trouble,) = _of_damage(waiting)
    assert (trouble["id"], trouble["severity"], trouble["stays"]) == ("damage-database", "critical", True)
    assert waiting.cmgr("status", "--check").code == 4
    assert "cmgr acknowledge damage-database" in waiting.cmgr("status").out
    assert waiting.cmgr("acknowledge", "damage-else").code == 1
    assert waiting.cmgr("acknowledge", trouble["id"]).out == "damage-database: acknowledged\n"
    assert _of_damage(waiting) == []
    assert "has acknowledged: the database was damaged" in " ".join(waiting.cmgr("history", "--all").out.split())
    assert waiting.cmgr("acknowledge", "--all").code == 1
    waiting.terminate()
    waiting.start()
    assert _of_damage(waiting) == []


def test_a_state_directory_that_cannot_be_made_is_refused(install: Install, folder: Path) -> None:
    (folder / "file").write_text("")
    told = install({"state_dir": str(folder / "file" / "state")}).refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot ")
    assert "Traceback" not in told.err


RELOADED: dict[str, Setting] = {"strategy": "singleRecover", "levels.RestartRequest.reset_after": "20m"}


def test_sighup_takes_a_good_configuration_and_keeps_the_last_good_one(waiting: Service) -> None:
    waiting.configure(RELOADED)
    waiting.tell(SIGHUP)
    waiting.until_said("the configuration was read again")
    eventually(lambda: waiting.status()["service"]["strategy"] == "singleRecover")
    waiting.until_reason("20 min")
    waiting.configure({"strategy": "sometimes", "reset.attempts": 0})
    waiting.tell(SIGHUP)
    waiting.until_said("the configuration stays as it was")
    for mistake in ("strategy", "reset.attempts"):
        assert mistake in waiting.said().splitlines()[-1]
    assert waiting.status()["service"]["strategy"] == "singleRecover"
    table = waiting.folder / "faults.json"
    holding('{"NotHandleFaultCodes": ["80C98008"]')(table)
    waiting.configure({**RELOADED, "reset.attempts": 3, "faults.file": str(table)})
    waiting.tell(SIGHUP)
    waiting.until_said("the configuration stays as it was", times=2)
    rules = waiting.folder / "rules.json"
    holding('{"FaultFrequency": [{"EventId": ["80C98008"], "Times": 0}]}')(rules)
    waiting.configure({**RELOADED, "reset.attempts": 3, "faults.file": "", "faults.rules": str(rules)})
    waiting.tell(SIGHUP)
    waiting.until_said("the configuration stays as it was", times=3)
    assert "FaultFrequency[1].Times = 0: must be a whole number" in waiting.said().splitlines()[-1]
    holds_still(waiting)


def test_sighup_judges_active_faults_by_the_new_table(waiting: Service) -> None:
    table = waiting.folder / "faults.json"
    holding('{"NotHandleFaultCodes": ["80C98008"]}')(table)
    waiting.configure({"faults.file": str(table)})
    waiting.tell(SIGHUP)
    waiting.until_said("is over: cleared")
    waiting.until_over()
    shown = waiting.container("one")
    assert shown is not None
    assert shown["status"] == "running"
    assert waiting.resets() == ()
