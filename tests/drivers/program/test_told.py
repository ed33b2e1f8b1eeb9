"""Facts that a program tells by itself reach a service that reads late: whole, in order, and nothing twice."""

import json
import socket
import threading
from collections.abc import Callable

from cmgr.config.sim import Sim
from cmgr.drivers.program.serving import Server
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import DriverFact

MANY = 5000
"""More than a connection takes at once."""


class Told(SimDriver):
    """Tells many facts in one go, as the library does in a storm."""

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        for number in range(MANY):
            tell(FaultReported(ChipId(0), f"{number:08X}", Assertion.OCCURRED))


def test_facts_that_the_service_reads_late_come_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    server = Server(theirs, lambda _config: Told(Sim(chips=1)))
    serving = threading.Thread(target=server.run)
    serving.start()
    with ours, ours.makefile("rb") as lines:
        server._driver = Told(Sim(chips=1))
        ours.sendall(b'{"id": 1, "do": "state"}\n{"id": 2, "do": "watch"}\n')
        said = [json.loads(next(lines)) for _ in range(MANY + 2)]
        ours.shutdown(socket.SHUT_RDWR)
    serving.join()
    theirs.close()
    assert [message["id"] for message in said if "tell" not in message] == [1, 2]
    assert [message["code"] for message in said if "tell" in message] == [f"{n:08X}" for n in range(MANY)]
