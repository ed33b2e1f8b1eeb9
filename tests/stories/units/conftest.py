"""A service for a unit on chip 0, on a real systemd."""

from collections.abc import Callable, Mapping

import pytest

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.conftest import world
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.service import Service, Setting
from tests.system.conftest import Install

__all__ = ["world"]

LLM = "llm.service"

Serve = Callable[..., Service]


@pytest.fixture
def serve(install: Install, world: SystemdWorld) -> Serve:
    """Install a service, and a unit of these settings, which runs. `more`: of the service; `beside`: other units."""

    def made(
        more: dict[str, Setting] | None = None, beside: Mapping[str, Mapping[str, str]] | None = None, **unit: str
    ) -> Service:
        service = install({"systemd.bus": world.systemd.socket, **(more or {})})
        service.more = f'[[systemd.units]]\nname = "{LLM}"\nchips = [0]\n'
        service.configure({})
        world.define(LLM, (0,), **unit)
        world.start(key(LLM))
        for name, settings in (beside or {}).items():
            world.define(name, (), **settings)
            world.start(key(name))
        service.start()
        return service

    return made
