"""The line that systemd has of the service: how it goes now."""

from dataclasses import replace
from typing import Any, cast

from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.service.parts.core import Core
from cmgr.service.parts.tellers import SUMMARY_SECONDS, Summary, summary
from cmgr.service.systemd import Notifier
from cmgr.view.status import Own
from tests.cli.scenes import in_maintenance, in_need, recovering
from tests.support.picture import machine

WELL = Own("ready", "sim", ())


class Heard(Notifier):
    """Keeps what systemd would be told."""

    def __init__(self) -> None:
        super().__init__({})
        self.lines: list[str] = []

    def tell(self, *words: str) -> None:
        self.lines += words


def test_it_says_what_is_worst_and_how_much_more_there_is() -> None:
    assert summary(machine(), WELL) == "all is well: 4 chips, strategy never"
    assert summary(recovering(), WELL).startswith("not well: container a is down; and 2 more")
    assert summary(in_need(), WELL).endswith(" more")
    assert summary(replace(machine(), maintenance=in_maintenance().maintenance), WELL).startswith(
        "in maintenance, nothing is wrong"
    )
    own = Trouble(TroubleKind.DATABASE, "", "the database cannot be written")
    assert summary(machine(), replace(WELL, state="starting")).startswith("not well: the service is starting")
    assert summary(machine(), replace(WELL, troubles=(own,))) == "not well: the database cannot be written"


def test_systemd_is_told_of_each_change_once_and_not_at_each_step_of_a_storm() -> None:
    heard, books, now, none = Heard(), [machine()], [0.0], cast("Any", None)
    core = Core(none, none, none, none, none, lambda: books[0], lambda: Own("ready", "sim", ()))
    part = Summary(core, heard, lambda: now[0])
    part.look()
    for node in (machine(), recovering(), recovering(), machine()):
        books[0] = node
        now[0] += SUMMARY_SECONDS
        part.look()
    told = [line.partition(":")[0] for line in heard.lines]
    assert told == ["STATUS=all is well", "STATUS=not well", "STATUS=all is well"]
    books[0] = recovering()
    part.look()
    assert len(heard.lines) == 3, "it is too soon"
