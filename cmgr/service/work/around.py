"""The places around an order where somebody else has a say, or carries it out."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cmgr.errors import CmgrError, FleetError, RuntimeDown
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.messages.commands import (
    ReadGroup,
    ReadRing,
    ResetRing,
    RunTest,
    ScheduleReboot,
    StartContainer,
    StopContainer,
    WriteCdi,
    WriteGroup,
)
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten

Reports = Sequence[ChipReport]


class Verdicts(NamedTuple):
    """The chips that have failed, with the words of the test; and why the first of the others has no verdict."""

    failed: Mapping[ChipId, str]
    untold: str = ""


def _no_engine(_action: WriteGroup | ReadGroup) -> GroupWritten | GroupRead:
    raise FleetError("cannot ask the fleet's engine: none is set", hint="fleet.engine")


def _no_reboot(_action: ScheduleReboot) -> None:
    raise RuntimeDown("cannot schedule a reboot: this service reboots no machine")


def _no_test(_action: RunTest) -> Verdicts:
    raise CmgrError("cannot test chips: there is no program for it", hint="reset.test")


@dataclass(frozen=True, slots=True)
class Around:
    """The functions that workers call around their orders, on their threads. Each may block, for a bounded time.

    `before_stop` may raise `RuntimeDown` when the stop must not go out, `before_reset` raises `ResetRefused`.
    `codes` is asked right before the reset: for which codes the driver is to look once more.
    `before_start` raises `ContainerError` when it must not be made, `RuntimeDown` where that is no failure of it.
    `reboot` raises `RuntimeDown` when the machine was not told, and can be later, else `CmgrError`.
    `write_cdi` returns what it has put right, a sentence each, and raises `CmgrError`.
    `agree` carries out what is for the fleet's engine, within a few seconds, and raises `FleetError`.
    `after_reset` is asked about read-outs whose order says so, and returns them with what it has to add.
    `test` tests chips one after the other, each within its time, and raises nothing.
    """

    before_stop: Callable[[StopContainer], None] = lambda _: None
    before_reset: Callable[[ResetRing], None] = lambda _: None
    after_reset: Callable[[ReadRing, Reports], tuple[ChipReport, ...]] = lambda _, reports: tuple(reports)
    before_start: Callable[[StartContainer], None] = lambda _: None
    codes: Callable[[ResetRing], frozenset[str]] = lambda action: frozenset(action.codes)
    test: Callable[[RunTest], Verdicts] = _no_test
    reboot: Callable[[ScheduleReboot], None] = _no_reboot
    write_cdi: Callable[[WriteCdi], tuple[str, ...]] = lambda _: ()
    agree: Callable[[WriteGroup | ReadGroup], GroupWritten | GroupRead] = _no_engine
