"""The state that one Ascend chip tells of itself: booted or not, its faults, who uses it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeVar

from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.processes import Holder
from cmgr.frozen import dataclass
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
    found = None
    if not _is_away(library, place) and _booted(library, place, finished):
        found = _alive(library, place)
    if found is None:
        return Reading(booted=False)
    listed, unasked, health = found
    severities = _present(library, place) if listed else {}
    return Reading(
        True,
        listed,
        _holders(library, place),
        severities=severities or {},
        health=health if listed else None,
        unasked=unasked,
    )


def dropped(library: Library, place: Location) -> Reading:
    """Return what a chip still says that has dropped."""
    return Reading(True, _and_dropped(library, place), _or_none(lambda: library.holders(place)))


def codes(library: Library, place: Location, finished: int) -> tuple[str, ...]:
    """Return the codes that the chip reports; of one that is not up, that it dropped, too. Raises `Refused`."""
    try:
        up = not _is_away(library, place) and _booted(library, place, finished)
    except Refused:
        up = True  # The rest may say it.
    found = _alive(library, place) if up else None
    return _and_dropped(library, place) if found is None else found[0]


def hints(library: Library, place: Location) -> tuple[str, ...]:
    """Return the codes of the chip to compare with those before: a 950's without those of its card's controller.

    Each question to that costs it time, and it is asked whenever the chip is read. Raises `Refused`.
    """
    present = _present(library, place)
    if present is not None:
        return tuple(present)
    return _and_dropped(library, place) if _is_away(library, place) else _listed(library, place)[0]


def _and_dropped(library: Library, place: Location) -> tuple[str, ...]:
    said = _or_none(lambda: _listed(library, place)[0])
    return said if abi.CARD_DROPPED in said else (*said, abi.CARD_DROPPED)


def _alive(library: Library, place: Location) -> tuple[tuple[str, ...], tuple[str, ...], int | None] | None:
    """Return what `_listed` does, and the health; None where the chip's heartbeat is lost. Raises `Refused`."""
    try:
        listed, unasked = _listed(library, place)
    except Refused:
        if _health(library, place) == abi.GRAVEST:
            return None
        raise
    # Asked after the codes: what has come since only makes it graver.
    health = _health(library, place)
    # No fault is so grave that the list does not have it.
    return None if health == abi.GRAVEST and not listed else (listed, unasked, health)


def _listed(library: Library, place: Location) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the codes that the chip reports, and the beginnings of those that nobody answered for."""
    try:
        return library.codes(place), ()
    except Refused:
        # The list of a 950 fails as a whole where the controller of its card does not answer.
        present = _present(library, place)
        if present is None:
            raise
        return tuple(present), abi.CONTROLLER


def _present(library: Library, place: Location) -> Mapping[str, int] | None:
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
