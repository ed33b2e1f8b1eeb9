"""The calendar goes by the system's clock: through changes of that clock, and the two days on which clocks are put."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from cmgr.config.load import load
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.messages.facts import CalendarRead
from cmgr.service.timing.timetable import Timetable

BERLIN = ZoneInfo("Europe/Berlin")
NAME = "maintenance.windows"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Calendar:
    """A timetable, the system's clock, and how far that has been set since the start."""

    def __init__(self, now: datetime, *windows: str, zone: str = "Europe/Berlin") -> None:
        self.now = now.astimezone(UTC)
        self.drift = timedelta()
        self.told: list[CalendarRead] = []
        config = load(None, environ={}, overrides={NAME: list(windows), "time_zone": zone})
        self.table = Timetable(config, lambda: self.now, lambda: self.drift, self.told.append)

    def read(self) -> Opening:
        (opening,) = self.table.read()
        return opening

    def set(self, by: timedelta) -> None:
        self.now += by
        self.drift += by

    def hours(self, until: datetime) -> list[tuple[str, str]]:
        """Go on by the minute, and return when it was open: from and to, as clocks on the wall show it."""
        found, since = [], None
        while self.now < until.astimezone(UTC):
            opening = self.read()
            if opening.open and since is None:
                since = self.now
            if not opening.open and since is not None:
                found.append((wall(since), wall(self.now)))
                since = None
            self.now += MINUTE
        return found


def berlin(*date: int) -> datetime:
    return datetime(*date, tzinfo=BERLIN)  # type: ignore[arg-type,misc]


def wall(time: datetime) -> str:
    return f"{time.astimezone(BERLIN):%H:%M%z}"


def test_a_window_says_when_it_opens_and_when_it_closes() -> None:
    calendar = Calendar(berlin(2026, 11, 24, 3, 0), "Sat 02:00-04:00", "Wed 01:00-01:30")
    opening = calendar.read()
    assert (opening.open, opening.words) == (False, "Wed 2026-11-25 01:00 CET")
    assert opening.until == datetime(2026, 11, 25, 0, 0, tzinfo=UTC)
    calendar.now = datetime(2026, 11, 25, 0, 0, tzinfo=UTC)
    assert (calendar.read().open, calendar.read().words) == (True, "Wed 2026-11-25 01:30 CET")
    calendar.now += timedelta(minutes=30)
    assert (calendar.read().open, calendar.read().words) == (False, "Sat 2026-11-28 02:00 CET")


def test_windows_that_touch_are_one() -> None:
    calendar = Calendar(berlin(2026, 11, 28, 12, 0), "Sat", "Sun 00:00-06:00")
    assert (calendar.read().open, calendar.read().words) == (True, "Sun 2026-11-29 06:00 CET")


def test_one_that_is_always_open_is_looked_at_again() -> None:
    calendar = Calendar(berlin(2026, 11, 24, 12, 0), "Mon-Sun")
    first = calendar.read()
    assert (first.open, first.wall) == (True, berlin(2026, 12, 2, 12, 0))
    calendar.now = datetime(2026, 12, 2, 11, 0, tzinfo=UTC)
    assert (calendar.read().open, calendar.read().wall) == (True, berlin(2026, 12, 10, 12, 0))


def test_the_zone_decides() -> None:
    assert Calendar(berlin(2026, 11, 24, 3, 0), "02:00-04:00").read().open
    assert not Calendar(berlin(2026, 11, 24, 3, 0), "02:00-04:00", zone="America/New_York").read().open
    assert Calendar(berlin(2026, 11, 24, 3, 0), "02:00-04:00", zone="UTC").read().open


def test_without_a_zone_the_machines_own_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    calendar = Calendar(datetime(2026, 11, 24, 17, 30, tzinfo=UTC), "02:00-04:00", zone="")
    assert (calendar.read().open, calendar.read().words) == (True, "Wed 2026-11-25 04:00 JST")


def test_nothing_is_asked_of_a_machine_without_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "nowhere")
    config = load(None, environ={})
    assert Timetable(config, lambda: datetime.now(UTC), timedelta, print).read() == ()


@pytest.mark.parametrize(
    ("window", "open_at"),
    [
        ("02:15-02:45", []),
        ("01:30-02:30", [("01:30+0100", "03:00+0200")]),
        ("02:30-03:30", [("03:00+0200", "03:30+0200")]),
        ("00:00-06:00", [("00:00+0100", "06:00+0200")]),
    ],
)
def test_the_hour_that_is_left_out_when_clocks_are_put_forward_is_in_no_window(
    window: str, open_at: list[tuple[str, str]]
) -> None:
    assert Calendar(berlin(2026, 3, 28, 23, 0), window).hours(berlin(2026, 3, 29, 12, 0)) == open_at


def test_a_window_that_lies_in_it_opens_at_the_next_date_and_says_so() -> None:
    calendar = Calendar(berlin(2026, 3, 28, 23, 0), "02:15-02:45")
    assert calendar.read().words == "Mon 2026-03-30 02:15 CEST"
    calendar = Calendar(berlin(2026, 3, 28, 23, 0), "02:30-03:30")
    assert calendar.read().words == "Sun 2026-03-29 03:00 CEST"


@pytest.mark.parametrize(
    ("window", "open_at"),
    [
        ("02:15-02:45", [("02:15+0200", "02:45+0200"), ("02:15+0100", "02:45+0100")]),
        ("01:30-02:30", [("01:30+0200", "02:30+0200"), ("02:00+0100", "02:30+0100")]),
        ("02:30-03:30", [("02:30+0200", "02:00+0100"), ("02:30+0100", "03:30+0100")]),
        ("00:00-06:00", [("00:00+0200", "06:00+0100")]),
    ],
)
def test_the_hour_that_comes_twice_when_they_are_put_back_is_twice_in_a_window(
    window: str, open_at: list[tuple[str, str]]
) -> None:
    assert Calendar(berlin(2026, 10, 24, 23, 0), window).hours(berlin(2026, 10, 25, 12, 0)) == open_at


@pytest.mark.parametrize("window", ["02:15-02:45", "01:30-02:30", "02:30-03:30", "02:59-03:01"])
@pytest.mark.parametrize("day", [berlin(2026, 3, 28, 23, 0), berlin(2026, 10, 24, 23, 0)])
def test_what_is_said_to_come_next_is_never_past_and_comes(window: str, day: datetime) -> None:
    calendar = Calendar(day, window)
    end, said = calendar.now + timedelta(hours=16), set()
    while calendar.now < end:
        opening = calendar.read()
        assert opening.wall is not None
        assert opening.wall > calendar.now
        said.add(opening)
        calendar.now += MINUTE
    for opening in said:
        assert opening.wall is not None
        assert Calendar(opening.wall, window).read().open is not opening.open, opening


@pytest.mark.parametrize("by", [timedelta(hours=3), timedelta(hours=-3), timedelta(days=5)])
def test_a_clock_that_is_set_is_followed_and_deadlines_stay_in_their_own_time(by: timedelta) -> None:
    start = berlin(2026, 11, 24, 0, 30)
    calendar = Calendar(start, "02:00-04:00")
    assert calendar.read().until == berlin(2026, 11, 24, 2, 0)
    calendar.set(by)
    opening, fresh = calendar.read(), Calendar(calendar.now, "02:00-04:00").read()
    assert (opening.open, opening.wall) == (fresh.open, fresh.wall)
    assert opening.until is not None
    assert opening.wall is not None
    # As long from now on as the clock on the wall says.
    assert opening.until - (calendar.now - by) == opening.wall - calendar.now


def test_only_a_change_is_told() -> None:
    calendar = Calendar(berlin(2026, 11, 24, 1, 58), "02:00-04:00")
    calendar.read()
    told = []
    for number in range(150):
        calendar.now += MINUTE
        calendar.table.look()
        told += [(number, fact.openings[0].open) for fact in calendar.told]
        calendar.told.clear()
    assert told == [(1, True), (121, False)]


def drills(now: datetime, *times: str) -> Calendar:
    """Return a calendar with a drill for each of these times, called by its number."""
    calendar = Calendar(now)
    rows = [{"name": str(n), "when": when, "what": "reset", "chips": [0]} for n, when in enumerate(times)]
    config = load(None, environ={}, overrides={"drills": rows, "time_zone": "Europe/Berlin"})
    calendar.table = Timetable(config, lambda: calendar.now, lambda: calendar.drift, calendar.told.append)
    return calendar


def test_a_drill_is_due_at_its_time_and_for_some_minutes_after_it() -> None:
    calendar = drills(berlin(2026, 11, 28, 2, 59), "Sat 03:00")
    assert (calendar.read().name, calendar.read().open) == ("drills.0", False)
    assert calendar.read().words == "Sat 2026-11-28 03:00 CET"
    for minute in range(10):
        calendar.now = berlin(2026, 11, 28, 3, minute).astimezone(UTC)
        assert (calendar.read().open, calendar.read().wall) == (True, berlin(2026, 11, 28, 3, 0))
        assert calendar.read().until == berlin(2026, 11, 28, 3, 10)
    calendar.now += MINUTE
    assert (calendar.read().open, calendar.read().words) == (False, "Sat 2026-12-05 03:00 CET")


def test_a_service_that_starts_too_late_holds_no_drill_and_one_that_starts_soon_after_does() -> None:
    assert not drills(berlin(2026, 11, 28, 3, 10), "Sat 03:00").read().open
    assert drills(berlin(2026, 11, 28, 3, 9), "Sat 03:00").read().open


def test_in_the_hour_that_comes_twice_a_drill_is_held_once_and_in_the_one_left_out_not_at_all() -> None:
    calendar = drills(berlin(2026, 10, 24, 12, 0), "02:30")
    held = set()
    while calendar.now < datetime(2026, 10, 25, 12, 0, tzinfo=UTC):
        if calendar.read().open:
            held.add(calendar.read().wall)
        calendar.now += MINUTE
    assert [time.astimezone(UTC) for time in held if time] == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]
    calendar = drills(berlin(2026, 3, 29, 1, 0), "02:30")
    assert calendar.read().words == "Mon 2026-03-30 02:30 CEST"


@pytest.mark.parametrize("by", [timedelta(hours=-1), timedelta(hours=1), timedelta(minutes=-5)])
def test_a_clock_that_is_set_over_the_time_of_a_drill_does_not_make_it_two(by: timedelta) -> None:
    calendar = drills(berlin(2026, 11, 28, 3, 0), "Sat 03:00")
    first = calendar.read().wall
    calendar.set(by)
    for _ in range(180):
        opening = calendar.read()
        assert not opening.open or opening.wall == first
        calendar.now += MINUTE
