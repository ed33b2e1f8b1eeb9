"""Hooks in whole episodes: the real service, simulated chips, pretended containers, real executables."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.model.values.messages.commands import NoteKind
from tests.support.hooks import HookFolder, told
from tests.support.service import NOW, Service
from tests.system.conftest import Install

Hooked = Callable[..., Service]


@pytest.fixture
def hooks(folder: Path) -> HookFolder:
    return HookFolder(folder)


@pytest.fixture
def hooked(install: Install, hooks: HookFolder) -> Hooked:
    """Install a service with these hooks, and two containers on chip 0."""

    def made(**settings: str | int) -> Service:
        changed = {name.replace("__", "."): value for name, value in settings.items()}
        service = install({"hooks.dir": str(hooks.dir), **changed})
        service.pretend("one", "two")
        return service

    return made


def over(service: Service, episodes: int = 1) -> None:
    service.until_said("is over: recovered", episodes)
    service.until_over()


def timeline(service: Service, episode: int = 1) -> list[str]:
    return [note.text for note in service.notes(episode)]


def order(lines: list[str], *words: str) -> bool:
    """Return whether lines with these words in them come in this order."""
    places = [next((n for n, line in enumerate(lines) if word in line), -1) for word in words]
    assert -1 not in places, (words[places.index(-1)], lines)
    return places == sorted(places)


def test_every_hook_runs_at_its_step_and_is_told_what_it_is_about(hooked: Hooked, hooks: HookFolder) -> None:
    for name in ("before_stop", "before_reset", "after_reset", "after_episode"):
        hooks.put(name, after=f"echo {name} was here")
    service = hooked()
    service.start()
    service.inject(1)
    over(service)
    (last,) = hooks.until_run("after_episode")
    runs = [told(run) for run in hooks.runs()]
    assert {run["EPISODE"] for run in runs} == {"1"}
    steps = [run["CMGR_HOOK"] for run in hooks.runs()]
    # Each look at a ring that is verified has its after_reset, and a slow machine looks twice.
    looks = steps.count("after_reset") or 1
    assert steps == ["before_stop", "before_reset", *["after_reset"] * looks, "after_episode"]
    for run in runs:
        assert (run["RING"], run["CHIPS"], run["FAULTY_CHIPS"], run["CODES"]) == ("0", "0 1 2 3", "1", NOW)
        assert run["CONTAINERS"] == "one two"
        assert len(run["CONTAINER_IDS"].split()) == 2
    assert runs[1]["REASON"].endswith("nobody is on chips 0-3")
    assert told(last)["OUTCOME"] == "recovered"
    assert float(told(last)["SECONDS"]) > 0
    assert order(
        timeline(service),
        "hook before_stop ended well after",
        "one is stopped",
        "hook before_reset ended well after",
        "resetting → verifying",
        "hook after_reset ended well after",
        "verifying → resuming",
        "is over: recovered",
    )
    assert ": before_stop was here" in service.said()
    service.until_said("hook after_episode ended well after")


def test_before_stop_runs_once_for_all_stops_and_they_wait_for_it(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("before_stop", after=hooks.until("go"))
    service = hooked()
    service.start()
    service.inject(0)
    hooks.until_run("before_stop")
    service.until_phase("draining")
    assert [row["status"] for row in service.status()["containers"]] == ["pausing"] * 2
    hooks.let("go")
    over(service)
    assert len(hooks.runs("before_stop")) == 1


def test_a_before_stop_that_hangs_is_killed_and_the_stops_go_on(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("before_stop", after="sleep 300")
    service = hooked(hooks__before_stop_timeout="2s")
    service.start()
    service.inject(0)
    over(service)
    assert order(timeline(service), "hook before_stop was killed after", "one is stopped", "is over: recovered")
    assert len(hooks.runs("before_stop")) == 1


def test_a_before_reset_that_says_no_keeps_the_ring_waiting_with_its_words(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("before_reset", after=hooks.unless("allowed", "echo a job has to end first; exit 3"))
    service = hooked()
    service.start()
    service.inject(0)
    service.until_reason("hook before_reset ended with code 3: a job has to end first")
    ring = service.ring()
    assert (ring["phase"], ring["resets"]) == ("waiting", 0), "a refused reset costs no budget"
    hooks.until_run("before_reset", times=2)
    assert service.resets() == ()
    hooks.let("allowed")
    over(service)
    assert [reset.outcome for reset in service.resets()] == ["taken"]
    assert service.episodes()[-1].outcome == "recovered"
    refused = [
        text for text in timeline(service) if text == "hook before_reset ended with code 3: a job has to end first"
    ]
    assert len(refused) == 1, "what it says again and again stands in the timeline once"


def test_a_before_reset_that_cmgr_may_not_run_counts_as_a_no(hooked: Hooked, hooks: HookFolder) -> None:
    path = hooks.put("before_reset")
    path.chmod(0o777)
    service = hooked()
    service.start()
    service.inject(0)
    service.until_reason("hook before_reset is not run", "others can write the file", f"chmod go-w {path}")
    assert hooks.runs() == []
    path.chmod(0o755)
    over(service)
    assert len(hooks.runs("before_reset")) == 1


def test_an_after_reset_that_says_not_yet_is_asked_again(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("after_reset", after=hooks.unless("well", "echo the link is down; exit 1"))
    service = hooked()
    service.start()
    service.inject(0)
    service.until_reason("hook after_reset ended with code 1: the link is down")
    assert service.ring()["phase"] == "verifying"
    assert [row["status"] for row in service.status()["containers"]] == ["paused"] * 2
    chip = next(c for c in service.status()["chips"] if c["id"] == 0)
    assert (chip["healthy"], chip["reason"]) == (False, "hook after_reset ended with code 1: the link is down")
    hooks.until_run("after_reset", times=2)
    hooks.let("well")
    over(service)
    assert service.episodes()[-1].outcome == "recovered"
    assert len(service.resets()) == 1


def test_an_after_reset_that_never_says_well_makes_the_reset_fail_and_nothing_is_started(
    hooked: Hooked, hooks: HookFolder
) -> None:
    hooks.put("after_reset", after=hooks.unless("well", "exit 1"))
    service = hooked(reset__boot_timeout="2s")
    service.start()
    service.inject(0)
    service.until_said("verifying → waiting: reset 1 of this episode did not cure: hook after_reset ended with code 1")
    service.until_phase("waiting")
    assert [row["status"] for row in service.status()["containers"]] == ["paused"] * 2
    hooks.let("well")
    over(service)


def test_the_files_of_a_directory_run_in_order_until_one_says_no(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("before_reset.d/10-first")
    hooks.put("before_reset.d/20-second", after=hooks.unless("allowed", "exit 1"))
    hooks.put("before_reset.d/30-third")
    hooks.put("before_reset.d/25-off").chmod(0o644)
    service = hooked()
    service.start()
    service.inject(0)
    service.until_reason("hook before_reset.d/20-second ended with code 1")
    assert hooks.runs("30-third") == []
    hooks.let("allowed")
    over(service)
    assert len(hooks.runs("30-third")) == 1
    assert hooks.runs("25-off") == []


def test_after_episode_delays_nothing_and_each_episode_has_its_own(hooked: Hooked, hooks: HookFolder) -> None:
    hooks.put("after_episode", before=hooks.until("go"))
    service = hooked()
    service.start()
    for episode in (1, 2):
        service.inject(0)
        over(service, episode)
    assert hooks.runs() == []
    hooks.let("go")
    assert [told(run)["EPISODE"] for run in hooks.until_run("after_episode", times=2)] == ["1", "2"]


def test_hooks_that_come_and_go_count_from_the_next_reload_on(hooked: Hooked, hooks: HookFolder) -> None:
    service = hooked()
    service.start()
    hooks.put("before_stop")
    hooks.put("after_episode")
    service.inject(0)
    over(service)
    service.tell(signal.SIGHUP)
    service.until_said("the configuration was read again")
    assert hooks.runs() == []
    service.inject(0)
    over(service, 2)
    assert [told(run)["EPISODE"] for run in hooks.until_run("after_episode")] == ["2"]
    assert len(hooks.runs("before_stop")) == 1


def test_a_hook_may_ask_the_service_about_itself(hooked: Hooked, hooks: HookFolder, folder: Path) -> None:
    hooks.put("before_stop", after=f"{sys.executable} -m cmgr status --json > {folder}/asked 2>&1 || echo failed")
    service = hooked()
    service.start()
    service.inject(0)
    over(service)
    told = (folder / "asked").read_text()
    assert '"phase": "draining"' in told or '"phase": "listing"' in told, told


def test_an_observing_cmgr_runs_no_hook(hooked: Hooked, hooks: HookFolder) -> None:
    for name in ("before_stop", "before_reset", "after_reset", "after_episode"):
        hooks.put(name)
    service = hooked(observe=True)
    service.start()
    service.inject(0)
    service.until_phase("waiting")
    service.inject(0, assertion="cleared")
    service.until_said("is over: observed")
    service.terminate()
    assert hooks.runs() == []


def test_without_hooks_nothing_is_said_of_them(hooked: Hooked) -> None:
    service = hooked()
    service.start()
    service.inject(0)
    over(service)
    assert "hook" not in service.said()
    assert service.notes(1, NoteKind.WARNING) == []
