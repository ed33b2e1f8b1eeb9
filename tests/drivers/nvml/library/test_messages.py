"""Messages of the processes that ask GPUs: they come whole, however long, and take no more memory than they need."""

import socket
import tracemalloc
from collections.abc import Iterator

import pytest

from cmgr.drivers.nvml.library.forks import packed, received, unpacked

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        yield here, there


@pytest.mark.parametrize("length", [1, 5_000, 150_000])
def test_a_message_comes_whole_and_by_itself(ends: Ends, length: int) -> None:
    here, there = ends
    there.send(packed("x" * length))
    there.send(packed("the next one"))
    assert unpacked(received(here)) == "x" * length
    assert unpacked(received(here)) == "the next one"


def test_where_the_other_side_is_gone_there_is_none(ends: Ends) -> None:
    here, there = ends
    there.close()
    assert received(here) == b""


def test_a_short_message_takes_no_room_for_the_longest(ends: Ends) -> None:
    here, there = ends
    there.send(packed("short"))
    tracemalloc.start()
    try:
        assert unpacked(received(here)) == "short"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 16
