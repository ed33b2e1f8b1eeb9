"""The words for those whom cmgr's files are closed to: mostly people who are not in its group yet."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.cli import source
from tests.cli.conftest import Home

Closed = Callable[[Path], None]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Closed:
    """Have the opening of a file refused. Root, as whom the tests may run, is refused none."""

    def close(path: Path) -> None:
        opened = os.open

        def refuse(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if str(name) == str(path):
                raise PermissionError(errno.EACCES, "Permission denied", name)
            return opened(name, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", refuse)
        monkeypatch.setattr(os, "access", lambda name, _: str(name) != str(path))

    return close


@pytest.fixture
def usual(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Its paths are those of an installation: nobody has to name them."""
    monkeypatch.setattr(source, "DEFAULT_CONFIG", str(home.config))
    monkeypatch.setattr(source, "DEFAULT_SOCKET", str(home.socket))
    return home


@pytest.mark.usefixtures("service")
def test_who_may_not_read_the_configuration_may_still_ask_the_service(usual: Home, closed: Closed) -> None:
    closed(usual.config)
    told = usual.cmgr("status")
    assert (told.code, told.out.partition(":")[0]) == (0, "not well")


def test_who_may_not_read_the_configuration_is_told_so_where_no_socket_is(usual: Home, closed: Closed) -> None:
    closed(usual.config)
    told = usual.cmgr("status")
    assert told.code == 1
    assert f"cannot read {usual.config}: permission denied" in told.err
    assert "hint: use sudo, or join the group that may read it" in told.err


@pytest.mark.usefixtures("service")
def test_a_configuration_that_was_named_is_not_passed_over(
    usual: Home, closed: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMGR_CONFIG", str(usual.config))
    closed(usual.config)
    assert f"cannot read {usual.config}" in usual.cmgr("status").err


@pytest.mark.usefixtures("database")
def test_a_database_that_may_not_be_read_is_told_as_that(home: Home, closed: Closed) -> None:
    closed(home.database)
    told = home.here("history")
    assert told.code == 1
    assert f"cannot read {home.database}: permission denied\nhint: use sudo, or join the group" in told.err
    assert f"cannot read {home.database}: permission denied" in " ".join(home.here("check").out.split())


def test_a_database_that_cannot_be_made_says_what_this_user_can_do(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, *_, **__: str(path) != str(home.folder))
    said = " ".join(home.here("check").out.split())
    assert ("hint: run cmgr as root" in said) is (os.geteuid() != 0)
    assert ("writable, or name another directory in state_dir" in said) is (os.geteuid() == 0)
