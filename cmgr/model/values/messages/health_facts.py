"""The facts about how containers do, as cmgr itself finds it: no runtime tells them."""

from cmgr.frozen import dataclass
from cmgr.model.values.handling.questions import Question
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.services.healing import Hang


@dataclass(frozen=True, slots=True)
class HangsSeen:
    """All containers that hang, of those that wish it to be looked at. Told when these are others than before."""

    hangs: tuple[Hang, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A container has answered its question otherwise than before, or has not for long enough.

    `run`: the life that was asked. `answer`: as in `Container`; `said`: the last answer in words.
    """

    key: ContainerKey
    run: str
    question: Question
    answer: str
    said: str
