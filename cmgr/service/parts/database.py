"""The database, looked after: damage that is found, times that clocks had wrong, and history that is old."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cmgr.config.settings import Config
from cmgr.errors import StoreError, bare, chain
from cmgr.model.values.messages.facts import TroubleMet
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import say
from cmgr.service.part import Part
from cmgr.service.parts.core import Core
from cmgr.service.timing.clock import history_ends

if TYPE_CHECKING:
    from cmgr.store.sqlite import SqliteStore


class Database(Part):
    """The deciding thread only, but for `examine`. `unwritten` returns why the last decision is not in it."""

    def __init__(self, core: Core, store: "SqliteStore", unwritten: Callable[[], str]) -> None:
        self._core, self._store, self._unwritten = core, store, unwritten
        self._history = core.config.history
        self.damage = store.damage

    def found(self) -> tuple[TroubleMet, ...]:
        """Return what was wrong with it when it was opened, to be decided on."""
        return (_damaged(self.damage),) if self.damage else ()

    def look(self) -> None:
        if self._store.damage != self.damage:
            self.damage = self._store.damage
            self._core.put(_damaged(self.damage))
        try:
            self._store.correct(self._core.clock.drift())
            self._store.live()
        except StoreError as error:
            self._core.log.warn(chain(error))

    def configure(self, config: Config) -> None:
        self._history = config.history

    def troubles(self) -> Iterator[Trouble]:
        if why := bare(self._unwritten(), "save"):
            text, hint = say("trouble.not-written"), f"df -h {self._core.config.state_dir}; dmesg"
            yield Trouble(TroubleKind.DATABASE, "", text, why, hint)

    def examine(self) -> None:
        """Read it whole, and tell what is damaged. Any thread."""
        if damage := self._store.examine():
            self._core.put(_damaged(damage))  # That is saved, and so begins the file anew.

    def prune(self) -> None:
        """Drop the history that is too old, or too much."""
        clock = self._core.clock
        try:
            system = clock.now() + clock.drift()
            ends = history_ends(system, self._store.noted, clock.now() - clock.began)
            gone = self._store.prune(ends - self._history.keep, self._history.max_notes)
        except StoreError as error:
            self._core.log.warn(chain(error))
            return
        if gone:
            self._core.log.say(f"{gone} rows of old history were dropped")


def _damaged(what: str) -> TroubleMet:
    text, hint = say("trouble.damaged"), say("hint.damaged")
    return TroubleMet(Trouble(TroubleKind.DAMAGE, "database", text, what, hint, stays=True))
