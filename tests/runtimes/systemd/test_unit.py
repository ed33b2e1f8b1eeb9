"""Answers of systemd about a unit, read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cmgr.config.settings import Unit
from cmgr.config.spelling import is_unit
from cmgr.host.bus import object_path
from cmgr.model.values.services.containers import Exit
from cmgr.runtimes.labels import LONGEST_GRACE
from cmgr.runtimes.systemd.unit import described

AT = datetime(2026, 3, 1, tzinfo=UTC)
MICROSECONDS = int(AT.timestamp() * 10**6)


def ended(**told: Any) -> Exit | None:
    down = {"ActiveState": "failed", "InvocationID": b"\x01\xff", "InactiveEnterTimestamp": MICROSECONDS}
    return described("llm.service", {**down, **told}, Unit("llm.service")).container.exit


@pytest.mark.parametrize(
    ("result", "kind", "status", "end"),
    [
        ("success", 1, 0, Exit(0, AT, asked=True)),
        ("exit-code", 1, 3, Exit(3, AT)),
        ("signal", 2, 9, Exit(137, AT)),
        ("timeout", 2, 9, Exit(137, AT)),
        ("core-dump", 3, 11, Exit(139, AT, asked=False)),
        ("oom-kill", 2, 9, Exit(137, AT, asked=False)),
        ("watchdog", 3, 6, Exit(134, AT, asked=False)),
        ("start-limit-hit", 0, 0, Exit(1, AT)),
    ],
)
def test_an_end_says_whether_somebody_can_have_asked_for_it(result: str, kind: int, status: int, end: Exit) -> None:
    assert ended(Result=result, ExecMainCode=kind, ExecMainStatus=status) == end


def test_a_unit_that_is_between_two_states_runs() -> None:
    for state in ("active", "activating", "deactivating", "reloading"):
        assert described("llm.service", {"ActiveState": state}, Unit("llm.service")).container.running


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
