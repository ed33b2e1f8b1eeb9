"""The one number: what is shown of a period's downtime, and what is not known of it."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cmgr.model.values.node import Node
from cmgr.model.values.services.outages import Downtime, Outage, OutageCause
from cmgr.service.door import records
from cmgr.service.timing.period import period, quarter_of
from cmgr.store import files, open_store
from cmgr.store.reader import open_reader
from cmgr.store.rows import stamp
from cmgr.view import slot_shapes
from cmgr.view.text import downtime as texts
from cmgr.view.text.render import Face
from cmgr.view.text.texts import Page
from tests.model.builders import key

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
QUARTER = quarter_of(NOW)
PAGE = Page(Face(NOW, UTC))


def spent(service: str, minutes: int, cause: OutageCause, outages: int = 1, ours: int = 0) -> Downtime:
    down = timedelta(minutes=minutes)
    return Downtime(
        service, QUARTER.begins.date().isoformat(), cause, down, outages, ours, down if ours else timedelta()
    )


def out(service: str, minutes: int, up: datetime | None = None) -> Outage:
    return Outage(key(service), f"docker//{service}", NOW - timedelta(minutes=minutes), OutageCause.ITSELF, up=up)


SPENT = (
    spent("docker//web", 12, OutageCause.FAULT, 4, 4),
    spent("docker//web", 3, OutageCause.ITSELF),
    spent("docker//api", 5, OutageCause.UNSEEN),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / files.NAME


def told(
    path: Path, *days: Downtime, outages: tuple[Outage, ...] = (), reaction: timedelta = timedelta()
) -> slot_shapes.Downtime:
    """Return what is told of this quarter once all this was saved."""
    node = Node(downtime={day.key: day for day in days}, outages={each.key: each for each in outages})
    with closing(open_store(path)) as store:
        store.save(node, [], [])
        store.connection.execute("UPDATE meta SET counted = ?", (stamp(QUARTER.begins - timedelta(days=9)),))
    with open_reader(path) as reader:
        return records.downtime(reader, QUARTER, NOW, reaction, {})


def text(found: slot_shapes.Downtime) -> str:
    return "\n".join(texts.downtime(found, PAGE))


def test_minutes_are_summed_by_cause_and_by_service_and_what_is_not_known_stands_apart(path: Path) -> None:
    found = told(path, *SPENT)
    assert (found["minutes"], found["outages"], found["recoveries"], found["recovery_minutes"]) == (15, 5, 4, 12)
    assert found["unseen_minutes"] == 5
    assert [(row["cause"], row["minutes"]) for row in found["causes"]] == [("fault", 12), ("itself", 3)]
    assert [(row["service"], row["minutes"], row["unseen_minutes"]) for row in found["services"]] == [
        ("docker//web", 15, 0),
        ("docker//api", 0, 5),
    ]
    shown = text(found)
    assert shown.startswith(f"downtime in {QUARTER.name}: 15.0 min, each service for itself\n")
    assert "not known: 5.0 min" in shown


def test_what_it_would_have_been_by_hand_is_told_where_somebody_has_said_how_long_he_takes(path: Path) -> None:
    assert told(path, *SPENT)["by_hand_minutes"] is None
    found = told(path, reaction=HALF_AN_HOUR)
    assert (found["reaction_minutes"], found["by_hand_minutes"]) == (30, 132)
    assert "with a person who begins after 30.0 min it would have been 132.0 min" in text(found).replace("\n  ", " ")


def test_who_orders_a_reset_is_there_and_need_not_be_waited_for(path: Path) -> None:
    found = told(path, spent("docker//web", 12, OutageCause.ORDER, 4, 4), reaction=HALF_AN_HOUR)
    assert (found["recoveries"], found["by_hand_minutes"]) == (4, 12)


def test_who_is_down_now_is_in_the_sums_as_far_as_the_quarter_and_one_that_settles_is_not_told(path: Path) -> None:
    settles = out("b", 20, up=NOW - timedelta(minutes=15))
    found = told(path, outages=(out("a", 60), settles))
    assert (found["minutes"], found["outages"]) == (65, 0)
    assert [(row["service"], row["cause"], row["minutes"]) for row in found["now"]] == [("docker//a", "itself", 60)]
    assert "DOWN NOW" in text(found)


def test_an_outage_that_is_older_than_the_period_counts_from_its_beginning(path: Path) -> None:
    ever = replace(out("a", 0), since=QUARTER.begins - timedelta(days=400))
    found = told(path, outages=(ever,))
    assert found["minutes"] == round((NOW - QUARTER.begins) / timedelta(minutes=1), 2)
    with open_reader(path) as reader:
        before = records.downtime(reader, period("2000"), NOW, HALF_AN_HOUR, {})
        later = records.downtime(reader, period("2999-Q1"), NOW, HALF_AN_HOUR, {})
    assert (before["minutes"], before["now"]) == (0, [])
    assert (later["minutes"], later["ends"]) == (0, later["begins"])
    assert text(before).startswith("downtime in 2000: not known\n")


def test_of_a_runtime_that_does_not_answer_nothing_is_known_since_and_its_services_are_down_until_then(
    path: Path,
) -> None:
    told(path, outages=(out("a", 60),))
    with open_reader(path) as reader:
        found = records.downtime(reader, QUARTER, NOW, HALF_AN_HOUR, {"docker": NOW - HALF_AN_HOUR})
    assert (found["minutes"], found["now"][0]["minutes"]) == (30, 30)
    assert [each["runtime"] for each in found["silent"]] == ["docker"]
    assert "not known: the services of docker since 11:30:00: it does not answer" in text(found)


def test_where_cmgr_does_not_run_nothing_is_known_from_when_it_was_there_last(path: Path) -> None:
    told(path)
    later = datetime.now(UTC) + timedelta(minutes=5)
    asked = quarter_of(later)
    with open_reader(path) as reader:
        alive = reader.lives().alive
        found = records.downtime(reader, asked, later, HALF_AN_HOUR, None)
    assert alive is not None
    assert datetime.fromisoformat(found["known_until"]) - alive < timedelta(seconds=1)
    assert "when cmgr was there last" in text(found)


@pytest.mark.parametrize(
    ("given", "begins", "ends"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-Q1", "2026-01-01", "2026-04-01"),
        ("2026-Q4", "2026-10-01", "2027-01-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2028-02-29", "2028-02-29", "2028-03-01"),
    ],
)
def test_a_year_a_quarter_a_month_or_a_day_can_be_asked_for(given: str, begins: str, ends: str) -> None:
    found = period(given)
    assert (found.begins.date().isoformat(), found.ends.date().isoformat()) == (begins, ends)


@pytest.mark.parametrize("given", ["", "26", "2026-Q5", "2026-13", "2026-00", "2026-02-30", "0000", "9999", "2026-1"])
def test_what_is_none_of_these_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"year|month|day|range"):
        period(given)


class Words(HTMLParser):
    """The words of a page, and the tags that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onload"}

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_the_page_to_print_says_the_same_and_nobodys_name_is_taken_for_markup(path: Path) -> None:
    named = spent("docker//<script>x", 7, OutageCause.HEAL)
    found = told(path, *SPENT, named)
    page = Words("\n".join(texts.sheet(found, PAGE)))
    assert "script" not in page.tags
    assert "docker//<script>x" in page.said
    assert {"fault", "12.0", "docker//web", "15.0"} <= {*page.said}
    assert page.said.count(f"downtime in {QUARTER.name}: 22.0 min, each service for itself") == 2
