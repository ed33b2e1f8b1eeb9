"""Notices in group chats: what is sent, and that an error with status 200 is one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cmgr.config.receivers import Receiver
from cmgr.errors import CmgrError, ConfigError
from cmgr.service.notices.channel import Rejected, TooFast
from tests.service.notices.proxy import Proxy
from tests.service.notices.robots import DingTalk, Feishu, Robot, Slack, Teams, WeCom
from tests.service.notices.telling import alarm, secret, serving, told
from tests.support.certificates import Certificates
from tests.support.receiver import Receiver as Server
from tests.support.receiver import Script

KINDS: dict[str, Callable[..., Robot]] = {
    "wecom": WeCom, "dingtalk": DingTalk, "feishu": Feishu, "slack": Slack, "teams": Teams,
}  # fmt: skip

Make = Callable[..., tuple[Robot, Receiver]]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make a robot of this kind, and the receiver that means it."""
    made: list[Robot] = []

    def one(kind: str, secret_file: str = "", **conduct: object) -> tuple[Robot, Receiver]:
        made.append(KINDS[kind](**conduct))
        return made[-1], Receiver(made[-1].url, format=kind, secret_file=secret_file)

    yield one
    for each in made:
        each.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_reads_what_has_happened_and_what_to_do(make: Make, kind: str) -> None:
    robot, receiver = make(kind)
    answer = told(receiver)
    (text,) = robot.texts
    first, *lines = text.split("\n")
    assert first == "[cmgr] appliance-7: chip 3 is isolated: 80818C00"
    assert lines[0] == "WARNING: chip 3 is isolated: 80818C00"
    assert lines[1].endswith("; chips 3; codes 80818C00; containers chat, code")
    assert lines[2].strip() == "what to do: cmgr release 3"
    assert (
        answer
        == {
            "wecom": "errcode 0 ok",
            "dingtalk": "errcode 0 ok",
            "feishu": "code 0 success",
            "slack": "ok",
            "teams": "it answers 202 Accepted; whether the card is shown nobody says",
        }[kind]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_is_one_message_that_the_chat_takes(make: Make, kind: str) -> None:
    robot, receiver = make(kind)
    # Each needs more bytes than letters, and JSON needs more for some.
    flood = [alarm(n, f'芯片 {n} "隔离" \\ {"故障" * 40}') for n in range(500)]
    told(receiver, *flood)
    (text,) = robot.texts
    assert text.split("\n")[-1].startswith("and 4")
    assert text.split("\n")[-1].endswith(" more: cmgr status")


@pytest.mark.parametrize(("kind", "wait"), [("wecom", 60.0), ("dingtalk", 600.0), ("feishu", 15.0), ("slack", 30.0)])
def test_too_many_a_minute_is_a_failure_that_says_how_long_to_wait(make: Make, kind: str, wait: float) -> None:
    robot, receiver = make(kind, minute=2)
    for _ in range(2):
        told(receiver)
    with pytest.raises(TooFast) as failed:
        told(receiver)
    assert failed.value.seconds == wait
    assert len(robot.texts) == 2


def test_a_wrong_key_is_a_failure_though_the_status_is_200(make: Make) -> None:
    robot, receiver = make("wecom")
    with pytest.raises(CmgrError, match=r"errcode 93000 invalid webhook url.*: the key in its address is no robot's"):
        told(Receiver(receiver.url[:-1], format="wecom"))
    robot, receiver = make("slack")
    with pytest.raises(CmgrError, match="it answers 404 Not Found: no_service"):
        told(Receiver(f"{receiver.url}x", format="slack"))
    assert robot.texts == []


@pytest.mark.parametrize(("kind", "code"), [("dingtalk", "310000"), ("feishu", "19021")])
def test_signatures_are_those_that_the_robots_want(make: Make, tmp_path: Path, kind: str, code: str) -> None:
    key = "SEC+/=1 2"
    robot, receiver = make(kind, secret(tmp_path, key), secret=key)
    told(receiver)
    assert len(robot.texts) == 1
    secret(tmp_path, "SECother")
    with pytest.raises(
        CmgrError, match=f"{code}.*look at secret_file, and whether this machine's clock is right"
    ) as at:
        told(receiver)
    assert "SEC" not in at.value.message
    unsigned = Receiver(receiver.url, format=kind)
    with pytest.raises(CmgrError, match=code):
        told(unsigned)


def test_each_notice_has_the_word_that_a_robot_may_ask_for(make: Make) -> None:
    robot, receiver = make("dingtalk", keyword="cmgr")
    told(receiver)
    other, receiver = make("dingtalk", keyword="alarm-of-ours")
    with pytest.raises(CmgrError, match=r"310000 keywords not in content: .*take cmgr as the keyword"):
        told(receiver)
    assert (len(robot.texts), other.texts) == (1, [])


@pytest.mark.parametrize("kind", ["wecom", "dingtalk", "feishu"])
@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"a": 1}', '{"errcode": "0", "code": "0"}'])
def test_an_answer_of_something_else_is_a_failure(kind: str, body: str) -> None:
    server = Server()
    server.script = Script(body=body.encode())
    with pytest.raises(CmgrError, match=f"it answers 200 OK, which is no answer of {kind}"):
        told(Receiver(server.url, format=kind))
    server.script = Script(status=503, body=body.encode())
    with pytest.raises(CmgrError, match="it answers 503 Service Unavailable"):
        told(Receiver(server.url, format=kind))
    server.close()


def test_a_message_that_is_refused_for_itself_is_given_up() -> None:
    server = Server()
    for kind, body in (("feishu", {"code": 9499, "msg": "Bad Request"}), ("wecom", {"errcode": 40058, "errmsg": "x"})):
        server.script = Script(status=400 if kind == "feishu" else 200, body=json.dumps(body).encode())
        with pytest.raises(Rejected, match=r"9499 Bad Request|40058 x"):
            told(Receiver(server.url, format=kind))
    server.close()


def test_what_strangers_call_themselves_calls_nobody_and_leads_nowhere(make: Make) -> None:
    words = 'a <at user_id="all">all</at> <@everyone> <!channel> [b](http://evil.example)'
    for kind in KINDS:
        robot, receiver = make(kind)
        told(receiver, alarm(text=words))
        (text,) = robot.texts
        forms = {"slack": "<", "teams": "]("}.get(kind, "<at <@ <!")
        assert not any(form in text for form in forms.split()), kind


def test_an_address_with_a_key_can_stand_in_a_file(make: Make, tmp_path: Path) -> None:
    robot, receiver = make("wecom")
    path = secret(tmp_path, receiver.url)
    told(Receiver(url_file=path, format="wecom"))
    assert len(robot.texts) == 1
    for wrong in ("", "hello", "udp://127.0.0.1", f"{receiver.url}\n{receiver.url}"):
        secret(tmp_path, wrong)
        with pytest.raises(ConfigError, match=f"cannot use {path}: its text is no address for format wecom") as at:
            told(Receiver(url_file=path, format="wecom"))
        assert "693a91f6" not in at.value.message + at.value.hint


def test_a_chat_is_reached_through_the_proxy_that_is_named_and_through_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    certificates = Certificates(tmp_path)
    server = Server(serving(certificates))
    server.script = Script(body=b"ok")
    proxy = Proxy()
    direct = Receiver(f"{server.url}/x", format="slack", ca_file=str(certificates.ca))
    assert told(direct) == "ok"
    assert proxy.asked == []
    assert told(Receiver(f"{server.url}/x", format="slack", ca_file=str(certificates.ca), proxy=proxy.url)) == "ok"
    assert proxy.asked == [f"CONNECT 127.0.0.1:{server.port}"]
    proxy.close()
    server.close()
