"""`cmgr alarms`: who is told, and with --test what they answer."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Home
from tests.service.notices.robots import WeCom
from tests.support.receiver import Receiver, receiver

__all__ = ["receiver"]


@pytest.fixture
def robot() -> Iterator[WeCom]:
    made = WeCom()
    yield made
    made.close()


def table(*lines: str) -> str:
    return "\n".join(("[[alarms.receivers]]", *lines))


def test_without_receivers_it_says_how_to_name_one(home: Home) -> None:
    told = home.here("alarms", "--test")
    assert (told.code, told.out.split(":")[0]) == (0, "nobody is told of alarms")


def test_without_test_nothing_is_sent_and_no_secret_shown(home: Home, receiver: Receiver, robot: WeCom) -> None:
    key = table(f'url = "{robot.url}"', 'format = "wecom"', 'events = ["down", "up"]')
    home.configure(table(f'url = "{receiver.url}/hidden"'), key)
    told = home.here("alarms")
    assert told.code == 0
    assert [line.split() for line in told.out.splitlines()][-1] == [
        f"http://127.0.0.1:{robot.port}", "wecom", "down,", "up",
    ]  # fmt: skip
    assert not {"hidden", "693a91f6"} & {*told.out.replace("/", " ").replace("=", " ").split()}
    assert receiver.requests + robot.requests == []


def test_a_test_is_sent_to_each_and_their_answers_are_shown(home: Home, receiver: Receiver, robot: WeCom) -> None:
    home.configure(table(f'url = "{receiver.url}"'), table(f'url = "{robot.url}"', 'format = "wecom"'))
    told = home.here("alarms", "--test")
    assert told.code == 0, told.out
    assert "json    taken: it answers 200 OK" in told.out
    assert "wecom   taken: errcode 0 ok" in told.out
    (body,) = receiver.bodies()
    assert (body["event"], body["id"], body["status"]) == ("test", "test", "resolved")
    (text,) = robot.texts
    assert "cmgr alarms --test: nothing is wrong" in text


def test_alertmanager_gets_an_alert_that_ends_by_itself(home: Home, receiver: Receiver) -> None:
    home.configure(table(f'url = "{receiver.url}"', 'format = "alertmanager"'))
    assert home.here("alarms", "--test").code == 0
    ((alert,),) = receiver.bodies()
    assert alert["labels"]["alertname"] == "CmgrTest"
    assert alert["endsAt"] > alert["startsAt"]


def test_one_that_does_not_take_it_is_an_error(home: Home, receiver: Receiver, robot: WeCom) -> None:
    wrong, file = table(f'url = "{robot.url}x"', 'format = "wecom"'), home.folder / "secret"
    signed = table('url = "https://nowhere.invalid/x"', 'format = "feishu"', f'secret_file = "{file}"')
    home.configure(table(f'url = "{receiver.url}"'), wrong, signed)
    told = home.here("alarms", "--test", "--json")
    assert told.code == 1
    rows = json.loads(told.out)["receivers"]
    assert [row["sent"] for row in rows] == [True, False, False]
    assert rows[1]["answer"].startswith("it answers errcode 93000 invalid webhook url")
    assert rows[2]["answer"] == f"cannot read {file}: there is no such file"
