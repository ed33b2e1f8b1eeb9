"""Answers of systemd about a unit, read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cmgr.config.settings import Unit
from cmgr.config.spelling import is_unit
from cmgr.host.bus import object_path
from cmgr.model.values.services.containers import UNHEALTHY, Exit
from cmgr.runtimes.labels import LONGEST_GRACE
from cmgr.runtimes.systemd.unit import described

AT = datetime(2026, 3, 1, tzinfo=UTC)
MICROSECONDS = int(AT.timestamp() * 10**6)


def ended(**told: Any) -> Exit | None:
    down = {"ActiveState": "failed", "InvocationID": b"\x01\xff", "InactiveEnterTimestamp": MICROSECONDS}
    return described("llm.service", {**down, **told}, Unit("llm.service")).container.exit


FOLLOWS = (10, 20, 40, 30)
"""When a life began, was up and was no longer, and when its process ended: systemd took note of that."""

GOES_FIRST = (10, 20, 30, 40)
"""systemd was told to end it, and did."""

NEVER_UP = (10, 5, 6, 30)
"""The life before was up."""


@pytest.mark.parametrize(
    ("result", "kind", "status", "times", "end"),
    [
        ("success", 1, 0, FOLLOWS, Exit(0, AT)),
        ("success", 2, 15, FOLLOWS, Exit(143, AT)),
        ("success", 2, 15, GOES_FIRST, Exit(143, AT, asked=True)),
        ("success", 1, 0, GOES_FIRST, Exit(0, AT, asked=True)),
        ("success", 2, 15, NEVER_UP, Exit(143, AT)),
        ("exit-code", 1, 3, FOLLOWS, Exit(3, AT)),
        ("exit-code", 1, 3, GOES_FIRST, Exit(3, AT, asked=True)),
        ("signal", 2, 9, FOLLOWS, Exit(137, AT)),
        ("timeout", 2, 9, GOES_FIRST, Exit(137, AT)),
        ("timeout", 2, 9, NEVER_UP, Exit(137, AT, asked=False)),
        ("core-dump", 3, 11, FOLLOWS, Exit(139, AT, asked=False)),
        ("oom-kill", 2, 9, GOES_FIRST, Exit(137, AT, asked=False)),
        ("watchdog", 3, 6, GOES_FIRST, Exit(134, AT, asked=False)),
        ("start-limit-hit", 0, 0, FOLLOWS, Exit(1, AT)),
    ],
)
def test_an_end_says_whether_somebody_can_have_asked_for_it(
    result: str, kind: int, status: int, times: tuple[int, ...], end: Exit
) -> None:
    names = ("InactiveExit", "ActiveEnter", "ActiveExit", "ExecMainExit")
    told = {f"{name}TimestampMonotonic": time for name, time in zip(names, times, strict=True)}
    assert ended(Result=result, ExecMainCode=kind, ExecMainStatus=status, **told) == end


def test_an_end_of_which_systemd_knows_no_times_is_nobodys() -> None:
    assert ended(Result="success", ExecMainCode=2, ExecMainStatus=15) == Exit(143, AT)


def test_a_unit_that_is_between_two_states_runs() -> None:
    for state in ("active", "activating", "deactivating", "reloading"):
        assert described("llm.service", {"ActiveState": state}, Unit("llm.service")).container.running


def test_a_unit_that_is_down_runs_while_its_main_process_lives_and_is_of_no_use() -> None:
    for state in ("inactive", "failed", "maintenance"):
        unit = described("llm.service", {"ActiveState": state}, Unit("llm.service"), left=12)
        assert unit.left == f"systemd calls it {state}, and its process 12 lives"
        assert (unit.container.running, unit.container.exit) == (True, None)
        assert (unit.container.health, unit.container.warnings) == (UNHEALTHY, (unit.left,))
        assert not described("llm.service", {"ActiveState": state}, Unit("llm.service")).container.running


def test_a_unit_that_waits_for_its_next_restart_is_not_starting_and_one_that_is_reloaded_neither() -> None:
    words = (("activating", "start"), ("activating", "auto-restart"), ("reloading", "reload"), ("active", "running"))
    told = [described("llm.service", {"ActiveState": a, "SubState": s}, Unit("llm.service")) for a, s in words]
    assert [(u.container.starting, u.container.restarting) for u in told] == [
        (True, False),
        (False, True),
        (False, False),
        (False, False),
    ]


def test_a_life_that_systemd_ends_by_a_job_is_told_to_end() -> None:
    for state, job, ordered in (("deactivating", 7, True), ("deactivating", 0, False), ("activating", 7, False)):
        told = {"ActiveState": state, "Job": (job, "/")}
        assert described("llm.service", told, Unit("llm.service")).ordered is ordered


def test_a_unit_without_a_limit_for_its_stop_has_the_longest_grace() -> None:
    unit = described("llm.service", {"TimeoutStopUSec": 2**64 - 1}, Unit("llm.service")).container
    assert unit.grace == LONGEST_GRACE
    unit = described("llm.service", {"TimeoutStopUSec": 1_500_000}, Unit("llm.service")).container
    assert unit.grace == timedelta(seconds=1.5)


def test_the_path_of_an_object_escapes_what_is_no_letter_or_digit() -> None:
    assert object_path("llm@3.service") == "/org/freedesktop/systemd1/unit/llm_403_2eservice"
    assert object_path("3.service") == "/org/freedesktop/systemd1/unit/_33_2eservice"


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("llm.service", True),
        ("llm@3.service", True),
        ("a\\x2db.service", True),
        ("llm@.service", False),
        ("llm.socket", False),
        ("../llm.service", False),
        ("llm .service", False),
        (".service", False),
        ("x" * 250 + ".service", False),
    ],
)
def test_a_name_is_a_service_and_no_bare_template(name: str, *, good: bool) -> None:
    assert is_unit(name) is good
