"""A service that is there and does not answer: `kill -STOP`, a disk that hangs, a debugger that was forgotten.

Tried in 2026 on cmgr as it was: a stopped service was told as "not running" after 34 s, with exit code 0 and the advice
to start it; orders that had been given up long ago were carried out when it woke; the page said "All is well · live"
for 16 s.
"""

import ctypes
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from cmgr.errors import CmgrError
from cmgr.service.door.client import ASIDE, get
from tests.support.page import settings, site
from tests.support.service import Service
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HANGS = 5
"""The exit code of commands whose service hangs."""

ATTACH, DETACH, WALL = 16, 17, 0x40000000
"""Of ptrace(2) and waitpid(2)."""


@contextmanager
def stopped(service: Service) -> Iterator[None]:
    service.tell(signal.SIGSTOP)
    try:
        yield
    finally:
        service.tell(signal.SIGCONT)


@contextmanager
def deciding_thread_stopped(service: Service) -> Iterator[None]:
    """Stop the deciding thread alone, as a write does that never returns. The main thread's number is the process's."""

    def answers_all_the_same() -> bool:
        _trace(ATTACH, service.pid)
        os.waitpid(service.pid, WALL)
        try:
            get(service.socket, "health", ASIDE)
        except CmgrError:
            # It was met while it held what all threads need.
            _trace(DETACH, service.pid)
            return False
        return True

    eventually(answers_all_the_same, why="only the deciding thread is stopped")
    try:
        yield
    finally:
        _trace(DETACH, service.pid)


def _trace(what: int, thread: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if library.ptrace(what, thread, None, None) < 0:
        pytest.skip(f"nobody may trace here: {os.strerror(ctypes.get_errno())}")


def serving(install: Install) -> Service:
    service = install({})
    service.start()
    eventually(lambda: service.status()["service"]["state"] == "ready")
    return service


def never_ordered(service: Service) -> bool:
    """Return whether chip 3 was never isolated, once an order has been taken that came later."""
    assert service.cmgr("isolate", "5", "--reason", "given later").code == 0
    notes = [note.text for note in service.notes()]
    assert any("given later" in text for text in notes)
    return not service.status()["chips"][3]["isolated"] and not any("given up" in text for text in notes)


def test_a_stopped_service_is_told_as_one_that_hangs_and_does_nothing_that_nobody_waits_for(install: Install) -> None:
    service = serving(install)
    orders = (("status",), ("isolate", "3", "--reason", "given up"), ("chips",), ("check",))
    with stopped(service), ThreadPoolExecutor(len(orders)) as pool:
        status, isolate, chips, check = pool.map(lambda words: service.cmgr(*words), orders)
    for told in (status, isolate, chips, check):
        assert f"waiting: the service, pid {service.pid}, has not answered for 2 s" in told.err
    assert [status.code, isolate.code, chips.code] == [HANGS] * 3
    assert f"kill -CONT {service.pid}" in " ".join(status.out.split())
    assert "not well: the service hangs" in status.out
    assert "the service hangs" in chips.err
    assert "has not answered for 10 s" in isolate.err
    assert f"kill -CONT {service.pid}" in isolate.err
    assert check.code != 0
    assert "it hangs" in " ".join(check.out.split())
    assert never_ordered(service)


def test_where_only_the_deciding_thread_hangs_all_who_ask_are_told_and_no_order_waits(install: Install) -> None:
    service = serving(install)
    with deciding_thread_stopped(service):
        isolate = service.cmgr("isolate", "3", "--reason", "given up")
        assert (isolate.code, "nothing was done" in isolate.err) == (HANGS, True)
        eventually(lambda: service.status()["service"]["state"] == "hangs")
        status = service.cmgr("status", "--check")
        assert (status.code, status.out.splitlines()[0].startswith("not well: the service hangs")) == (HANGS, True)
        assert not get(service.socket, "health")["healthy"]
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert never_ordered(service)


def test_the_page_says_since_when_it_is_old_whoever_hangs(browser: "Browser", install: Install) -> None:
    service = install({})
    service.configure(settings(service.folder))
    service.start()
    with site(service, service.folder) as made:
        page = browser.new_page()
        expect.set_options(timeout=PATIENCE * 1000)
        page.goto(made.link())
        title = page.get_by_role("heading", level=1)
        assert made.web.process is not None
        for process in (service.pid, made.web.process.pid):
            expect(title).to_have_text("All is well")
            os.kill(process, signal.SIGSTOP)
            expect(title).to_have_text("The service does not answer")
            expect(page.get_by_text("not live since")).to_be_visible()
            os.kill(process, signal.SIGCONT)
        expect(title).to_have_text("All is well")
        page.context.close()
