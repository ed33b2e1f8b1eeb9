"""A receiver is told in its own language, in whichever format; programs have id and arguments of each sentence, too."""

import json
from contextlib import closing
from typing import Any

import pytest

from cmgr.config.receivers import Receiver
from cmgr.model.values.troubles import TroubleKind
from cmgr.sentences.sentence import CHINESE, say
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.notice import notice
from cmgr.service.notices.objects import alerts, event
from cmgr.service.notices.post import Answer, Post
from tests.service.notices.mail_server import MailServer
from tests.service.notices.telling import AT, alarm, told

CHAT_ANSWER = json.dumps({"errcode": 0, "errmsg": "ok", "code": 0, "msg": "success"}).encode()
SUMMARY, HINT = say("chip.is-isolated", chip=3, reason="no such device"), say("word.because", what="cmgr", why="x")
SAID = "芯片 3 已隔离：no such device"


def isolated(**fields: Any) -> Alarm:
    return alarm(3, **{"summary": SUMMARY, "hint": HINT, **fields})


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that were posted, without asking anybody."""
    from cmgr.service.notices import chats, webhooks

    bodies = list[str]()

    def post(request: Post) -> Answer:
        bodies.append(json.dumps(json.loads(request.body), ensure_ascii=False))
        return Answer(202 if "teams" in request.url else 200, b"ok" if "slack" in request.url else CHAT_ANSWER, None)

    for module in (chats, webhooks):
        monkeypatch.setattr(module, "post", post)
    return bodies


@pytest.mark.parametrize("format_", ["json", "alertmanager", "wecom", "dingtalk", "feishu", "slack", "teams"])
def test_what_is_posted_is_in_the_language_of_the_receiver(posted: list[str], format_: str) -> None:
    for lang in ("zh", "en"):
        told(Receiver(f"https://{format_}.example", format=format_, lang=lang), isolated())
    chinese, english = posted
    assert SAID in chinese
    assert SAID not in english
    assert str(SUMMARY) in english


def test_mail_is_in_the_language_of_the_receiver() -> None:
    with closing(MailServer(None)) as server:
        url = f"smtp+plain://127.0.0.1:{server.port}"
        told(Receiver(url, format="mail", sender="cmgr@mail.example", to=("duty@mail.example",), lang="zh"), isolated())
    (mail,) = server.mails
    assert mail.message["Subject"] == f"[cmgr] appliance-7：{SAID}"
    assert mail.message.get_content().splitlines()[0] == f"警告：{SAID}"


def test_a_line_of_syslog_and_a_trap_are_in_the_language_of_the_receiver() -> None:
    from cmgr.service.notices import rfc5424, traps

    line = rfc5424.line(isolated(), "appliance-7", 1024, CHINESE).decode()
    assert line.endswith(f"\ufeff{SAID}；如何处理：cmgr：x")
    assert SAID.encode() in traps.trap(isolated(), "appliance-7", "public", CHINESE)


def test_a_notice_is_whole_in_chinese() -> None:
    over = isolated(id="isolated-chip-4", over=True, summary=say("notice.over", summary=SUMMARY), hint="")
    whole = notice([over, isolated(kind=TroubleKind.DOWN)], 2, "appliance-7", 2000, CHINESE).whole.split("\n")
    assert whole[0] == f"[cmgr] appliance-7：{SAID}（另有 1 条）"
    assert whole[1] == "此前有 2 条告警未能送出：cmgr history"
    assert whole[2] == f"严重：{SAID}"
    assert whole[3].startswith("  自 2026-03-01 ")
    assert whole[3].endswith(" 起；芯片 3；故障码 80818C00；容器 chat, code")
    assert whole[4] == "  如何处理：cmgr：x"
    assert whole[5] == f"已解除：{SAID}（已结束）"


def test_an_object_has_id_and_arguments_of_each_sentence_in_whichever_language_it_is() -> None:
    for lang, summary in (("en", str(SUMMARY)), ("zh", SAID)):
        sent = event(isolated(), "appliance-7", lang)
        assert sent["summary"] == summary
        assert sent["messages"]["summary"] == {  # type: ignore[index]
            "id": "chip.is-isolated", "args": {"chip": 3, "reason": "no such device"},
        }  # fmt: skip
    assert event(alarm(), "appliance-7")["messages"] == {}
    (alert,) = alerts([isolated()], "appliance-7", AT, CHINESE)
    assert alert["annotations"]["summary"] == SAID  # type: ignore[index]
