"""The words of containerd about folders that another task's end left or took away, as it was captured."""

from pathlib import Path

import pytest

from cmgr.errors import ContainerError
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.containerd.record import Streams
from cmgr.runtimes.containerd.start import _left_over, _remove_bundle, _swept_away

WEB = ContainerKey("containerd", "a", "web")
TASKS = "/run/containerd/io.containerd.runtime.v2.task"
SWEPT = (
    "cannot start container web: failed to start shim: start failed: io.containerd.runc.v2: rename "
    f"{TASKS}/a/web/.address {TASKS}/a/web/address: no such file or directory: exit status 1"
)
FIFO = "/run/containerd/fifo/309966483/web-stdout"
SWEPT_FIFO = (
    "cannot start container web: failed to create shim task: failed to start io pipe copy: unable to copy pipes: "
    f'containerd-shim: opening file "{FIFO}" failed: open {FIFO}: no such file or directory: unknown'
)
SWEPT_SHIM = (
    "cannot start container web: failed to start shim: start failed: io.containerd.runc.v2: getwd: "
    "no such file or directory: exit status 1"
)
STREAMS = Streams(FIFO, "")
LEFT = f"cannot start container web: mkdir {TASKS}/a/web: file exists: unknown"


def test_a_folder_that_was_left_is_told_by_its_path() -> None:
    assert _left_over(LEFT, WEB) == Path(f"{TASKS}/a/web")
    assert _left_over(SWEPT, WEB) is None


def test_a_folder_or_a_fifo_that_was_swept_away_under_a_new_task_is_a_reason_to_try_again() -> None:
    assert _swept_away(SWEPT, WEB, Streams("", ""))
    assert _swept_away(SWEPT_FIFO, WEB, STREAMS)
    assert _swept_away(SWEPT_SHIM, WEB, STREAMS)
    assert not _swept_away(LEFT, WEB, STREAMS)


def test_another_container_s_folder_is_no_reason() -> None:
    for other in (WEB._replace(id="we"), WEB._replace(namespace="b"), WEB._replace(id=".*")):
        assert _left_over(LEFT, other) is None
        assert not _swept_away(SWEPT, other, STREAMS)
    assert not _swept_away("cannot start container web: exec: /bin/x: no such file or directory", WEB, STREAMS)
    assert not _swept_away(SWEPT_FIFO, WEB, Streams("/run/other", "binary:///x"))


def test_a_folder_that_was_left_is_removed_and_one_behind_a_link_never_is(tmp_path: Path) -> None:
    # A container's own command is quoted in the same answer, and its own files are the container's to arrange.
    home = tmp_path / "precious"
    left = home / "a" / "web"
    (left / "rootfs").mkdir(parents=True)
    (left / "config.json").touch()
    (tmp_path / "link").symlink_to(home)
    with pytest.raises(ContainerError, match="is reached through a link"):
        _remove_bundle(tmp_path / "link" / "a" / "web", "start container web")
    assert (left / "config.json").exists()
    _remove_bundle(left, "start container web")
    assert not left.exists()
