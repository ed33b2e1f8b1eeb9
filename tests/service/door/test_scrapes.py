"""The server of the metrics: what it answers, what it withstands, and a port that is taken."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from cmgr.config.settings import Metrics
from cmgr.service.door.scrapes import THREADS, MetricsServer, address, listening
from tests.metrics.scrape import free_port, get
from tests.support.waiting import PATIENCE, eventually


class Heard:
    """The server's words about itself."""

    def __init__(self) -> None:
        self.bugs: list[str] = []
        self.warnings: list[str] = []

    def bug(self, text: str, error: BaseException) -> None:
        self.bugs.append(f"{text}: {error}")


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def heard() -> Heard:
    return Heard()


NO_PAGE: Callable[[str], tuple[bytes, str]] = lambda _: (b"", "")  # noqa: E731


def answers(port: int) -> bool:
    try:
        return get(port).status == 200
    except OSError:
        return False


def whys(server: MetricsServer) -> list[str]:
    return [trouble.why for trouble in server.troubles()]


@contextmanager
def serving(
    port: int, heard: Heard, page: Callable[[], bytes] = lambda: b"a 1\n", patience: float = 20.0
) -> Iterator[MetricsServer]:
    settings = Metrics(f"127.0.0.1:{port}")
    server = MetricsServer(
        settings, lambda accept: (page(), f"for {accept!r}"), heard.bug, heard.warnings.append, patience
    )
    with closing(server):
        server.start(retry_seconds=0.01)
        yield server


@pytest.fixture
def server(port: int, heard: Heard) -> Iterator[MetricsServer]:
    with serving(port, heard) as made:
        eventually(lambda: answers(port))
        yield made


def sent(port: int, request: bytes) -> bytes:
    """Return all that is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.usefixtures("server")
def test_get_metrics_is_answered_and_nothing_else(port: int) -> None:
    reply = get(port)
    assert (reply.status, reply.body) == (200, "a 1\n")
    assert reply.kind == "for ''"
    assert get(port, accept="a/b").kind == "for 'a/b'"
    assert get(port, "/metrics?name[]=x").status == 200
    assert get(port, "/").status == 404
    assert get(port, "/metrics/../etc/passwd").status == 404
    assert get(port, method="HEAD").body == ""
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert get(port, method=method).status == 405, method


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("request_", [b"nonsense\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n"])
def test_what_is_no_request_is_refused(port: int, request_: bytes) -> None:
    assert sent(port, request_).startswith(b"HTTP/1.1 400 "), "the peer hears why, and the next one is served"
    assert answers(port)


def test_who_says_nothing_is_sent_away_and_others_are_served(port: int, heard: Heard) -> None:
    with serving(port, heard, patience=1):
        eventually(lambda: answers(port))
        silent = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(3 * THREADS)]
        try:
            assert get(port).status == 200
            for connection in silent:
                assert connection.recv(100) == b""
        finally:
            for connection in silent:
                connection.close()


def test_a_bug_in_the_page_is_told_and_the_next_scrape_is_served(port: int, heard: Heard) -> None:
    fails = threading.Event()
    fails.set()

    def page() -> bytes:
        if fails.is_set():
            raise ZeroDivisionError("a bug")
        return b"a 1\n"

    with serving(port, heard, page):
        eventually(lambda: get_or_none(port) == 500)
        fails.clear()
        assert get(port).status == 200
    assert heard.bugs
    assert heard.bugs[0].endswith("a bug")


def get_or_none(port: int) -> int | None:
    try:
        return get(port).status
    except OSError:
        return None


def test_a_port_that_is_taken_is_told_once_and_tried_until_it_is_free(port: int, heard: Heard) -> None:
    with closing(listening(f"127.0.0.1:{port}")) as taken, serving(port, heard) as server:
        eventually(lambda: whys(server))
        assert whys(server) == [f"cannot serve metrics on 127.0.0.1:{port}: Address already in use"]
        taken.close()
        eventually(lambda: answers(port))
        eventually(lambda: not whys(server))
    said, again = heard.warnings
    assert said.startswith(f"cannot serve metrics on 127.0.0.1:{port}: Address already in use: it is tried again")
    assert again == f"metrics are served on 127.0.0.1:{port} now"


def test_an_address_that_is_no_name_of_a_machine_is_a_trouble_and_no_crash(heard: Heard) -> None:
    server = MetricsServer(Metrics("no..name:9477"), NO_PAGE, heard.bug, heard.warnings.append)
    with closing(server):
        server.start(retry_seconds=60)
        eventually(lambda: whys(server))
    assert whys(server) == ["cannot serve metrics on no..name:9477: no..name is no name of a machine"]


def test_it_can_be_closed_before_it_began_and_while_it_answers(port: int, heard: Heard) -> None:
    MetricsServer(Metrics(f"127.0.0.1:{port}"), NO_PAGE, heard.bug, heard.warnings.append).close()
    asked, released = threading.Event(), threading.Event()

    def page() -> bytes:
        asked.set()
        released.wait(PATIENCE)
        return b"late 1\n"

    with serving(port, heard, page) as server, ThreadPoolExecutor(1) as pool:
        eventually(lambda: not whys(server) and listens(port))
        waiting = pool.submit(get, port)
        assert asked.wait(PATIENCE)
        server.close()
        server.close()
        assert not listens(port)
        released.set()
        assert waiting.result(PATIENCE).body == "late 1\n"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_port_is_free_for_the_next_life_at_once(port: int, heard: Heard) -> None:
    for _ in range(3):
        with serving(port, heard):
            eventually(lambda: answers(port))
    assert heard.warnings == []


@pytest.mark.parametrize(
    ("listen", "parts"),
    [("127.0.0.1:9477", ("127.0.0.1", 9477)), ("[::1]:80", ("::1", 80)), ("localhost:1", ("localhost", 1))],
)
def test_an_address_is_taken_apart(listen: str, parts: tuple[str, int]) -> None:
    assert address(listen) == parts


def test_an_address_of_ip_version_6_can_be_listened_on() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        with closing(listening(f"[::1]:{free_port()}")) as made:
            assert made.family is socket.AF_INET6
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
