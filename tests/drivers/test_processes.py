"""From a process to the container that it runs in."""

from pathlib import Path

import pytest

from cmgr.drivers.processes import Holder, containers_of, in_words, process_of
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
    assert containers_of(cgroups) == ((container,) if container else ())


@pytest.mark.parametrize(
    ("cgroups", "chain"),
    [
        (f"0::/docker/{OTHER}/docker/{ID}\n", (OTHER, ID)),
        (f"0::/system.slice/docker-{OTHER}.scope/kubepods/burstable/pod12/{ID}\n", (OTHER, ID)),
        (f"0::/docker/{OTHER}/kubelet.slice/kubelet-kubepods.slice/cri-containerd-{ID}.scope\n", (OTHER, ID)),
        (f"0::/machine.slice/libpod-{OTHER}.scope/container/libpod-{ID}.scope\n", (OTHER, ID)),
        ("0::/lxc.payload.ai-1/system.slice/vllm.service\n", ("lxc:ai-1",)),
        (f"0::/lxc.payload.project_ai/system.slice/docker-{ID}.scope\n", ("lxc:project_ai", ID)),
        ("9:devices:/lxc/ai\n0::/\n", ("lxc:ai",)),
        ("0::/machine.slice/machine-ai.scope/payload/init.scope\n", ("machine:ai",)),
    ],
)
def test_of_containers_in_containers_all_are_read_and_of_other_instances_the_names(
    cgroups: str, chain: tuple[str, ...]
) -> None:
    assert containers_of(cgroups) == chain


def test_an_instance_is_told_by_its_whole_name() -> None:
    assert (
        in_words(Process(7, "python", container="lxc:training-01")) == "process 7 (python, container lxc:training-01)"
    )


def test_a_process_has_its_name_memory_and_container(tmp_path: Path) -> None:
    folder = tmp_path / "77"
    folder.mkdir()
    (folder / "comm").write_text("python3\n")
    (folder / "cgroup").write_text(f"0::/docker/{ID}\n")
    assert process_of(Holder(77, 4096), tmp_path) == Process(77, "python3", 4096, ID)


@pytest.mark.parametrize(
    ("cgroups", "owner"),
    [
        (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n", "kubelet"),
        (f"0::/kubepods/besteffort/pod12/{ID}\n", "kubelet"),
        (f"4:devices:/kubepods/burstable/pod12/{ID}\n0::/\n", "kubelet"),
        (f"0::/docker/{OTHER}/kubepods/pod12/{ID}\n", ""),
        (f"0::/docker/{ID}\n", ""),
        ("0::/user.slice/kubepods/x\n", ""),
    ],
)
def test_that_a_kubelet_has_begun_it_its_control_group_tells(cgroups: str, owner: str, tmp_path: Path) -> None:
    folder = tmp_path / "81"
    folder.mkdir()
    (folder / "cgroup").write_text(cgroups)
    assert process_of(Holder(81, 0), tmp_path).owner == owner


def test_a_process_that_is_gone_is_its_number_alone_and_told_as_that(tmp_path: Path) -> None:
    gone = process_of(Holder(78, 4096), tmp_path)
    assert gone == Process(78, "", 4096, gone=True)
    assert in_words(gone) == "process 78, which does not exist any more (the driver still lists it),"


def test_one_of_which_nothing_can_be_read_is_there(tmp_path: Path) -> None:
    (tmp_path / "79").mkdir()
    assert process_of(Holder(79, 0), tmp_path) == Process(79)


def test_one_in_containers_in_containers_has_its_own_and_those_around(tmp_path: Path) -> None:
    folder = tmp_path / "80"
    folder.mkdir()
    (folder / "cgroup").write_text(f"0::/docker/{OTHER}/docker/{ID}\n")
    process = process_of(Holder(80, 0), tmp_path)
    assert (process.container, process.around, process.containers) == (ID, (OTHER,), (OTHER, ID))
