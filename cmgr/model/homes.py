"""Where containers are at home, and what they are given instead. Questions, as those of `scope`."""

from datetime import datetime
from itertools import zip_longest

from cmgr.model.values.chips import Chip, ChipId, resolve
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.slots import can_be_placed

Chips = frozenset[ChipId]

Placing = tuple[tuple[Chip, Chip | None], ...]
"""Each chip that a definition was made for, and the one that it gives instead: mostly itself; None: none."""


def home_of(node: Node, container: Container) -> Chips:
    """Return the chips that the container was made for, whatever it has been given since."""
    return resolve(container.made_for or container.claims, node.chips, {})[0]


def placing(node: Node, hold: Hold) -> Placing:
    """Return what its definition is to give when it is started; nothing: the definition is to be left as it is."""
    container = node.containers.get(hold.key)
    if container is None or not can_be_placed(container):
        return ()
    home = home_of(node, container)
    gone, new = sorted(home - hold.chips), sorted(hold.chips - home)
    if len(new) > len(gone) or (not gone and not container.made_for):
        return ()
    instead = dict(zip_longest(gone, new))
    return tuple((node.chips[chip], _chip(node, instead.get(chip, chip))) for chip in sorted(home))


def _chip(node: Node, chip: ChipId | None) -> Chip | None:
    return node.chips[chip] if chip is not None else None


def hold_on(container: Container, at: datetime, cause: Cause, episode: int = 0) -> Hold:
    """Return the promise for a container as it is: one that runs is to be stopped first."""
    return Hold(
        container.key,
        container.name,
        container.chips,
        episode,
        at,
        HoldState.STOPPING if container.running else HoldState.STOPPED,
        container.run,
        order=container.order,
        grace=container.grace,
        restart_policy=container.restart_policy,
        cause=cause,
    )
