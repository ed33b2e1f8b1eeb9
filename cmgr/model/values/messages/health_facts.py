"""The facts about how containers do, as cmgr itself finds it: no runtime tells them."""

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
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


@dataclass(frozen=True, slots=True)
class RulesRead:
    """The device rules of a container's control group say otherwise than before which of its chips it can open.

    `run`: the life that they are of. `chips`: those that it can open.
    """

    key: ContainerKey
    run: str
    chips: frozenset[ChipId]


@dataclass(frozen=True, slots=True)
class BusySaid:
    """A container has said whether it is busy, for the first time in this wait, or otherwise than before.

    `run`: the life that was asked. `question`: as in `Container.busy`. `mute`: it has given no
    answer to several questions in a row, and counts as one that is not busy.
    """

    key: ContainerKey
    run: str
    question: str
    busy: bool
    said: str
    mute: bool = False


HealthTold = HangsSeen | Answered | BusySaid | RulesRead
