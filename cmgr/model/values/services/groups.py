"""Groups: containers of which none is of use without the others. They stop and start together, round by round."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from cmgr.frozen import dataclass, replace
from cmgr.model.values.services.containers import ContainerKey
from cmgr.sentences.sentence import Sentence

MOST_ROUNDS = 8
"""So many of the last rounds of a group are remembered."""


class GroupPhase(StrEnum):
    """Where a group's round is. `RUNNING`: there is none. `HALTING`: its members are stopped, and none is started."""

    RUNNING = "running"
    HALTING = "halting"
    STARTING = "starting"


@dataclass(frozen=True, slots=True)
class Round:
    """A round that is over. `outcome`: "recovered", "resumed" (without some), "again" (the next one
    began), "given back" or "taken back" (its order was)."""

    number: int
    began: datetime
    ended: datetime
    cause: Sentence | str
    outcome: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group and its round: `round` numbers it, `cause` is why it began, `since` when its phase did.

    `members`: those that this round stops and starts. `up`: those of them that run again. `out`: those that a person
    has taken out of the round, or left behind. `missing`: full names of those that were removed in mid-round.
    `restarts`: how often something else has started a member of this full name in this round.
    `ordered`: who has ordered this round, if somebody did who can take that back. `taken`: those that were down then.
    """

    name: str
    phase: GroupPhase = GroupPhase.RUNNING
    round: int = 0
    since: datetime | None = None
    began: datetime | None = None
    cause: Sentence | str = ""
    members: frozenset[ContainerKey] = frozenset()
    up: frozenset[ContainerKey] = frozenset()
    out: frozenset[ContainerKey] = frozenset()
    missing: frozenset[str] = frozenset()
    restarts: Mapping[str, int] = field(default_factory=dict)
    history: tuple[Round, ...] = ()
    ordered: str = ""
    taken: frozenset[ContainerKey] = frozenset()

    @property
    def in_round(self) -> bool:
        return self.phase is not GroupPhase.RUNNING

    @property
    def can_be_taken_back(self) -> bool:
        """Return whether its round was ordered, and none of its members is started yet."""
        return bool(self.ordered) and self.phase is GroupPhase.HALTING


def over(group: Group, at: datetime, outcome: str) -> Group:
    """Return the group when its round has ended so."""
    last = Round(group.round, group.began or at, at, group.cause, outcome)
    return Group(
        group.name, round=group.round, since=at, out=group.out, history=(*group.history, last)[-MOST_ROUNDS:]
    )  # fmt: skip


def not_ahead(group: Group, at: datetime) -> Group:
    """Return it as it fits a clock that may have been set back between two lives."""
    return replace(
        group,
        since=None if group.since is None else min(group.since, at),
        began=None if group.began is None else min(group.began, at),
    )
