"""All that resets had taken away when the service was killed is given back without one: `cmgr give-back`."""

import json
import os
import subprocess
import sys

import pytest

from cmgr.drivers.nvml.resetting.giving_back import give_back
from cmgr.drivers.nvml.resetting.promises import NAME, Promised, Promises
from cmgr.drivers.nvml.settings import Nvml
from tests.drivers.nvml.driver import CHILDREN
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Standin
from tests.runtimes.sim.by_hand import RuntimeByHand, pretended

APART = ["unshare", "--mount", sys.executable, "-c"]

CAN = os.geteuid() == 0 and subprocess.run([*APART, ""], capture_output=True, check=False).returncode == 0

IN_A_CONTAINER = """
import pathlib, shutil, subprocess, sys
from cmgr.drivers.nvml.library.load import IN_CONTAINER, WANTED
from cmgr.drivers.nvml.resetting.giving_back import give_back
from cmgr.drivers.nvml.settings import Nvml
from tests.drivers.nvml.driver import CHILDREN

library, tool = map(pathlib.Path, sys.argv[1:])
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "driver", "/run"], check=True)
there = pathlib.Path(IN_CONTAINER)
for name, file in ((f"usr/lib64/{WANTED.name}", library), ("usr/bin/nvidia-smi", tool)):
    (there / name).parent.mkdir(parents=True)
    shutil.copy(file, there / name)
for given in give_back(Nvml(library=f"{there}/usr/lib64/{WANTED.name}"), library.parent, None, CHILDREN):
    print(given.left)
"""
"""A driver in a container, whose root is in a mount namespace of this script's own. No systemd runs the tool."""

DCGM, NVSM = "nvidia-dcgm.service", "nvsm.service"


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(1))


def down(*names: str) -> RuntimeByHand:
    systemd = RuntimeByHand([pretended(name, "all") for name in names])
    for name in names:
        systemd.kill(name)
    return systemd


def owe(machine: Standin, *units: str) -> Promises:
    promises, address = Promises(machine.library.parent), machine.gpus[0].address
    promises.make(Promised(units, (address,), (address,)))
    return promises


def given(machine: Standin, systemd: RuntimeByHand, tool: str = "") -> list[tuple[str, str, str]]:
    settings = Nvml(tool=tool or str(machine.tool))
    back = give_back(settings, machine.library.parent, lambda _: systemd, CHILDREN)
    return [(given.text, given.left, given.advice) for given in back]


def owed(machine: Standin) -> Promised:
    return Promised(**{k: tuple(v) for k, v in json.loads(machine.library.with_name(NAME).read_text()).items()})


YOURSELF = "start it yourself when that is over"


def test_units_are_started_and_persistence_modes_put_back(machine: Standin) -> None:
    owe(machine, NVSM, DCGM, "gone.service")
    systemd = down(NVSM, DCGM)
    assert given(machine, systemd) == [
        ("gone.service is not there any more", "", YOURSELF),
        (f"{DCGM} runs", "", YOURSELF),
        (f"{NVSM} runs", "", YOURSELF),
        (f"the persistence mode of {machine.gpus[0].address} is on again", "", YOURSELF),
    ]
    assert {unit.name for unit in systemd.list() if unit.running} == {DCGM, NVSM}
    assert (machine.get("persistent"), owed(machine)) == (1, Promised())
    assert given(machine, systemd) == []


def test_what_else_was_set_is_set_again(machine: Standin) -> None:
    address = machine.gpus[0].address
    Promises(machine.library.parent).make(Promised(settings=(f"{address} -pl 450", f"{address} -c 3")))
    assert given(machine, down()) == [
        (f"the power limit of {address} is as it was", "", YOURSELF),
        (f"the compute mode of {address} is as it was", "", YOURSELF),
    ]
    assert (machine.get("power_limit"), machine.get("compute_mode"), owed(machine)) == (450_000, 3, Promised())


def test_what_cannot_be_given_back_is_said_and_stays_promised(machine: Standin) -> None:
    owe(machine, DCGM)
    systemd, address = down(DCGM), machine.gpus[0].address
    systemd.fail_next("start", name=DCGM)
    (unit, mode) = given(machine, systemd, tool="/nowhere/nvidia-smi")
    assert (unit[0], bool(unit[1])) == (f"{DCGM} is not started", True)
    assert mode == (
        f"the persistence mode of {address} is not on again",
        "cannot run /nowhere/nvidia-smi: it cannot be looked at: No such file or directory",
        f"type: nvidia-smi -pm 1 -i {address}",
    )
    assert owed(machine) == Promised((DCGM,), (address,))


def test_nothing_is_started_while_a_reset_of_the_killed_service_goes_on(machine: Standin) -> None:
    promises, address = owe(machine, DCGM), machine.gpus[0].address
    systemd = down(DCGM)
    with promises.handed_on(0.0):
        assert [told[:2] for told in given(machine, systemd)] == [
            (f"{DCGM} is not started", "nvidia-smi still resets GPUs"),
            (f"the persistence mode of {address} is not on again", "nvidia-smi still resets GPUs"),
        ]
    assert owed(machine) == Promised((DCGM,), (address,), (address,))
    assert not any(unit.running for unit in systemd.list())


def test_promises_that_cannot_be_read_are_said(machine: Standin) -> None:
    machine.library.with_name(NAME).write_text("{")
    ((text, left, advice),) = given(machine, down())
    assert text == "what resets of GPUs had taken away is not given back"
    assert "cannot be read" in left
    assert advice == "look at it yourself"


@pytest.mark.skipif(not CAN, reason="only root can make a mount namespace")
def test_the_tool_of_a_driver_in_a_container_is_run_with_that_containers_root(machine: Standin) -> None:
    owe(machine)
    words = [*APART, IN_A_CONTAINER, str(machine.library), str(machine.tool)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    text = "only systemd, which has not begun cmgr, gives it /run/nvidia/driver as its root"
    assert ran.stdout == f"cannot run /run/nvidia/driver/usr/bin/nvidia-smi: {text}\n", ran.stderr
