"""Alarms for collectors of syslog and of SNMP traps: the bytes that they take, over real sockets.

In a trial rsyslogd 8.2302 and snmptrapd 5.9.3 of Debian 12 read both as they are expected here, where decoders of the
tests' own read them by the RFCs.
"""

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cmgr.config.receivers import Receiver
from cmgr.errors import CmgrError
from cmgr.model.values.troubles import TroubleKind
from tests.service.notices.telling import alarm, secret, serving, told
from tests.support.certificates import Certificates
from tests.support.waiting import PATIENCE

RFC5424 = re.compile(
    r'<(\d+)>1 (\S+) (\S+) (\S+) (\S+) (\S+) \[(\S+)((?: [!-~]+?="(?:[^"\\\]]|\\["\\\]])*")*)\] (.*)', re.DOTALL
)


@pytest.fixture
def ear() -> Iterator[socket.socket]:
    """A UDP socket."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(PATIENCE)
        yield sock


def place(sock: socket.socket) -> str:
    return "{}:{}".format(*sock.getsockname())


def parsed(message: bytes) -> tuple[str, ...]:
    found = RFC5424.fullmatch(message.decode())
    assert found is not None, message
    return found.groups()


def test_a_line_of_syslog_has_severity_time_machine_event_and_what_it_is_about(ear: socket.socket) -> None:
    answer = told(Receiver(f"udp://{place(ear)}", format="syslog"))
    priority, at, machine, program, _, event, name, about, text = parsed(ear.recv(65536))
    assert (int(priority) // 8, int(priority) % 8) == (3, 4)
    assert (at, machine, program, event, name) == (
        "2026-03-01T03:00:00.000Z", "appliance-7", "cmgr", "isolated", "cmgr@8072.9999.9999",
    )  # fmt: skip
    assert dict(re.findall(r'(\w+)="([^"]*)"', about)) == {
        "id": "isolated-chip-3", "status": "firing", "chips": "3", "codes": "80818C00", "containers": "chat code",
    }  # fmt: skip
    assert text == "chip 3 is isolated: 80818C00; what to do: cmgr release 3"
    assert answer == "sent; over UDP nobody says whether it arrived"


@pytest.mark.parametrize(
    ("kind", "over", "severity"),
    [(TroubleKind.DOWN, False, 2), (TroubleKind.ISOLATED, False, 4), (TroubleKind.DOWN, True, 5)],
)
def test_the_severity_is_that_of_the_trouble(ear: socket.socket, kind: TroubleKind, over: bool, severity: int) -> None:
    told(Receiver(f"udp://{place(ear)}", format="syslog"), alarm(kind=kind, over=over))
    assert int(parsed(ear.recv(65536))[0]) % 8 == severity


def test_strangers_words_end_no_line_and_no_value(ear: socket.socket) -> None:
    odd = alarm(text="芯片\u2028" * 2000, containers=('a"]\\', "b" * 5000))
    told(Receiver(f"udp://{place(ear)}", format="syslog"), odd)
    data = ear.recv(65536)
    assert len(data) <= 1024
    *_, about, text = parsed(data)
    assert 'containers="a\\"\\]\\\\ bbb' in about
    assert text.startswith("\ufeff芯片")
    assert text.endswith("…")


def test_over_tcp_each_message_has_its_length_before_it() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        heard = _hearing(server, None)
        answer = told(Receiver(f"tcp://{place(server)}", format="syslog"))
        (data,) = heard()
    length, _, message = data.partition(b" ")
    assert int(length) == len(message)
    assert parsed(message)[5] == "isolated"
    assert answer == "sent; syslog has no answers"


def test_over_tls_the_server_is_verified(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        heard = _hearing(server, serving(certificates), times=2)
        with pytest.raises(CmgrError, match="its certificate is not good"):
            told(Receiver(f"tls://{place(server)}", format="syslog"))
        told(Receiver(f"tls://{place(server)}", format="syslog", ca_file=str(certificates.ca)))
        (data,) = heard()
    assert parsed(data.partition(b" ")[2])[5] == "isolated"


def _hearing(server: socket.socket, tls: ssl.SSLContext | None, times: int = 1) -> "Heard":
    return Heard(server, tls, times)


class Heard:
    """Takes so many connections, and what each says until it ends; calling it waits for all."""

    def __init__(self, server: socket.socket, tls: ssl.SSLContext | None, times: int) -> None:
        self._server, self._tls, self._times = server, tls, times
        self._told: list[bytes] = []
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def __call__(self) -> list[bytes]:
        self._thread.join(PATIENCE)
        return self._told

    def _hear(self) -> None:
        for _ in range(self._times):
            peer, _ = self._server.accept()
            try:
                with self._tls.wrap_socket(peer, server_side=True) if self._tls else peer as told:
                    data = b""
                    while more := told.recv(65536):
                        data += more
                    self._told.append(data)
            except ssl.SSLError:
                peer.close()


@pytest.mark.parametrize("format_", ["syslog", "snmp"])
def test_where_nobody_listens_that_is_a_failure(format_: str) -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.bind(("127.0.0.1", 0))
        there = place(sock)
    with pytest.raises(CmgrError, match="nobody listens on UDP port"):
        told(Receiver(f"udp://{there}", format=format_))
    if format_ == "syslog":
        with pytest.raises(CmgrError, match="Connection refused"):
            told(Receiver(f"tcp://{there}", format=format_))


# SNMP.

PLAYPEN = "1.3.6.1.4.1.8072.9999.9999.9477"


def decoded(data: bytes) -> list[Any]:
    """Return the values of these bytes of BER (X.690): texts, numbers, names, lists."""
    values: list[Any] = []
    while data:
        tag, size, head = data[0], data[1], 2
        if size & 0x80:
            head += size & 0x7F
            size = int.from_bytes(data[2:head], "big")
        body, data = data[head : head + size], data[head + size :]
        assert len(body) == size
        if tag in (0x30, 0xA7):
            values.append(decoded(body))
        elif tag in (0x02, 0x43):
            values.append(int.from_bytes(body, "big", signed=True))
        elif tag == 0x06:
            values.append(_named(body))
        else:
            assert tag == 0x04
            values.append(body.decode())
    return values


def _named(body: bytes) -> str:
    parts, number = [body[0] // 40, body[0] % 40], 0
    for byte in body[1:]:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            parts.append(number)
            number = 0
    return ".".join(map(str, parts))


def test_a_trap_has_the_objects_of_the_mib(ear: socket.socket, tmp_path: Path) -> None:
    told(Receiver(f"udp://{place(ear)}", format="snmp", secret_file=secret(tmp_path, "our-community")))
    ((version, community, pdu),) = decoded(ear.recv(65536))
    assert (version, community) == (1, "our-community")
    _, error, index, bound = pdu
    assert (error, index) == (0, 0)
    (up_time, ticks), (name, trap), *objects = bound
    assert (up_time, name, trap) == ("1.3.6.1.2.1.1.3.0", "1.3.6.1.6.3.1.1.4.1.0", f"{PLAYPEN}.0.1")
    assert ticks > 0
    values = ["appliance-7", "isolated", "isolated-chip-3", "chip 3 is isolated: 80818C00", "cmgr release 3"]
    values += ["2026-03-01T03:00:00.000Z", "3"]
    assert objects == [[f"{PLAYPEN}.1.{place}.0", value] for place, value in enumerate([*values, 2], start=1)]
    mib = (Path(__file__).parents[3] / "etc" / "snmp" / "CMGR-MIB.txt").read_text()
    assert len(re.findall(r"::= \{ cmgrObjects \d+ \}", mib)) == len(objects)


def test_what_is_over_is_another_trap_and_a_long_one_stays_in_one_packet(ear: socket.socket) -> None:
    told(Receiver(f"udp://{place(ear)}", format="snmp"), alarm(text="故障" * 2000, hint="x" * 5000, over=True))
    data = ear.recv(65536)
    assert len(data) < 1400
    ((_, community, pdu),) = decoded(data)
    assert community == "public"
    assert pdu[3][1][1] == f"{PLAYPEN}.0.2"
