"""The orders about pieces of hardware that are not there."""

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId


@dataclass(frozen=True, slots=True)
class ChipForgetOrdered:
    """A person says that a piece which is missing is gone for good."""

    chip: ChipId
    who: str
