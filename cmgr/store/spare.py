"""A second record of what is held, in a file beside the database: it is used when the database is damaged or gone.

Without it nobody would know which containers cmgr had stopped, and Docker would not know their restart policies, which
are off while they are held. It has no more than that; the rest of the truth is asked of driver and runtimes.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cmgr import atomic
from cmgr.frozen import replace
from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.store import rows
from cmgr.words import json_of

NAME = "held.json"

Holds = Mapping[ContainerKey, Hold]

_TABLE = rows.MANY["holds"]

_OLDER = {"stopped": "down"}
"""States as records of older cmgrs call them, and as they are called now."""


class Spare:
    """The file. Its methods do not raise: the database is what counts, as long as it is there."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(NAME)
        self._seen: Holds | None = None
        atomic.tidy(self.path)
        self._written = self.read()

    def read(self) -> Holds:
        """Return what was held, each as one that is down; nothing when the file cannot be read."""
        try:
            found = [_TABLE.value(_known(row)) for row in json_of(self.path.read_text())]
        except (OSError, ValueError, TypeError, LookupError):
            return {}
        return {hold.key: hold for hold in found}

    def write(self, holds: Holds) -> None:
        """Write them where something has changed that the record has. After a failure the next call tries again."""
        if holds is self._seen:
            return
        kept = {key: _kept(hold) for key, hold in holds.items() if not hold.is_to_end}
        if kept != self._written:
            with suppress(OSError):
                text = json.dumps([_TABLE.row(hold) for hold in kept.values()])
                with atomic.written(self.path, 0o640) as file:
                    file.write(text.encode())
                self._written = kept
        if kept == self._written:
            self._seen = holds


def _known(row: rows.Row) -> rows.Row:
    return {**_TABLE.defaults, **row, "state": _OLDER.get(row["state"], row["state"])}


def _kept(hold: Hold) -> Hold:
    """Return the hold without what changes from try to try: as that of a container that is down."""
    return replace(
        hold,
        episode=0,
        state=HoldState.RETURNING if hold.is_theirs else HoldState.DOWN,
        disarmed=hold.restart_policy != NO_RESTART,
        attempt=Attempt(),
        revived="",
        reason="",
    )
