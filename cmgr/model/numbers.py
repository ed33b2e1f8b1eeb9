"""Containers that ask for chips by numbers, which mean a piece of hardware when they are started.

Where the numbers are places in the driver's list, a chip that is being reset is missing from that list, and those of
the chips behind it mean others meanwhile.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from cmgr.model.values.chips import ALL_CHIPS, BY_ID, Chip, ChipId, ChipReport, RingId, SlotChips, resolve
from cmgr.model.values.holds import Hold
from cmgr.model.values.lookup import kept
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say

_NUMBER = re.compile(r"[0-9]{1,4}(:[0-9]{1,4})?")
"""A chip's number, or the place of a share on the chip of that number."""


def names_numbers(container: Container) -> bool:
    """Return whether it asks for chips by their numbers, and not for all there are."""
    claims = container.claims
    return ALL_CHIPS not in claims and any(_NUMBER.fullmatch(claim.removeprefix(BY_ID)) for claim in claims)


def chips_meant(
    container: Container, chips: Mapping[ChipId, Chip], slots: SlotChips, new: Collection[ChipId]
) -> frozenset[ChipId]:
    """Return the chips that a container in the books means now that there are these, of which some are `new`.

    Its numbers were resolved at its start, and mean the same pieces for that life.
    """
    resolved, used = resolve(container.claims, chips, slots)[0], container.kept.used & chips.keys()
    if container.running and container.kept.chips and names_numbers(container):
        return (container.kept.chips & chips.keys()) | (resolved & {*new}) | used
    return resolved | used


def number_blocker(node: Node, hold: Hold) -> str:
    """Return in words that a number which the held container asks for may mean another chip now; or nothing."""
    container = node.containers.get(hold.key)
    if container is None or not any(map(_NUMBER.fullmatch, container.claims)):
        return ""
    away = _away(node.chips, node.rings, node.reports)
    if away is None:
        return ""
    return say("hold.numbers-mean-others", chips=away.chips)


@kept
def _away(
    chips: Mapping[ChipId, Chip], rings: Mapping[RingId, Ring], reports: Mapping[ChipId, ChipReport]
) -> Ring | None:
    counted = (ring for ring in rings.values() if any(chips[c].counted for c in ring.chips))
    return next((ring for ring in counted if _is_away(ring, map(reports.get, ring.chips))), None)


def _is_away(ring: Ring, reports: Iterable[ChipReport | None]) -> bool:
    return ring.phase is Phase.RESETTING or any(report.in_reset for report in reports if report is not None)


def misplaced(node: Node, container: Container) -> tuple[str, ...]:
    """Return the warning that a container has the device files of other chips than those it asks for by number."""
    asked, given = (
        resolve(filter(is_so, container.claims), node.chips, {})[0]
        for is_so in (_NUMBER.fullmatch, lambda claim: claim.startswith("/dev/"))
    )
    if not given or asked <= given:
        return ()
    return (say("container.has-other-files", asked=sorted(asked), given=sorted(given)),)
