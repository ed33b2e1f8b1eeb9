import errno
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from cmgr import trust
from cmgr.errors import ConfigError, chain

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cmgr.toml"
    path.write_text("observe = true\n")
    path.chmod(0o640)
    return path


def refusal(path: Path | str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        trust.read(str(path))
    return caught.value


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_file_that_keeps_the_rule_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert trust.read(str(file)) == "observe = true\n"


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o641, 0o740, 0o666, 0o4640])
def test_a_wider_mode_is_refused_with_the_command_that_mends_it(file: Path, mode: int) -> None:
    file.chmod(mode)
    error = refusal(file)
    assert error.message == f"cannot use {file}: its mode {mode:04o} is wider than 0640"
    subprocess.run(["sh", "-c", error.hint], check=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert trust.read(str(file)) == "observe = true\n"


@root_only
def test_a_file_of_another_user_is_refused_with_the_command_that_mends_it(file: Path) -> None:
    os.chown(file, 12345, 12345)
    error = refusal(file)
    assert "user 12345 owns it" in error.message
    assert error.hint == f"chown root {file}"


@root_only
def test_owner_and_mode_are_told_together(file: Path) -> None:
    os.chown(file, 12345, 12345)
    file.chmod(0o666)
    error = refusal(file)
    assert "user 12345" in error.message
    assert "0666" in error.message
    assert error.hint == f"chown root {file} && chmod 0640 {file}"


def test_the_command_that_mends_quotes_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a b; rm -rf x"
    path.touch(mode=0o640)
    path.chmod(0o644)
    assert refusal(path).hint == f"chmod 0640 '{path}'"


def test_a_symbolic_link_is_refused_with_the_command_that_mends_it(file: Path) -> None:
    link = file.parent / "link.toml"
    link.symlink_to(file)
    error = refusal(link)
    assert error.message == f"cannot use {link}: it is a symbolic link"
    subprocess.run(["sh", "-c", error.hint], check=True)
    assert trust.read(str(link)) == "observe = true\n"


def test_a_dangling_link_is_refused_as_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "nothing")
    assert "symbolic link" in refusal(link).message


def test_a_link_that_takes_the_files_place_after_the_first_look_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = file.parent / "link.toml"
    link.symlink_to(file)
    look = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: look(file if path == str(link) else path))
    assert "symbolic link" in refusal(link).message


def test_a_wider_file_that_takes_the_files_place_after_the_first_look_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = file.parent / "other.toml"
    other.write_text("observe = false\n")
    other.chmod(0o666)
    look = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: look(file if path == str(other) else path))
    assert "wider" in refusal(other).message


def test_a_directory_a_pipe_and_a_socket_are_refused(tmp_path: Path) -> None:
    assert "not a regular file" in refusal(tmp_path).message
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe").message
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        assert "not a regular file" in refusal(tmp_path / "s").message


def test_a_pipe_that_takes_the_files_place_does_not_block(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = file.parent / "pipe"
    os.mkfifo(pipe)
    look = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: look(file if path == str(pipe) else path))
    assert "not a regular file" in refusal(pipe).message


def test_a_file_that_is_too_large_is_refused(file: Path) -> None:
    file.write_bytes(b"#" * trust.MAX_SIZE)
    assert len(trust.read(str(file))) == trust.MAX_SIZE
    file.write_bytes(b"#" * (trust.MAX_SIZE + 1))
    assert "larger than 1048576 bytes" in refusal(file).message


def test_a_file_that_is_not_utf8_is_refused_with_its_line(file: Path) -> None:
    file.write_bytes(b"observe = true\n# caf\xe9\n")
    assert refusal(file).message == f"cannot read {file}: line 2 is not UTF-8"


def test_a_byte_order_mark_is_no_part_of_the_text(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfobserve = true\n")
    assert trust.read(str(file)) == "observe = true\n"


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    assert trust.read_if_there(str(missing)) is None
    assert refusal(missing).message == f"cannot read {missing}: there is no such file"


def test_a_path_below_a_file_is_missing(file: Path) -> None:
    assert trust.read_if_there(f"{file}/deeper") is None


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    assert refusal(f"{tmp_path}/{name}").message.startswith("cannot read ")


def test_a_file_without_permission_is_refused_with_a_hint(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, _: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    # Root, as whom the tests may run, is refused no file.
    monkeypatch.setattr(os, "open", refuse)
    error = refusal(file)
    assert chain(error) == f"cannot read {file}: permission denied"
    assert error.hint == f"use sudo, or join the group that may read it: ls -l {file}"
