"""A database and its log that were damaged or cut at any place: what opens is what was saved, or is set aside.

CMGR_CRASH_EVERY=1 tries each place; without it a third of them.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.model.values.node import Node
from cmgr.store import files, open_store
from tests.crash.matrix import STRIDE
from tests.sick.wellbeing import survived, until_told
from tests.store import values
from tests.store.conftest import service_on
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.support.waiting import PATIENCE
from tests.system.conftest import Install

pytestmark = pytest.mark.alone

SECTION = "Sick host"

PAGE = 4096
FRAME = PAGE + 24
"""A page in the log, with its head."""

SAVED = values.node(values.hold(), values.fault())

Hurt = Callable[[Path], None]


def zeroed(start: int, length: int) -> Hurt:
    return _written(start, b"\0" * length)


def scribbled(start: int, length: int, seed: int) -> Hurt:
    return _written(start, random.Random(seed).randbytes(length))  # noqa: S311  # Nothing secret is made of it.


def _written(start: int, data: bytes) -> Hurt:
    def hurt(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(start)
            file.write(data)

    return hurt


def cut(length: int) -> Hurt:
    return lambda path: os.truncate(path, length)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as a service that ended left it."""
    path = tmp_path_factory.mktemp("whole") / files.NAME
    with closing(open_store(path)) as store:
        store.save(SAVED, [], [values.note(f"line {i}") for i in range(400)])
    return path


def copy(whole: Path, to: Path) -> Path:
    to.mkdir()
    for each in whole.parent.glob(f"{files.NAME}*"):
        if not each.name.endswith((".lock", "-shm")):
            shutil.copy(each, to / each.name)
    return to / files.NAME


def opened(path: Path) -> tuple[Node, str]:
    """Return what the store says is there and what was damaged, and see that it can be written."""
    with closing(open_store(path)) as store:
        node = store.load()
        store.examine()
        store.save(Node(), [], [])
        damage = store.damage
        store.save(SAVED, [], [values.note("after")])
    with closing(open_store(path)) as again:
        assert (again.load(), again.damage) == (SAVED, "")
    return node, damage


def _hurts_of_a_database(size: int) -> Iterator[Hurt]:
    for page in range(size // PAGE):
        yield zeroed(page * PAGE, PAGE)
        yield scribbled(page * PAGE, PAGE, page)
        yield scribbled(page * PAGE, 16, page)
        yield cut(page * PAGE)
        yield cut(page * PAGE + 700)


def test_a_database_that_is_damaged_or_cut_in_any_page_opens_as_it_was_or_is_set_aside(
    whole: Path, tmp_path: Path, figures: Figures
) -> None:
    hurts = [*enumerate(_hurts_of_a_database(whole.stat().st_size))][::STRIDE]
    aside = 0
    for number, hurt in hurts:
        path = copy(whole, tmp_path / str(number))
        hurt(path)
        node, damage = opened(path)
        # An empty file is one that was not begun.
        assert damage or node == SAVED or (node == Node() and number == 3)
        assert bool(damage) == bool(list(path.parent.glob("*damaged*")))
        aside += bool(damage)
    assert aside > len(hurts) // 2
    figures.add(SECTION, "damages of a database and its log survived", len(hurts))


def of_history_only(whole: Path, folder: Path) -> Iterator[Path]:
    """Yield copies that are damaged in one page each, of no table but the history, and open all the same."""
    for page in range(whole.stat().st_size // PAGE):
        path = copy(whole, folder / str(page))
        zeroed(page * PAGE, PAGE)(path)
        try:
            files.examine(path, but=(files.HISTORY,))
        except files.Damaged:
            continue
        with suppress(files.Damaged):
            files.examine(path)
            continue
        with closing(open_store(path)) as store:
            opens = not store.damage  # The newest line is read at the start.
        if opens:
            yield path


def test_a_history_that_is_damaged_is_found_behind_the_start(whole: Path, tmp_path: Path, figures: Figures) -> None:
    damaged = list(of_history_only(whole, tmp_path))
    assert damaged
    for path in damaged:
        with closing(open_store(path)) as store:
            assert store.load() == SAVED
            assert "cannot use" in store.examine()
            store.save(replace(SAVED, serial=SAVED.serial + 1), [], [values.note("after")])
            assert "was written again" in store.damage
            assert not store.examine()
        with closing(open_store(path)) as again:
            assert again.load().holds == SAVED.holds
    figures.add(SECTION, "damages of a database and its log survived", len(damaged))


def test_a_service_on_a_damaged_history_says_so_and_holds_what_it_held(
    install: Install, tmp_path: Path, figures: Figures
) -> None:
    service = _with_a_hold(install)
    service.kill9()
    with closing(sqlite3.connect(service.database, isolation_level=None)) as stranger:
        for _ in range(6):
            columns = "at, kind, episode, outcome, text"
            stranger.execute(f"INSERT INTO notes ({columns}) SELECT {columns} FROM notes")
        stranger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = tmp_path / "pages"
    pages.mkdir()
    damaged = next(of_history_only(service.database, pages))
    shutil.copy(damaged, service.database)
    service.start()
    until_told(service, "was damaged, is kept as", "was written again", "degraded")
    service.inject(0, LATER, "cleared")
    _starts_what_it_held(service)
    service.terminate()
    survived(figures, SECTION)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as a service that was killed left it: all that was saved is in the log yet."""
    path = tmp_path_factory.mktemp("logged") / "state" / files.NAME
    with service_on(path) as (process, _):
        process.kill()
        process.wait(timeout=PATIENCE)
    assert path.with_name(f"{files.NAME}-wal").stat().st_size > 10 * FRAME
    return path


def _hurts_of_a_log(size: int) -> Iterator[Hurt]:
    yield cut(0)
    yield scribbled(0, 32, 1)
    for frame in range((size - 32) // FRAME):
        start = 32 + frame * FRAME
        yield cut(start)
        yield cut(start + 24 + 100)
        yield zeroed(start, FRAME)
        yield scribbled(start, 24, frame)
        yield scribbled(start + 24 + 50, 1, frame)


def test_a_log_that_is_damaged_or_cut_anywhere_opens_as_an_earlier_commit(
    logged: Path, tmp_path: Path, figures: Figures
) -> None:
    """Each frame of the log has a checksum: what comes after the first wrong one never happened."""
    log = logged.with_name(f"{files.NAME}-wal")
    hurts = list(_hurts_of_a_log(log.stat().st_size))[::STRIDE]
    with closing(open_store(copy(logged, tmp_path / "as it was"))) as store:
        last = store.load()
    found = set()
    for number, hurt in enumerate(hurts):
        path = copy(logged, tmp_path / str(number))
        hurt(path.with_name(log.name))
        node, damage = opened(path)
        found.add((node == last, node == Node(), bool(damage)))
        assert not damage
        assert node in (last, Node()), "nothing in between was ever saved"
    assert (False, True, False) in found
    figures.add(SECTION, "damages of a database and its log survived", len(hurts))


def _with_a_hold(install: Install) -> Service:
    service = install({"levels.RestartRequest.reset_after": "10m", "resync": "1s"})
    service.pretend("one")
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    return service


def _starts_what_it_held(service: Service) -> None:
    service.until_over()
    found = service.container("one")
    assert found is not None
    assert found["status"] == "running"


@pytest.mark.parametrize("after", [1.0, 0.9])
def test_a_service_goes_on_from_what_a_cut_log_still_tells(install: Install, after: float, figures: Figures) -> None:
    service = _with_a_hold(install)
    service.kill9()
    log = service.database.with_name(f"{files.NAME}-wal")
    os.truncate(log, int(log.stat().st_size * after))
    service.start()
    service.until_phase("waiting")
    service.inject(0, LATER, "cleared")
    service.until_said("is over: cleared")
    _starts_what_it_held(service)
    service.terminate()
    survived(figures, SECTION)


def test_a_database_that_is_damaged_under_a_running_service_is_written_anew_and_nothing_held_is_lost(
    install: Install, figures: Figures
) -> None:
    service = _with_a_hold(install)
    with closing(sqlite3.connect(service.database, isolation_level=None)) as stranger:
        stranger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = service.database.stat().st_size
    scribbled(PAGE, size - PAGE, 1)(service.database)
    service.inject(4, LATER)
    until_told(service, "was damaged, is kept as", "was written again", "degraded")
    service.until_said("was written again")
    service.kill9()
    service.start()
    for chip in (0, 4):
        service.inject(chip, LATER, "cleared")
    _starts_what_it_held(service)
    assert service.status()["service"]["state"] == "degraded", "the damage is told until somebody has seen to it"
    assert service.cmgr("acknowledge", "--all").code == 0
    assert service.status()["service"]["state"] == "ready"
    service.terminate()
    survived(figures, SECTION)
