"""The answers about a reset: that it is prepared, and what became of it."""

from cmgr.frozen import dataclass
from cmgr.model.values.chips import RingId
from cmgr.model.values.messages.commands import CommandId, ResetRing


@dataclass(frozen=True, slots=True)
class ResetPrepared:
    """Answers `PrepareReset`, where nobody had a word against it: its order may go out."""

    command: CommandId
    order: ResetRing


@dataclass(frozen=True, slots=True)
class ResetDone:
    """Answers `ResetRing`, or a `PrepareReset` that somebody refused.

    `error` empty: the driver took the reset. `refused`: nothing was reset.
    """

    command: CommandId
    ring: RingId
    error: str = ""
    refused: bool = False
