"""The packaged units on a machine with a kernel of its own: what a container of systemd cannot show.

It takes minutes, and so only CMGR_MACHINE=1 has it: `make test-machine`.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import workshop
from tests.packages import dists
from tests.packages.conftest import cannot
from tests.packages.machines.machine import Place
from tests.packages.machines.sim import phase
from tests.packages.machines.whole import WholeMachine
from tests.packages.test_chips import units
from tests.support.daemons.daemon import CannotRun
from tests.support.figures import Figures
from tests.support.service import NOW
from tests.support.waiting import eventually

__all__ = ["workshop"]

SECTION = "A machine of its own"

TESTS = "/opt/tests"

CHIPS = ("0", "2", "4", "6")
"""Those of the ring of eight that are used."""

MODELS = [f"model@{chip}.service" for chip in CHIPS]
"""Their users: units of systemd, each with a process of its own."""

MODEL = "[Service]\nExecStart=/bin/sleep infinity\n"

CONFIGURATION = """
strategy = "ringRecover"
driver = "dcmi"
dcmi.library = "{library}"
runtimes = ["sim"]
retry.settle = "1s"
reset.attempts = 20
bundles.keep = 0
machine.sources = ["none"]
"""

USER = """
[[systemd.units]]
name = "{unit}"
chips = [{chip}]
"""

WRITTEN = ("/etc/custom_process.cfg", "/etc/vnpu.cfg", "/run/vnpu_cfg_lock", "/var/log/nputools_LOG_ERR.log")
"""Files that the maker's library opens for writing: docs/dcmi.md."""

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.environ.get("CMGR_MACHINE") != "1", reason="it takes minutes: make test-machine"),
]


@pytest.fixture(scope="module")
def machine(
    place: Place, debian: Path, installed: Path, workshop: Workshop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WholeMachine]:
    _, root = place.stacked(installed, debian)
    furnish(root, workshop.place("one"))
    try:
        made = WholeMachine(root, tmp_path_factory.mktemp("whole"))
        made.boot()
    except CannotRun as exc:
        cannot("machine of its own", exc)
    with closing(made):
        begin(made)
        yield made


def furnish(root: Path, library: Path) -> None:
    """Put eight chips behind a stand-in for the library there, and units of systemd that use them."""
    shutil.copytree(library.parent, root / "opt/chips")
    ignored = shutil.ignore_patterns("__pycache__", "golden", "web")
    shutil.copytree(dists.ROOT / "tests", root / f"{TESTS[1:]}/tests", ignore=ignored)
    (root / "etc/systemd/system/model@.service").write_text(MODEL)
    users = "".join(USER.format(unit=unit, chip=chip) for chip, unit in zip(CHIPS, MODELS, strict=True))
    (root / "etc/cmgr/cmgr.toml").write_text(CONFIGURATION.format(library=f"/opt/chips/{library.name}") + users)


def begin(machine: WholeMachine) -> None:
    """Have chips and their users there, and a service that knows them."""
    order(machine, "create", "one")
    machine.do("systemctl", "start", *MODELS)
    assert machine.run("systemctl", "restart", "cmgr").code == 0, machine.said()[-3000:]


def order(machine: WholeMachine, *words: str) -> str:
    """Give the chips an order: `machines.ascend`."""
    (library,) = machine.do("sh", "-c", "ls /opt/chips/*.so*").split()
    paths = f"PYTHONPATH=/usr/lib/cmgr/lib:{TESTS}"
    python = ("/usr/lib/cmgr/python/bin/python3.11", "-SP", "-m", "tests.packages.machines.ascend")
    return machine.do("env", paths, "PYTHONDONTWRITEBYTECODE=1", *python, library, *words)


def lives(machine: WholeMachine) -> list[str]:
    """Return the process of each unit that uses chips."""
    told = machine.do("systemctl", "show", "--value", "-p", "MainPID", *MODELS).split()
    assert "0" not in told, "all of them run"
    return told


def episodes(machine: WholeMachine) -> dict[int, str]:
    """Return the outcome of each."""
    return {row["number"]: row["outcome"] for row in machine.asked("/v1/episodes").get("episodes", ())}


def resets(machine: WholeMachine) -> list[tuple[int, int]]:
    """Return the chip and the driver's answer of each."""
    return [(reset["chip"], reset["answer"]) for reset in json.loads(order(machine, "resets"))]


@contextmanager
def recovered(machine: WholeMachine, figures: Figures, chip: int) -> Iterator[int]:
    """Let a chip of the ring fault while others are used, do what is to be done then, and see all well again."""
    number, before, reset = max(episodes(machine), default=0) + 1, lives(machine), resets(machine)
    order(machine, "process", *(word for user in zip(CHIPS, before, strict=True) for word in user))
    order(machine, "fault", str(chip), NOW)
    yield number
    with suppress(AssertionError):
        eventually(lambda: episodes(machine).get(number) == "recovered", times=2)
    assert episodes(machine).get(number) == "recovered", machine.said()[-3000:]
    with suppress(AssertionError):
        eventually(lambda: machine.status().get("troubles") == [])
    assert machine.status()["troubles"] == [], machine.said()[-3000:]
    assert not set(lives(machine)) & set(before), "each was stopped, and runs"
    assert resets(machine) == [*reset, (chip, 0)]
    figures.add(SECTION, "episodes recovered")
    figures.add(SECTION, "processes on chips stopped, and started again", len(before))
    figures.add(SECTION, "of these lost", 0)


def test_chips_are_driven_in_the_host(machine: WholeMachine, figures: Figures) -> None:
    (unit,) = eventually(lambda: units(machine))
    pid, service = machine.show("MainPID", unit), machine.show("MainPID")

    def mounts(process: str) -> str:
        return machine.do("readlink", f"/proc/{process}/ns/mnt")

    assert mounts(pid) == mounts("1") != mounts(service)
    rights = {who: machine.do("sh", "-c", f"grep CapEff /proc/{who}/status") for who in (pid, service, "1")}
    assert rights[pid] == rights["1"] != rights[service]
    for file in (*WRITTEN, "/sys/bus/pci/rescan"):
        machine.do("nsenter", "-t", pid, "-m", "sh", "-c", f": >>{file}")
        done = machine.run("nsenter", "-t", service, "-m", "sh", "-c", f": >>{file}")
        # systemd 252 leaves /run writable where ProtectKernelTunables= or ProtectControlGroups= stands, too.
        assert "Read-only" in done.err or file.startswith("/run/"), file
    found = json.loads(machine.run("cmgr", "check", "--json").out)["findings"]
    assert f"process {pid} drives them for the service, in the host" in [each["text"] for each in found]
    version = machine.do("systemctl", "--version").split()[1]
    figures.add(SECTION, f"boots of {machine.do('uname', '-sr').strip()}, systemd {version}")
    figures.add(SECTION, "chips", len(machine.status()["chips"]))
    figures.add(SECTION, "files written as the maker's library does", len(WRITTEN))


def test_the_units_that_run_have_no_worse_scores_than_the_documentation_says(machine: WholeMachine) -> None:
    page = (dists.ROOT / "docs/security.md").read_text()
    said = re.search(r"cmgr-chips@\S* an exposure level of ([\d.]+), and `cmgr.service` one of ([\d.]+)", page)
    assert said
    for unit, level in zip((*units(machine), "cmgr.service"), said.groups(), strict=True):
        told = machine.do("systemd-analyze", "security", "--no-pager", unit)
        found = re.search(r"exposure level for \S+: ([\d.]+)", told)
        assert found, told
        assert float(found[1]) <= float(level), told


def test_an_episode(machine: WholeMachine, figures: Figures) -> None:
    with recovered(machine, figures, 1):
        pass


@pytest.mark.parametrize(
    ("who", "what", "moment"),
    [
        ("cmgr", "kill", "resetting"),
        ("cmgr", "kill", "verifying"),
        ("cmgr", "restart", "verifying"),
        ("chips", "kill", "verifying"),
    ],
)
def test_what_ends_in_the_middle_of_an_episode_loses_nothing(
    machine: WholeMachine, figures: Figures, who: str, what: str, moment: str
) -> None:
    # Longer than it takes to see the one and to end the other.
    order(machine, "set", "reset_ms", "60000", "boot_ms", "60000")
    with recovered(machine, figures, 5) as number:
        eventually(lambda: phase(machine) == moment)
        unit = "cmgr.service" if who == "cmgr" else units(machine)[0]
        machine.do("systemctl", *(["kill", "--signal=KILL"] if what == "kill" else ["restart"]), unit)
        assert who == "cmgr" or phase(machine) == moment
    told = [note["text"] for note in machine.asked(f"/v1/episodes/{number}")["notes"]]
    begun_anew = [text for text in told if text.startswith(f"cmgr was restarted while the ring was {moment}")]
    assert bool(begun_anew) == (who == "cmgr"), told
    figures.add(SECTION, f"{'kills' if what == 'kill' else 'restarts'} of {unit.partition('@')[0]} while {moment}")
