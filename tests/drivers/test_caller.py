"""Calls that hang: bounded, counted as one chip's, and in nobody else's way."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from cmgr.drivers.caller import Caller, Hangs
from tests.support.waiting import PATIENCE, eventually

SOON = 0.05


@pytest.fixture
def caller() -> Iterator[Caller]:
    caller = Caller("libchip", give_way=SOON)
    yield caller
    caller.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def blocked(gate: threading.Event, began: threading.Event | None = None) -> Callable[[], str]:
    def function() -> str:
        if began is not None:
            began.set()
        assert gate.wait(PATIENCE)
        return "back"

    return function


def test_a_result_and_an_error_come_back(caller: Caller) -> None:
    assert caller.call("a", PATIENCE, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        caller.call("a", PATIENCE, lambda: 1 // 0)


def test_a_call_that_hangs_is_given_up_and_its_owner_fails_at_once(caller: Caller, gate: threading.Event) -> None:
    with pytest.raises(Hangs, match=r"has not answered for 0\.05 s"):
        caller.call("a", SOON, blocked(gate))
    with pytest.raises(Hangs, match="an earlier call"):
        caller.call("a", PATIENCE, lambda: 1)
    assert caller.call("b", PATIENCE, lambda: 2) == 2


def test_an_owner_answers_again_when_its_call_has_come_back(caller: Caller, gate: threading.Event) -> None:
    with pytest.raises(Hangs):
        caller.call("a", SOON, blocked(gate))
    gate.set()

    def answered() -> int | None:
        with suppress(Hangs):
            return caller.call("a", PATIENCE, lambda: 3)
        return None

    assert eventually(answered) == 3


def test_a_long_call_lets_others_in(caller: Caller, gate: threading.Event) -> None:
    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(caller.call, "a", PATIENCE, blocked(gate, began))
        assert began.wait(PATIENCE)
        assert caller.call("b", PATIENCE, lambda: 4) == 4
        gate.set()
        assert long.result(PATIENCE) == "back"


def test_short_calls_go_in_one_at_a_time() -> None:
    # Nothing takes as long as this, so nobody is let in beside another.
    caller = Caller("libchip", give_way=PATIENCE)
    lock = threading.Lock()
    overlaps = []

    def alone() -> None:
        if not lock.acquire(blocking=False):
            overlaps.append(1)
            return
        lock.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: caller.call(str(n), PATIENCE, alone), range(400)))
    assert overlaps == []
    caller.close()


def test_one_thread_serves_who_calls_one_after_the_other(caller: Caller) -> None:
    threads = {caller.call("a", PATIENCE, threading.get_ident) for _ in range(50)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_who_waits_is_let_go_when_it_is_closed(caller: Caller, gate: threading.Event) -> None:
    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(caller.call, "a", PATIENCE, blocked(gate, began))
        assert began.wait(PATIENCE)
        caller.close()
        with pytest.raises(Hangs, match="closed"):
            waiting.result(PATIENCE)
    with pytest.raises(Hangs, match="closed"):
        caller.call("b", PATIENCE, lambda: 1)


def test_calls_that_have_not_come_back_are_known_by_their_owners(caller: Caller, gate: threading.Event) -> None:
    with pytest.raises(Hangs):
        caller.call("a", 0.01, blocked(gate, threading.Event()))
    assert (sorted(caller.stuck(0)), sorted(caller.stuck(PATIENCE))) == (["a"], [])
    caller.call("b", PATIENCE, lambda: 1)
    gate.set()
    eventually(lambda: not caller.stuck(0))
