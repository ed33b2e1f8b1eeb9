"""The facts about how containers do, as cmgr itself finds it: no runtime tells them."""

from cmgr.frozen import dataclass
from cmgr.model.values.services.healing import Hang


@dataclass(frozen=True, slots=True)
class HangsSeen:
    """All containers that hang, of those that wish it to be looked at. Told when these are others than before."""

    hangs: tuple[Hang, ...]
