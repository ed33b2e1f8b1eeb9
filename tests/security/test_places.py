"""Files that tell cmgr what to do and the folders that lead to them: refused where others could have put them there."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cmgr import trust
from cmgr.config.load import load
from cmgr.config.settings import Config, Faults
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.dcmi.library.load import WANTED
from cmgr.drivers.libraries import Where, find
from cmgr.errors import CmgrError, ConfigError, DriverMissing, StoreError
from cmgr.store import open_store
from tests.running import reaper
from tests.security.fuzz import SECTION
from tests.support.door import door
from tests.support.figures import Figures

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
EVE = 4242


@pytest.fixture
def safe() -> Iterator[Path]:
    """A folder below safe ones; /tmp may be written by all."""
    folder = reaper.outside("/var" if os.geteuid() == 0 else Path.home(), "cmgr-places-")
    yield folder / "etc"
    shutil.rmtree(folder)


def config(folder: Path) -> None:
    load(str(put(folder, "cmgr.toml", "observe = true\n")), environ={})


def faults(folder: Path) -> None:
    load_catalog(Config(faults=Faults(file=str(put(folder, "f.json", '{"RestartNPUCodes": ["A1"]}')))))


def rules(folder: Path) -> None:
    load_catalog(Config(faults=Faults(rules=str(put(folder, "r.json", '{"FaultFrequency": []}')))))


def script(folder: Path) -> None:
    path = put(folder, "s.toml", "script = []\n")
    load(None, environ={}, overrides={"driver": "sim", "sim.script_file": str(path)})


def database(folder: Path) -> None:
    open_store(folder / "cmgr.db").close()


def socket(folder: Path) -> None:
    running = door(folder / "cmgr.sock", lambda _: {})
    running.start()
    with closing(running):
        pass


def library(folder: Path) -> None:
    find(Where(WANTED, str(put(folder, "libdcmi.so", "")), environ={}, cache=""))


USES: tuple[Callable[[Path], None], ...] = (config, faults, rules, script, database, socket, library)


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o640)
    return path


def refused(use: Callable[[Path], None], folder: Path) -> CmgrError:
    with pytest.raises((ConfigError, StoreError, DriverMissing)) as caught:
        use(folder)
    assert str(folder.parent) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("use", USES)
def test_a_folder_that_only_root_writes_is_fine(use: Callable[[Path], None], safe: Path) -> None:
    (safe / "cmgr").mkdir(parents=True)
    use(safe / "cmgr")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o757, 0o772])
@pytest.mark.parametrize("use", USES)
def test_a_folder_that_others_write_is_refused_wherever_it_stands_on_the_way(
    use: Callable[[Path], None], safe: Path, mode: int, figures: Figures
) -> None:
    (safe / "cmgr").mkdir(parents=True)
    for folder in (safe, safe / "cmgr"):
        folder.chmod(mode)
        assert "others can write" in str(refused(use, safe / "cmgr"))
        folder.chmod(0o755)
        figures.add(SECTION, "files in unsafe directories refused")
    use(safe / "cmgr")


@pytest.mark.parametrize("use", [use for use in USES if use is not library])
def test_the_hint_mends_it(use: Callable[[Path], None], safe: Path) -> None:
    (safe / "cmgr").mkdir(parents=True)
    for mode in (0o777, 0o775):
        (safe / "cmgr").chmod(mode)
        subprocess.run(["sh", "-c", refused(use, safe / "cmgr").hint], check=True)
        use(safe / "cmgr")
        assert stat.S_IMODE((safe / "cmgr").stat().st_mode) == {0o777: 0o1777, 0o775: 0o755}[mode]


def test_code_is_not_loaded_from_a_sticky_folder_either(safe: Path) -> None:
    safe.mkdir()
    safe.chmod(0o1777)
    told = refused(library, safe)
    assert "others can write" in str(told)
    assert "put it where root alone can write, " in told.hint


@ROOT_ONLY
@pytest.mark.parametrize("use", USES)
def test_a_folder_of_another_user_is_refused(use: Callable[[Path], None], safe: Path) -> None:
    (safe / "cmgr").mkdir(parents=True)
    for folder in (safe, safe / "cmgr"):
        os.chown(folder, EVE, EVE)
        told = refused(use, safe / "cmgr")
        assert str(EVE) in str(told)
        subprocess.run(["sh", "-c", told.hint], check=True)
    use(safe / "cmgr")


@ROOT_ONLY
@pytest.mark.parametrize("use", [use for use in USES if use is not library])
def test_a_link_of_another_user_on_the_way_is_refused_and_one_of_roots_is_followed(
    use: Callable[[Path], None], safe: Path
) -> None:
    (safe / "real" / "cmgr").mkdir(parents=True)
    safe.chmod(0o1777)
    (safe / "link").symlink_to("real")
    use(safe / "link" / "cmgr")
    os.chown(safe / "link", EVE, EVE, follow_symlinks=False)
    assert f"the link {safe / 'link'} belongs to user {EVE}" in str(refused(use, safe / "link" / "cmgr"))


def test_every_folder_that_a_chain_of_links_passes_counts(safe: Path) -> None:
    for folder in ("a", "b", "c"):
        (safe / folder).mkdir(parents=True)
    (safe / "a" / "one").symlink_to(safe / "b" / "two")
    (safe / "b" / "two").symlink_to("../b/../c")
    path = put(safe / "c", "x", "")
    assert trust.weakness(safe / "a" / "one" / "x") is None
    for folder in ("a", "b", "c"):
        (safe / folder).chmod(0o777)
        found = trust.weakness(safe / "a" / "one" / "x")
        assert found is not None
        assert f"{safe / folder} " in found.reason
        (safe / folder).chmod(0o755)
    assert path.exists()


def test_links_without_end_are_an_error_and_no_endless_walk(safe: Path) -> None:
    safe.mkdir()
    (safe / "round").symlink_to("round")
    with pytest.raises(OSError, match="too many links"):
        trust.weakness(safe / "round" / "x")
    with pytest.raises(ConfigError, match="cannot use"):
        load(str(safe / "round" / "x"), environ={})


def test_the_working_directory_counts_for_a_relative_path(safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    safe.mkdir()
    monkeypatch.chdir(safe)
    put(safe, "cmgr.toml", "observe = true\n")
    assert load("cmgr.toml", environ={}).observe
    safe.chmod(0o777)
    with pytest.raises(ConfigError, match="others can write"):
        load("cmgr.toml", environ={})


@ROOT_ONLY
@pytest.mark.parametrize("name", ["cmgr.db", "cmgr.db.lock"])
def test_a_database_that_another_user_owns_is_refused_and_not_changed(safe: Path, name: str) -> None:
    safe.mkdir()
    open_store(safe / "cmgr.db").close()
    os.chown(safe / name, EVE, EVE)
    before = (safe / name).read_bytes()
    with pytest.raises(StoreError, match=f"belongs to user {EVE}") as caught:
        open_store(safe / "cmgr.db")
    assert caught.value.hint == f"chown root {safe / name}"
    assert (safe / name).read_bytes() == before


@pytest.mark.parametrize("use", [config, faults, rules, script])
def test_a_link_a_pipe_and_a_folder_in_place_of_a_file_are_refused_at_once(
    use: Callable[[Path], None], safe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe.mkdir()
    target = put(safe, "elsewhere", "")
    for make in (lambda p: p.symlink_to(target), os.mkfifo, Path.mkdir):

        def odd(folder: Path, name: str, _text: str, make: Callable[[Path], object] = make) -> Path:
            make(folder / name)
            return folder / name

        monkeypatch.setitem(globals(), "put", odd)
        with pytest.raises(ConfigError, match="cannot use"):
            use(safe)
        for path in safe.iterdir():
            if path != target:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
