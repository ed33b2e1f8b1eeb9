"""The one number of the status: what earlier lives have counted, and what has ended since."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cmgr.model.values.node import Node
from cmgr.model.values.services.outages import Downtime, OutageCause
from cmgr.service.part import Step
from cmgr.service.parts.quarter import Quarter
from cmgr.service.timing.period import Period, quarter_of
from cmgr.store import files, open_store

DAY = timedelta(days=1)


def spent(day: str, minutes: int, cause: OutageCause = OutageCause.FAULT) -> Node:
    down = timedelta(minutes=minutes)
    each = Downtime("docker//web", day, cause, down, 1, 1, down)
    return Node(downtime={each.key: each})


def now() -> Period:
    return quarter_of(datetime.now(UTC))


def told(part: Quarter) -> tuple[float, float, float]:
    found = part.told()
    assert found is not None
    assert found["quarter"] == now().name
    return found["minutes"], found["recovery_minutes"], found["unseen_minutes"]


def test_it_goes_on_from_what_the_database_has_of_this_quarter(tmp_path: Path) -> None:
    path, (first, last) = tmp_path / "state" / files.NAME, now().days
    before = (now().begins - DAY).date().isoformat()
    with closing(open_store(path)) as store:
        for node in (spent(first, 5), spent(before, 100), spent(last, 7, OutageCause.UNSEEN)):
            store.save(node, [], [])
    part = Quarter(path)
    assert part.told() is None
    part.observe(Step([], Node(), spent(first, 1000), [], []))
    part.start()
    assert told(part) == (5, 5, 7)
    for node in (spent(first, 3), spent(before, 100)):
        part.observe(Step([], Node(), node, [], []))
    part.observe(Step([], spent(last, 2), replace(spent(last, 4)), [], []))
    assert told(part) == (10, 10, 7)


def test_the_next_quarter_begins_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state" / files.NAME
    open_store(path).close()
    part = Quarter(path)
    part.start()
    part.observe(Step([], Node(), spent(now().ends.date().isoformat(), 9), [], []))
    assert told(part) == (0, 0, 0), "this one is not it"


def test_where_the_database_cannot_be_read_nobody_can_say(tmp_path: Path) -> None:
    part = Quarter(tmp_path / "none")
    part.start()
    assert part.told() is None
