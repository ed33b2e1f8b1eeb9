"""The state that one Ascend chip tells of itself: booted or not, its faults, who uses it."""

from collections.abc import Callable, Mapping, Set
from dataclasses import field
from typing import TypeVar

from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.processes import Holder
from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import Share

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer. With `booted` false nothing else was asked. `shares`: None where they were not told.

    `holders`: None where it cannot tell who they are. `severities`: those that the chip has told of its codes.
    `health`: the gravest of all of them, or None. `unasked`: the beginnings of codes that nobody answered for.
    """

    booted: bool
    codes: tuple[str, ...] = ()
    holders: tuple[Holder, ...] | None = ()
    shares: tuple[Share, ...] | None = None
    severities: Mapping[str, int] = field(default_factory=dict)
    health: int | None = None
    unasked: tuple[str, ...] = ()


def read(library: Library, place: Location, finished: int) -> Reading:
    """Return what the chip says. Raises `Refused` when it does not say the most important things.

    `finished`: the boot status that means so.
    """
    told = _told(library, place, finished)
    if told is None:
        return Reading(booted=False)
    return replace(told, holders=_holders(library, place))


def dropped(library: Library, place: Location) -> Reading:
    """Return what a chip still says that has dropped."""
    return Reading(True, _and_dropped(library, place), _or_none(lambda: library.holders(place)))


def codes(library: Library, place: Location, finished: int, wanted: Set[str]) -> tuple[str, ...]:
    """Return the codes that the chip reports; of one that is not up, that it dropped, too. Raises `Refused`.

    Those of its card's controller are there where they are `wanted`.
    """
    try:
        told = _told(library, place, finished)
    except Refused:
        return library.codes(place)
    if told is None:
        return _and_dropped(library, place)
    if told.unasked and any(code.startswith(told.unasked) for code in wanted):
        return with_controller(library, place, told).codes
    return told.codes


def hints(library: Library, place: Location) -> tuple[str, ...]:
    """Return the codes of the chip to compare with those before, without those of its card's controller.

    Raises `Refused`.
    """
    present = _present(library, place)
    if present is not None:
        return tuple(present)
    return _and_dropped(library, place) if _is_away(library, place) else library.codes(place)


def with_controller(library: Library, place: Location, told: Reading) -> Reading:
    """Return what the chip has told, and what its card's controller tells. Raises `Refused`.

    That may take minutes: it is asked through the management of the chip.
    """
    more = tuple(code for code in library.codes(place) if code.startswith(told.unasked))
    found = (*told.codes, *more)
    return replace(told, codes=found, health=_health(library, place) if found else None, unasked=())


def _told(library: Library, place: Location, finished: int) -> Reading | None:
    """Return the codes that the chip reports, and how grave they are; None where it is not up. Raises `Refused`."""
    present = _present(library, place)
    if present is not None:
        # A 950. Its health and its list ask the controller of its card, too, and fail as a whole where that does.
        up = _booted(library, place, finished)
        return Reading(True, tuple(present), severities=present, unasked=abi.CONTROLLER) if up else None
    if _is_away(library, place) or not _booted(library, place, finished):
        return None
    try:
        listed = library.codes(place)
    except Refused:
        if _health(library, place) == abi.GRAVEST:
            return None
        raise
    # Asked after the codes: what has come since only makes it graver.
    health = _health(library, place)
    if health == abi.GRAVEST and not listed:
        # No fault is so grave: the chip's heartbeat is lost.
        return None
    return Reading(True, listed, health=health if listed else None)


def _and_dropped(library: Library, place: Location) -> tuple[str, ...]:
    present = _present(library, place)
    said = tuple(present) if present is not None else _or_none(lambda: library.codes(place))
    return said if abi.CARD_DROPPED in said else (*said, abi.CARD_DROPPED)


def _present(library: Library, place: Location) -> Mapping[str, int] | None:
    """Return how grave each present fault is that is the chip's own; None where it does not say that: but for a 950."""
    try:
        return library.present(place)
    except Refused:
        return None


def _health(library: Library, place: Location) -> int | None:
    try:
        value = library.health(place)
    except Refused:
        return None
    return value if value in abi.SEVERITIES else None


def _is_away(library: Library, place: Location) -> bool:
    """Return whether the chip is not up: it boots, is in a reset, or has left the bus."""
    try:
        return library.health(place) == abi.UNREAD
    except Refused as refused:
        # For what other reason there is no health, the codes may say.
        return refused.code in (abi.NOT_READY, abi.IOCTL_FAILED)


def _booted(library: Library, place: Location, finished: int) -> bool:
    try:
        return library.boot_status(place) == finished
    except Refused as refused:
        # A chip that has no boot status is up when it answers the rest.
        if refused.unsupported:
            return True
        raise


def _holders(library: Library, place: Location) -> tuple[Holder, ...] | None:
    try:
        return library.holders(place)
    except Refused as refused:
        if refused.unsupported:
            return None  # A reset is refused all the same: it asks for itself.
        raise


def _or_none(ask: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
    try:
        return ask()
    except Refused:
        return ()
