"""cmgr is killed, or told to end, in the middle of each hook: the next life goes on, and runs the hook again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hooks import HookFolder, told
from tests.support.service import Service
from tests.system.conftest import Install

STEPS = ("before_stop", "before_reset", "after_reset", "after_episode")


@pytest.fixture
def hooks(folder: Path) -> HookFolder:
    return HookFolder(folder)


@pytest.mark.parametrize("end", [Service.kill9, Service.terminate], ids=["kill -9", "SIGTERM"])
@pytest.mark.parametrize("step", STEPS)
def test_an_end_in_the_middle_of_a_hook_is_recovered_from(
    install: Install, hooks: HookFolder, step: str, end: Callable[[Service], None]
) -> None:
    for name in STEPS:
        hooks.put(name, after=hooks.until("go") if name == step else "")
    service = install({"hooks.dir": str(hooks.dir)})
    service.pretend("one", "two")
    service.start()
    service.inject(0)
    hooks.until_run(step)
    end(service)
    hooks.let("go")
    service.start()
    service.until_said("is over: recovered")
    service.until_over()
    hooks.until_run("after_episode")
    assert len(hooks.until_run(step, times=2)) == 2, "at least once is what is promised, and once more after a crash"
    assert {told(run)["EPISODE"] for run in hooks.runs()} == {"1"}
    assert [row["status"] for row in service.status()["containers"]] == ["running"] * 2
    assert [reset.outcome for reset in service.resets()] == ["taken"]
    counted = [ring["resets"] for ring in service.status()["rings"] if ring["resets"]]
    assert counted == [1], "what never reached the driver costs no budget"
    assert [episode.outcome for episode in service.episodes()] == ["recovered"]
