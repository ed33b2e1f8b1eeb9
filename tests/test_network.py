"""Calls over the network end in their time, whatever the other end does, and one thread sees to all of them."""

import socket
import threading
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from cmgr import network
from tests.support.waiting import PATIENCE


def _guards() -> int:
    return sum(thread.name == "guard" for thread in threading.enumerate())


def _answer(line: socket.socket, seconds: float) -> bytes:
    with closing(line), network.bounded(SimpleNamespace(sock=line), seconds):
        while line.recv(1):  # Whoever sends now and then would hold us for ever.
            pass
        raise OSError("it was cut")


def test_a_call_is_cut_after_its_time_although_one_with_more_time_began_before() -> None:
    with ExitStack() as stack:
        ours, theirs, line, _ = (stack.enter_context(closing(s)) for s in (*socket.socketpair(), *socket.socketpair()))
        stack.enter_context(network.bounded(SimpleNamespace(sock=ours), PATIENCE))
        with pytest.raises(network.NoAnswer, match="no answer within"):
            _answer(line, 0.05)
        theirs.send(b"a")
        assert (_guards(), ours.recv(1)) == (1, b"a")


def test_what_is_done_in_time_is_not_cut() -> None:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        for _ in range(3):
            with network.bounded(SimpleNamespace(sock=ours), PATIENCE) as over:
                theirs.send(b"a")
                assert ours.recv(1) == b"a"
            assert not over.is_set()
