"""The program's sentences come to the service as such, and those of a program that says texts alone as texts."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from cmgr.config.sim import Sim
from cmgr.drivers.program import wire
from cmgr.drivers.program.link import Link
from cmgr.drivers.program.serving import Server
from cmgr.drivers.resets import refusal
from cmgr.drivers.sim.driver import SimDriver
from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import MachineTold, Symptom
from cmgr.model.values.messages.facts import Remarked
from cmgr.sentences import beside
from cmgr.sentences.sentence import CHINESE, Sentence, in_language, say
from cmgr.typed import value

GONE = say("driver.listed-no-more")
CHINESE_GONE = "驱动不再列出它"
STRANGERS = "the clock of board 3 is slow"
"""Words of a driver that says texts alone."""


class Gone(SimDriver):
    """Lists its chip no more."""

    def __init__(self) -> None:
        super().__init__(Sim(chips=1))

    def trouble(self) -> tuple[str, ...]:
        return (say("driver.lists-no-more", chips=[0]), STRANGERS)

    def stale(self) -> str:
        return GONE

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        return tuple(ChipReport(chip, error=GONE) for chip in chips)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        raise refusal(chips, GONE)


@pytest.fixture
def link() -> Iterator[Link]:
    """A connection to a program that drives a chip which is gone."""
    ours, theirs = socket.socketpair()
    server = Server(theirs, lambda _config: Gone())
    server._driver = Gone()
    serving = threading.Thread(target=server.run)
    serving.start()
    found = Link(ours, lambda: None, lambda: "it has ended", lambda: False)
    found.start(lambda _fact: None, lambda: None)
    yield found
    found.close()
    serving.join()
    theirs.close()


def test_why_a_chip_does_not_answer_is_said_in_chinese(link: Link) -> None:
    link.ask("state")  # The first request is served before there are threads.
    (report,) = value(tuple[ChipReport, ...], link.ask("read", chips=[0]))
    assert report == ChipReport(ChipId(0), error=GONE)
    assert in_language(report.error, CHINESE) == CHINESE_GONE


def test_why_a_reset_was_refused_is_said_in_chinese(link: Link) -> None:
    link.ask("state")
    with pytest.raises(ResetRefused) as refused:
        link.ask("reset", chips=[0], faulty=[0], codes=[])
    assert refused.value.message == "cannot reset chip 0: the driver lists it no more"
    assert in_language(refused.value.message, CHINESE) == f"无法复位芯片 0：{CHINESE_GONE}"


def test_the_troubles_of_a_driver_are_said_in_chinese_and_a_text_alone_as_it_is(link: Link) -> None:
    state = link.ask("state")
    assert state["stale"] == GONE
    told = [in_language(text, CHINESE) for text in (*state["troubles"], state["stale"])]
    assert told == ["驱动不再列出芯片 0", STRANGERS, CHINESE_GONE]


@pytest.mark.parametrize(
    "fact", [Remarked(GONE), MachineTold("nvml", (Symptom(FaultCode("disk-degraded"), text=GONE),))]
)
def test_what_a_program_tells_by_itself_is_said_in_chinese(fact: Remarked | MachineTold) -> None:
    again = wire.fact(wire.heard(wire.told(fact)))
    assert again == fact
    text = again.text if isinstance(again, Remarked) else again.found[0].text
    assert in_language(text, CHINESE) == CHINESE_GONE


def test_a_service_that_knows_no_messages_reads_the_texts() -> None:
    line = wire.told(Remarked(GONE))
    assert wire.fact(json.loads(line)) == Remarked(str(GONE))
    failure = wire.failed(json.loads(wire.line(wire.failure(refusal([ChipId(0)], GONE)))))
    assert failure.message == "cannot reset chip 0: the driver lists it no more"


def test_a_line_without_sentences_is_as_it_always_was() -> None:
    assert wire.line({"id": 1, "result": ["a", {"b": None}]}) == b'{"id":1,"result":["a",{"b":null}]}\n'


@pytest.mark.parametrize(
    "said",
    [
        None,
        3,
        [],
        [["the driver lists it no more"]],
        {str(GONE): None},
        {str(GONE): {"id": "driver.is-closed", "args": {}}},
        {str(GONE): {"id": "of-a-newer-program", "args": {}}},
        {f"{number}": {"id": "driver.is-closed", "args": {}} for number in range(beside.MOST)}
        | {str(GONE): {"id": GONE.id, "args": {}}},
    ],
)
def test_messages_that_say_nothing_leave_the_text_alone(said: object) -> None:
    fact = wire.fact(wire.heard(json.dumps({"tell": "remark", "text": GONE, "said": said}).encode()))
    assert isinstance(fact, Remarked)
    assert fact == Remarked(str(GONE))
    assert type(fact.text) is str


def test_sentences_are_looked_for_in_no_deeper_line_than_one_has() -> None:
    deep: object = str(GONE)
    for _ in range(500):
        deep = [deep]
    said = {str(GONE): {"id": GONE.id, "args": {}}}
    text = wire.heard(json.dumps({"id": 1, "result": deep, "said": said}).encode())["result"]
    while isinstance(text, list):
        (text,) = text
    assert text == GONE
    assert not isinstance(text, Sentence)


@pytest.mark.parametrize("line", [b"[]", b"3", b'"said"', b"null"])
def test_a_line_that_is_no_message_is_handed_on_for_whoever_refuses_it(line: bytes) -> None:
    assert wire.heard(line) == json.loads(line)
