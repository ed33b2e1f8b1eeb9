"""Requests to real etcd through relays: whatever is wrong with a node or its line, they end and say the truth."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Thread

import pytest

from cmgr.errors import CmgrError, FleetError, Unsure
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.gateway import Access, Away, Gateway
from cmgr.network import trusting
from cmgr.sentences.sentence import CHINESE, in_language
from tests.support.certificates import Certificates
from tests.support.daemons.etcd import Cluster, Options, free_ports
from tests.support.receiver import Receiver, Script
from tests.support.relay import Relay, Way
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]

Opener = Callable[[Access], Gateway]

RANGE, TXN = "/v3/kv/range", "/v3/kv/txn"


def put(name: str, value: bytes) -> dict[str, object]:
    return wire.puts_asked(wire.Puts({name: value}))


def value_of(cluster: Cluster, name: str) -> str:
    return cluster.ctl("get", name, "--print-value-only").stdout.strip()


@pytest.fixture
def relay(etcd: Cluster) -> Iterator[Relay]:
    relay = Relay(etcd.nodes[0].client)
    yield relay
    relay.close()


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Makes gateways that are closed at the end."""
    with ExitStack() as stack:

        def make(access: Access) -> Gateway:
            gateway = Gateway(access)
            stack.callback(gateway.close)
            return gateway

        yield make


@pytest.fixture
def gateway(relay: Relay, opened: Opener) -> Gateway:
    return opened(Access((relay.endpoint,)))


def test_what_was_put_is_read(gateway: Gateway) -> None:
    assert wire.verdict(gateway.ask(TXN, put("/g/a", b"1"))).done
    (key,) = wire.page(gateway.ask(RANGE, wire.range_asked("/g/a"))).keys
    assert (key.name, key.value) == ("/g/a", b"1")


def test_a_connection_is_used_again_and_a_stale_one_is_not(gateway: Gateway, relay: Relay) -> None:
    for number in range(3):
        gateway.ask(TXN, put("/g/again", str(number).encode()))
    relay.cut(away=False)
    assert wire.verdict(gateway.ask(TXN, put("/g/again", b"9"))).done


def test_a_connection_outlives_a_question_for_which_there_was_no_time(gateway: Gateway) -> None:
    (endpoint,) = gateway.endpoints
    gateway.ask(TXN, put("/g/again", b"1"))
    (line,) = gateway._free[endpoint]
    with pytest.raises(Away, match="there was no time"):
        gateway.ask_at(endpoint, TXN, put("/g/again", b"2"), 0)
    assert [*gateway._free[endpoint]] == [line]
    assert line.is_open()


def test_a_call_that_outlives_the_gateway_leaves_no_connection(gateway: Gateway) -> None:
    (endpoint,) = gateway.endpoints
    gateway.close()
    gateway.ask(TXN, put("/g/late", b"1"))
    assert [*gateway._free[endpoint]] == []


def test_a_node_that_is_not_there_was_surely_not_asked(opened: Opener) -> None:
    gateway = opened(Access((f"http://127.0.0.1:{free_ports(1)[0]}",)))
    with pytest.raises(FleetError, match="Connection refused"):
        gateway.ask(TXN, put("/g/a", b"1"))


def test_neither_a_redirect_nor_a_proxy_of_the_environment_is_followed(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Receiver()) as asked, closing(Receiver()) as elsewhere:
        asked.script = Script(status=307, headers={"Location": f"{elsewhere.url}{RANGE}"})
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, elsewhere.url)
        with pytest.raises(CmgrError, match="answers 307"):
            opened(Access((asked.url,))).ask_at(asked.url, RANGE, wire.range_asked("/g/a"))
        assert (len(asked.requests), elsewhere.requests) == (1, [])


@pytest.fixture
def stranger() -> Iterator[Callable[[bytes], str]]:
    """Makes nodes that say these bytes to whatever they are asked, once, and close the connection; by their address."""
    with ExitStack() as stack:

        def make(says: bytes) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def answer() -> None:
                connection, _ = server.accept()
                with connection, suppress(OSError):  # Whoever asked has had enough.
                    connection.recv(65536)
                    connection.sendall(says)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass  # Closed with a part of the request unread, it would be reset.

            thread = Thread(target=answer)
            thread.start()
            stack.callback(thread.join)
            return f"http://127.0.0.1:{server.getsockname()[1]}"

        yield make


def test_an_answer_that_ends_too_early_is_no_answer(stranger: Callable[[bytes], str], opened: Opener) -> None:
    url = stranger(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{}")
    with pytest.raises(Unsure, match=r"IncompleteRead\(2 bytes read, 28 more expected\)"):
        opened(Access((url,))).ask_at(url, RANGE, wire.range_asked("/g/a"))


def test_an_answer_that_ends_its_connection_is_not_followed(stranger: Callable[[bytes], str], opened: Opener) -> None:
    url = stranger(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}")
    with pytest.raises(FleetError, match="cannot follow"):
        opened(Access((url,))).follow("/v3/watch", wire.watch_asked("/g/", 1), 0.5)


def chunked(text: bytes, size: int) -> bytes:
    """Return an answer that comes in chunks of so many bytes."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body


@pytest.mark.parametrize("size", [1, 7, 8, 9, 100])
def test_lines_come_out_whole_however_they_were_cut(
    size: int, stranger: Callable[[bytes], str], opened: Opener
) -> None:
    # The errors of etcd 3.4 have no end of line.
    url = stranger(chunked(b'{"a":1}\n\n{"b":2}\n{"error":3}', size))
    stream = opened(Access((url,))).follow("/v3/watch", wire.watch_asked("/g/", 1))
    found = list[object]()
    with pytest.raises(Away, match="it closed the watch") as raised:
        found.extend(json.loads(line) for line in stream.lines())
    assert in_language(raised.value.message, CHINESE) == f"无法跟踪 {url} 上的变化：它结束了监视"
    assert found == [{"a": 1}, {"b": 2}, {"error": 3}]


def test_an_endless_line_is_given_up(stranger: Callable[[bytes], str], opened: Opener) -> None:
    url = stranger(chunked(b"x" * (wire.LONGEST + 1), 2**20))
    stream = opened(Access((url,))).follow("/v3/watch", wire.watch_asked("/g/", 1))
    with pytest.raises(wire.Malformed, match="endless"):
        next(stream.lines())


def test_an_answer_that_is_held_back_leaves_open_whether_it_was_done(
    etcd: Cluster, gateway: Gateway, relay: Relay
) -> None:
    gateway.ask(TXN, put("/g/held", b"before"))
    relay.back = Way.HOLD
    with pytest.raises(Unsure):
        gateway.ask(TXN, put("/g/held", b"after"), 0.5)
    assert value_of(etcd, "/g/held") == "after"


def test_a_line_that_is_cut_after_the_request_had_passed_leaves_it_open(
    etcd: Cluster, gateway: Gateway, relay: Relay
) -> None:
    gateway.ask(TXN, put("/g/cut", b"before"))
    relay.back = Way.CUT
    with pytest.raises(Unsure):
        gateway.ask(TXN, put("/g/cut", b"after"), 0.5)
    assert value_of(etcd, "/g/cut") == "after"


@pytest.mark.parametrize("way", [Way.HOLD, Way.DROP, Way.CUT])
def test_a_request_that_never_gets_there_ends_in_time(gateway: Gateway, relay: Relay, way: Way) -> None:
    relay.there = way
    with pytest.raises(Unsure):
        gateway.ask(TXN, put("/g/lost", b"1"), 0.5)


def test_an_answer_that_drips_ends_in_time_all_the_same(gateway: Gateway, relay: Relay) -> None:
    for number in range(40):
        gateway.ask(TXN, put(f"/g/drip/{number:02}", b"x" * 10_000))
    relay.delay = 0.2
    with pytest.raises((Unsure, FleetError), match="in time"):
        gateway.ask(RANGE, wire.range_asked("/g/drip/", "/g/drip0"), 0.7)


def test_another_node_is_asked_when_one_does_not_answer(etcds: Cluster, opened: Opener) -> None:
    gateway = opened(Access(etcds.endpoints))
    etcds.nodes[0].freeze()
    assert wire.verdict(gateway.ask(TXN, put("/g/a", b"1"), 30.0)).done
    # The silent one is not asked first any more.
    etcds.nodes[0].thaw()
    etcds.serves()


def test_a_leader_that_is_killed_delays_a_write_and_loses_none(etcds: Cluster, opened: Opener) -> None:
    gateway = opened(Access(etcds.endpoints))
    gateway.ask(TXN, put("/g/a", b"1"))
    etcds.leader().kill()

    def done() -> bool:
        try:
            return wire.verdict(gateway.ask(TXN, put("/g/a", b"2"))).done
        except (Unsure, FleetError):
            return False

    eventually(done)
    assert wire.page(gateway.ask(RANGE, wire.range_asked("/g/a"), 30.0)).keys[0].value == b"2"


def test_without_a_quorum_nothing_is_known_and_with_it_everything_again(etcds: Cluster, opened: Opener) -> None:
    gateway = opened(Access(etcds.endpoints))
    gateway.ask(TXN, put("/g/a", b"1"))
    for node in etcds.nodes[1:]:
        node.freeze()
    with pytest.raises(Unsure):
        gateway.ask(TXN, put("/g/a", b"2"), 1.0)
    for node in etcds.nodes[1:]:
        node.thaw()
    etcds.serves()
    assert wire.page(gateway.ask(RANGE, wire.range_asked("/g/a"), 30.0)).keys[0].value in (b"1", b"2")


def test_a_watch_ends_when_its_node_has_no_leader(etcds: Cluster, opened: Opener) -> None:
    gateway = opened(Access(etcds.endpoints))
    stream = gateway.follow("/v3/watch", wire.watch_asked("/g/", 1), 30.0)
    lines = stream.lines()
    assert wire.news(next(lines)).changes == ()
    for node in etcds.nodes:
        if node.endpoint != stream.endpoint:
            node.freeze()
    with pytest.raises(wire.Refused, match="no leader"):
        wire.news(next(lines))
    for node in etcds.nodes:
        node.thaw()


def test_a_watch_that_is_cut_ends_at_once(gateway: Gateway, relay: Relay) -> None:
    stream = gateway.follow("/v3/watch", wire.watch_asked("/g/", 0))
    lines = stream.lines()
    next(lines)
    relay.cut(away=False)
    with pytest.raises(Away):
        next(lines)


def test_the_one_who_reads_a_watch_is_woken_by_a_cut_from_here(gateway: Gateway) -> None:
    stream = gateway.follow("/v3/watch", wire.watch_asked("/g/", 0))
    lines = stream.lines()
    next(lines)
    stream.cut()
    with pytest.raises(Away):
        next(lines)


@pytest.fixture
def guarded() -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.start()
    cluster.guard("hall", "secret", "/hall")
    yield cluster
    cluster.close()


def test_a_user_has_the_prefix_and_nothing_else(guarded: Cluster, opened: Opener) -> None:
    gateway = opened(Access(guarded.endpoints, user="hall", password=lambda: "secret"))
    assert wire.verdict(gateway.ask(TXN, put("/hall/a", b"1"), 30.0)).done
    with pytest.raises(wire.Refused, match="permission denied") as caught:
        gateway.ask(TXN, put("/other/a", b"1"), 30.0)
    assert caught.value.is_denied
    # The server forgets tokens when it starts anew, and when rights change.
    guarded.nodes[0].kill()
    guarded.start()
    assert wire.verdict(gateway.ask(TXN, put("/hall/a", b"2"), 30.0)).done


def test_a_wrong_password_is_said_and_a_new_one_counts_at_once(guarded: Cluster, opened: Opener) -> None:
    words = ["wrong"]
    gateway = opened(Access(guarded.endpoints, user="hall", password=lambda: words[-1]))
    with pytest.raises(FleetError, match=r"cannot log in as hall: .*invalid user ID or password"):
        gateway.ask(TXN, put("/hall/a", b"1"), 30.0)
    words.append("secret")
    assert wire.verdict(gateway.ask(TXN, put("/hall/a", b"1"), 30.0)).done


def test_without_a_user_nothing_is_let_in(guarded: Cluster, opened: Opener) -> None:
    gateway = opened(Access(guarded.endpoints))
    with pytest.raises(wire.Refused, match="user name is empty"):
        gateway.ask(TXN, put("/hall/a", b"1"), 30.0)


def test_a_user_is_no_hindrance_where_etcd_has_none(etcd: Cluster, opened: Opener) -> None:
    gateway = opened(Access(etcd.endpoints, user="hall", password=lambda: "secret"))
    assert wire.verdict(gateway.ask(TXN, put("/hall/a", b"1"))).done


def test_an_engine_that_is_full_says_so(tmp_path: Path, opened: Opener) -> None:
    cluster = Cluster(1, Options(quota=2 * 2**20))
    try:
        cluster.start()
        gateway = opened(Access(cluster.endpoints))

        def fill() -> None:
            for number in range(100):
                gateway.ask(TXN, put(f"/g/{number}", b"x" * 100_000), 30.0)

        with pytest.raises(CmgrError) as caught:
            fill()
        assert "database space exceeded" in caught.value.message
        assert "alarm disarm" in caught.value.hint
        assert wire.page(gateway.ask(RANGE, wire.range_asked("/g/0"), 30.0)).keys, "it can be read all the same"
    finally:
        cluster.close()


def test_tls_counts_only_with_a_certificate_that_is_good_for_the_host(tmp_path: Path, opened: Opener) -> None:
    certificates = Certificates(tmp_path)
    cluster = Cluster(1, Options(tls=certificates))
    try:
        cluster.start()
        good = opened(Access(cluster.endpoints, lambda: trusting(str(certificates.ca))))
        assert wire.verdict(good.ask(TXN, put("/g/a", b"1"), 30.0)).done
        unknown = opened(Access(cluster.endpoints, lambda: trusting("")))
        with pytest.raises(FleetError, match="its certificate is not good"):
            unknown.ask(TXN, put("/g/a", b"1"), 30.0)
        plain = opened(Access((cluster.endpoints[0].replace("https", "http"),)))
        with pytest.raises(CmgrError, match=r"not as etcd does|closed the connection|Connection reset"):
            plain.ask(TXN, put("/g/a", b"1"), 30.0)
    finally:
        cluster.close()


@pytest.mark.parametrize(
    ("days_ago", "host", "why"), [(9, "IP:127.0.0.1", "expired"), (0, "DNS:elsewhere", "mismatch")]
)
def test_a_certificate_that_has_ended_or_is_anothers_is_refused(
    tmp_path: Path, days_ago: int, host: str, why: str, opened: Opener
) -> None:
    certificates = Certificates(tmp_path)
    certificates.server = certificates.signed("other", days_ago=days_ago, host=host)
    cluster = Cluster(1, Options(tls=certificates))
    try:
        cluster.launch()
        gateway = opened(Access(cluster.endpoints, lambda: trusting(str(certificates.ca))))

        def said() -> str:
            with pytest.raises(FleetError) as caught:
                gateway.ask(TXN, put("/g/a", b"1"), 1.0)
            return caught.value.message if "certificate" in caught.value.message else ""

        assert why in eventually(said)
    finally:
        cluster.close()
