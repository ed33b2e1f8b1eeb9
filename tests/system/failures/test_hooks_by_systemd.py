"""cmgr as a service of a real systemd: its hooks run in the host, apart from it, and survive it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.daemons.serviced import Serviced, of_programs
from tests.support.daemons.systemd import Systemd
from tests.support.hooks import HookFolder, told
from tests.system.conftest import Install

STEPS = ("before_stop", "before_reset", "after_reset", "before_start", "after_episode")
WHERE = """
OWN=$(readlink /proc/self/ns/mnt) FIRST=$(readlink /proc/1/ns/mnt)
UNIT=$(grep -o 'cmgr-hook-[^/]*' /proc/self/cgroup | head -n 1)
export OWN FIRST UNIT
"""


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
    assert once([run["CMGR_HOOK"] for run in runs]) == list(STEPS)
    assert {run["OWN"] for run in runs} == {run["FIRST"] for run in runs} != {serviced.namespace()}
    names = [f"cmgr-hook-{step}-ring0-episode1.service" for step in STEPS]
    names[STEPS.index("before_start")] = "cmgr-hook-before_start-ring0-episode1-sim-one.1.service"
    assert once([run["UNIT"] for run in runs]) == names


def once(said: list[str]) -> list[str]:
    """Return these in order: a ring may be looked at twice, and `after_reset` runs each time (docs/hooks.md)."""
    return list(dict.fromkeys(said))


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
    serviced.until_awaited(f"cmgr-hook-{step}-*", by_nobody=True)
    serviced.begin()
    serviced.until_awaited(f"cmgr-hook-{step}-*")
    hooks.let("go")
    serviced.service.until_said(f"hook {step}, which an earlier life of cmgr began, ended well")
    serviced.service.until_said("is over: recovered")
    hooks.until_run("after_episode")
    assert [told(run)["EPISODE"] for run in hooks.runs(step)] == ["1"]
    assert [reset.outcome for reset in serviced.service.resets()] == ["taken"]
