"""The door when the service is killed: what was answered is in force, and who listens hears the end."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cmgr.errors import ServiceDown
from cmgr.service.door.client import follow, get, order
from tests.service.door.http import asked, connected, heard
from tests.support.service import Service

LIVES = 3


@pytest.fixture
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-door-"))
    made = Service(folder, {})
    made.start()
    yield made
    made.close()
    shutil.rmtree(folder)


def test_what_was_answered_is_in_force_in_the_next_life_and_nobody_waits_for_the_dead_one(service: Service) -> None:
    for chip in range(LIVES):
        with ExitStack() as stack:
            reader = follow(service.socket, "events")
            stack.callback(reader.close)
            assert next(reader) is None, "it follows"
            half = connected(service.socket, stack)
            half.sendall(b"POST /v1/orders/isolate HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n{")
            tag = asked(service.socket, "GET", "/v1/status").headers["ETag"]
            order(service.socket, "isolate", chip=chip, reason="its fan is loud")
            service.kill9()
            assert heard(half) == b""
            with pytest.raises(ServiceDown):
                list(reader)
            with pytest.raises(ServiceDown):
                get(service.socket, "health")
        service.start()
        assert [row["isolated"] for row in service.status()["chips"][:LIVES]] == [n <= chip for n in range(LIVES)]
        again = asked(service.socket, "GET", "/v1/status", If_None_Match=tag)
        assert again.status == 200, "no tag of an ended life is taken for one of this"
