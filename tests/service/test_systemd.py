"""The messages that systemd hears, on a datagram socket as systemd has one."""

import os
import socket
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest

from cmgr.service.systemd import Notifier
from tests.support.waiting import PATIENCE


@pytest.fixture
def systemd() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(PATIENCE)
        yield listening


def test_words_go_as_one_datagram(systemd: socket.socket) -> None:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    with TemporaryDirectory(prefix="cmgr-") as folder:
        path = f"{folder}/notify"
        systemd.bind(path)
        Notifier({"NOTIFY_SOCKET": path}).tell("READY=1", "STATUS=8 chips")
        assert systemd.recv(4096) == b"READY=1\nSTATUS=8 chips"


def test_an_abstract_address_is_understood(systemd: socket.socket) -> None:
    name = f"cmgr-test-{os.getpid()}"
    systemd.bind(f"\0{name}")
    Notifier({"NOTIFY_SOCKET": f"@{name}"}).tell("WATCHDOG=1")
    assert systemd.recv(4096) == b"WATCHDOG=1"


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/at/all"}])
def test_without_systemd_nothing_happens(environment: dict[str, str]) -> None:
    Notifier(environment).tell("READY=1")


def test_a_systemd_that_reads_nothing_holds_nobody_up(systemd: socket.socket) -> None:
    name = f"cmgr-test-full-{os.getpid()}"
    systemd.bind(f"\0{name}")
    notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
    for _ in range(2000):
        notifier.tell("WATCHDOG=1")
    assert systemd.recv(4096) == b"WATCHDOG=1"


def test_the_watchdog_is_fed_as_often_as_it_needs_and_not_at_each_decision(systemd: socket.socket) -> None:
    name = f"cmgr-test-fed-{os.getpid()}"
    systemd.bind(f"\0{name}")
    notifier = Notifier({"NOTIFY_SOCKET": f"@{name}", "WATCHDOG_USEC": "3600000000"})
    for _ in range(100):
        notifier.alive()
    notifier.tell("STATUS=well")
    assert [systemd.recv(4096), systemd.recv(4096)] == [b"WATCHDOG=1", b"STATUS=well"]


def test_no_watchdog_is_fed_where_there_is_none(systemd: socket.socket) -> None:
    name = f"cmgr-test-unfed-{os.getpid()}"
    systemd.bind(f"\0{name}")
    notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
    notifier.alive()
    notifier.tell("STATUS=well")
    assert systemd.recv(4096) == b"STATUS=well"


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_watchdog_is_ours_only_when_it_is_meant_for_us(environment: dict[str, str], seconds: float) -> None:
    assert Notifier(environment).watchdog_seconds == seconds
