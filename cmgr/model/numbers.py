"""Containers that ask for chips by numbers which are places in the driver's list.

A chip that is being reset is missing from that list, and the numbers of those behind it mean others meanwhile.
"""

import re

from cmgr.model.values.chips import listed, resolve
from cmgr.model.values.holds import Hold
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container

_NUMBER = re.compile(r"[0-9]{1,4}(:[0-9]{1,4})?")
"""A chip's number, or the place of a share on the chip of that number."""


def number_blocker(node: Node, hold: Hold) -> str:
    """Return in words that a number which the held container asks for may mean another chip now; or nothing."""
    container = node.containers.get(hold.key)
    if container is None or not any(map(_NUMBER.fullmatch, container.claims)):
        return ""
    counted = (ring for ring in node.rings.values() if any(node.chips[c].counted for c in ring.chips))
    away = next((ring for ring in counted if _is_away(node, ring)), None)
    if away is None:
        return ""
    return f"it asks for chips by number, and numbers mean others as long as {listed(away.chips)} is being reset"


def _is_away(node: Node, ring: Ring) -> bool:
    reports = map(node.reports.get, ring.chips)
    return ring.phase is Phase.RESETTING or any(report.in_reset for report in reports if report is not None)


def misplaced(node: Node, container: Container) -> tuple[str, ...]:
    """Return the warning that a container has the device files of other chips than those it asks for by number."""
    asked, given = (
        resolve(filter(is_so, container.claims), node.chips, {})[0]
        for is_so in (_NUMBER.fullmatch, lambda claim: claim.startswith("/dev/"))
    )
    if not given or asked <= given:
        return ()
    return (f"asks for {listed(sorted(asked))} by number, and has the device files of {listed(sorted(given))}",)
