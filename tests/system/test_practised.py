"""`cmgr drill CHIP`: a recovery is practised, shown as it happens, and ends with a verdict."""

import signal
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.support.service import Service, Setting
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install

pytestmark = pytest.mark.alone

RINGS: dict[str, Setting] = {
    "sim.ring": 4,
    "sim.reset_time": "200ms",
    "sim.boot_time": "200ms",
    "retry.settle": "200ms",
}


def begun(install: Install, settings: Mapping[str, Setting]) -> Service:
    service = install({**RINGS, **settings})
    service.pretend("chat", "search")
    service.start()
    eventually(lambda: service.runs("chat"))
    return service


def test_one_that_is_passed_shows_each_step_and_who_was_away(install: Install) -> None:
    service = begun(install, {})
    told = service.cmgr("drill", "0", "--yes")
    assert (told.code, told.err) == (0, "")
    before, _, happened = " ".join(told.out.split()).partition("machine resets these chips")
    assert "stops chat" in before
    assert "no recovery of this ring is remembered" in before
    steps = ["stop chat", "chat is stopped", "draining → waiting", "start chat", "chat runs again", "episode 1 is over"]
    places = [happened.index(step) for step in steps]
    assert places == sorted(places)
    *_, head, episode, chat, search = told.out.splitlines()
    assert head == "drill of ring 0 (chips 0-3): passed"
    assert episode.endswith("recovered")
    assert chat.startswith("chat was away for ")
    assert search.startswith("search was away for ")
    assert len(service.resets()) == 1
    assert "the last recovery of this ring took" in service.cmgr("drill", "0", "--dry-run").out
    assert len(service.resets()) == 1
    assert service.cmgr("drill", "0").code == 1, "nobody can be asked"


def test_one_whose_resets_fail_is_not_passed_and_says_so(install: Install) -> None:
    service = begun(install, {"sim.fail_resets": -1, "reset.backoff": "100ms"})
    told = service.cmgr("drill", "0", "--yes")
    assert told.code == 1
    assert "drill of ring 0 (chips 0-3): not passed" in told.out
    assert "cmgr status says what is wrong now, and what to type" in told.out


def test_one_that_waits_says_what_for_and_ctrl_c_ends_the_watching_alone(install: Install) -> None:
    service = begun(install, {"sim.reset_time": "2s"})
    command = [sys.executable, "-m", "cmgr", "drill", "0", "--yes", "--config", str(service.config)]
    drill = subprocess.Popen(
        command, env=service.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    service.until_phase("resetting")
    drill.send_signal(signal.SIGINT)
    _, said = drill.communicate(timeout=PATIENCE)
    assert drill.returncode == 130
    assert "the drill goes on: cmgr status; cmgr cancel 0 takes it back while it waits" in said
    service.until_over()
    assert [episode.outcome for episode in service.episodes()] == ["recovered"]
