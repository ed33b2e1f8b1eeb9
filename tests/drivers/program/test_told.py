"""A program's side: its facts reach a service that reads late whole and in order, and it ends in no reset's midst."""

import json
import socket
import threading
from collections.abc import Callable, Sequence

from cmgr.config.sim import Sim
from cmgr.drivers.program import wire
from cmgr.drivers.program.serving import AT_ONCE, Server
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.machine import MachineTold, Symptom
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import DriverFact
from cmgr.sentences.sentence import say
from tests.support.waiting import PATIENCE, eventually

MANY = 5000
"""More than a connection takes at once."""


class Told(SimDriver):
    """Tells many facts in one go, as the library does in a storm."""

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        for number in range(MANY):
            tell(FaultReported(ChipId(0), f"{number:08X}", Assertion.OCCURRED))


class Lasts(SimDriver):
    """Is in the midst of a reset, for which nobody waits any more."""

    def __init__(self) -> None:
        super().__init__(Sim(chips=1))
        self.asked, self.over = threading.Event(), threading.Event()

    def finish(self) -> None:
        self.asked.set()
        self.over.wait()


class Hangs(SimDriver):
    """Answers no reading."""

    def __init__(self) -> None:
        super().__init__(Sim(chips=1))
        self.asked, self.over = threading.Semaphore(0), threading.Event()

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        self.asked.release()
        self.over.wait()
        return super().read(chips)


def served(driver: SimDriver) -> tuple[socket.socket, socket.socket, threading.Thread]:
    """Return both ends of a connection, and the thread that serves the driver at the second."""
    ours, theirs = socket.socketpair()
    server = Server(theirs, lambda _config: driver)
    server._driver = driver
    serving = threading.Thread(target=server.run)
    serving.start()
    return ours, theirs, serving


def test_that_the_service_is_gone_is_seen_though_no_answer_comes() -> None:
    driver = Hangs()
    ours, theirs, serving = served(driver)
    ours.sendall(b'{"id": 0, "do": "state"}\n' + b'{"id": 1, "do": "read", "chips": [0]}\n' * (AT_ONCE + 2))
    for _ in range(AT_ONCE):
        assert driver.asked.acquire(timeout=PATIENCE)
    ours.close()
    serving.join(PATIENCE)
    assert not serving.is_alive()
    driver.over.set()
    eventually(lambda: "serve" not in [thread.name for thread in threading.enumerate()])
    theirs.close()


def test_a_program_that_is_let_go_of_finishes_the_reset_that_it_is_in() -> None:
    driver = Lasts()
    ours, theirs, serving = served(driver)
    ours.close()
    assert driver.asked.wait(PATIENCE)
    assert serving.is_alive()
    driver.over.set()
    serving.join()
    theirs.close()


def test_threads_that_answer_end_with_their_answers() -> None:
    ours, theirs, serving = served(SimDriver(Sim(chips=1)))
    with ours, ours.makefile("rb") as lines:
        for number in range(2 * AT_ONCE):
            ours.sendall(b'{"id": %d, "do": "state"}\n' % number)
        answered = {json.loads(next(lines))["id"] for _ in range(2 * AT_ONCE)}
        eventually(lambda: "serve" not in [thread.name for thread in threading.enumerate()])
        ours.shutdown(socket.SHUT_RDWR)
    serving.join()
    theirs.close()
    assert answered == set(range(2 * AT_ONCE))


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


def test_what_is_wrong_with_the_machine_is_understood_in_the_words_of_whoever_found_it() -> None:
    symptom = Symptom(FaultCode("disk-degraded"), "nvme0", text=say("chip.number", chip=3))
    fact = MachineTold("nvml", (symptom,))
    assert wire.fact(json.loads(wire.told(fact))) == fact
