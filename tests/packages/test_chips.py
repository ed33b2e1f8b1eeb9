"""The unit that drives the chips, on a machine with systemd: in the host, as the maker's driver wants it."""

import json
import re

import pytest

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import workshop
from tests.fakes.dcmi.standin import Standin
from tests.fakes.nvml.fixtures import Make, gpu_workshop, nvidia
from tests.fakes.nvml.hosts import host_l40
from tests.packages import dists
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import episode
from tests.support.service import NOW
from tests.support.waiting import eventually

__all__ = ["gpu_workshop", "nvidia", "workshop"]

CONFIGURATION = """
strategy = "ringRecover"
driver = "dcmi"
dcmi.library = "{library}"
runtimes = ["sim"]
retry.settle = "1s"
machine.sources = ["none"]
[[sim.containers]]
name = "llm-0"
chips = [0]
"""


GPUS = """
strategy = "never"
driver = "nvml"
nvml.library = "{library}"
nvml.tool = "{tool}"
runtimes = ["sim"]
machine.sources = ["none"]
"""


@pytest.fixture
def chips(workshop: Workshop) -> Standin:
    """Eight Ascend chips, whose library the machine has at the same place."""
    made = Standin(workshop.place("one")).create(hosts.host_910b(8))
    made.set("reset_ms", 50)
    made.set("boot_ms", 100)
    return made


@pytest.fixture
def driven(boot: Boot, installed: object, chips: Standin) -> Machine:
    folder = str(chips.library.parent)
    machine = boot(installed, binds={folder: folder})
    machine.put("/etc/cmgr/cmgr.toml", CONFIGURATION.format(library=chips.library))
    done = machine.run("systemctl", "restart", "cmgr")
    assert done.code == 0, machine.said()[-3000:]
    return machine


def units(machine: Machine) -> list[str]:
    told = machine.do("systemctl", "list-units", "--plain", "--no-legend", "cmgr-chips@*")
    return [line.split()[0] for line in told.splitlines()]


def test_a_unit_in_the_host_drives_the_chips_and_the_service_is_in_its_sandbox(driven: Machine, chips: Standin) -> None:
    (unit,) = units(driven)
    pid, service = driven.show("MainPID", unit), driven.show("MainPID")

    def mounts(process: str) -> str:
        return driven.do("readlink", f"/proc/{process}/ns/mnt")

    assert mounts(pid) == mounts("1") != mounts(service)
    assert "libdcmi" not in driven.do("cat", f"/proc/{service}/maps")
    assert "libdcmi" in driven.do("cat", f"/proc/{pid}/maps")
    status = dict(line.split(":\t", 1) for line in driven.do("cat", f"/proc/{pid}/status").splitlines())
    everything = dict(line.split(":\t", 1) for line in driven.do("cat", "/proc/1/status").splitlines())
    assert status["CapEff"] == everything["CapEff"]
    found = json.loads(driven.run("cmgr", "check", "--json").out)["findings"]
    assert f"process {pid} drives them for the service, in the host" in [each["text"] for each in found]


def test_an_episode_on_a_machine_with_systemd(driven: Machine, chips: Standin) -> None:
    chips.fault(2, NOW)
    eventually(lambda: (episode(driven, 1) or {}).get("outcome") == "recovered", why=driven.said()[-3000:])
    assert [(reset.chip, reset.answer) for reset in chips.resets] == [(2, 0)]


def test_a_unit_that_is_killed_has_a_successor_and_a_service_that_ends_leaves_none(driven: Machine) -> None:
    (first,) = units(driven)
    driven.do("systemctl", "kill", "--signal=KILL", first)
    eventually(lambda: units(driven) not in ([first], []), why="another unit drives the chips")
    eventually(lambda: driven.status()["troubles"] == [])
    driven.do("systemctl", "stop", "cmgr")
    eventually(lambda: units(driven) == [])


def test_what_the_kernel_tells_of_a_gpu_is_heard_with_nothing_to_set_up(
    boot: Boot, installed: object, nvidia: Make
) -> None:
    gpus = nvidia(host_l40(), 535)
    folder = str(gpus.library.parent)
    machine = boot(installed, binds={folder: folder})
    # systemd-nspawn has none, and journald took note of that when it began.
    machine.do("ln", "-s", str(gpus.kernel_log), "/dev/kmsg")
    machine.put("/etc/cmgr/cmgr.toml", GPUS.format(library=gpus.library, tool=gpus.tool))
    done = machine.run("systemctl", "restart", "cmgr")
    assert done.code == 0, machine.said()[-3000:]
    eventually(lambda: machine.status()["troubles"] == [], why="to systemd it is ready before each chip was heard")
    gpus.log(f"NVRM: Xid (PCI:{gpus.gpus[1].address[:-2]}): 95, pid=1, name=a, Uncontained: FBHUB")
    faults = eventually(
        lambda: json.loads(machine.do("cmgr", "faults", "-o", "json"))["faults"], machine.said()[-3000:]
    )
    assert [(fault["chip"], fault["code"]) for fault in faults] == [(1, "Xid 95")]


def test_the_score_of_the_unit_is_what_the_documentation_says(machine: Machine) -> None:
    unit = "/usr/lib/systemd/system/cmgr-chips@.service"
    told = machine.do("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    found = re.search(r"exposure level for \S+: ([\d.]+)", told)
    assert found, told
    said = re.search(r"cmgr-chips@\S* an exposure level of ([\d.]+)", (dists.ROOT / "docs/security.md").read_text())
    assert said
    assert float(found[1]) <= float(said[1]), told
