"""CDI: the names by which runtimes give chips to containers, and the files that say which chips these are.

A file is written from what is decided, and nothing is ever decided by what stands in it.
"""

from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip

EVERY_CHIP = "chips"
"""The name of the file that has a device for each chip."""


@dataclass(frozen=True, slots=True)
class Device:
    """A name that containers ask for, and the chips that one which is started now is given.

    `refusal`: why nothing may be started with it now, in words that whoever tries is told. `full`: of a slot, how many
    chips it has; `chips` may be fewer.
    """

    name: str
    chips: tuple[Chip, ...]
    refusal: str = ""
    full: int = 0


@dataclass(frozen=True, slots=True)
class Spec:
    """One file: its name, and its devices."""

    name: str
    devices: tuple[Device, ...]
