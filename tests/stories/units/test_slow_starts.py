"""A unit that says itself when it is up, and takes long for that: with a cold page cache after a reset, for example.

Reported of models that load longer than TimeoutStartSec= (podman issues 27290 and 8719). Tried in 2026 on cmgr as it
was: `recovered` after 58 s; then systemd killed the unit each 62 s, it was never up, and all was well.
"""

from pathlib import Path

from tests.runtimes.systemd.world import SystemdWorld
from tests.stories.units.conftest import LLM, Serve
from tests.support.waiting import eventually

WELL, WRONG = 0, 4

TIMES = {"retry.settle": "1s", "retry.starts": 2}


def loads(loaded: Path) -> dict[str, str]:
    """Return a unit that is up once that file is there, and is killed where that takes 7 s."""
    loaded.touch()
    load = f"until test -e {loaded}; do sleep 0.1; done; systemd-notify --ready; exec sleep infinity"
    return {
        "Type": "notify",
        "NotifyAccess": "all",
        "TimeoutStartSec": "7",
        "Restart": "always",
        "RestartSec": "0",
        "ExecStart": f'/bin/sh -c "{load}"',
    }


def test_an_episode_lasts_until_the_unit_is_up(serve: Serve, world: SystemdWorld, folder: Path) -> None:
    service = serve(TIMES, **loads(loaded := folder / "loaded"))
    loaded.unlink()
    service.inject(0)
    service.until_said(f"{LLM} is starting")
    assert world.systemd.property(LLM, "ActiveState") == "activating"
    assert service.ring()["phase"] == "resuming"
    row = service.container(LLM) or {}
    assert (row["status"], row["health"]) == ("settling", "starting")
    loaded.touch()
    service.until_said("is over: recovered")
    assert world.systemd.property(LLM, "ActiveState") == "active"
    eventually(lambda: service.cmgr("status", "--check").code == WELL)


def test_a_unit_that_is_killed_in_each_start_has_failed(serve: Serve, world: SystemdWorld, folder: Path) -> None:
    service = serve(TIMES, **loads(loaded := folder / "loaded"))
    loaded.unlink()
    service.inject(0)
    service.until_said("is over: failed")
    assert "its restart policy starts it again" in service.said()
    restarts = int(world.systemd.property(LLM, "NRestarts"))
    while int(world.systemd.property(LLM, "NRestarts")) == restarts:
        assert service.cmgr("status", "--check").code == WRONG, "also while it loads"
    loaded.touch()
    eventually(lambda: service.cmgr("status", "--check").code == WELL, why="it is up after all, and stays so")
