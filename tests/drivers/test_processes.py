"""From a process to the container that it runs in."""

from pathlib import Path

import pytest

from cmgr.drivers.processes import Holder, container_of, process_of
from cmgr.model.values.chips import Process

ID = "3f9d0a4b7c51e2886d0e5f11a9c44b7d6e8f00112233445566778899aabbccdd"
OTHER = "00" * 32


@pytest.mark.parametrize(
    ("cgroups", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", ID),
        (f"0::/docker/{ID}\n", ID),
        (f"0::/docker/{ID}/init\n", ID),
        (f"12:devices:/docker/{ID}\n11:memory:/docker/{ID}\n", ID),
        (f"1:name=systemd:/\n2:cpu,cpuacct:/system.slice/docker-{ID}.scope\n", ID),
        (f"0::/default/{ID}\n", ID),
        (f"0::/system.slice/nerdctl-{ID}.scope\n", ID),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n", ID),
        (f"0::/kubepods/burstable/pod12/{ID}\n", ID),
        (f"0::/docker/{OTHER}/docker/{ID}\n", ID),
        (f"0::/../../docker/{ID}\n", ID),
        ("0::/default/web-1\n", "web-1"),
        ("5:devices:/default/web-1\n0::/\n", "web-1"),
        ("0::/system.slice/ssh.service\n", ""),
        ("0::/user.slice/user-0.slice/session-1.scope\n", ""),
        ("0::/init.scope\n", ""),
        ("0::/\n", ""),
        (f"0::/docker/{ID[:-1]}\n", ""),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_the_container_is_read_from_the_control_group(cgroups: str, container: str) -> None:
    assert container_of(cgroups) == container


def test_a_process_has_its_name_memory_and_container(tmp_path: Path) -> None:
    folder = tmp_path / "77"
    folder.mkdir()
    (folder / "comm").write_text("python3\n")
    (folder / "cgroup").write_text(f"0::/docker/{ID}\n")
    assert process_of(Holder(77, 4096), tmp_path) == Process(77, "python3", 4096, ID)


def test_a_process_that_is_gone_is_its_number_alone(tmp_path: Path) -> None:
    assert process_of(Holder(78, 4096), tmp_path) == Process(78, "", 4096)
