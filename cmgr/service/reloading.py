"""Reading the configuration again while the service runs: for SIGHUP, and for a person who waits for the result."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from cmgr.config.schema import values
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.model.values.handling.catalog import Catalog
from cmgr.service.desk import PATIENCE, awaited
from cmgr.service.door.previews import reloaded
from cmgr.service.log.setup import Log
from cmgr.service.part import Part
from cmgr.service.systemd import Notifier

if TYPE_CHECKING:
    from cmgr.view import shapes

AT_ONCE = (
    *("strategy", "observe", "levels", "faults", "reset", "isolation", "limits", "retry", "heal", "history"),
    *("alarms", "hooks", "bundles", "maintenance", "drills", "time_zone", "cdi.chips", "spares", "reports"),
    *("containers", "roles", "ready"),
)
"""Settings and tables of these names take effect without a restart."""

Reload = Callable[[], Config]


class Reloader(Part):
    """Reads it on the deciding thread, where nothing else is decided meanwhile. The last good one stays in force."""

    def __init__(
        self,
        read: Reload | None,
        accept: Callable[[Config, Catalog, str], Config],
        nudge: Callable[[], None],
        log: Log,
        notifier: Notifier,
    ) -> None:
        """`accept` has the new configuration come in force with the next decision, and returns the one before.

        `nudge` wakes the deciding thread.
        """
        self._read, self._nudge = read, nudge
        self._accept = accept
        self._log = log
        self._notifier = notifier
        self._hung_up = False
        self._waiting: SimpleQueue[tuple[Future[shapes.Reloaded], str]] = SimpleQueue()
        self._accepted: list[tuple[Future[shapes.Reloaded], shapes.Reloaded]] = []

    def hang_up(self) -> None:
        """Have it read soon. For signal handlers, so without log and lock."""
        self._hung_up = True
        self._nudge()

    def ask(self, who: str, patience: float = PATIENCE) -> "shapes.Reloaded":
        """Have it read now, and return what changed. Blocks up to 8 s. Raises as `awaited`, `ConfigError`."""
        if self._read is None:
            raise CmgrError("cannot read the configuration again: this service was not started from one")
        answer: Future[shapes.Reloaded] = Future()
        self._waiting.put((answer, who))
        self._nudge()
        return awaited(answer, patience, answer.cancel)

    def look(self) -> None:
        """Read it if somebody wants that. The deciding thread only, after everything that was accepted is decided."""
        for answer, result in self._accepted:
            answer.set_result(result)
        self._accepted = []
        waiting = self._drained()
        if self._read is None or not (waiting or self._hung_up):
            return
        who = waiting[0][1] if waiting else "a signal (SIGHUP)"
        self._hung_up = False
        self._notifier.tell("RELOADING=1")
        try:
            result = self._reload(self._read, who)
        except CmgrError as error:
            mistakes = "; ".join(error.mistakes) if isinstance(error, ConfigError) else ""
            self._log.warn(f"{chain(error)}: the configuration stays as it was {mistakes}".rstrip())
            for answer, _ in waiting:
                answer.set_exception(error)
        else:
            self._accepted = [(answer, result) for answer, _ in waiting]
        self._notifier.tell("READY=1")

    def _drained(self) -> "list[tuple[Future[shapes.Reloaded], str]]":
        waiting = []
        with suppress(Empty):
            while True:
                waiting.append(self._waiting.get_nowait())
        return [(answer, who) for answer, who in waiting if answer.set_running_or_notify_cancel()]

    def _reload(self, read: Reload, who: str) -> "shapes.Reloaded":
        config = read()
        catalog = load_catalog(config, self._log.warn)
        before = self._accept(config, catalog, who)
        old = values(before)
        changed = [key for key, value in values(config).items() if value != old[key]]
        later = [key for key in changed if not {key, key.partition(".")[0]} & {*AT_ONCE}]
        self._log.say("the configuration was read again: policy and fault tables are in force")
        if later:
            self._log.warn(f"in force only after a restart: {', '.join(later)}")
        now = [key for key in changed if key not in later]
        return {"changed": now, "after_restart": later, "did": reloaded(now, later)}
