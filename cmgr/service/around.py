"""The places around an order where somebody else has a say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cmgr.model.values.chips import ChipReport
from cmgr.model.values.commands import ReadRing, ResetRing, StopContainer

Reports = Sequence[ChipReport]


def _nothing(_action: StopContainer | ResetRing) -> None:
    return None


def _as_they_are(_action: ReadRing, reports: Reports) -> tuple[ChipReport, ...]:
    return tuple(reports)


@dataclass(frozen=True, slots=True)
class Around:
    """The functions that workers call around their orders, on their threads. Each may block, for a bounded time.

    `before_stop` may raise `RuntimeDown` when the stop must not go out, `before_reset` raises `ResetRefused`.
    `after_reset` is asked about read-outs whose order says so, and returns them with what it has to add.
    """

    before_stop: Callable[[StopContainer], None] = _nothing
    before_reset: Callable[[ResetRing], None] = _nothing
    after_reset: Callable[[ReadRing, Reports], tuple[ChipReport, ...]] = _as_they_are
