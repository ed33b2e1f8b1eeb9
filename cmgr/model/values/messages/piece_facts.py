"""Facts about pieces of hardware: that one is gone for good, and that one is slower than its like."""

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, Straggler


@dataclass(frozen=True, slots=True)
class ChipForgetOrdered:
    """A person says that a piece which is missing is gone for good."""

    chip: ChipId
    who: str


@dataclass(frozen=True, slots=True)
class StragglersSeen:
    """All chips that lag behind those with which they work. Told when these are others than before."""

    chips: tuple[Straggler, ...]
