"""Every file that the service ever makes has its mode from the first instant, and its place where it belongs."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.security.fuzz import SECTION
from tests.support.figures import Figures
from tests.support.programs import program
from tests.support.service import NOW, Service
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.alone

SOURCE = Path(__file__).with_name("births.c")


@dataclass(frozen=True, slots=True)
class Birth:
    """The file that was made, its mode at that moment, and the mode of the folder that it was made in."""

    what: str
    mode: int
    folder: int
    path: str


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("births") / "births.so"
    how = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run([program("gcc"), *how, "-o", str(target), str(SOURCE), "-ldl"], check=True, timeout=PATIENCE)
    return target


@pytest.fixture
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-births-"))
    # The state's and the socket's folders are the service's to make, as where systemd does not.
    places = {"state_dir": str(folder / "var" / "lib" / "cmgr"), "log.file": str(folder / "log.d" / "cmgr.log")}
    made = Service(folder, places)
    made.database = folder / "var" / "lib" / "cmgr" / "cmgr.db"
    made.pretend("one")
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Nothing that the service asks for is taken away by the umask that it was started with."""
    before = os.umask(0)
    yield
    os.umask(before)


def births(log: Path) -> list[Birth]:
    rows = [line.split(" ", 3) for line in log.read_text().splitlines()]
    return [Birth(what, int(mode, 8), int(folder, 8), path) for what, mode, folder, path in rows]


def live(service: Service, environment: dict[str, str]) -> None:
    """Lead a whole life: start, an episode, a reload, an end; then another with a damaged database."""
    service.start(environment)
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    service.terminate()
    service.database.write_bytes(b"no database at all" * 1000)
    service.start(environment)
    service.terminate()


@pytest.mark.usefixtures("no_umask")
def test_nothing_is_ever_open_to_others(service: Service, preloaded: Path, figures: Figures) -> None:
    log = service.folder / "births"
    log.touch(mode=0o600)
    # Python itself would write compiled modules beside its sources.
    environment = {"LD_PRELOAD": str(preloaded), "BIRTHS": str(log), "PYTHONDONTWRITEBYTECODE": "1"}
    live(service, environment)
    found = births(log)
    names = {Path(birth.path).name for birth in found}
    # SQLite makes its own, and at the moment in which they are needed.
    assert {"cmgr.db", "cmgr.db.lock", "cmgr.db-wal", "cmgr.db-shm", "world.containers", "cmgr.sock"} <= names
    assert any(name.startswith("cmgr.db.damaged-") for name in names)
    assert "socket" in {birth.what for birth in found}
    for birth in found:
        widest = {"folder": 0o750, "socket": 0o777, "renamed": 0o660}.get(birth.what, 0o640)
        assert birth.mode & ~widest == 0, birth
        if birth.what == "socket":
            assert birth.folder == 0o700, birth
        assert Path(birth.path).is_relative_to(service.folder), f"made outside of its folders: {birth}"
    figures.add(SECTION, "files looked at in the moment of their making", len(found))


@pytest.mark.usefixtures("no_umask")
def test_what_is_left_is_open_to_nobody_but_owner_and_group(service: Service) -> None:
    live(service, {})
    ours = [service.folder / "var", service.folder / "world", service.folder / "world.containers"]
    left = [path for top in ours for path in (top, *top.rglob("*"))]
    assert len(left) > 6
    for path in left:
        widest = 0o750 if path.is_dir() else 0o640
        assert stat.S_IMODE(path.stat().st_mode) & ~widest == 0, path
