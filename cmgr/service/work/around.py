"""The places around an order where somebody else has a say, or carries it out."""

from collections.abc import Callable, Sequence

from cmgr.errors import FleetError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipReport
from cmgr.model.values.messages.commands import (
    ReadGroup,
    ReadRing,
    ResetRing,
    StartContainer,
    StopContainer,
    WriteCdi,
    WriteGroup,
)
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten

Reports = Sequence[ChipReport]


def _nothing(_action: StopContainer | StartContainer | ResetRing) -> None:
    return None


def _as_ordered(action: ResetRing) -> frozenset[str]:
    return frozenset(action.codes)


def _as_they_are(_action: ReadRing, reports: Reports) -> tuple[ChipReport, ...]:
    return tuple(reports)


def _write_nothing(_action: WriteCdi) -> tuple[str, ...]:
    return ()


def _no_engine(_action: WriteGroup | ReadGroup) -> GroupWritten | GroupRead:
    raise FleetError("cannot ask the fleet's engine: none is set", hint="fleet.engine")


@dataclass(frozen=True, slots=True)
class Around:
    """The functions that workers call around their orders, on their threads. Each may block, for a bounded time.

    `before_stop` may raise `RuntimeDown` when the stop must not go out, `before_reset` raises `ResetRefused`.
    `codes` is asked right before the reset: for which codes the driver is to look once more.
    `before_start` raises `ContainerError` when it must not be made, `RuntimeDown` where that is no failure of it.
    `write_cdi` returns what it has put right, a sentence each, and raises `CmgrError`.
    `agree` carries out what is for the fleet's engine, within a few seconds, and raises `FleetError`.
    `after_reset` is asked about read-outs whose order says so, and returns them with what it has to add.
    """

    before_stop: Callable[[StopContainer], None] = _nothing
    before_reset: Callable[[ResetRing], None] = _nothing
    after_reset: Callable[[ReadRing, Reports], tuple[ChipReport, ...]] = _as_they_are
    before_start: Callable[[StartContainer], None] = _nothing
    codes: Callable[[ResetRing], frozenset[str]] = _as_ordered
    write_cdi: Callable[[WriteCdi], tuple[str, ...]] = _write_nothing
    agree: Callable[[WriteGroup | ReadGroup], GroupWritten | GroupRead] = _no_engine
