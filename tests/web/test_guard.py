"""Requests that the page answers, and those that come from elsewhere: each rule of `cmgr.web.guard`, over real HTTP."""

import json

import pytest

from cmgr.web.guard import BODY_LIMIT, HEADERS
from tests.support.page import Site

pytestmark = pytest.mark.alone

TARGETS = ("/", "/static/lit-html.js", "/static/none", "/api/session", "/api/chips", "/api/none", "/nowhere")


@pytest.mark.parametrize("target", TARGETS)
def test_every_answer_has_every_header_and_no_cookie(running: Site, target: str) -> None:
    said = running.web.ask("GET", target)
    headers = {name.lower(): text for name, text in said.headers.items()}
    assert {name.decode(): text.decode() for name, text in HEADERS}.items() <= headers.items()
    assert "set-cookie" not in headers
    assert not [name for name in headers if name.startswith("access-control-")]
    assert "server" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:9478", "localhost"]
)
def test_another_name_of_this_place_gets_nothing(running: Site, host: str) -> None:
    for method, target in (("GET", "/"), ("GET", "/api/chips"), ("POST", "/api/enter")):
        said = running.web.ask(method, target, {} if method == "POST" else None, Host=host)
        assert said.status == 421
        assert b"cmgr.sock" not in said.body


def test_each_name_of_loopback_is_the_page_s(running: Site) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert running.web.ask("GET", "/", Host=f"{name}:{running.web.port}").status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "none"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content_Type": ""}, 415),
    ],
)
def test_a_change_that_comes_from_elsewhere_is_refused(running: Site, headers: dict[str, str], status: int) -> None:
    secret = running.enter()
    args = {"chip": 7, "reason": "from elsewhere"}
    said = running.web.ask("POST", "/api/orders/isolate", args, Authorization=f"Bearer {secret}", **headers)
    assert said.status == status
    assert not running.service.status()["chips"][7]["isolated"]


def test_what_is_refused_is_said_in_the_language_of_the_page(running: Site) -> None:
    english, chinese = (
        json.loads(running.web.ask("POST", f"/api/enter{query}", {}, Content_Type="text/plain").body)
        for query in ("", "?lang=zh")
    )
    assert english == {"error": "cannot answer: it is not JSON", "hint": "type: cmgr web", "mistakes": []}
    assert chinese == {"error": "无法回答：它不是 JSON", "hint": "请执行：cmgr web", "mistakes": []}


def test_a_change_from_the_page_itself_is_not(running: Site) -> None:
    own = {"Sec_Fetch_Site": "same-origin", "Origin": f"http://{running.web.address}"}
    for headers in ({}, own):
        said = running.web.ask("POST", "/api/enter", {"ticket": "wrong"}, **headers)
        assert said.status == 401


def test_nothing_is_changed_by_get(running: Site) -> None:
    secret = running.enter()
    for target in ("/api/orders/isolate?chip=7&reason=x", "/api/enter?ticket=x", "/api/leave"):
        said = running.web.ask("GET", target, Authorization=f"Bearer {secret}")
        assert said.status in (404, 405), target
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert running.web.ask(method, "/api/orders/isolate").status == 405
    assert not running.service.status()["chips"][7]["isolated"]
    assert running.read(secret, "session").status == 200


def test_a_long_body_is_not_read(running: Site) -> None:
    assert running.web.ask("POST", "/api/enter", b"x" * (BODY_LIMIT + 1)).status == 413
    assert running.web.ask("POST", "/api/enter", b"[" * BODY_LIMIT).status in (400, 401)
    assert running.web.ask("POST", "/api/enter", Content_Length="ten").status in (400, 411)


@pytest.mark.parametrize(
    "target", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/api/../v1/status", "/api/check"]
)
def test_nothing_else_is_to_be_had(running: Site, target: str) -> None:
    said = running.web.ask("GET", target, Authorization=f"Bearer {running.enter()}")
    assert said.status == 404
    assert b"import" not in said.body


def test_the_source_names_no_other_place(running: Site) -> None:
    page = running.web.ask("GET", "/").body
    for word in (b"http:", b"https:", b"//", b"style=", b"onclick"):
        assert word not in page.replace(b"<!doctype html>", b"")  # It loads its own files alone.
