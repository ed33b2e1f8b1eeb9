"""cmgr as a service of a real systemd: its hooks run in the host, apart from it, and survive it."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from tests.support.daemons.systemd import Systemd
from tests.support.hooks import HookFolder, told
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

UNIT = "cmgr.service"
STEPS = ("before_stop", "before_reset", "after_reset", "before_start", "after_episode")
WHERE = """
OWN=$(readlink /proc/self/ns/mnt) FIRST=$(readlink /proc/1/ns/mnt)
UNIT=$(grep -o 'cmgr-hook-[^/]*' /proc/self/cgroup | head -n 1)
export OWN FIRST UNIT
"""


def of_programs(check: str) -> str:
    """Return what `cmgr check` says of the programs that the service runs."""
    texts: list[str] = [finding["text"] for finding in json.loads(check)["findings"] if finding["what"] == "programs"]
    return "".join(texts)


class Serviced:
    """A cmgr that systemd begins, in a mount namespace of its own."""

    def __init__(self, service: Service, systemd: Systemd) -> None:
        self.service = service
        self._systemd = systemd
        words = [*service.python, *service.program, "run", "--config", str(service.config)]
        place = {"WorkingDirectory": str(Path(__file__).parents[3]), "StandardOutput": f"append:{service.log}"}
        systemd.define(
            UNIT, ExecStart=shlex.join(words), PrivateMounts="yes", KillMode="mixed", StandardError="inherit", **place
        )

    def start(self) -> None:
        self.begin()
        eventually(self._is_up, why=f"cmgr is up; it said: {self.service.said()[-2000:]}")

    def begin(self) -> None:
        """Start it, and wait for nothing: as long as a hook is in the way of the first read-out it is not up."""
        self._systemd.systemctl("reset-failed")
        self._systemd.systemctl("start", UNIT)

    def _is_up(self) -> bool:
        try:
            return bool(self.service.status()["service"]["state"] != "starting")
        except CmgrError:
            return False

    def kill9(self) -> None:
        self._systemd.systemctl("kill", "--kill-whom=main", "--signal=KILL", UNIT)
        eventually(lambda: self._systemd.property(UNIT, "ActiveState") == "failed")

    def terminate(self) -> None:
        self._systemd.systemctl("stop", UNIT)

    def close(self) -> None:
        self._systemd.systemctl("kill", "--signal=KILL", UNIT)
        self._systemd.systemctl("stop", UNIT)
        self._systemd.undefine(UNIT)

    def namespace(self) -> str:
        words = self._systemd.inside("readlink", f"/proc/{self._systemd.property(UNIT, 'MainPID')}/ns/mnt")
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    def check(self) -> str:
        service = self.service
        words = [*service.python, *service.program, "check", "--json", "--config", str(service.config)]
        return subprocess.run(self._systemd.inside(*words), capture_output=True, text=True, check=False).stdout

    def until_awaited(self, hook: str, *, by_nobody: bool = False) -> None:
        """Wait until somebody waits for the unit of this hook, or nobody."""
        (name,) = self.units(hook)
        eventually(lambda: bool(self._systemd.property(name, "Refs")) is not by_nobody, why=f"who waits for {name}")

    def units(self, hook: str) -> list[str]:
        told = self._systemd.systemctl("list-units", "--all", "--plain", "--no-legend", f"cmgr-hook-{hook}-*")
        return [line.split()[0] for line in told.splitlines()]


@pytest.fixture
def hooks(folder: Path) -> HookFolder:
    return HookFolder(folder)


@pytest.fixture
def serviced(install: Install, hooks: HookFolder, systemd: Systemd) -> Iterator[Serviced]:
    service = install({"hooks.dir": str(hooks.dir), "systemd.bus": systemd.socket})
    service.pretend("one")
    made = Serviced(service, systemd)
    yield made
    made.close()


def test_hooks_run_in_the_hosts_namespace_as_units_of_their_own(serviced: Serviced, hooks: HookFolder) -> None:
    for name in STEPS:
        hooks.put(name, before=WHERE)
    serviced.start()
    serviced.service.inject(0)
    hooks.until_run("after_episode")
    assert of_programs(serviced.check()) == "hooks and makers' tools run in the host, each as a unit cmgr-….service"
    runs = hooks.runs()
    assert {told(run)["EPISODE"] for run in runs} == {"1"}
    assert [run["CMGR_HOOK"] for run in runs] == list(STEPS)
    assert {run["OWN"] for run in runs} == {run["FIRST"] for run in runs} != {serviced.namespace()}
    names = [f"cmgr-hook-{step}-ring0-episode1.service" for step in STEPS]
    names[STEPS.index("before_start")] = "cmgr-hook-before_start-ring0-episode1-sim-one.1.service"
    assert [run["UNIT"] for run in runs] == names


def test_where_systemd_has_not_begun_cmgr_they_are_its_children(install: Install) -> None:
    service = install({"systemd.bus": "/nonexistent/bus"})
    service.start()
    told = of_programs(service.cmgr("check", "--json").out)
    assert told.startswith("hooks and makers' tools are children of the service, in its sandbox, and end with it: ")
    assert "nobody answers on /nonexistent/bus" in told


@pytest.mark.parametrize("end", [Serviced.kill9, Serviced.terminate], ids=["kill -9", "stop"])
@pytest.mark.parametrize("step", STEPS)
def test_a_hook_in_whose_middle_cmgr_ends_is_found_by_the_next_life_and_not_run_again(
    serviced: Serviced, hooks: HookFolder, step: str, end: Callable[[Serviced], None]
) -> None:
    for name in STEPS:
        hooks.put(name, after=hooks.until("go") if name == step else "")
    serviced.start()
    serviced.service.inject(0)
    hooks.until_run(step)
    end(serviced)
    serviced.until_awaited(step, by_nobody=True)
    serviced.begin()
    serviced.until_awaited(step)
    hooks.let("go")
    serviced.service.until_said(f"hook {step}, which an earlier life of cmgr began, ended well")
    serviced.service.until_said("is over: recovered")
    hooks.until_run("after_episode")
    assert [told(run)["EPISODE"] for run in hooks.runs(step)] == ["1"]
    assert [reset.outcome for reset in serviced.service.resets()] == ["taken"]
