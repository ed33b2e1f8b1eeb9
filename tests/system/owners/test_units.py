"""Whole episodes of units: the real service, a real systemd, simulated chips."""

import signal
from collections.abc import Callable

import pytest

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.conftest import world
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.service import LATER, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install

__all__ = ["world"]

LLM, MATE, OTHER = "llm.service", "mate@1.service", "other.service"

OnSystemd = Callable[..., Service]


@pytest.fixture
def on_systemd(install: Install, world: SystemdWorld) -> OnSystemd:
    """Install a service for three units: two are on ring 0, the third on ring 1."""
    world.define(LLM, Restart="always", RestartSec="0")
    world.define(MATE)
    world.define(OTHER)

    def made(**settings: Setting) -> Service:
        service = install({"systemd.bus": world.systemd.socket, **settings})
        for unit, chip in ((LLM, 0), (MATE, 1), (OTHER, 4)):
            service.more += f'[[systemd.units]]\nname = "{unit}"\nchips = [{chip}]\n'
            world.start(key(unit))
        service.configure({})
        return service

    return made


def life(world: SystemdWorld, unit: str) -> str:
    return world.systemd.property(unit, "InvocationID")


def test_the_units_of_a_ring_are_stopped_for_its_reset_and_started_again(
    on_systemd: OnSystemd, world: SystemdWorld
) -> None:
    service = on_systemd()
    before = {unit: life(world, unit) for unit in (LLM, MATE, OTHER)}
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert all(world.running(key(unit)) for unit in before)
    assert {unit for unit, run in before.items() if life(world, unit) != run} == {LLM, MATE}


def test_a_unit_is_down_while_its_chips_are_reset_whatever_restarts_it(
    on_systemd: OnSystemd, world: SystemdWorld
) -> None:
    service = on_systemd(**{"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    service.until_reason("RestartRequest")
    eventually(lambda: not world.running(key(LLM)) and not world.running(key(MATE)))
    assert service.container(LLM)["runtime"] == "systemd"  # type: ignore[index]  # It is there.
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert world.running(key(LLM))


def test_what_is_held_is_started_by_the_next_life_even_if_no_setting_names_it_any_more(
    on_systemd: OnSystemd, world: SystemdWorld
) -> None:
    service = on_systemd(**{"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    eventually(lambda: not world.running(key(LLM)) and not world.running(key(MATE)))
    service.kill9()
    service.more = ""
    service.configure({})
    service.start()
    service.inject(0, LATER, assertion="cleared")
    eventually(lambda: world.running(key(LLM)) and world.running(key(MATE)))


def test_a_unit_that_a_person_has_stopped_or_masked_is_not_started(on_systemd: OnSystemd, world: SystemdWorld) -> None:
    service = on_systemd(**{"levels.RestartRequest.reset_after": "1h"})
    world.stop(key(MATE))
    service.start()
    service.inject(0, LATER)
    eventually(lambda: not world.running(key(LLM)))
    world.systemd.systemctl("mask", "--runtime", LLM)
    try:
        service.inject(0, LATER, assertion="cleared")
        service.until_said("masked")
        eventually(lambda: service.container(LLM)["status"] == "failed")  # type: ignore[index]  # It is there.
        assert not world.running(key(LLM))
        assert not world.running(key(MATE))
    finally:
        world.systemd.systemctl("unmask", "--runtime", LLM)
    assert service.cmgr("resume", LLM).code == 0
    eventually(lambda: world.running(key(LLM)))


def test_a_unit_that_something_starts_again_is_told(on_systemd: OnSystemd, world: SystemdWorld) -> None:
    service = on_systemd(**{"levels.RestartRequest.reset_after": "1h", "retry.backoff": "100ms"})
    service.start()
    service.inject(0, LATER)
    for times in range(1, 5):
        service.until_said(f"{LLM} is stopped", times)
        world.start(key(LLM))
    service.until_said("something starts it again")
    assert world.running(key(LLM))


def test_a_service_that_ends_leaves_units_as_they_are(on_systemd: OnSystemd, world: SystemdWorld) -> None:
    service = on_systemd()
    before = life(world, LLM)
    service.start()
    assert service.end(signal.SIGTERM) == 0
    assert life(world, LLM) == before
