"""Whether it is known who ended a unit: systemd counts a SIGTERM as success, whoever sent it.

Reported of programs that end others where memory runs short (earlyoom, systemd-oomd: hashicorp/nomad issue 12735), and
of scripts that signal a service by its pid. Tried in 2026 on cmgr as it was: `Result=success` counted as a person's
wish, the unit vanished from the list, and all was well.
"""

import pytest

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.stories.units.conftest import LLM, Serve
from tests.support.service import Service
from tests.support.waiting import eventually

WELL, WRONG = 0, 4


def said(service: Service, words: str) -> str:
    """Return what `cmgr status` says, once these words are in it."""
    told = " ".join(service.cmgr("status").out.split())
    return told if words in told else ""


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_whom_a_stranger_ends_is_down_and_nobody_knows_by_whom(serve: Serve, world: SystemdWorld, signal: str) -> None:
    service = serve()
    world.systemd.systemctl("kill", f"--signal={signal}", LLM)
    eventually(lambda: service.cmgr("status", "--check").code == WRONG)
    # systemd tells that it is down before it tells how it ended.
    told = eventually(lambda: said(service, "it is not known who ended it"))
    assert f"start it (systemctl start {LLM})" in told


def test_what_a_person_stops_is_no_trouble_also_while_cmgr_is_away(serve: Serve, world: SystemdWorld) -> None:
    service = serve()
    world.stop(key(LLM))
    eventually(lambda: not service.container(LLM), why="it is not cmgr's any more")
    assert service.cmgr("status", "--check").code == WELL
    world.start(key(LLM))
    eventually(lambda: service.container(LLM), why="it is known")
    # A unit that is enabled is wanted by a target, so that systemd knows of its last life.
    world.systemd.define("machine.target", Unit_Wants=LLM)
    world.systemd.systemctl("start", "machine.target")
    try:
        service.terminate()
        world.stop(key(LLM))
        service.start()
        assert service.cmgr("status", "--check").code == WELL
    finally:
        world.systemd.systemctl("stop", "machine.target")
        world.systemd.undefine("machine.target")
