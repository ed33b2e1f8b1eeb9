"""A machine for the tests of healing: one container that wishes to be healed, and how it ails."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.services.containers import Heal
from tests.model.builders import Cmgr, container, key

WEB = container("web", 0, heal=Heal())
NEVER = Policy()


def ailing(**fields: Any) -> Cmgr:
    """Return a cmgr whose only container wishes to be healed."""
    return Cmgr(replace(WEB, **fields), policy=NEVER)


def becomes(cmgr: Cmgr, health: str) -> None:
    cmgr.sees(replace(cmgr.truth[key("web")], health=health))


def runs(cmgr: Cmgr) -> bool:
    return cmgr.truth[key("web")].running


def crash_often(cmgr: Cmgr, times: int) -> list[int]:
    """Let the container crash again as soon as it runs; return how long each restart took."""
    waits = []
    for _ in range(times):
        cmgr.dies("web")
        began = cmgr.now
        while not runs(cmgr) and cmgr.now - began < timedelta(hours=1):
            cmgr.wait(1)
        waits.append(round((cmgr.now - began).total_seconds()))
    return waits
