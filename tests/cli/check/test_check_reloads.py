"""`cmgr check` on what a reload of systemd would take away, on pretended device files and processes."""

from pathlib import Path
from typing import Any

import pytest

from cmgr.cli.check.reloads import reloads

ID = "5ca1ab1e" * 8


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """Device files of chips, which have the numbers of /dev/null (1:3) and /dev/zero (1:5)."""
    made = tmp_path / "dev"
    (made / "char").mkdir(parents=True)
    for name, same in {"nvidia0": "null", "davinci1": "zero", "nvidiactl": "full", "sda": "full"}.items():
        (made / name).symlink_to(f"/dev/{same}")
    return made


def link(dev: Path, number: str, name: str) -> None:
    (dev / "char" / number).symlink_to(f"../{name}")


def proc(tmp_path: Path, group: str) -> Path:
    process = tmp_path / "proc/7"
    process.mkdir(parents=True)
    (process / "cgroup").write_text(group)
    (tmp_path / "proc/self").mkdir()
    return tmp_path / "proc"


def row(called: str, id_: str = ID, chips: tuple[int, ...] = (0,)) -> Any:
    """Return what is read of a container's row."""
    return {"called": called, "id": id_, "chips": chips}


ROWS = [row("llm"), row("idle", chips=()), row("down", "0" * 64)]


@pytest.mark.parametrize(
    "group",
    [
        f"0::/system.slice/docker-{ID}.scope\n",
        f"12:devices:/machine.slice/libpod-{ID}.scope/container\n0::/\n",
        f"0::/system.slice/nerdctl-{ID}.scope\n",
        f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n",
    ],
)
def test_who_may_lose_its_chips_is_told_with_the_link_that_is_missing(tmp_path: Path, dev: Path, group: str) -> None:
    link(dev, "1:5", "davinci1")
    (finding,) = reloads(ROWS, dev, proc(tmp_path, group))
    assert finding.text == "llm: a reload of systemd may take their chips, for there is no /dev/char/1:3"
    assert "ln -s ../nvidia0 /dev/char/1:3" in finding.hint


@pytest.mark.parametrize("group", [f"0::/docker/{ID}\n", f"9:devices:/default/{ID}\n", "0::/system.slice/cron.service"])
def test_whose_control_group_is_none_of_systemds_loses_nothing(tmp_path: Path, dev: Path, group: str) -> None:
    assert list(reloads(ROWS, dev, proc(tmp_path, group))) == []


def test_chips_whose_devices_all_have_links_are_lost_to_nobody(tmp_path: Path, dev: Path) -> None:
    link(dev, "1:3", "nvidia0")
    link(dev, "1:5", "davinci1")
    assert list(reloads(ROWS, dev, proc(tmp_path, f"0::/system.slice/docker-{ID}.scope\n"))) == []


def test_this_machine_can_be_looked_at() -> None:
    assert list(reloads([])) == []
