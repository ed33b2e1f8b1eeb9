"""The answers about a reset: that it is prepared, what became of it, whether its chips have passed their test, and that
the shares which it took are made again.
"""

from collections.abc import Mapping
from dataclasses import field

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId
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


@dataclass(frozen=True, slots=True)
class ChipsTested:
    """Answers `RunTest`. `failed`: the chips that have not passed, with the words of the test.

    `error`: why some of the rest have no verdict: then it says nothing of the chips.
    """

    command: CommandId
    ring: RingId
    failed: Mapping[ChipId, str] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class SharesMade:
    """Answers `MakeShares`. `error` empty: the driver did all that it could, and a read-out says what there is."""

    command: CommandId
    ring: RingId
    error: str = ""
