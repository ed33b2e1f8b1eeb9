"""Slots: stable names for as many chips as a service needs. Which chips these are now, cmgr says."""

import re
from datetime import datetime, timedelta

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import SLOT, ChipId
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import Sentence

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
"""A slot's name: it is part of a device's name, and of a file's."""


@dataclass(frozen=True, slots=True)
class Slot:
    """`chips`: those that it has, and that nobody else gets; how many never changes.

    `home`: those that a person gave it; where `chips` are others, it has moved. `wish`: a person has ordered these, and
    it gets them as soon as nothing runs on it. `short`: why it cannot move although it should. `without`: those of
    `chips` that are isolated, and that its containers are started without, because their labels agree to fewer.
    """

    name: str
    chips: frozenset[ChipId]
    home: frozenset[ChipId]
    since: datetime
    reason: Sentence | str
    wish: frozenset[ChipId] = frozenset()
    short: Sentence | str = ""
    without: frozenset[ChipId] = frozenset()

    @property
    def given(self) -> frozenset[ChipId]:
        """Return the chips that a container which is started on it gets."""
        return self.chips - self.without


LONGEST_RESERVATION = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A free chip that somebody was told of, and that nobody else is until then. `asker`: whose order that was."""

    chip: ChipId
    until: datetime
    who: str
    asker: str


def not_longer(reservation: Reservation, at: datetime) -> Reservation:
    """Return it as it fits a clock that may have been set back between two lives: how far, nobody knows."""
    return replace(reservation, until=min(reservation.until, at + LONGEST_RESERVATION))


def can_be_placed(container: Container) -> bool:
    """Return whether its runtime can give the container other chips, which is on no slot."""
    return not container.tied and not slots_of(container)


def slots_of(container: Container) -> tuple[str, ...]:
    """Return the names of the slots that the container asks for."""
    return tuple(claim.removeprefix(SLOT) for claim in sorted(container.claims) if claim.startswith(SLOT))
