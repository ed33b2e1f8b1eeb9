"""Notices as messages of group chats: WeCom, DingTalk, Feishu and Lark, Slack, Teams.

Sources: the makers' pages on robots and incoming webhooks, and what public programs send. None was tried on the real
service, but for what stand-ins can know. The robots answer a refusal with status 200: what counts is the code within.
"""

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from cmgr.config.receivers import address_of, secret_of
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel, Rejected, TooFast
from cmgr.service.notices.notice import Notice, notice
from cmgr.service.notices.post import Answer, judge, post, posting
from cmgr.words import Json, json_of, one_line


@dataclass(frozen=True, slots=True)
class Chat:
    """How a chat is told: the most bytes of a text, the body of one, and what an answer means, as `Way.send` says it.

    `signed`: returns address and body with the signature by this secret.
    """

    most: int
    body: Callable[[Notice], Json]
    judged: Callable[[Answer], str]
    signed: Callable[[str, Json, str], tuple[str, Json]] = lambda url, body, _: (url, body)


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    receiver = channel.receiver
    chat = _CHATS[receiver.format]
    url, body = address_of(receiver), chat.body(notice(alarms, lost, channel.machine, chat.most, receiver.lang))
    if secret := secret_of(receiver.secret_file):
        url, body = chat.signed(url, body, secret)
    return chat.judged(post(posting(channel, url, json.dumps(body, ensure_ascii=False).encode())))


# Bodies.


def _calling_nobody(text: str) -> str:
    """Return the text without the form in which robots call people: the names in it are strangers' words."""
    return re.sub(r"<(?=[@!#]|/?at\b)", "< ", text)


def _content(told: Notice) -> Json:
    return {"msgtype": "text", "text": {"content": _calling_nobody(told.whole)}}


def _of_feishu(told: Notice) -> Json:
    return {"msg_type": "text", "content": {"text": _calling_nobody(told.whole)}}


def _of_slack(told: Notice) -> Json:
    text = told.whole.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "mrkdwn": False}


def _of_teams(told: Notice) -> Json:
    # Its texts are Markdown, of which a link is the one thing that could lead somebody astray.
    lines = [line.replace("](", "] (") for line in told.text.split("\n")]
    title = {"type": "TextBlock", "text": told.title.replace("](", "] ("), "weight": "Bolder", "wrap": True}
    blocks = [title, *({"type": "TextBlock", "text": line, "wrap": True, "spacing": "None"} for line in lines)]
    card = {"type": "AdaptiveCard", "version": "1.4", "body": blocks}
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


# Signatures. One has the text as what is signed, the other as the key, and nothing that is signed.


def _signed_for_dingtalk(url: str, body: Json, secret: str) -> tuple[str, Json]:
    now = str(round(time.time() * 1000))
    sign = _signature(secret, f"{now}\n{secret}")
    return f"{url}{'&' if '?' in url else '?'}timestamp={now}&sign={quote(sign, safe='')}", body


def _signed_for_feishu(url: str, body: Json, secret: str) -> tuple[str, Json]:
    now = str(round(time.time()))
    return url, {"timestamp": now, "sign": _signature(f"{now}\n{secret}", ""), **body}


def _signature(key: str, text: str) -> str:
    return base64.b64encode(hmac.digest(key.encode(), text.encode(), "sha256")).decode()


# Answers.

_SHOWN = 200

_LIMITED: Mapping[str, Mapping[int, float]] = {
    "wecom": {45009: 60.0},
    "dingtalk": {90030: 600.0, 130101: 600.0, 410100: 600.0},
    "feishu": {11232: 15.0},
}
"""Codes that mean "too fast", and the seconds after which it may go on. DingTalk blocks a robot for ten minutes."""

_NEVER: Mapping[str, frozenset[int]] = {
    "wecom": frozenset({40008, 40058}),
    "dingtalk": frozenset(),
    "feishu": frozenset({9499}),
}
"""Codes about the message itself."""

_MEANS: Mapping[str, Mapping[int, str]] = {
    "wecom": {93000: "the key in its address is no robot's, or no more"},
    "dingtalk": {
        310000: "its keyword, signature or list of addresses does not let this through: take cmgr as the keyword, look"
        " at secret_file, and whether this machine's clock is right",
    },
    "feishu": {
        19021: "its signature does not fit: look at secret_file, and whether this machine's clock is right",
        19022: "this machine's address is not in its list",
        19024: "its keyword is missing: take cmgr as the keyword",
    },
}


def _by_code(format_: str, *names: str) -> Callable[[Answer], str]:
    """Return what judges answers of this robot, whose code is under the first of these names that is there."""

    def judged(answer: Answer) -> str:
        try:
            told = json_of(answer.body)
        except ValueError:
            told = None
        code = next((told[name] for name in names if name in told), None) if isinstance(told, dict) else None
        if not isinstance(code, int):
            judge(answer, answer.said)
            raise CmgrError(f"{answer.words}, which is no answer of {format_}: {answer.said}")
        said = str(told.get("errmsg") or told.get("msg") or told.get("StatusMessage") or "")
        text = f"{names[0]} {code} {one_line(said[:_SHOWN])}".rstrip()
        if code == 0:
            judge(answer, text)
            return text
        text = f"it answers {text}"
        if means := _MEANS[format_].get(code):
            text = f"{text}: {means}"
        if (wait := _LIMITED[format_].get(code)) is not None:
            raise TooFast(text, wait)
        raise Rejected(text) if code in _NEVER[format_] else CmgrError(text)

    return judged


def _by_slack(answer: Answer) -> str:
    judge(answer, answer.said)
    if answer.said != "ok":
        raise CmgrError(f"{answer.words}, which is no answer of slack: {answer.said}")
    return answer.said


def _by_teams(answer: Answer) -> str:
    judge(answer, answer.said)
    return f"{answer.words}; whether the card is shown nobody says"


_CHATS: Mapping[str, Chat] = {
    # A text has 2048 bytes.
    "wecom": Chat(2000, _content, _by_code("wecom", "errcode")),
    # Of 20,000 bytes, in which JSON needs two for many a letter.
    "dingtalk": Chat(8000, _content, _by_code("dingtalk", "errcode"), _signed_for_dingtalk),
    "feishu": Chat(8000, _of_feishu, _by_code("feishu", "code", "StatusCode"), _signed_for_feishu),
    "slack": Chat(8000, _of_slack, _by_slack),
    # Of 28 KB, in which each line is a block of its own.
    "teams": Chat(8000, _of_teams, _by_teams),
}
