"""Group chats that answer as the real ones do: with status 200 also where they refuse, and with their limits.

Sources: the makers' pages on group robots and incoming webhooks. Limits and codes of WeCom and DingTalk that these
do not say in one place are those that public clients of them handle; none was tried on the real service. Signatures
are made anew by openssl.
"""

import json
import subprocess
import time
from base64 import b64encode
from collections import deque
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.programs import program
from tests.support.receiver import Receiver, Request, respond

_HOUR = 3600.0


def signature(key: str, text: str) -> str:
    words = [program("openssl"), "dgst", "-sha256", "-hmac", key, "-binary"]
    return b64encode(subprocess.run(words, input=text.encode(), capture_output=True, check=True).stdout).decode()


class Robot(Receiver):
    """One robot. `minute`: as many messages as it takes in a minute. `texts`: those that its group has seen.

    `refuses`: it takes nothing now, and says so as the Chinese ones do.
    """

    def __init__(self, minute: int) -> None:
        self.minute = minute
        self.refuses = False
        self.texts: list[str] = []
        self._taken: deque[float] = deque()
        super().__init__()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        busy = 200, {"errcode": -1, "errmsg": "system busy"}, dict[str, str]()
        told = busy if self.refuses else self.judged(self.requests[-1])
        body = told[1] if isinstance(told[1], str) else json.dumps(told[1], ensure_ascii=False)
        respond(handler, told[0], body.encode(), told[2])

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        """Return status, body and headers."""
        raise NotImplementedError

    def is_too_much(self) -> bool:
        """Return whether this is one more than it takes, and count it."""
        now = time.monotonic()
        while self._taken and now - self._taken[0] > 60:
            self._taken.popleft()
        self._taken.append(now)
        return len(self._taken) > self.minute


class WeCom(Robot):
    def __init__(self, minute: int = 20) -> None:
        super().__init__(minute)
        self.url += "/cgi-bin/webhook/send?key=693a91f6-7xxx-4bc4"

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        def says(code: int, text: str) -> tuple[int, Any, dict[str, str]]:
            return 200, {"errcode": code, "errmsg": text}, {}

        if request.path != self.url.partition(str(self.port))[2]:
            return says(93000, "invalid webhook url, hint: [1700000000_1_abc]")
        if request.body.get("msgtype") != "text":
            return says(40008, "invalid message type")
        text = request.body["text"]["content"]
        if len(text.encode()) > 2048:
            return says(40058, "text.content exceed max length 2048")
        if self.is_too_much():
            return says(45009, "api freq out of limit")
        self.texts.append(text)
        return says(0, "ok")


class DingTalk(Robot):
    """`secret`: by which it wants signatures; `keyword`: which texts must have."""

    def __init__(self, minute: int = 20, secret: str = "", keyword: str = "") -> None:
        super().__init__(minute)
        self.secret, self.keyword = secret, keyword
        self.url += "/robot/send?access_token=566cc69da782ec"

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        def says(code: int, text: str) -> tuple[int, Any, dict[str, str]]:
            return 200, {"errcode": code, "errmsg": text}, {}

        asked = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        if asked.get("access_token") != "566cc69da782ec":
            return says(300005, "token is not exist")
        if self.secret:
            at = asked.get("timestamp", "0")
            if abs(int(at) / 1000 - time.time()) > _HOUR:
                return says(310000, "invalid timestamp")
            if asked.get("sign") != signature(self.secret, f"{at}\n{self.secret}"):
                return says(310000, "sign not match")
        text = request.body["text"]["content"]
        if self.keyword not in text:
            return says(310000, "keywords not in content")
        if self.is_too_much():
            return says(130101, "send too fast, exceed 20 times per minute")
        self.texts.append(text)
        return says(0, "ok")


class Feishu(Robot):
    def __init__(self, minute: int = 100, secret: str = "") -> None:
        super().__init__(minute)
        self.secret = secret
        self.url += "/open-apis/bot/v2/hook/f19a"

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        def says(code: int, text: str) -> tuple[int, Any, dict[str, str]]:
            return 200, {"code": code, "data": {}, "msg": text}, {}

        body = request.body
        if len(json.dumps(body, ensure_ascii=False).encode()) > 20 * 1024:
            return says(9499, "Bad Request")
        if self.secret:
            at = body.get("timestamp", "0")
            fresh = abs(int(at) - time.time()) <= _HOUR
            if not fresh or body.get("sign") != signature(f"{at}\n{self.secret}", ""):
                return says(19021, "sign match fail or timestamp is not within one hour from current time")
        if self.is_too_much():
            return says(11232, "frequency limited")
        self.texts.append(body["content"]["text"])
        return 200, {"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"}, {}


class Slack(Robot):
    def __init__(self, minute: int = 60) -> None:
        super().__init__(minute)
        self.url += "/services/T000/B000/xyz"

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        if request.path != "/services/T000/B000/xyz":
            return 404, "no_service", {}
        if not request.body.get("text"):
            return 400, "no_text", {}
        if self.is_too_much():
            return 429, "rate_limited", {"Retry-After": "30"}
        self.texts.append(request.body["text"])
        return 200, "ok", {}


class Teams(Robot):
    """A workflow that posts a card: it takes whatever it is sent, and posts it later, or does not."""

    def __init__(self, minute: int = 240) -> None:
        super().__init__(minute)
        self.url += "/workflows/1/triggers/manual/paths/invoke?sig=abc"

    def judged(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        if len(json.dumps(request.body, ensure_ascii=False).encode()) > 28 * 1024:
            return 413, "", {}
        for attached in request.body.get("attachments", ()):
            if attached["contentType"] == "application/vnd.microsoft.card.adaptive":
                blocks = attached["content"]["body"]
                self.texts.append("\n".join(block["text"] for block in blocks if block["type"] == "TextBlock"))
        return 202, "", {}
