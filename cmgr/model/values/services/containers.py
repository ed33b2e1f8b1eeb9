"""Containers that use chips, as their runtimes describe them."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import UNCLEAR, ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.questions import Network, Question
from cmgr.model.values.life import ThisLife
from cmgr.model.values.services.compose import Composed
from cmgr.sentences.sentence import say

NO_RESTART = ""
"""The restart policy of a container that no runtime restarts on its own."""

DEFAULT_GRACE = timedelta(seconds=10)

HANDS_OFF = "cmgr.enable=false"
"""The label that says that cmgr is to leave the container alone; a maker's may say it, too."""

STARTING = "starting"
"""The health of a container of which nothing can be said yet: it loads."""

HEALTHY = "healthy"
"""The health of a container whose own check is content."""

UNHEALTHY = "unhealthy"
"""The health of a container whose own check fails."""


TIED = say("container.is-tied")
"""The reason why a container of most runtimes cannot be given other chips, in words that follow its name."""


class Spare(StrEnum):
    """Whether a container may be moved to other chips: where it says nothing, one on a slot may, and no other may."""

    AUTO = "auto"
    NEVER = "never"


class ContainerKey(NamedTuple):
    """Names one container on this machine. Docker has one namespace, the empty one."""

    runtime: str
    namespace: str
    id: str


def full_name(key: ContainerKey, name: str) -> str:
    """Return what tells a container from others whichever one of that name it is: runtime, namespace and name."""
    return "/".join((key.runtime, key.namespace, name))


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container's last life ended.

    `asked`: somebody told it to stop (True), nobody did (False), or the runtime cannot tell any more (None).
    `missed`: its runtime's daemon was not there to tell of it; perhaps it ended the container as it went or came.
    `amiss`: it ended well, nobody had asked for that, and it is a service, which is to run on.
    `left`: its runtime begins no other life, though the container has a restart policy.
    `told`: when somebody else than cmgr told it to end, where that is known.
    """

    code: int
    at: datetime
    asked: bool | None = None
    missed: ThisLife[bool] = False
    amiss: ThisLife[bool] = False
    left: ThisLife[bool] = False
    told: ThisLife[datetime | None] = None

    @property
    def by_itself(self) -> bool:
        """Return whether it died of an error that nobody asked for, or as a service that was to run on.

        Where that is not known, 130, 137 and 143 (SIGINT, SIGKILL, SIGTERM) count as asked for: starting what a
        person stopped is worse than leaving it down.
        """
        if self.asked is None:
            return self.code not in (0, 130, 137, 143)
        return (self.code != 0 or self.amiss) and not self.asked


@dataclass(frozen=True, slots=True)
class Heal:
    """A container's wish to be restarted when it ails. The policy decides where it says nothing (`HealPolicy`)."""

    limit: int | None = None
    backoff: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Veto:
    """Whether a container counts as busy, what it said, and when that was told."""

    busy: bool
    said: str
    at: datetime


@dataclass(frozen=True)  # Without slots, as a container.
class Kept:
    """The knowledge that cmgr has of a container besides: only the model fills it in, and no runtime reads it.

    `chips`: what its claims mean on this machine; `used`: those of them on which the driver has seen a process of this
    life; `places`: of one whose life cmgr has begun, how many were to run on each of its chips when it was held.
    `since`: since when it runs, or is down; `seen`: when its runtime told of it last. `wanted`: it ought to run
    (`model/wanted.py`). `former`: the word of the life before its present or last one; `forgotten`: that of a life
    which a person has ordered to be left as it is. `told_before`: it is down, and an earlier life of cmgr has seen
    this end. `up`: when it had started, if that was seen. `paused`: since when somebody has stopped its processes, if
    that was seen. `unsteady`: since when its runtime begins one life after the other, each soon after the last died.
    `deaf`: it has been told that its first process does not take its stop signal.
    `answer`: what has come of asking it whether it is `ready` in this life, in the words of a check, `said`: the last
    answer, `answered`: when it answered well first, `mute`: since when it does not, though it has had its time;
    `veto`: its last answer to whether it is `busy`.
    `met`: those that ran on a chip of its own when one of its lives began. `instead_of`: those that are down, or were
    held, in whose place it was made or started (see `successors`).
    `reached`: those of `chips` that its device rules have let it open in this life, and `denied`: those that they do
    not any more. `steady`: since when each look has found a process of it on a chip, while it said that it serves;
    None: not each. `missed`: where the last look found none. `lost`: the chips on which it has none any more though it
    is denied them, or had one for long (`containers/reach`), and since when.
    Of a unit of systemd, `covers` are the claims of the containers that it runs, part of its own, remembered while it
    is down; `ended`: how the last of them ended in its present life. `halted`: when cmgr told it to stop last, and when
    that had worked. `along`: whom cmgr had stopped just before somebody told this one to end.
    """

    chips: frozenset[ChipId] = frozenset()
    used: frozenset[ChipId] = frozenset()
    since: datetime | None = None
    wanted: bool = False
    deaf: bool = False
    covers: frozenset[str] = frozenset()
    forgotten: str = ""
    paused: datetime | None = None
    unsteady: datetime | None = None
    instead_of: frozenset["ContainerKey"] = frozenset()
    places: Mapping[ChipId, int] = field(default_factory=dict)
    answer: str = ""
    said: str = ""
    answered: datetime | None = None
    mute: datetime | None = None
    reached: frozenset[ChipId] = frozenset()
    denied: frozenset[ChipId] = frozenset()
    steady: Mapping[ChipId, datetime | None] = field(default_factory=dict)
    lost: Mapping[ChipId, datetime] = field(default_factory=dict)
    seen: ThisLife[datetime | None] = None
    veto: ThisLife[Veto | None] = None
    up: ThisLife[datetime | None] = None
    told_before: ThisLife[bool] = False
    ended: ThisLife[Exit | None] = None
    former: ThisLife[str] = ""
    met: ThisLife[frozenset[ContainerKey]] = frozenset()
    halted: tuple[datetime, ...] = ()
    along: ThisLife[str] = ""
    missed: ThisLife[frozenset[ChipId]] = frozenset()

    def in_another_life(self, answer: str) -> "Kept":
        """Return it of a life that has said this alone, and of whose reach nobody knows anything."""
        none = frozenset[ChipId]()
        now = replace(self, reached=none, denied=none, steady={}, lost={}, missed=none)
        return replace(now, answer=answer, said="", answered=None, mute=None)

    @property
    def barred(self) -> frozenset[ChipId]:
        """Return the chips that it has lost beyond doubt: it can open them no more, and has a process on none of them.

        While one works on, a restart would end that work.
        """
        return self.denied if self.denied <= self.lost.keys() else frozenset()


@dataclass(frozen=True)  # Without slots: it is copied all the time.
class Container:
    """A container: what its runtime says of it, and in `kept` what cmgr knows besides.

    `claims`: what its definition says about chips (see `chips.resolve`). `run`: an opaque word for its present or last
    life; a new start gives a new word. `hands_off`: the label for which it is not `enabled`.
    `joins`: ids or names of the containers in whose namespaces it runs: with another life of theirs it is cut off.
    `cut_off`: which of them has begun another life since, or exists no more; only a list tells. `orphaned`: the latter,
    so that it can never be started again.
    `running` is true for frozen and restarting ones too: they hold their chips. `restart_policy` is opaque to the
    model (see `ports.Runtime`). `warnings`: what in its definition could not be read. `heal`: None where it does not
    wish that. `health`: what its own check says while it runs, `STARTING`, `HEALTHY` or `UNHEALTHY`; "" without one.
    `unchecked`: when that check ran last, where it ought to have run again since, so that its health is not known.
    `ready`: what cmgr asks it, by its label or filled in by the model, by the settings. `network`: where it is asked.
    `busy`: what cmgr asks it before it is stopped for a fault that is not urgent, as its label says it, or nothing.
    `says_within`: how long after a start its check, or its answer, takes at most to say whether it is healthy; None
    without either.
    `unread`: why its runtime cannot describe it now; then only `key`, `name`, labels and `running` are known.
    `unlisted`: its runtime does not even list it, though its first process lives.
    `needs_network`: it is of no use where a chip's link is dead. `group`: the group that it is a member of, or nothing;
    `group_size`: how many members that has in all, 0 where its labels do not say.
    `composed`: its place in a project of docker compose, if it has one.
    `before_stop`: a command with its arguments that is run inside of it before its stop signal.
    `anew`: the lines for a shell that make one that is down again, should it be removed; nothing where nobody knows.
    `image`: what it was made of, in its maker's words. `ignored`: a person says that it uses no chip, whatever it could
    reach; by its label, or filled in by the model, by the settings.
    `frozen`: it runs, and somebody has stopped its processes from going on (`docker pause`). `restarting`: it waits for
    its runtime to begin its next life. `starting`: it has its chips, and its runtime says that it is not up yet.
    `revived`: its runtime has begun this life by itself, since the one before had died.
    `switched_off`: somebody else than cmgr has just switched its restart policy off, be it that it was off already.
    `hang`: it hangs when it and its chips have done nothing else for so long; None: nobody looks.
    `made_for`: what its definition said about chips before cmgr gave it others; nothing where it never did. `tied`: why
    its runtime cannot do that, in words that follow its name; nothing where it can.
    `brought`: the labels, as `name=value`, that reach beyond the container and that its image brought, so that they do
    not count: this was found out when it was seen first. None: its image cannot be asked.
    `owner`: who starts its own containers and takes this one for its own (see `runtimes/labels`), if somebody does.
    `min_chips`: with so many chips it may be started where no spare is there; 0: only with all.
    `unit`: the unit of systemd that runs it, if one does. Of such a unit, which is a container of the runtime systemd,
    `runs` are the names of the containers that it runs where it was found to run them, remembered while it is down.
    `vouches`: those containers that name it and that a client in it, or a command of its own, names, too.
    `takes`: the units that systemd stops with it.
    `marked`: its record says that a person has ended it (True), or has not; None: its runtime keeps no such mark.
    `boots`: its runtime starts it when the machine has booted.
    """

    key: ContainerKey
    name: str
    claims: frozenset[str] = frozenset()
    running: bool = False
    run: str = ""
    exit: Exit | None = None
    grace: timedelta = DEFAULT_GRACE
    strategy: Strategy | None = None
    order: int = 0
    enabled: bool = True
    restart_policy: str = NO_RESTART
    auto_remove: bool = False
    warnings: tuple[str, ...] = ()
    composed: Composed | None = None
    before_stop: tuple[str, ...] = ()
    needs_network: bool = False
    group: str = ""
    spare: Spare | None = None
    min_chips: int = 0
    unit: str = ""
    runs: frozenset[str] = frozenset()
    vouches: frozenset[ContainerKey] = frozenset()
    made_for: frozenset[str] = frozenset()
    tied: str = TIED
    brought: frozenset[str] | None = None
    marked: bool | None = None
    busy: str = ""
    hands_off: ThisLife[str] = HANDS_OFF
    joins: ThisLife[frozenset[str]] = frozenset()
    cut_off: ThisLife[str] = ""
    orphaned: ThisLife[bool] = False
    heal: ThisLife[Heal | None] = None
    group_size: ThisLife[int] = 0
    health: ThisLife[str] = ""
    unchecked: ThisLife[datetime | None] = None
    ready: ThisLife[Question | None] = None
    network: ThisLife[Network] = Network()
    says_within: ThisLife[timedelta | None] = None
    unread: ThisLife[str] = ""
    unlisted: ThisLife[bool] = False
    anew: ThisLife[tuple[str, ...]] = ()
    image: ThisLife[str] = ""
    ignored: ThisLife[bool] = False
    frozen: ThisLife[bool] = False
    restarting: ThisLife[bool] = False
    starting: ThisLife[bool] = False
    revived: ThisLife[bool] = False
    switched_off: ThisLife[bool] = False
    hang: ThisLife[timedelta | None] = None
    owner: ThisLife[str] = ""
    takes: frozenset[str] = frozenset()
    boots: ThisLife[bool] = False
    kept: Kept = Kept()

    @property
    def says(self) -> str:
        """Return what its own check says, or its answer, the worse of both; nothing where there is neither."""
        both = (self.health, self.kept.answer if self.running and not self.frozen else "")
        return next((word for word in (UNHEALTHY, STARTING, HEALTHY) if word in both), "")

    def in_another_life(self) -> "Container":
        """Return it as one that has not answered yet in its present life, and of whose reach nothing is known."""
        return replace(self, kept=self.kept.in_another_life(STARTING if self.ready is not None else ""))

    @property
    def can_answer(self) -> bool:
        """Return whether it can be asked: one that is paused cannot, nor one between two lives of it."""
        return self.running and not (self.frozen or self.restarting or self.starting)

    @property
    def unclear(self) -> bool:
        """Return whether it runs, can reach chips, and nobody knows which it uses."""
        return self.running and UNCLEAR in self.claims and not self.kept.chips

    @property
    def rejoins(self) -> bool:
        """Return whether it is cut off, and a restart of it would mend that."""
        return bool(self.cut_off) and not self.orphaned


def is_same_life(run: str, other: str) -> bool:
    """Return whether two words may be of one life: of one that is over containerd's word gets shorter."""
    return run.startswith(other) or other.startswith(run)
