"""The parts of a rank table, by which the chips of a collective find one another: machines, chips and their order."""

from cmgr.frozen import dataclass

MOST_PARTS = 16
"""So many groups over appliances have a rank table on one appliance."""

MOST_DEVICES = 64
"""So many chips one appliance has in a rank table."""


@dataclass(frozen=True, slots=True)
class Device:
    """A chip of a server: its physical id, and its address. `pod` and `in_pod`: its SuperPod, and its number there."""

    id: int
    address: str
    pod: int | None = None
    in_pod: int = 0


@dataclass(frozen=True, slots=True)
class Server:
    """A machine, as all others call it, and its chips in the order of their ranks."""

    name: str
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """An appliance's part of the table of a group over appliances, with the group in this round.

    `members`: of so many containers. `order`: the least `cmgr.order` of these. `why`: why there is none; then the
    server has no chips.
    """

    group: str
    round: int
    members: int
    order: int
    server: Server
    why: str = ""
