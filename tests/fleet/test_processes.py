"""Appliances as processes: with other clocks, standing still, gone."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from cmgr.model.values.presence import Appliance
from tests.fleet.world import QUICK, Make, One, document, show
from tests.support.daemons.etcd import Cluster
from tests.support.programs import at_another_time
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


# Other processes, other clocks.


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def other(stack: ExitStack, etcd: Cluster, name: str, clock: str = "") -> "subprocess.Popen[str]":
    """Start an appliance as a process, whose clock is perhaps another, and wait until it is up."""
    before = at_another_time(clock) if clock else []
    words = [*before, sys.executable, "-m", "tests.fleet.appliance", etcd.endpoints[0], "/clocks", name]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait)
    stack.callback(process.kill)
    assert process.stdin is not None
    stack.callback(process.stdin.close)
    assert process.stdout is not None
    stack.callback(process.stdout.close)
    assert process.stdout.readline() == "up\n"
    return process


def seen(one: One, name: str) -> Appliance | None:
    return next((each for each in one.fleet.appliances() if each.name == name), None)


def test_clocks_an_hour_apart_change_nothing_and_are_remarked(make: Make, etcd: Cluster, processes: ExitStack) -> None:
    one = make("here", at="/clocks").begin().up()
    for name, clock, hours in (("ahead", "+1h", 1), ("behind", "-1h", -1)):
        process = other(processes, etcd, name, clock)
        assert process.stdin is not None
        assert process.stdout is not None
        round_ = hours + 5
        process.stdin.write(f"{round_} {one.fleet.read('tp4').revision}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        one.sees("tp4", document(round_))

        def apart(name: str = name) -> bool:
            found = seen(one, name)
            return found is not None and found.ahead is not None

        eventually(apart)
        found = seen(one, name)
        assert found is not None
        assert found.ahead is not None
        assert round(found.ahead.total_seconds() / 3600) == hours


def test_one_that_stands_still_beyond_its_lease_is_not_seen_and_goes_on_as_if_nothing_was(
    make: Make, etcd: Cluster, processes: ExitStack
) -> None:
    one = make("here", at="/clocks").begin().up()
    process = other(processes, etcd, "still")

    def present() -> bool:
        found = seen(one, "still")
        return found is not None and found.presence is not None

    eventually(present)
    process.send_signal(signal.SIGSTOP)
    eventually(lambda: not present())
    found = seen(one, "still")
    assert found is not None
    assert found.gone is not None
    process.send_signal(signal.SIGCONT)
    eventually(present)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"7 {one.fleet.read('tp4').revision}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    one.sees("tp4", document(7))


def test_one_that_ends_in_order_is_not_seen_at_once(make: Make) -> None:
    a, b = make("a", pace=QUICK).begin().up(), make("b").begin().up()
    show(b)

    def present() -> bool:
        found = seen(a, "b")
        return found is not None and found.presence is not None

    eventually(present)
    b.fleet.close()
    eventually(lambda: not present())
