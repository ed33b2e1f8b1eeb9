"""GPUs that are asked all at once."""

from collections.abc import Iterator
from functools import partial

import pytest

from cmgr.drivers.nvml.library import worker
from cmgr.drivers.nvml.library.calls import Handle, Library
from cmgr.drivers.nvml.library.session import Session
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.support.waiting import PATIENCE, eventually

COUNT = partial(worker.ask_library, Library.count)


def nothing(_library: Library, _handle: Handle) -> str:
    return "nothing"


@pytest.fixture
def session(nvidia: Make) -> Iterator[Session]:
    made = Session(str(nvidia(hosts.host_h100(3)).library), 0)
    yield made
    made.close()


@pytest.fixture
def buses(session: Session) -> tuple[str, ...]:
    return tuple(session.at(number, PATIENCE, nothing)[0] for number in range(3))


def test_each_answers_for_itself(session: Session, buses: tuple[str, ...]) -> None:
    assert dict(session.ask_each(dict.fromkeys(buses, COUNT), PATIENCE)) == dict.fromkeys(buses, 3)
    assert [*session.ask_each({}, PATIENCE)] == []


def test_who_stops_listening_keeps_nobody_from_asking(session: Session, buses: tuple[str, ...]) -> None:
    answers = session.ask_each(dict.fromkeys(buses, COUNT), PATIENCE)
    next(answers)
    del answers
    eventually(lambda: dict(session.ask_each(dict.fromkeys(buses, COUNT), PATIENCE)) == dict.fromkeys(buses, 3))


def test_a_gpu_that_somebody_else_is_asking_is_asked_last(session: Session, buses: tuple[str, ...]) -> None:
    begun = session.ask_each({buses[0]: COUNT, buses[1]: COUNT}, PATIENCE)
    first = next(begun)[0]
    busy = buses[1 - buses.index(first)]
    answers = session.ask_each({busy: COUNT, buses[2]: COUNT}, PATIENCE)
    assert next(answers) == (buses[2], 3)
    assert [*begun] == [(busy, 3)]
    assert [*answers] == [(busy, 3)]
