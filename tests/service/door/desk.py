"""A desk that tests of the deciding thread share."""

from collections.abc import Sequence
from datetime import timedelta

from cmgr.model.values.handling.policy import Policy, ResetPolicy, RetryPolicy, Strategy
from cmgr.model.values.messages.commands import Note
from cmgr.service.log.setup import Log
from cmgr.store.sqlite import SqliteStore

CODE = "80E24E00"
SOON = timedelta(milliseconds=50)
POLICY = Policy(
    strategy=Strategy.RING,
    reset=ResetPolicy(backoff=SOON, backoff_max=SOON),
    retry=RetryPolicy(backoff=SOON, backoff_max=SOON, settle=SOON),
)


class Heard(Log):
    """Remembers what is logged."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.bugs: list[str] = []

    def tell(self, notes: Sequence[Note]) -> None:
        self.notes += [note.text for note in notes]

    def say(self, text: str) -> None:
        raise AssertionError(f"the loop says nothing but warnings: {text}")

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def bug(self, text: str, error: BaseException) -> None:
        self.bugs.append(f"{text}: {error!r}")


class Done(Exception):
    """Ends `Loop.run` from within."""


def let_fail(store: SqliteStore, fails: bool) -> None:
    """Let every save fail, or work again."""
    store.connection.execute(f"PRAGMA query_only = {int(fails)}")
