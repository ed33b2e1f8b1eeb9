"""Windows and times of the week as the configuration spells them."""

from datetime import datetime

import pytest

from cmgr.config.load import load
from cmgr.config.week import time, window
from cmgr.errors import ConfigError
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import Drill, Exercise, shows

MONDAY = 2
"""A day of March 2026."""


def at(text: str) -> datetime:
    """Return a time of the week of "Mon 2 March 2026"."""
    day, clock = text.split()
    number = MONDAY + ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun").index(day)
    hour, minute = clock.split(":")
    return datetime(2026, 3, number, int(hour), int(minute), 30)  # noqa: DTZ001 - what a wall shows


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("Sat 02:00-04:00", ["Sat 02:00", "Sat 03:59"], ["Sat 01:59", "Sat 04:00", "Sun 02:30", "Fri 02:30"]),
        ("sat 2:00-4:00", ["Sat 02:00"], ["Sat 04:00"]),
        ("02:10-02:40", ["Mon 02:10", "Sun 02:39"], ["Mon 02:09", "Mon 02:40"]),
        ("Sun", ["Sun 00:00", "Sun 23:59"], ["Sat 23:59", "Mon 00:00"]),
        ("Sat,Sun 00:00-24:00", ["Sat 00:00", "Sun 23:59"], ["Fri 23:59", "Mon 00:00"]),
        (
            "Mon-Fri 22:30-04:15",
            ["Mon 22:30", "Tue 04:14", "Fri 23:59", "Sat 04:14"],
            ["Mon 04:00", "Mon 22:29", "Tue 04:15", "Sat 22:30", "Sun 03:00"],
        ),
        ("Sun 23:00-00:30", ["Sun 23:30", "Mon 00:29"], ["Mon 00:30", "Sun 00:10", "Sat 23:30"]),
        ("Sat-Mon 01:05-03:20", ["Sat 01:05", "Sun 02:30", "Mon 03:19"], ["Tue 02:00", "Mon 01:04", "Mon 03:20"]),
        ("* 2-3 * * sat", ["Sat 02:00", "Sat 03:59"], ["Sat 04:00", "Sun 02:00"]),
        ("*/30 2 * * 0", ["Sun 02:00", "Sun 02:30"], ["Sun 02:01", "Mon 02:00"]),
        ("* * 3 3 *", ["Tue 10:00"], ["Mon 10:00"]),
        ("0-29 3 * * fri-sun", ["Fri 03:00", "Sat 03:29", "Sun 03:10"], ["Thu 03:00", "Sun 03:30"]),
    ],
)
def test_a_window_is_open_when_a_clock_on_the_wall_shows_a_time_in_it(
    text: str, inside: list[str], outside: list[str]
) -> None:
    moments = window(text).moments
    assert [when for when in inside if not shows(moments, at(when))] == []
    assert [when for when in outside if shows(moments, at(when))] == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "Sat 02:00", "Sat 02:00-02:00", "Xat 02:00-03:00", "25:00-26:00", "02:60-03:00", "Sat 24:00-03:00"),
        *("daily", "Sat 02:00-04:00 x", "é 02:00-03:00", "٠٢:00-03:00", "Sat 02:00-03:00" + " " * 300),
        *("* * 31 2 *", "* * 1 * mon", "60 * * * *", "*/0 * * * *", "5/2 * * * *", "9-5 * * * *", "* * * *", "@daily"),
    ],
)
def test_everything_else_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="a window such as"):
        window(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("Sat 03:00", ["Sat 03:00"], ["Sat 03:01", "Sun 03:00"]),
        ("03:59", ["Mon 03:59", "Sun 03:59"], ["Mon 03:58", "Mon 04:00"]),
        ("30 3 * * mon,wed", ["Mon 03:30", "Wed 03:30"], ["Tue 03:30"]),
    ],
)
def test_a_time_is_a_minute(text: str, inside: list[str], outside: list[str]) -> None:
    moments = time(text).moments
    assert [when for when in inside if not shows(moments, at(when))] == []
    assert [when for when in outside if shows(moments, at(when))] == []


@pytest.mark.parametrize("text", ["Sat", "Sat 24:00", "3", "Sat 03:00-04:00", "03:60", ""])
def test_everything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="a time such as"):
        time(text)


def test_windows_are_read_from_variables_between_semicolons() -> None:
    config = load(None, environ={"CMGR_LEVELS_FREERESTARTNPU_WINDOW": "Sat,Sun 02:00-04:00; Mon 03:00-03:30"})
    texts = [each.text for each in config.policy().levels[Level.FreeRestartNPU].window]
    assert texts == ["Sat,Sun 02:00-04:00", "Mon 03:00-03:30"]


def test_all_mistakes_are_told_at_once_each_with_what_is_allowed() -> None:
    wrong = {
        "levels.FreeRestartNPU.window": ["Sat 02:00-04:00", "Sunday 25:00"],
        "maintenance.windows": "Sat 02:00",
        "reset.window_hours": ["* * 30 2 *"],
        "time_zone": "Europe/Atlantis",
    }
    with pytest.raises(ConfigError) as told:
        load(None, environ={}, overrides=wrong)
    assert len(told.value.mistakes) == 4
    assert [text.partition(" ")[0] for text in told.value.mistakes] == list(wrong)
    assert all("must be " in text for text in told.value.mistakes)
    assert sum('"Mon-Fri 22:00-06:00"' in text for text in told.value.mistakes) == 3
    assert '"Europe/Berlin"' in told.value.mistakes[-1]


@pytest.mark.parametrize("zone", ["Europe", "/etc/localtime", "../../etc/passwd", "Europe/Berlin\0"])
def test_no_other_file_is_a_time_zone(zone: str) -> None:
    with pytest.raises(ConfigError):
        load(None, environ={}, overrides={"time_zone": zone})


def test_all_mistakes_in_drills_are_told_at_once() -> None:
    wrong = [{"name": "a", "when": "Sat", "what": "nap", "chips": [0]}, {"what": "reset", "when": "03:00", "chips": []}]
    with pytest.raises(ConfigError) as first:
        load(None, environ={}, overrides={"drills": wrong})
    keys = [text.partition(" ")[0] for text in first.value.mistakes]
    assert keys == ["drills[1].when", "drills[1].what", "drills[2].name"]
    plain = {"name": "b", "when": "03:00", "what": "reset"}
    odd = {**plain, "what": "fault", "chips": [0], "container": "llm"}
    with pytest.raises(ConfigError) as second:
        load(None, environ={}, overrides={"drills": [plain, odd]})
    assert second.value.mistakes == (
        'drills: "b" is the name of more than one',
        'drills: "b" needs either chips or a container',
        'drills: "b" needs either chips or a container',
        'drills: "b" needs a code with what = "fault", and none with what = "reset"',
    )


def test_a_window_for_a_reboot_and_the_wish_for_one_belong_together() -> None:
    for wish in ({"machine.reboot": "window"}, {"machine.reboot": "now", "machine.reboot_window": ["Sun 03:00-05:00"]}):
        with pytest.raises(ConfigError, match=r"machine\.reboot_window: either both"):
            load(None, environ={}, overrides=wish)
    policy = load(
        None, environ={}, overrides={"machine.reboot": "window", "machine.reboot_window": ["Sun 03:00-05:00"]}
    ).policy()
    assert (policy.reboot.when, [*policy.windows()]) == ("window", ["machine.reboot_window"])


def test_a_drill_is_read() -> None:
    rows = [{"name": "a", "when": "Sat 03:00", "what": "fault", "container": "llm", "code": "80E24E00"}]
    (drill,) = load(None, environ={}, overrides={"drills": rows}).policy().drills
    assert drill == Drill("a", Exercise.FAULT, (), "llm", "80E24E00")
