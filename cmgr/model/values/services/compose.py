"""The labels of docker compose as values: project, service, and which other services come first."""

from datetime import datetime
from enum import StrEnum

from cmgr.frozen import dataclass


class Condition(StrEnum):
    """The state of a service in which those that depend on it may be started; compose's own words."""

    STARTED = "service_started"
    HEALTHY = "service_healthy"
    DONE = "service_completed_successfully"


@dataclass(frozen=True, slots=True)
class Need:
    """A service of the same project that comes first. `restart`: this one is restarted with it (`restart: true`)."""

    service: str
    condition: Condition
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Composed:
    """A container's place in a project. `number` tells those of one service apart; 0 where nobody says.

    `made`: when the container was made: one that compose makes in another's place is younger.
    """

    project: str
    service: str
    number: int = 0
    needs: tuple[Need, ...] = ()
    made: datetime | None = None
