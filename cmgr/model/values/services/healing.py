"""The record of containers that fail, and of how often they were restarted for it."""

from datetime import datetime, timedelta

from cmgr.frozen import dataclass, replace
from cmgr.model.values.handling.policy import HealPolicy, backed_off
from cmgr.model.values.services.containers import UNHEALTHY, Container, ContainerKey, Heal
from cmgr.sentences.sentence import say


@dataclass(frozen=True, slots=True)
class Healing:
    """One container: its restarts, and what is to be done about its present or last life.

    `times`: when it was restarted within the window. `life`: the word of the life that ails, or that is `spared`: a
    person wants that left as it is. `since`: since when it ails; `due`: when it is restarted; `counted`: that restart
    is in `times` already. `given_up`: since when the limit keeps it from being restarted.
    """

    key: ContainerKey
    times: tuple[datetime, ...] = ()
    life: str | None = None
    since: datetime | None = None
    due: datetime | None = None
    counted: bool = False
    spared: bool = False
    given_up: datetime | None = None

    @property
    def ails(self) -> bool:
        return self.since is not None

    def begun(self, life: str, at: datetime) -> "Healing":
        """Return it as another ailment begins."""
        return replace(self.over(life), life=life, since=at)

    def over(self, life: str) -> "Healing":
        """Return it as the ailment is over. In another life than the one that was given up the count begins anew."""
        if self.given_up is not None and self.life not in (None, life):
            return Healing(self.key)
        if self.given_up is not None and self.times:
            return Healing(self.key, self.times, life, given_up=self.given_up)
        return Healing(self.key, self.times)


@dataclass(frozen=True, slots=True)
class Hang:
    """A container that does nothing any more, as far as its chips and processes show: in this life of it, since then.

    `words`: what was measured, and has stayed as it was.
    """

    key: ContainerKey
    run: str
    since: datetime
    words: str


def ailment(container: Container, healing: Healing, *, hangs: bool = False) -> str:
    """Return what ails the container, in words, or nothing.

    That it died counts only if it was noticed when it did: one that has been down for long may be meant to be.
    """
    if healing.spared and healing.life == container.run:
        return ""
    if container.running:
        if container.says == UNHEALTHY:
            return say("heal.unhealthy") if container.health == UNHEALTHY else say("heal.mute")
        if hangs:
            return say("heal.hangs")
        if container.rejoins:
            return say("heal.cut-off")
        return say("heal.barred") if container.kept.barred else ""
    end = container.exit
    if end is None or not end.by_itself or healing.life != container.run:
        return ""
    return say("heal.exited", code=end.code)


def worded(ailment: str) -> str:
    """Return the ailment in words that follow a name."""
    return say("heal.is-unhealthy") if ailment == UNHEALTHY else ailment


def limit_of(policy: HealPolicy, heal: Heal | None) -> int:
    """Return how often the container may be restarted within the window."""
    return policy.limit if heal is None or heal.limit is None else heal.limit


def wait_of(policy: HealPolicy, heal: Heal | None, restarts: int) -> timedelta:
    """Return how long to wait before the next restart, after so many within the window."""
    first = policy.backoff if heal is None or heal.backoff is None else heal.backoff
    return backed_off(first, max(first, policy.backoff_max), restarts + 1)


def not_ahead(healing: Healing, at: datetime, longest: timedelta) -> Healing:
    """Return it as it fits a clock that may have been set back between two lives.

    How far it was set back nobody knows: no wait is longer than the `longest` for that.
    """
    since, due, given_up = healing.since, healing.due, healing.given_up
    if since is not None and since > at:
        due = None if due is None else min(due - (since - at), at + longest)
        since = at
    times = tuple(min(t, at) for t in healing.times)
    return replace(healing, times=times, since=since, due=due, given_up=None if given_up is None else min(given_up, at))
