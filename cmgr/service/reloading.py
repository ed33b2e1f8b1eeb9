"""Reading the configuration anew while the service runs: for SIGHUP, and for a person who waits for the result."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue

from cmgr.config.schema import settings
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.model.values.catalog import Catalog
from cmgr.service.log.setup import Log
from cmgr.service.systemd import Notifier

PATIENCE = 20.0

AT_ONCE = (
    *("strategy", "observe", "levels", "faults", "reset", "isolation", "limits", "retry", "heal", "history"),
    *("alarms", "hooks", "bundles"),
)
"""What takes effect without a restart: settings and tables of these names."""

Reload = Callable[[], Config]
Result = dict[str, object]


class Reloader:
    """Reads it on the deciding thread, where nothing else is decided meanwhile. The last good one stays in force."""

    def __init__(
        self, read: Reload | None, accept: Callable[[Config, Catalog, str], Config], log: Log, notifier: Notifier
    ) -> None:
        """`accept` has the new configuration come in force with the next decision, and returns the one before."""
        self._read = read
        self._accept = accept
        self._log = log
        self._notifier = notifier
        self._hung_up = False
        self._waiting: SimpleQueue[tuple[Future[Result], str]] = SimpleQueue()
        self._accepted: list[tuple[Future[Result], Result]] = []

    def hang_up(self) -> None:
        """Have it read soon. For signal handlers, so without log and lock."""
        self._hung_up = True

    def ask(self, who: str, nudge: Callable[[], None], patience: float = PATIENCE) -> Result:
        """Have it read now, and return what changed. Blocks up to 20 s. Raises `ConfigError`, `CmgrError`."""
        if self._read is None:
            raise CmgrError("cannot read the configuration again: this service was not started from one")
        answer: Future[Result] = Future()
        self._waiting.put((answer, who))
        nudge()
        try:
            return answer.result(patience)
        except TimeoutError as error:
            raise CmgrError(
                f"cannot tell whether it is done: the service has not come to it within {patience:g} s",
                hint="see journalctl -u cmgr",
            ) from error

    def serve(self) -> None:
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

    def _drained(self) -> list[tuple[Future[Result], str]]:
        waiting = []
        with suppress(Empty):
            while True:
                waiting.append(self._waiting.get_nowait())
        return waiting

    def _reload(self, read: Reload, who: str) -> Result:
        config = read()
        catalog = load_catalog(config, self._log.warn)
        before = self._accept(config, catalog, who)
        changed = [key for key in settings() if _value(config, key) != _value(before, key)]
        later = [key for key in changed if key.partition(".")[0] not in AT_ONCE]
        self._log.say("the configuration was read again: policy and fault tables are in force")
        if later:
            self._log.warn(f"in force only after a restart: {', '.join(later)}")
        return {"changed": [key for key in changed if key not in later], "after_restart": later}


def _value(config: Config, key: str) -> object:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    return value
