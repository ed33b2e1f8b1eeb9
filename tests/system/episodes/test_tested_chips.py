"""Chips that are tested in whole episodes: the real service, simulated chips, pretended containers, a real program."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hooks import HookFolder, told
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

Tested = Callable[..., Service]


@pytest.fixture
def hooks(folder: Path) -> HookFolder:
    return HookFolder(folder)


@pytest.fixture
def tested(install: Install, hooks: HookFolder) -> Tested:
    """Install a service with this test, and two containers on chip 0."""

    def made(after: str, **settings: str | int) -> Service:
        program = hooks.put("looks", after=after)
        changed = {name.replace("__", "."): value for name, value in settings.items()}
        service = install({"reset.test": str(program), "reset.backoff": "100ms", **changed})
        service.pretend("one", "two")
        return service

    return made


def timeline(service: Service, episode: int = 1) -> list[str]:
    return [note.text for note in service.notes(episode)]


def isolated(service: Service) -> dict[int, tuple[str, str]]:
    return {c["id"]: (c["isolated_by"], c["reason"]) for c in service.status()["chips"] if c["isolated_by"]}


def test_each_chip_is_tested_after_a_reset_and_is_told_which_it_is(tested: Tested, hooks: HookFolder) -> None:
    service = tested("echo it computes well")
    service.start()
    service.inject(1)
    service.until_said("is over: recovered")
    service.until_over()
    runs = [told(run) for run in hooks.runs()]
    assert [run["CHIPS"] for run in runs] == ["0", "1", "2", "3"]
    assert {run["CMGR_HOOK"] for run in hooks.runs()} == {"test"}
    assert {(run["EPISODE"], run["RING"], run["CONTAINERS"]) for run in runs} == {("1", "0", "one two")}
    lines = timeline(service)
    assert [line for line in lines if line.endswith(": it computes well")] != []
    assert "verifying → resuming: every chip has booted and is well, and has passed its test" in lines


def test_a_chip_that_fails_is_reset_again_then_isolated_with_the_words_and_the_rest_goes_on(tested: Tested) -> None:
    service = tested('test "$CMGR_HOOK_CHIPS" != 2 || { echo it is slow; exit 3; }', reset__attempts=2)
    service.start()
    service.inject(1)
    service.until_said("is over: isolated")
    service.until_over()
    words = "it failed the test: looks ended with code 3: it is slow, and 2 resets of its ring within 6 h are used up"
    assert isolated(service) == {2: ("test", words)}
    assert len(service.resets()) == 2
    eventually(lambda: {row["status"] for row in service.status()["containers"]} == {"running"})


def test_a_test_that_hangs_is_killed_and_the_chip_has_failed(tested: Tested) -> None:
    service = tested('test "$CMGR_HOOK_CHIPS" != 2 || sleep 600', reset__attempts=1, reset__test_timeout="1s")
    service.start()
    service.inject(1)
    service.until_said("is over: isolated")
    ((by, words),) = isolated(service).values()
    assert by == "test"
    assert words.startswith("it failed the test: looks was killed after")


def test_a_test_that_says_nothing_fails_nobody_until_it_does(tested: Tested, hooks: HookFolder) -> None:
    service = tested(hooks.unless("there", "echo no tool; exit 75"))
    service.start()
    service.inject(1)
    service.until_said("chips 0-3 cannot be tested (reset.test): looks ended with code 75: no tool")
    assert {row["status"] for row in service.status()["containers"]} == {"paused"}
    hooks.let("there")
    service.until_said("is over: recovered")
    assert (len(service.resets()), isolated(service)) == (1, {})


def test_a_service_that_is_killed_in_a_test_makes_it_again(tested: Tested, hooks: HookFolder) -> None:
    service = tested(hooks.until("go"))
    service.start()
    service.inject(1)
    service.until_phase("verifying")
    service.kill9()
    hooks.let("go")
    service.start()
    service.until_said("is over: recovered")
    assert len(service.resets()) == 1


def test_a_person_orders_a_test_and_is_told_before_who_is_stopped(tested: Tested, hooks: HookFolder) -> None:
    service = tested("")
    service.start()
    refused = service.cmgr("test", "1")
    assert refused.code == 1
    assert "one, two run on chips 0-3, which are tested together" in refused.err
    preview = service.cmgr("test", "1", "--stop", "--dry-run")
    assert preview.code == 0
    assert "stops one, two" in preview.out
    assert "starts one, two again" in preview.out
    assert hooks.runs() == []
    assert service.cmgr("test", "1", "--stop", "--yes").code == 0
    service.until_said("is over: cleared")
    service.until_over()
    assert [told(run)["CHIPS"] for run in hooks.runs()] == ["0", "1", "2", "3"]
    assert len(service.resets()) == 0
    eventually(lambda: {row["status"] for row in service.status()["containers"]} == {"running"})
