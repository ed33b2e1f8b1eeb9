"""Orders and errors are told in the language of whoever gives the order, and a program is told which message it is."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.errors import BadRequest, CmgrError, causes
from cmgr.sentences.sentence import CHINESE, Sentence, chained, in_language, say
from cmgr.service.door.client import order
from cmgr.service.door.control import ControlServer
from cmgr.service.door.routes import Request, Route
from tests.service.door.http import Unix
from tests.support.service import Service, service_of_one
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    yield from service_of_one()


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


@pytest.mark.usefixtures("chinese")
def test_whoever_reads_chinese_is_refused_in_chinese_and_told_what_to_do(service: Service) -> None:
    told = service.cmgr("release", "5")
    assert (told.code, told.err) == (1, "cmgr: 无法解除芯片 5 的隔离：它没有被隔离\n提示：cmgr chips\n")
    told = service.cmgr("isolate", "99", "--reason", "its fan is loud")
    assert told.err == "cmgr: 无法隔离：没有芯片 99\n提示：本机有芯片 0-7\n"
    told = service.cmgr("slot", "create", "a b", "--count", "1")
    assert told.err.startswith("cmgr: 无法"), "also of what cannot be understood"


@pytest.mark.usefixtures("chinese")
def test_whoever_reads_chinese_is_told_in_chinese_what_an_order_would_do(service: Service) -> None:
    told = service.cmgr("isolate", "5", "--reason", "x", "--dry-run")
    assert told.out.startswith("在有人解除隔离之前，不在芯片 5 上启动任何东西，也不因它的故障复位\n")


@pytest.mark.usefixtures("chinese")
def test_whoever_reads_chinese_is_told_in_chinese_what_was_done(service: Service) -> None:
    told = service.cmgr("isolate", "5", "--reason", "its fan is loud")
    assert (told.code, told.out) == (0, "芯片 5：已隔离；cmgr release 5 解除隔离\n")
    assert service.cmgr("release", "5").out == "芯片 5：已解除隔离\n"
    assert service.cmgr("reload").out == "已重新读取配置和故障表：没有设置改变\n"
    assert service.cmgr("inject", "4", "80E24E00", "--once").out == "芯片 4：故障 80E24E00 发生后立即消失\n"


@pytest.mark.usefixtures("chinese")
def test_a_drill_speaks_chinese_from_its_question_to_its_verdict(service: Service) -> None:
    eventually(lambda: all(ring["phase"] == "healthy" for ring in service.status()["rings"]))
    asked = service.cmgr("drill", "4")
    assert asked.err == "cmgr: 无法演练芯片 4：无法询问任何人\n提示：--yes 表示同意\n"
    assert asked.out.startswith("没有人使用后，一起复位芯片 4-7\n检查每个芯片都已启动并且健康\n")
    done = service.cmgr("drill", "4", "--yes")
    assert done.code == 0, done.err
    assert "环 4（芯片 4-7）的演练：通过\n" in done.out
    assert re.search(r"healthy → listing|清点：uid", done.out), "the timeline is told as it grows"


@pytest.mark.usefixtures("chinese")
def test_without_a_service_chinese_is_spoken_too(tmp_path: Path, service: Service) -> None:
    told = service.cmgr("isolate", "5", "--reason", "x", "--socket", str(tmp_path / "none"))
    assert told.err.startswith(f"cmgr: 无法连接服务：{tmp_path}/none 上没有服务在监听\n提示：启动它：")


def test_over_http_a_refusal_has_its_messages_and_the_language_that_is_wished(service: Service) -> None:
    with closing(Unix(service.socket)) as peer:
        english = peer.ask("POST", "/v1/orders/release", b'{"chip": 5}').value
        other = peer.ask("POST", "/v1/orders/release", b'{"chip": 5, "lang": "zh"}').value
    assert english == {
        "error": "cannot release chip 5: it is not isolated",
        "hint": "cmgr chips",
        "mistakes": [],
        "messages": {"error": {"id": "error.not-isolated", "args": {"chip": 5}}},
    }
    assert other == {**english, "error": "无法解除芯片 5 的隔离：它没有被隔离"}


def test_over_http_what_is_wrong_with_the_machine_is_said_in_the_language_that_is_wished(service: Service) -> None:
    with closing(Unix(service.socket)) as peer:

        def found(target: str) -> str:
            told = json.loads(peer.ask("GET", target).body)
            return next(str(each["text"]) for each in told["findings"] if each["what"] == "database")

        english, other = found("/v1/check"), found("/v1/check?lang=zh")
    assert (english.split()[1:], other.split()[1:]) == (["is", "sound"], ["完好"])


@pytest.mark.usefixtures("chinese")
def test_a_service_that_knows_no_languages_is_ordered_once(tmp_path: Path) -> None:
    given = list[Request]()

    def give(request: Request) -> dict[str, object]:
        given.append(request)
        raise CmgrError("cannot do it", hint="do something else")

    server = ControlServer(tmp_path / "s", [Route("POST", "/v1/orders/do", "do", give, "")])
    server.start()
    with closing(server), pytest.raises(CmgrError, match="cannot do it") as caught:
        order(tmp_path / "s", "do")
    assert not isinstance(caught.value, BadRequest)
    assert [request.args for request in given] == [{}]


def test_an_error_with_its_causes_is_a_sentence_of_theirs() -> None:
    error = CmgrError(say("error.cannot-talk", path="/s"))
    error.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    told = chained(error)
    assert told == ": ".join(causes(error)) == "cannot talk to the service on /s: Connection reset by peer"
    assert in_language(told, CHINESE) == "无法与 /s 上的服务通信：Connection reset by peer"


def test_an_error_from_which_a_secret_was_taken_is_not_said_anew() -> None:
    error = CmgrError(say("error.cannot", do="reset", what="x", why="password=hunter2hunter2"))
    assert "hunter2" not in in_language(error.message, CHINESE)
    assert not isinstance(error.message, Sentence)
