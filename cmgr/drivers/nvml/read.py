"""The state that one NVIDIA GPU tells of itself: the conditions it is in, and who uses it."""

from collections.abc import Callable, Iterator

from cmgr.drivers.nvml import codes
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.calls import Handle, Library, Part, Refused
from cmgr.drivers.processes import Holder
from cmgr.frozen import dataclass, replace
from cmgr.sentences.sentence import say

_FIELDS = (abi.ACTION_FIELD, abi.REMAP_PENDING_FIELD, abi.REMAP_FAILED_FIELD, abi.PAGES_PENDING_FIELD)

_NOT_YET = frozenset({abi.GPU_IS_LOST, abi.RESET_REQUIRED, abi.NOT_READY, abi.NOT_FOUND, abi.GPU_NOT_FOUND})
"""Answers of a GPU that comes up after a reset."""

FABRIC_MANAGER = say("driver.awaits-manager")


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer. With `booted` false there is nothing in it but what it `awaits`, in words, where it says that.

    `action`: what the driver asks for; None where it does not say. `holders`: None where what is wrong with the GPU
    keeps it from saying. `parts`: those of MIG; None where it was not asked.
    """

    booted: bool = True
    awaits: str = ""
    conditions: tuple[str, ...] = ()
    action: int | None = None
    holders: tuple[Holder, ...] | None = None
    parts: tuple[Part, ...] | None = None


def action(library: Library, handle: Handle) -> Reading:
    """Return the action that the driver asks for, and the condition that it is: the CPU keeps it, and no call hangs."""
    said: list[str] = []
    asked: float | None = None
    try:
        fields = library.fields(handle, (abi.ACTION_FIELD,))
        asked = fields.get(abi.ACTION_FIELD)
        said.extend(_told_by_fields(fields.get))
    except Refused as refused:
        _take(refused, said, ill=True)
    return Reading(conditions=tuple(said), action=None if asked is None else int(asked))


def told_of_action(library: Library, handle: Handle) -> tuple[str, ...]:
    """Return the condition that `action` tells of, and no more: the answer to a sweep, every few seconds, is short."""
    return action(library, handle).conditions


def told(library: Library, opened: Callable[[], Handle]) -> tuple[str, ...]:
    """The same of `conditions`."""
    return conditions(library, opened).conditions


def read(library: Library, opened: Callable[[], Handle], *, after_reset: bool, ill: bool = False) -> Reading:
    """Return what the GPU says. Raises `Refused` when it does not say the most important things.

    `opened` returns its handle. `after_reset`: one that does not answer may be coming up, and is not lost; so recent
    that is.
    `ill`: as `conditions` has it.
    """
    try:
        found = conditions(library, opened, ill=ill)
        if after_reset and (codes.LOST in found.conditions or codes.RESET_REQUIRED in found.conditions):
            return Reading(booted=False)
        if codes.LOST in found.conditions:
            return found
        if after_reset and _joins_fabric(library, opened()):
            return Reading(booted=False, awaits=FABRIC_MANAGER)
        return _with_users(library, opened, found, ill=ill)
    except Refused as refused:
        if after_reset and refused.code in _NOT_YET:
            return Reading(booted=False)
        raise


def _with_users(library: Library, opened: Callable[[], Handle], found: Reading, *, ill: bool) -> Reading:
    said, holders, parts = list(found.conditions), None, None
    try:
        holders = library.holders(opened())
        parts = library.parts(opened())
    except Refused as refused:
        _take(refused, said, ill=ill)
    return replace(found, conditions=tuple(said), holders=holders, parts=parts)


def _take(refused: Refused, said: list[str], *, ill: bool) -> None:
    """Add the condition that the answer itself is. Raises it where it is none, and none explains it."""
    condition = codes.ANSWERS.get(refused.code)
    if condition is None and not said and not ill:
        raise refused
    if condition is not None and condition not in said:
        said.append(condition)


def conditions(library: Library, opened: Callable[[], Handle], *, ill: bool = False) -> Reading:
    """Return what is wrong with the GPU, and the action that the driver asks for; who uses it is not asked.

    Where it refuses to say more that is no silence, but what is wrong with it, or comes of that. `ill`: as is known
    already, by an Xid. Raises `Refused` otherwise.
    """
    said: list[str] = []
    action: float | None = None
    try:
        handle = opened()
        fields = library.fields(handle, _FIELDS)
        action = fields.get(abi.ACTION_FIELD)
        said.extend(_told_by_fields(fields.get))
        said.extend(_told_by_calls(library, handle))
    except Refused as refused:
        _take(refused, said, ill=ill)
    return Reading(conditions=tuple(said), action=None if action is None else int(action))


def _told_by_fields(value: Callable[[int, float], float]) -> Iterator[str]:
    action = int(value(abi.ACTION_FIELD, 0))
    if action in codes.ACTIONS:
        yield codes.ACTIONS[action]
    if value(abi.REMAP_PENDING_FIELD, 0):
        yield codes.ROWS_PENDING
    if value(abi.REMAP_FAILED_FIELD, 0):
        yield codes.ROWS_FAILED
    if value(abi.PAGES_PENDING_FIELD, 0):
        yield codes.PAGES_PENDING


def _told_by_calls(library: Library, handle: Handle) -> Iterator[str]:
    asked: tuple[tuple[Callable[[Handle], bool], str], ...] = (
        (library.sram_worn, codes.SRAM_WORN),
        (library.unrepairable, codes.UNREPAIRABLE),
        (library.repair_pending, codes.REPAIR_PENDING),
        (lambda h: _is_out_of_fabric(library, h), codes.FABRIC),
    )
    yield from (code for ask, code in asked if ask(handle))


def _is_out_of_fabric(library: Library, handle: Handle) -> bool:
    fabric = library.fabric(handle)
    if fabric is None or fabric.state == abi.FABRIC_NOT_SUPPORTED:
        return False
    joined = fabric.state == abi.FABRIC_COMPLETED and fabric.status == abi.OK
    return not joined or fabric.summary == abi.SUMMARY_UNHEALTHY


def _joins_fabric(library: Library, handle: Handle) -> bool:
    fabric = library.fabric(handle)
    return fabric is not None and fabric.state in (abi.FABRIC_NOT_STARTED, abi.FABRIC_IN_PROGRESS)
