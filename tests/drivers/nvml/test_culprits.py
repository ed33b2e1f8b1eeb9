"""Whose program an Xid came of: the process of its line, in whichever container or unit that is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from tests.drivers.contract import Told
from tests.drivers.nvml.host import process
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeGpu, Standin

Open = Callable[..., NvmlDriver]

OWN, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def line(gpu: FakeGpu, xid: int, words: str, part: str = "") -> str:
    # gpu/rc/kernel_rc.c of the maker's modules, 515 to 595.
    return f"NVRM: Xid (PCI:{gpu.address.removesuffix('.0')}{part}): {xid}, {words}Ch 00000008"


def names(fact: FaultReported) -> list[str] | None:
    return None if fact.whose is None else sorted(fact.whose)


def whose(told: Told, xid: int = 31) -> list[str] | None:
    return names(told.has(ChipId(0), Assertion.ONCE, f"Xid {xid}"))


@pytest.mark.parametrize(
    ("cgroup", "owner"),
    [
        (f"0::/system.slice/docker-{OWN}.scope", [OWN]),
        (f"12:devices:/docker/{OWN}\n1:name=systemd:/docker/{OWN}", [OWN]),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{OWN}.scope (deleted)", [OWN]),
        # A container that makes control groups of its own calls them as it likes.
        (f"0::/system.slice/docker-{OWN}.scope/docker-{OTHER}.scope", [OWN]),
        ("0::/system.slice/llm.service", ["llm.service"]),
        (f"0::/user.slice/user-1000.slice/docker-{OTHER}.scope", []),
        ("0::/init.scope", []),
    ],
)
def test_an_xid_of_a_program_is_its_containers_or_its_units_alone(
    machine: Standin, opened: Open, tmp_path: Path, cgroup: str, owner: list[str]
) -> None:
    process(tmp_path, 77, "python", cgroup)
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    machine.log(line(machine.gpus[0], 31, "pid=77, name=python, "))
    assert whose(told) == owner


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 94, 109])
def test_an_event_waits_for_the_line_that_names_the_process(
    machine: Standin, opened: Open, tmp_path: Path, xid: int
) -> None:
    process(tmp_path, 77, "python", f"0::/docker/{OWN}")
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    machine.xid(0, xid)
    machine.log(line(machine.gpus[0], xid, "pid=77, name=python, "))
    assert whose(told, xid) == [OWN]


def test_programs_that_crash_together_are_each_heard_and_none_twice(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    process(tmp_path, 77, "python", f"0::/docker/{OWN}")
    process(tmp_path, 78, "python", f"0::/docker/{OTHER}")
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    for pid in (77, 78, 77, 78):
        machine.log(line(machine.gpus[0], 31, f"pid={pid}, name=python, "))
        machine.xid(0, 31)
    machine.log(line(machine.gpus[0], 43, "pid=78, name=python, "))
    assert whose(told, 43) == [OTHER]
    assert [names(fact) for fact in told.facts if isinstance(fact, FaultReported) and fact.code == "Xid 31"] == [
        [OWN],
        [OTHER],
    ]


@pytest.mark.parametrize("words", ["", "pid='<unknown>', name=<unknown>, "])
def test_of_a_line_that_names_no_process_nobody_can_say_whose_it_is(machine: Standin, opened: Open, words: str) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log(line(machine.gpus[0], 31, words))
    assert whose(told) is None


def test_where_no_line_comes_an_event_is_told_all_the_same(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 31)
    assert whose(told) is None


def test_a_process_that_has_ended_is_known_from_the_last_list_and_else_concerns_nobody(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    process(tmp_path, 77, "python", f"0::/docker/{OWN}")
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    machine.process(0, 77)
    driver.read([ChipId(0)])
    (tmp_path / "proc/77/cgroup").unlink()
    machine.log(line(machine.gpus[0], 31, "pid=77, name=python, "))
    machine.log(line(machine.gpus[0], 13, "pid=78, name=python, "))
    assert (whose(told, 31), whose(told, 13)) == ([OWN], [])


def test_a_server_of_mps_has_the_channels_of_all_its_clients(machine: Standin, opened: Open, tmp_path: Path) -> None:
    process(tmp_path, 77, "nvidia-cuda-mps", "0::/init.scope")
    process(tmp_path, 78, "nvidia-cuda-mps", f"0::/docker/{OWN}")
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    machine.log(line(machine.gpus[0], 31, "pid=77, name=nvidia-cuda-mps, "))
    # Any program can call itself so.
    machine.log(line(machine.gpus[0], 13, "pid=78, name=nvidia-cuda-mps, "))
    assert (whose(told, 31), whose(told, 13)) == (None, [OWN])


@pytest.mark.parametrize("logs", [True, False])
def test_without_a_process_an_xid_of_a_part_is_that_parts(machine: Standin, opened: Open, logs: bool) -> None:
    machine.divide(0, 2)
    driver, told = opened(machine, **({} if logs else {"kernel_log": ""})), Told()
    driver.watch(told)
    (chip, _) = driver.chips()
    group = chip.shares[1].group
    assert group is not None
    if logs:
        machine.log(line(machine.gpus[0], 31, "", f" GPU-I:{group:02d} GPU-CI:00"))
    else:
        machine.xid(0, 31, group)
    assert whose(told) == [chip.shares[1].id]
