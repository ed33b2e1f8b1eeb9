"""The checks of a service while something ails it, and when the ail is over."""

import json
from pathlib import Path

from tests.support.figures import Figures
from tests.support.service import Service, resident
from tests.support.waiting import eventually

ROOM = 30 * 1024
"""So many KiB may a service grow while something ails it."""


def until_told(service: Service, *words: str) -> None:
    """Wait until `cmgr status` has these words in it, wherever."""
    eventually(lambda: all(w in json.dumps(service.status()) for w in words), why=f"it says {words}")


def until_ready(service: Service) -> None:
    eventually(lambda: service.status()["service"]["state"] == "ready", why="nothing ails it any more")


def memory(service: Service) -> int:
    """Return the service's memory in KiB."""
    return resident(service.pid)


def threads(service: Service) -> int:
    return sum(1 for _ in Path(f"/proc/{service.pid}/task").iterdir())


def recovered(service: Service, episodes: int = 1) -> None:
    """Wait until so many episodes have ended well and nothing ails the service, and end it."""
    service.until_said("is over: recovered", times=episodes)
    service.until_over()
    well(service)


def _troubles(service: Service) -> tuple[object, object]:
    told = service.status()["service"]
    return told["state"], told["troubles"]


def well(service: Service) -> None:
    """Check that nothing ails it any more, that no bug was met, and that it ends as it should."""
    # A stream that ended with its ail is followed again only after a moment.
    eventually(lambda: _troubles(service) == ("ready", []), why="it is ready, and nothing troubles it")
    service.terminate()
    assert "Traceback" not in service.said()
    assert "please report" not in service.said()


def survived(figures: Figures, what: str, faults: int = 1) -> None:
    """Count a case that was survived, after everything was checked."""
    figures.add(what, "faults injected", faults)
    figures.add(what, "cases survived")
    figures.add(what, "held containers lost", 0)
