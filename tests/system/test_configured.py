"""`cmgr setup` beside a service that runs, and the drill after it."""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install

pytestmark = pytest.mark.alone

SERVICES = """
[[sim.containers]]
name = "chat"
chips = [0, 1, 2, 3]
"""


def test_from_a_service_that_only_watches_to_a_drill_that_is_passed(install: Install) -> None:
    service = install({"strategy": "never"})
    service.more = SERVICES
    service.configure({})
    service.start()
    eventually(lambda: (service.container("chat") or {}).get("status") == "running")
    told = service.cmgr("setup", "--yes", "--spares", "1", "--window", "Sat 02:00-04:00")
    assert told.code == 0, told.err
    assert "ringRecover, with the containers of now:\n- a fault on any of chips 0-3 stops chat\n" in told.out
    assert "the service goes by it: strategy ringRecover\n" in told.out
    assert told.out.endswith("to see a recovery: cmgr drill 4: nobody uses chips 4-7\n")
    assert service.status()["service"]["strategy"] == "ringRecover"
    assert service.cmgr("drill", "4", "--yes").code == 0
    # The next life begins with the file that it wrote.
    service.kill9()
    service.start()
    assert service.status()["service"]["strategy"] == "ringRecover"
    told = service.cmgr("setup", "--yes", "--observe")
    assert "the service goes by it: strategy ringRecover, and only observes\n" in told.out
    assert service.status()["service"]["observe"]
