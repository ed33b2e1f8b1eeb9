"""Troubles: what a person ought to know of, and stays told until it is over or a person says that it is seen to.

Most are read off the node each time that somebody looks (`view/troubles.py`). A trouble that leaves no other trace
there is remembered as one of `Node.troubles`, which is stored.
"""

import re
from datetime import datetime
from enum import StrEnum

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId
from cmgr.sentences.sentence import Sentence, because


class Severity(StrEnum):
    WARNING = "warning"
    CRITICAL = "critical"


class TroubleKind(StrEnum):
    """The kind of trouble, with its severity: the same in `cmgr status`, in alarms, and in shipped alert rules.

    They stand here by what they cost, the worst first: what nobody can tell, services that are down, what keeps them
    down, what will; then chips out of use, then the machine, then what no recovery needs. `rank`: the place in it.
    `event`: the event of alarms that tells of it; empty: none. `rules`: the alert rules in etc/ that tell of it.
    """

    rank: int
    severity: Severity
    event: str
    rules: tuple[str, ...]

    def __new__(cls, word: str, severity: Severity, event: str = "", *rules: str) -> "TroubleKind":
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.rank, kind.severity, kind.event, kind.rules = len(cls.__members__), severity, event, rules
        return kind

    SERVICE = "service", Severity.CRITICAL, "", "CmgrDown"
    """It does not run, or hangs."""
    UNKNOWN_CHIPS = "unknown-chips", Severity.CRITICAL, "deaf", "CmgrTrouble"
    """The driver has not begun yet: no chip is known, and none is watched."""
    FAILED = "failed", Severity.CRITICAL, "gave_up", "CmgrContainerFailed"
    """A container was tried to be started in vain, and is tried on, or one is down whose healing was given up."""
    IDLE = "idle", Severity.CRITICAL, "down", "CmgrContainerIdle"
    """A container ought to run, does, and does not serve: it is paused, unhealthy, mute, without its chips, or dies."""
    DOWN = "down", Severity.CRITICAL, "down", "CmgrContainerDown"
    """A container ought to run and does not."""
    LOST = "lost", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """A container that cmgr was to start again is gone."""
    KEPT_BACK = "kept-back", Severity.CRITICAL, "trouble", "CmgrRingsKeptBack"
    WIDENED = "widened", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """The containers of a whole ring are stopped, because the wait for those that no fault concerns was too long."""
    HURRIED = "hurried", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """Containers are stopped though they said that they were busy, because the wait for them was too long."""
    REBOOTS = "reboots", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """cmgr reboots the machine soon, or was to and it has not come."""
    RUNTIME = "runtime", Severity.CRITICAL, "deaf", "CmgrRuntimeUnreachable"
    DATABASE = "database", Severity.CRITICAL, "trouble", "CmgrDatabaseNotWritable"
    DAMAGE = "damage", Severity.CRITICAL, "trouble", "CmgrDatabaseDamaged"
    """The database was damaged: what was held before is perhaps not known any more."""
    BLOCKED = "blocked", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """A ring waits for a container that cmgr must not stop, and that no person has taken for theirs."""
    OWNER = "owner", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """Somebody else starts again and again what cmgr must stop."""
    REFUSED = "refused", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """The driver has refused for too long to begin the reset of a ring."""
    CROWDED = "crowded", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """A chip is used by two, one of which cmgr has moved there."""
    MISSING = "missing", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """A chip that was there, and that nobody has said to be gone for good, is not there."""
    POLICY = "policy", Severity.CRITICAL, "trouble", "CmgrTrouble"
    """A restart policy that cmgr switched off is not back."""
    EPISODE = "episode", Severity.WARNING, "detected", "CmgrEpisodeLong"
    GROUP = "group", Severity.WARNING, "group", "CmgrGroupNotRunning"
    """A group is in a round, or some of its members do not run while others do."""
    GIVEN_UP = "given-up", Severity.WARNING, "gave_up", "CmgrContainerGivenUp"
    """A container runs on, unhealthy: it was restarted as often as it may be."""
    HANGING = "hanging", Severity.WARNING, "trouble", "CmgrContainerHangs"
    """A container does nothing any more, though it runs and nothing says that it is unhealthy."""
    AILING = "ailing", Severity.WARNING, "", "CmgrContainersAil"
    """A container is to be restarted because it ails."""
    FEWER_CHIPS = "fewer-chips", Severity.WARNING, "trouble", "CmgrFewerChips"
    """A container runs on fewer chips than it is to have."""
    REACH = "reach", Severity.WARNING, "trouble", "CmgrContainerReach"
    """A container can open a chip no more that it had, or has left one for which it has served."""
    BLIND = "blind", Severity.WARNING, "trouble", "CmgrContainerBlind"
    """A container's own check does not run any more: nobody knows whether it is well."""
    REBOOT = "reboot", Severity.WARNING, "isolated", "CmgrChipIsolated"
    """Chips that only a restart of the machine cures."""
    ISOLATED = "isolated", Severity.WARNING, "isolated", "CmgrChipIsolated"
    UNHEALTHY = "unhealthy", Severity.WARNING
    """A chip is not well, and is not isolated."""
    SILENT = "silent", Severity.WARNING, "deaf", "CmgrReadOutOld"
    """Chips of a ring do not answer."""
    DRIVER = "driver", Severity.WARNING, "deaf", "CmgrDriverTrouble"
    NETWORK = "network", Severity.WARNING, "trouble", "CmgrChipPreIsolated"
    """The links of chips are down, or ail."""
    PRE_ISOLATED = "pre-isolated", Severity.WARNING, "trouble", "CmgrChipPreIsolated"
    """Nothing new is to be started on chips that are used on."""
    SLOW = "slow", Severity.WARNING, "trouble", "CmgrChipSlow"
    """A chip lags behind those with which it works."""
    UNCLEAR = "unclear", Severity.WARNING
    """A container may be on a ring in an episode, which does not wait for it: its driver lists no process of it."""
    ENGINE = "engine", Severity.WARNING, "deaf", "CmgrFleetEngineAway"
    """The fleet's engine does not answer, or takes no writes: what needs the other appliances waits."""
    MACHINE = "machine", Severity.WARNING, "trouble", "CmgrMachineFault"
    """The machine around the chips ails."""
    SOURCE = "source", Severity.WARNING, "deaf", "CmgrMachineSourceDeaf"
    """A source of the machine's faults tells nothing."""
    DEGRADED = "degraded", Severity.WARNING, "", "CmgrDegraded"
    """A part of the service that no recovery depends on does not work."""
    BUG = "bug", Severity.WARNING, "trouble", "CmgrBug"


OF_SERVICE = frozenset(
    {
        TroubleKind.DATABASE,
        TroubleKind.DAMAGE,
        TroubleKind.RUNTIME,
        TroubleKind.DRIVER,
        TroubleKind.UNKNOWN_CHIPS,
        TroubleKind.ENGINE,
        TroubleKind.SOURCE,
        TroubleKind.DEGRADED,
        TroubleKind.BUG,
    }
)
"""These keep the service itself from working as it should."""

OF_A_SERVICE_DOWN = frozenset(
    {
        TroubleKind.FAILED,
        TroubleKind.IDLE,
        TroubleKind.DOWN,
        TroubleKind.GIVEN_UP,
        TroubleKind.HANGING,
        TroubleKind.AILING,
    }
)
"""Each of these says of a container that it does not serve."""

TroubleKey = tuple[TroubleKind, str]
"""The identity of a trouble: its kind, and what it is about."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One trouble. `kind` and `about` tell it from all others.

    `text` says it in a few words, `why` says more, `hint` what a person can do.
    `since` None: nobody knows.
    `lines`: what to type in a shell, line by line.
    `stays`: nobody can see when it is over, so that it stays until a person acknowledges it.
    """

    kind: TroubleKind
    about: str
    text: Sentence | str
    why: Sentence | str = ""
    hint: Sentence | str = ""
    since: datetime | None = None
    stays: bool = False
    ring: RingId | None = None
    episode: int | None = None
    chips: tuple[ChipId, ...] = ()
    codes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def key(self) -> TroubleKey:
        return self.kind, self.about

    @property
    def id(self) -> str:
        """The plain word that a person types to mean it."""
        return trouble_id(self.kind, self.about)

    @property
    def words(self) -> str:
        return because(self.text, self.why)


def trouble_id(kind: TroubleKind, about: str) -> str:
    return "-".join(filter(None, (str(kind), re.sub(r"[^A-Za-z0-9_.]+", "-", about).strip("-"))))
