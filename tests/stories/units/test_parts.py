"""A unit that is a part of another, or is bound to it: systemd stops it with that one, and starts it with nobody.

Reported of units around containers (ibuildthecloud/systemd-docker issue 30). Tried in 2026 on cmgr as it was: the unit
on the chip was started again, and those that went with it stayed down, in silence.
"""

import pytest

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.stories.units.conftest import LLM, Serve
from tests.support.service import LATER, Service
from tests.support.waiting import eventually

PARTS = {"part.service": "PartOf", "bound.service": "BindsTo", "needing.service": "Requires"}


BESIDE = {part: {f"Unit_{way}": LLM, "Unit_After": LLM} for part, way in PARTS.items()}


def are_down(world: SystemdWorld) -> None:
    eventually(lambda: not any(world.running(key(name)) for name in (LLM, *PARTS)), why="they are down")


def are_held_and_run_again(service: Service, world: SystemdWorld) -> None:
    eventually(lambda: all(service.container(part) for part in PARTS), why="cmgr holds them")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: all(world.running(key(name)) for name in (LLM, *PARTS)), why="they run again")


@pytest.mark.parametrize("unit", [{}, {"ExecStop": "/bin/sleep 1"}], ids=["at once", "in the look for users"])
def test_whatever_systemd_stops_with_a_unit_is_started_with_it(
    serve: Serve, world: SystemdWorld, unit: dict[str, str]
) -> None:
    beside = {**BESIDE, "apart.service": {"Unit_Wants": LLM}}
    service = serve({"levels.RestartRequest.reset_after": "1h"}, beside=beside, **unit)
    service.inject(0, LATER)
    are_down(world)
    are_held_and_run_again(service, world)
    assert "apart.service" not in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == 0)
    for name in beside:
        world.stop(key(name))


def test_they_are_started_with_it_though_cmgr_dies_in_the_stop(serve: Serve, world: SystemdWorld) -> None:
    # systemd has forgotten the parts when the next life asks: it unloads a unit that has ended well.
    service = serve({"levels.RestartRequest.reset_after": "1h"}, beside=BESIDE, ExecStop="/bin/sleep 3")
    service.inject(0, LATER)
    eventually(lambda: world.systemd.property(LLM, "ActiveState") == "deactivating", why="its stop goes on")
    service.kill9()
    are_down(world)
    service.start()
    are_held_and_run_again(service, world)
    for name in BESIDE:
        world.stop(key(name))
