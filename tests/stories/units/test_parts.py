"""A unit that is a part of another, or is bound to it: systemd stops it with that one, and starts it with nobody.

Reported of units around containers (ibuildthecloud/systemd-docker issue 30). Tried in 2026 on cmgr as it was: the unit
on the chip was started again, and those that went with it stayed down, in silence.
"""

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.stories.units.conftest import LLM, Serve
from tests.support.service import LATER
from tests.support.waiting import eventually

PARTS = {"part.service": "PartOf", "bound.service": "BindsTo", "needing.service": "Requires"}


def test_whatever_systemd_stops_with_a_unit_is_started_with_it(serve: Serve, world: SystemdWorld) -> None:
    parts = {unit: {f"Unit_{way}": LLM, "Unit_After": LLM} for unit, way in PARTS.items()}
    service = serve({"levels.RestartRequest.reset_after": "1h"}, beside={**parts, "apart.service": {"Unit_Wants": LLM}})
    service.inject(0, LATER)
    eventually(lambda: not any(world.running(key(unit)) for unit in (LLM, *PARTS)), why="they are down")
    eventually(lambda: all(service.container(unit) for unit in PARTS), why="cmgr holds them")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: all(world.running(key(unit)) for unit in (LLM, *PARTS)), why="they run again")
    assert "apart.service" not in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == 0)
    for unit in (*PARTS, "apart.service"):
        world.stop(key(unit))
