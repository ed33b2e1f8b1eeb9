"""Receivers of alarms that are slow, refuse, hang, redirect, or are not there: nobody waits, little is lost."""

import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cmgr.config.receivers import EVENTS
from cmgr.config.receivers import Receiver as Receiving
from cmgr.errors import CmgrError
from cmgr.host.host import Host
from cmgr.model.values.troubles import TroubleKind
from cmgr.network import Client, bounded
from cmgr.service.log.setup import Log
from cmgr.service.notices import sending
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel, TooFast
from cmgr.service.notices.sending import Receiver as Sender
from cmgr.service.notices.sending import pause
from tests.service.notices.robots import WeCom
from tests.support.receiver import Receiver, Script, receiver
from tests.support.waiting import PATIENCE, eventually

__all__ = ["receiver"]

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
SECONDS = 5.0


def alarm(number: int = 1, event: str = "detected", *, over: bool = False) -> Alarm:
    return Alarm(
        event, TroubleKind.EPISODE, f"episode-{number}", AT, AT, f"alarm {number}", over=over, episode=number, ring=0
    )


class Said(Log):
    """Remembers what is logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def warn(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "WAITS", (timedelta(milliseconds=20),) * 2)
    monkeypatch.setattr(sending, "MOST", 5)


@pytest.fixture
def said() -> Said:
    return Said()


Senders = Callable[..., Sender]


@pytest.fixture
def sender(said: Said, receiver: Receiver) -> Iterator[Senders]:
    """Make senders to the receiver, or to another address."""
    made: list[Sender] = []

    def make(seconds: float = SECONDS, **fields: object) -> Sender:
        receiving = Receiving(**{"url": f"{receiver.url}/cmgr?secret=path", **fields})  # type: ignore[arg-type]
        channel = Channel(receiving, "host-1", seconds, Host(""))
        made.append(Sender(channel, said))
        return made[-1]

    yield make
    receiver.go_on.set()
    for each in made:
        each.close(5)


def test_an_alarm_is_posted_as_one_json_object(receiver: Receiver, sender: Senders) -> None:
    sender().put(alarm())
    (body,) = receiver.until(1)
    (request,) = receiver.requests
    assert request.path == "/cmgr?secret=path"
    assert request.headers["Content-Type"] == "application/json"
    assert "Authorization" not in request.headers
    assert (body["event"], body["id"], body["status"], body["host"]) == ("detected", "episode-1", "firing", "host-1")
    assert body["at"] == "2026-03-01T03:00:00.000Z"


def test_only_the_events_that_were_asked_for_are_sent(receiver: Receiver, sender: Senders) -> None:
    told = sender(events=("recovered",))
    for event in EVENTS:
        told.put(alarm(event=event))
    assert [body["event"] for body in receiver.until(1)] == ["recovered"]


def test_alertmanager_is_told_alerts_that_begin_and_end(receiver: Receiver, sender: Senders) -> None:
    told = sender(url=receiver.url, format="alertmanager", events=("detected",))
    told.put(alarm())
    told.put(alarm(event="stopped"))
    told.put(alarm(event="recovered", over=True))
    first, last = receiver.until(2)
    assert {request.path for request in receiver.requests} == {"/api/v2/alerts"}
    assert first[0]["labels"] == last[0]["labels"]
    assert first[0]["labels"]["alertname"] == "CmgrEpisode"
    assert first[0]["startsAt"] == last[0]["startsAt"] == last[0]["endsAt"] == "2026-03-01T03:00:00.000Z"
    assert first[0]["endsAt"] > datetime.now(UTC).isoformat()


@pytest.mark.parametrize("form", ["json", "alertmanager"])
def test_what_was_told_is_ended_whatever_the_event_that_ends_it_is_called(
    receiver: Receiver, sender: Senders, form: str
) -> None:
    told = sender(url=receiver.url, format=form, events=("down",))
    down = replace(alarm(event="down"), kind=TroubleKind.DOWN, id="down-docker-a", episode=None)
    other = replace(down, id="down-docker-b")
    told.put(replace(other, event="up", over=True))
    told.put(down)
    told.put(replace(down, event="up", over=True))
    receiver.until(2)
    told.put(replace(other, kind=TroubleKind.FAILED, event="gave_up"))
    body = json.dumps(receiver.until(3))
    assert body.index("down-docker-a") < body.index("down-docker-b"), "what never began for it does not end"


def test_the_path_of_alertmanagers_interface_is_not_doubled(receiver: Receiver, sender: Senders) -> None:
    sender(url=f"{receiver.url}/am/api/v2/alerts/", format="alertmanager").put(alarm())
    receiver.until(1)
    assert receiver.requests[0].path == "/am/api/v2/alerts"


@pytest.mark.parametrize("status", [500, 503, 429, 404, 401])
def test_one_that_refuses_for_now_is_asked_again(receiver: Receiver, sender: Senders, said: Said, status: int) -> None:
    receiver.script = Script(status=status)
    told = sender()
    told.put(alarm())
    receiver.until(3)
    eventually(lambda: f"it answers {status}" in told.trouble())
    assert told.trouble().startswith(f"alarms do not reach {receiver.url}: it answers {status}")
    assert told.trouble().endswith("(1 wait)")
    receiver.script = Script()
    eventually(lambda: not told.trouble())
    assert [line.partition(":")[0] for line in said.lines] == ["cannot tell http", "alarms reach http"], "each once"


def test_one_that_will_never_take_an_alarm_does_not_hold_up_the_next(
    receiver: Receiver, sender: Senders, said: Said
) -> None:
    receiver.script = Script(status=400)
    told = sender()
    told.put(alarm(1))
    receiver.until(1)
    eventually(lambda: "1 rejected" in told.trouble())
    receiver.script = Script()
    told.put(alarm(2))
    assert [body["episode"] for body in receiver.until(2)] == [1, 2]
    eventually(lambda: not told.trouble())
    assert said.lines[0].endswith("it answers 400 Bad Request; it is given up")
    assert said.lines[1].endswith("again; 1 were lost")


def test_a_redirect_is_not_followed(receiver: Receiver, sender: Senders) -> None:
    elsewhere = Receiver()
    receiver.script = Script(status=307, headers={"Location": f"{elsewhere.url}/stolen"})
    told = sender()
    told.put(alarm())
    receiver.until(2)
    eventually(lambda: "it answers 307, and redirects are not followed" in told.trouble())
    assert elsewhere.requests == []
    elsewhere.close()


@pytest.mark.parametrize("script", [Script(hang=True), Script(drip=True)], ids=["hangs", "drips"])
def test_one_that_does_not_answer_in_time_is_asked_again(receiver: Receiver, sender: Senders, script: Script) -> None:
    receiver.script = script
    told = sender(0.3)
    told.put(alarm())
    receiver.until(2)
    eventually(lambda: "no answer within 0.3 s" in told.trouble())


def test_what_breaks_as_it_is_cut_had_no_more_time() -> None:
    """Whoever reads wakes in the midst of the cut."""
    cut, closed = threading.Event(), threading.Event()

    def shutdown(_how: int) -> None:
        cut.set()
        closed.wait(PATIENCE)

    client = SimpleNamespace(sock=SimpleNamespace(shutdown=shutdown), close=closed.set)

    def read() -> None:
        with closing(client), bounded(cast("Client", client), 0.01):
            assert cut.wait(PATIENCE)
            raise ConnectionResetError

    with pytest.raises(CmgrError, match=r"no answer within 0\.01 s"):
        read()


def test_one_that_says_nothing_sensible_is_asked_again(receiver: Receiver, sender: Senders) -> None:
    receiver.script = Script(mute=True)
    told = sender()
    told.put(alarm())
    receiver.until(3)
    eventually(lambda: "it closed the connection" in told.trouble() or "reset" in told.trouble())


def test_one_that_comes_up_later_gets_what_waited_in_order(sender: Senders, said: Said) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    told = sender(url=f"http://127.0.0.1:{port}/")
    for number in (1, 2, 3):
        told.put(alarm(number))
    eventually(lambda: "Connection refused (3 wait)" in told.trouble())
    late = Receiver(port=port)
    assert [body["episode"] for body in late.until(3)] == [1, 2, 3]
    late.close()


def test_when_too_many_wait_the_oldest_are_dropped_and_counted(receiver: Receiver, sender: Senders, said: Said) -> None:
    receiver.script = Script(hang=True)
    told = sender()
    told.put(alarm(1))
    receiver.until(1)
    for number in range(2, 10):
        told.put(alarm(number))
    assert told.trouble().endswith("(5 wait, 4 dropped)")
    assert said.lines == [f"too many alarms wait for {receiver.url}: the oldest are dropped"]
    receiver.script = Script()
    receiver.go_on.set()
    assert [body["episode"] for body in receiver.until(6)] == [1, 5, 6, 7, 8, 9]
    eventually(lambda: not told.trouble())


def test_putting_never_waits_for_the_receiver(receiver: Receiver, sender: Senders) -> None:
    receiver.script = Script(hang=True)
    told = sender()
    done = threading.Event()

    def many() -> None:
        for number in range(10_000):
            told.put(alarm(number))
        done.set()

    threading.Thread(target=many, daemon=True).start()
    assert done.wait(PATIENCE), "the receiver has not answered once"
    assert len(receiver.requests) <= 1


def test_a_bearer_token_is_read_from_its_file_each_time_and_never_told(
    receiver: Receiver, sender: Senders, said: Said, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("first-secret\n")
    file.chmod(0o640)
    told = sender(token_file=str(file))
    told.put(alarm(1))
    receiver.until(1)
    file.write_text("second-secret\n")
    receiver.script = Script(status=401)
    told.put(alarm(2))
    receiver.until(2)
    sent = [request.headers["Authorization"] for request in receiver.requests[:2]]
    assert sent == ["Bearer first-secret", "Bearer second-secret"]
    eventually(told.trouble)
    assert "secret" not in " ".join([told.trouble(), *said.lines])


def test_a_token_file_that_others_can_read_sends_nothing(receiver: Receiver, sender: Senders, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    file.chmod(0o644)
    told = sender(token_file=str(file))
    told.put(alarm())
    eventually(lambda: "its mode 0644 is wider than 0640" in told.trouble())
    assert receiver.requests == []
    file.write_text("not\nprintable")
    file.chmod(0o600)
    eventually(lambda: "the token has characters that a header cannot have" in told.trouble())
    file.write_text("secret")
    receiver.until(1)


def test_what_waits_is_sent_at_the_end_if_that_is_quick(receiver: Receiver, sender: Senders, said: Said) -> None:
    receiver.script = Script(hang=True)
    told = sender()
    for number in (1, 2, 3):
        told.put(alarm(number))
    told.end()
    receiver.go_on.set()
    told.close(10)
    assert [body["episode"] for body in receiver.bodies()] == [1, 2, 3]
    assert said.lines == []


def test_what_cannot_be_sent_at_the_end_is_said(receiver: Receiver, sender: Senders, said: Said) -> None:
    receiver.script = Script(status=500)
    told = sender()
    told.put(alarm(1))
    told.put(alarm(2))
    receiver.until(1)
    told.close(10)
    assert said.lines[-1] == f"2 alarms for {receiver.url} were not sent"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    subprocess.run(words, check=True, capture_output=True)
    return folder / "cert", folder / "key"


def test_https_is_verified(said: Said, sender: Senders, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    secure = Receiver(context)
    doubting = sender(url=f"{secure.url}/x")
    doubting.put(alarm())
    eventually(lambda: "its certificate is not good: self" in doubting.trouble())
    assert secure.requests == []
    trusting = sender(url=f"{secure.url}/x", ca_file=str(certificate[0]))
    trusting.put(alarm())
    assert len(secure.until(1)) == 1
    lost = sender(url=f"{secure.url}/x", ca_file="/nowhere")
    lost.put(alarm())
    eventually(lambda: "cannot read the certificates in /nowhere" in lost.trouble())
    secure.close()


def test_something_that_cannot_be_heard_is_an_alert_of_its_own(receiver: Receiver, sender: Senders) -> None:
    told = sender(url=receiver.url, format="alertmanager")
    told.put(Alarm("deaf", TroubleKind.RUNTIME, "runtime-docker", AT, AT, "docker cannot be heard: connection refused"))
    ((alert,),) = receiver.until(1)
    assert (alert["labels"]["alertname"], alert["labels"]["id"]) == ("CmgrDeaf", "runtime-docker")
    assert alert["annotations"]["summary"] == "docker cannot be heard: connection refused"


# People are told of all that waits in one message, and not too often.


@pytest.fixture
def chat(said: Said) -> Iterator[tuple[WeCom, Senders]]:
    """A chat, and what makes senders to it."""
    robot, made = WeCom(), list[Sender]()

    def make(every: timedelta = timedelta()) -> Sender:
        receiving = Receiving(robot.url, format="wecom", every=every)
        channel = Channel(receiving, "host-1", SECONDS, Host(""))
        made.append(Sender(channel, said))
        return made[-1]

    yield robot, make
    robot.go_on.set()
    for each in made:
        each.close(5)
    robot.close()


def test_what_waits_goes_into_one_message(chat: tuple[WeCom, Senders]) -> None:
    robot, make = chat
    told = make(every=timedelta(hours=1))
    told.put(alarm(1))
    eventually(lambda: len(robot.texts) == 1)
    for number in (2, 3, 4):
        told.put(alarm(number))
    assert len(robot.requests) == 1, "its time has not come"
    told.end()
    eventually(lambda: len(robot.texts) == 2)
    assert [line for line in robot.texts[1].split("\n") if line.startswith("WARNING")] == [
        f"WARNING: alarm {number}" for number in (2, 3, 4)
    ]


def test_a_message_that_failed_is_tried_again_with_what_came_meanwhile(chat: tuple[WeCom, Senders], said: Said) -> None:
    robot, make = chat
    robot.refuses = True
    told = make()
    told.put(alarm(1))
    eventually(lambda: told.trouble().endswith("(1 wait)"))
    assert "it answers errcode -1 system busy" in told.trouble()
    told.put(alarm(2))
    robot.refuses = False
    eventually(lambda: "WARNING: alarm 2" in "".join(robot.texts))
    eventually(lambda: not told.trouble())
    assert "".join(robot.texts).count("WARNING: alarm 1") == 1
    assert [line.partition(":")[0] for line in said.lines] == ["cannot tell http", "alarms reach http"], "each once"


def test_a_chat_that_has_had_too_much_is_left_alone_for_as_long_as_it_wants(
    chat: tuple[WeCom, Senders], said: Said
) -> None:
    robot, make = chat
    robot.minute = 1
    told = make()
    told.put(alarm(1))
    eventually(lambda: robot.texts)
    told.put(alarm(2))
    eventually(lambda: len(robot.requests) == 2)
    told.put(alarm(3))
    told.close(PATIENCE)
    assert len(robot.requests) == 2
    assert said.lines[-1].endswith(f"2 alarms for http://127.0.0.1:{robot.port} were not sent")


def test_the_pause_is_the_longest_that_anybody_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [pause(failures, 0.0, OSError()) for failures in (1, 2, 3, 10)] == [1.0, 2.0, 4.0, 60.0]
    assert pause(1, 4.0, OSError()) == 4.0
    assert pause(1, 4.0, TooFast("it answers 130101", 600.0)) == 600.0
    assert pause(10, 4.0, TooFast("it answers 11232", 15.0)) == 60.0
    assert pause(1, 4.0, TooFast("it answers 429", 1e9)) == 3600.0


LOADED = """
import sys
from datetime import UTC, datetime
from cmgr.config.receivers import FORMATS, Receiver
from cmgr.service.log.setup import Log
from cmgr.service.notices.channel import Channel, TooFast
from cmgr.service.notices.sending import Receiver as Sender
from cmgr.service.notices.sending import pause
import threading

before = {*sys.modules}
for each in FORMATS:
    Sender(Channel(Receiver("https://nowhere.example", format=each), "host-1", 1.0, None), Log())
print(sorted({*sys.modules} - before), threading.active_count(), "smtplib" in sys.modules, "http.client" in sys.modules)
"""


def test_receivers_that_nothing_was_told_have_no_thread_and_load_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=False)
    assert done.stdout.split("]") == ["[", " 1 False False\n"], done.stderr
