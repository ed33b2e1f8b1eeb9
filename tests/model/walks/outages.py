"""The outages that a node counts, judged: each service that is out has one, and nobody else."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from cmgr.model.values.node import Node
from cmgr.model.wanted import is_well


def miscounted(node: Node, now: datetime) -> Iterator[str]:
    """Yield each outage too many, and each that is missing, of the containers that were seen in this life."""
    for key, outage in node.outages.items():
        container, hold = node.containers.get(key), node.holds.get(key)
        held, seen = hold is not None and not hold.is_theirs, container is None or container.kept.seen is not None
        if seen and not held and (container is None or not container.kept.wanted):
            yield f"nobody wants {outage}"
        elif seen and not held and container is not None and is_well(container):
            yield f"{outage} is over"
        if outage.since > now:
            yield f"{outage} has not begun"
    for known in node.containers.values():
        # Whether a unit stands for one that is down also follows from news of its other containers.
        out = known.kept.wanted and known.kept.seen is not None and not known.running and not known.unit
        if out and known.key not in node.outages:
            yield f"{known} is out"
    for day in node.downtime.values():
        if not timedelta() <= day.recovered <= day.down or day.recoveries > day.outages:
            yield f"{day} makes no sense"
