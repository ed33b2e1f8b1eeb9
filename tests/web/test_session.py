"""Getting in, reading, ordering, and getting out, through the page's process and through its door alone."""

import gzip
import http.client
import json
import select
import socket
from contextlib import closing

import pytest

from cmgr.cli import main
from tests.service.door.http import asked, heard
from tests.support.page import Site
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.alone

READINGS = (
    "chips",
    "faults",
    "faults?all=true",
    "containers",
    "episodes",
    "episodes/1",
    "history?limit=5",
    "downtime?when=2020-Q1",
)
ORDERS: dict[str, dict[str, object]] = {
    "isolate": {"chip": 7, "reason": "it hums"},
    "release": {"chip": 7},
    "reset": {"chip": 4},
    "resume": {"all": True},
    "forget": {"container": "chat"},
    "maintenance": {"on": True},
    "acknowledge": {"all": True},
}


def reached(site: Site) -> socket.socket:
    return socket.create_connection(("127.0.0.1", site.web.port), timeout=PATIENCE)


def has_ended(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, 0)
    return bool(poll.poll(0))


def isolated(site: Site, chip: int = 7) -> bool:
    return bool(site.service.status()["chips"][chip]["isolated"])


def test_a_link_opens_a_session_once(running: Site) -> None:
    ticket = running.link().partition("#t=")[2]
    said = running.web.ask("POST", "/api/enter", {"ticket": ticket})
    assert said.status == 200
    assert said.value["who"].startswith("uid ")
    assert running.read(said.value["session"], "session").value["who"] == said.value["who"]
    again = running.web.ask("POST", "/api/enter", {"ticket": ticket})
    assert (again.status, again.value["hint"]) == (401, "type: cmgr web")


def test_the_link_says_how_long_it_is_good_and_how_to_come_from_elsewhere(running: Site) -> None:
    told = running.service.cmgr("web", "--listen", running.web.address)
    assert told.out.startswith(f"http://{running.web.address}/#t=")
    assert "for you alone, once, until" in told.err
    assert f"ssh -L {running.web.port}:{running.web.address}" in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "foo"), "cannot listen on 'foo': it is no address"),
        (("--listen", "192.0.2.1:99"), "others than this machine could reach it"),
        (("--serve", "--name", "bad/host", "--listen", "localhost:0"), "cannot serve the page as 'bad/host'"),
        (("--serve", "--end"), "--serve and --end exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert main(("web", *words)) in (1, 2)
    assert said in " ".join(capsys.readouterr().err.split())


def test_without_anybody_who_listens_there_is_no_link(running: Site) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    told = running.service.cmgr("web", "--listen", f"127.0.0.1:{port}")
    assert (told.code, told.out) == (1, "")
    assert "nobody listens" in told.err


@pytest.mark.parametrize("target", [*READINGS, "session", "events"])
def test_nobody_reads_without_a_session(running: Site, target: str) -> None:
    for secret in ("none", "", "x" * 43):
        said = running.read(secret, target)
        assert said.status == 401, target
        assert set(said.value) - {"messages"} == {"error", "hint", "mistakes"}


@pytest.mark.parametrize("target", READINGS)
def test_a_session_reads_what_the_service_says(running: Site, target: str) -> None:
    secret = running.enter()

    def the_same() -> bool:
        said, direct = running.read(secret, target), asked(running.service.socket, "GET", f"/v1/{target}")
        return (said.status, said.value) == (direct.status, direct.value)

    eventually(the_same)


@pytest.mark.parametrize(("do", "args"), ORDERS.items())
def test_nobody_orders_without_a_session(running: Site, do: str, args: dict[str, object]) -> None:
    for secret in ("none", "x" * 43):
        assert running.order(secret, do, **args).status == 401
    # A secret in the body is not one in the header.
    assert running.order("none", do, **args, session=running.enter()).status == 401


def test_an_order_is_in_force_and_history_says_who_gave_it_where(running: Site) -> None:
    secret = running.enter()
    said = running.order(secret, "isolate", chip=7, reason="it hums")
    assert (said.status, said.value["chip"]) == (200, 7)
    assert isolated(running)
    assert any("uid 0" in n.text and ", on the page" in n.text for n in running.service.notes())
    assert running.order(secret, "release", chip=7).status == 200
    assert not isolated(running)


def test_orders_whose_names_have_a_dash_are_given_on_the_page(running: Site) -> None:
    secret = running.enter()
    for do, args in (("slot-create", {"slot": "a", "count": 1}), ("slot-remove", {"slot": "a"})):
        assert running.order(secret, do, **args).status == 200
    assert "there is no such group" in running.order(secret, "group-restart", group="tp").value["error"]


def test_a_refusal_says_why_and_what_to_do(running: Site) -> None:
    said = running.order(running.enter(), "reset", chip=0)
    assert said.status == 409
    assert "which are reset together" in said.value["error"]
    assert "--stop" in said.value["hint"]


def test_whoever_refuses_says_so_in_the_language_of_the_page(running: Site) -> None:
    secret = running.enter()
    own = running.read(secret, "nothing?lang=zh").value
    assert own["error"] == "无法回答：没有这个名称的内容"
    assert own["messages"]["error"]["id"] == "page.nothing-of-that-name"
    assert running.read(secret, "nothing").value["error"] == "cannot answer: there is nothing of that name"
    link = running.web.ask("POST", "/api/enter?lang=zh", {"ticket": "used"})
    assert (link.status, link.value["error"]) == (401, "无法打开网页：链接已经用过，或已过期")
    order = running.web.ask("POST", "/api/orders/release?lang=zh", {"chip": 99}, Authorization=f"Bearer {secret}")
    assert (order.status, "芯片 99" in order.value["error"]) == (404, True)


def test_drills_and_the_configuration_are_not_given_on_the_page(running: Site) -> None:
    secret = running.enter()
    for do, args in (("inject", {"chip": 0, "code": "80E24E00", "assertion": "once"}), ("reload", {}), ("enter", {})):
        assert running.order(secret, do, **args).status == 404


def test_leaving_ends_the_session_and_the_command_ends_all(running: Site) -> None:
    one, two = running.enter(), running.enter()
    assert running.web.ask("POST", "/api/leave", {}, Authorization=f"Bearer {one}").status == 200
    assert running.read(one, "chips").status == 401
    assert running.read(two, "chips").status == 200
    assert "of the page" in running.service.cmgr("web", "--end").out
    assert running.read(two, "chips").status == 401


def test_the_door_alone_orders_nothing(running: Site) -> None:
    """A page's process that somebody has taken over has the door, and no session."""
    before = running.service.notes()
    said: list[dict[str, object]] = [{}, {"session": ""}, {"session": "none"}, {"session": None}]
    said += [{"session": ["x"]}, {"uid": 0}]
    for do, args in ORDERS.items():
        for more in said:
            reply = asked(running.door, "POST", f"/v1/orders/{do}", json.dumps(args | more).encode())
            assert reply.status in (400, 401), (do, more, reply.body)
    for do in ("inject", "drill", "drill-end", "reload"):
        assert asked(running.door, "POST", f"/v1/orders/{do}", b"{}").status == 404
    assert [n for n in running.service.notes() if n not in before and "uid" in n.text] == []
    assert not isolated(running)


def test_the_door_gives_nobody_a_ticket_and_ends_nobody_else_s_session(running: Site) -> None:
    secret = running.enter()
    for path in ("/v1/web/ticket", "/v1/web/end", "/v1/ticket"):
        assert asked(running.door, "POST", path, b"{}").status == 404
    assert running.read(secret, "chips").status == 200


def test_an_order_is_in_the_name_of_the_session_whatever_else_is_said(running: Site) -> None:
    secret = running.enter()
    for name in ("uid", "who", "on_page", "pid"):
        reply = asked(
            running.door, "POST", "/v1/orders/isolate",
            json.dumps({"chip": 7, "reason": "x", "session": secret, name: 4242}).encode(),
        )  # fmt: skip
        assert reply.status == 400, name
    assert not isolated(running)


def test_silent_connections_half_requests_and_deaf_peers_are_ended(running: Site) -> None:
    quiet, deaf = [reached(running) for _ in range(100)], reached(running)
    try:
        deaf.sendall(f"GET /static/main.js HTTP/1.1\r\nHost: {running.web.address}\r\n\r\n".encode() * 1000)
        for connection in quiet[::2]:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x")
        assert running.web.ask("GET", "/").status == 200
        # The oldest went at once, for there were too many; the others go after a while.
        assert [received for connection in quiet if (received := heard(connection))] == []
        eventually(lambda: has_ended(deaf), why="what waits for one who does not read is thrown away")
    finally:
        for connection in (*quiet, deaf):
            connection.close()


def test_what_was_measured_is_kept_while_somebody_watches(running: Site) -> None:
    secret = running.enter()
    with closing(http.client.HTTPConnection("127.0.0.1", running.web.port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        while not answer.readline().startswith(b"event: chips"):
            pass
        kept = running.read(secret, "series").value["series"]
    assert list(kept[0]["chips"]) == [str(n) for n in range(8)]
    assert running.read("none", "series").status == 401


def test_files_are_sent_packed_to_whoever_takes_them_so(running: Site) -> None:
    plain = running.web.ask("GET", "/static/main.js")
    packed = running.web.ask("GET", "/static/main.js", Accept_Encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
