"""Rings: the life of one ring as phases and edges, kept as data.

Rules:
1. Every change of phase goes through `entered`, along an edge of `EDGES`. Any other is a bug.
2. Every phase but healthy has a deadline or an awaited answer, and a reason that a person can read.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.life import ThisLife
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.services.containers import ContainerKey
from cmgr.sentences.sentence import Sentence


class Phase(StrEnum):
    """Where a ring is in its episode."""

    HEALTHY = "healthy"
    LISTING = "listing"
    DRAINING = "draining"
    WAITING = "waiting"
    RESETTING = "resetting"
    VERIFYING = "verifying"
    RESUMING = "resuming"


EDGES: Mapping[tuple[Phase, Phase], str] = {
    (Phase.HEALTHY, Phase.LISTING): "a handled fault, or an ordered reset or test",
    (Phase.LISTING, Phase.DRAINING): "every runtime answered",
    (Phase.DRAINING, Phase.WAITING): "every stop was answered",
    (Phase.WAITING, Phase.RESETTING): "a reset is due and nothing is in its way",
    (Phase.WAITING, Phase.VERIFYING): "an ordered test is due and nothing is in its way",
    (Phase.WAITING, Phase.RESUMING): "no handled fault is left",
    (Phase.RESETTING, Phase.VERIFYING): "the driver took the reset, or cmgr was restarted",
    (Phase.RESETTING, Phase.WAITING): "the reset failed or was refused",
    (Phase.VERIFYING, Phase.RESUMING): "booted, no handled fault is left, and each chip has passed its test",
    (Phase.VERIFYING, Phase.WAITING): "not booted in time, the fault is still there, or a chip has failed its test",
    (Phase.RESUMING, Phase.HEALTHY): "nothing is left to start",
    (Phase.RESUMING, Phase.LISTING): "a new fault, or an ordered reset or test",
}

REBOOTING = frozenset({Phase.RESETTING, Phase.VERIFYING})
"""Phases in which the ring's chips may be away."""

AFTER_RESTART: Mapping[Phase, Phase] = {
    **{phase: phase for phase in Phase},
    # The one command that is not safe to repeat: look at what it did instead.
    Phase.RESETTING: Phase.VERIFYING,
}


@dataclass(frozen=True, slots=True)
class Spared:
    """Why a ring waits while healthy ring mates run, and until when it does at least.

    `processes`: those that were on it when they were down. Later nobody can tell whether one is theirs.
    """

    why: str
    until: datetime
    processes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Testing:
    """The test of a ring's chips. `command`: it is under way. `at`: it is tried again then. `tries`: those in vain.

    `done`: every chip that is used has passed it.
    """

    command: CommandId | None = None
    at: datetime | None = None
    tries: int = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class Ring:
    """One ring, and where it is in its episode.

    `deadline`: when time alone will move it. `resets`: when it was reset within the window, ended well or not.
    `failures`: resets of this episode in a row that did not cure. `not_before`: back-off before the next.
    `lulls`: when its fault went away by itself, lately. `theirs`: containers that a person started, or took back, in
    this episode. `starts`: how often cmgr started each container in this episode; `up`: when the last of its starts
    worked, `answered`: when the last of those answered that are asked. `blocked`: since when a due reset waits for
    containers out of scope; `widened`: that took too long, and the whole ring is in scope. `lost`: full names of
    containers that cmgr was to start again in this episode, and that are gone, or did not stay up. `restarts`: how
    often something else started a container again in this episode, by full name. `preparing`: a reset is counted and
    prepared, and the driver has not been called. `failed`: chips that have failed the test after the last reset, with
    the test's words. `vetoed`: since when its present faults wait for containers that may be busy, or how long ago they
    did first.
    Of this life only: `free`, since when nobody uses the ring that is to be reset; `reset`, the reset under way;
    `look`, since when a last look before a reset is wanted; `read`, when the last good read-out was asked for; `asked`,
    the read-out under way and when it was asked for; `again`, another is wanted when that is in; `silent`, since when
    not every chip answers, and `silence_told`, the timeline has that; `ask_at`, when to ask again; `refusals`, resets
    in a row that the driver refused, and `refused`, when the first of them was; `refused_until`, no look before the
    next reset is taken until then;
    `spared`, what was in the way when those were given back whose own chips are well, and that they run until it is
    not; `mercies`, how often that was so in this episode; `making`, the order under way to make shares again; `makes`,
    how many of them there were since the last reset; `make_at`, when the next is due; `of_programs`, the episode is
    about nothing but faults that spare others; `test`, the test of its chips since it is being verified.
    """

    id: RingId
    chips: tuple[ChipId, ...]
    phase: Phase = Phase.HEALTHY
    since: datetime | None = None
    reason: Sentence | str = ""
    deadline: datetime | None = None
    episode: int = 0
    began: datetime | None = None
    resets: tuple[datetime, ...] = ()
    failures: int = 0
    not_before: datetime | None = None
    lulls: tuple[datetime, ...] = ()
    theirs: frozenset[ContainerKey] = frozenset()
    starts: Mapping[ContainerKey, int] = field(default_factory=dict)
    up: datetime | None = None
    answered: datetime | None = None
    blocked: datetime | None = None
    widened: bool = False
    lost: frozenset[str] = frozenset()
    restarts: Mapping[str, int] = field(default_factory=dict)
    preparing: bool = False
    failed: Mapping[ChipId, str] = field(default_factory=dict)
    vetoed: datetime | None = None
    free: ThisLife[datetime | None] = None
    reset: ThisLife[CommandId | None] = None
    look: ThisLife[datetime | None] = None
    read: ThisLife[datetime | None] = None
    asked: ThisLife[tuple[CommandId, datetime] | None] = None
    again: ThisLife[bool] = False
    silent: ThisLife[datetime | None] = None
    silence_told: ThisLife[bool] = False
    ask_at: ThisLife[datetime | None] = None
    refusals: ThisLife[int] = 0
    refused: ThisLife[datetime | None] = None
    making: ThisLife[CommandId | None] = None
    makes: ThisLife[int] = 0
    make_at: ThisLife[datetime | None] = None
    refused_until: ThisLife[datetime | None] = None
    spared: ThisLife[Spared | None] = None
    mercies: ThisLife[int] = 0
    of_programs: ThisLife[bool] = False
    test: ThisLife[Testing | None] = None

    @property
    def in_episode(self) -> bool:
        return self.phase is not Phase.HEALTHY

    @property
    def keeps_others(self) -> bool:
        """Return whether its episode, if it is in one, concerns whoever is on its chips."""
        return self.in_episode and not self.of_programs


def entered(ring: Ring, phase: Phase, at: datetime, reason: str) -> Ring:
    """Return the ring in another phase."""
    assert (ring.phase, phase) in EDGES, f"ring {ring.id}: no edge {ring.phase} -> {phase}"
    ring = replace(ring, phase=phase, since=at, reason=reason, deadline=None, ask_at=None, free=None)
    return replace(ring, refused_until=None, spared=None)


def resets_within(ring: Ring, at: datetime, window: timedelta) -> tuple[datetime, ...]:
    """Return the resets that still count."""
    # A reset from the future (the clock was set back between two lives) counts: resetting too seldom is the safe side.
    return tuple(t for t in ring.resets if at - t < window)
