"""The lock of the door for scrapes, asked over TLS: certificates of both sides, passwords, and who has none."""

import base64
import hashlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cmgr.config.settings import Metrics
from cmgr.errors import ConfigError, TooMany
from cmgr.service.door.http.secured import WRONG, Passwords
from cmgr.service.door.routes import NoPassword
from cmgr.service.door.scrapes import MetricsServer
from tests.metrics.scrape import free_port
from tests.support.certificates import Certificates
from tests.support.waiting import PATIENCE, eventually

PAGE = (b"a 1\n" * 200_000, "text/plain")
"""More than the buffers of a connection take at once."""

Serve = Callable[..., int]


def line(user: str, password: str) -> str:
    salt = os.urandom(16)
    return f"{user}:scrypt:{salt.hex()}:{hashlib.scrypt(password.encode(), salt=salt, n=16384, r=8, p=1).hex()}\n"


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def begun(**settings: str) -> int:
            port = free_port()
            server = MetricsServer(Metrics(f"127.0.0.1:{port}", **settings), lambda _: PAGE, _bug, print, 20.0)
            stack.enter_context(closing(server))
            server.start(retry_seconds=0.01)
            eventually(lambda: _listens(port))
            return port

        yield begun


def _bug(text: str, error: BaseException) -> None:
    raise AssertionError(text) from error


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    except OSError:
        return False
    return True


def asked(port: int, context: ssl.SSLContext | None, authorization: str = "") -> bytes:
    """Return the whole answer, or nothing where the connection ends without one."""
    header = f"Authorization: {authorization}\r\n" if authorization else ""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as bare, ExitStack() as stack:
        try:
            made = bare
            if context is not None:
                made = stack.enter_context(context.wrap_socket(bare, server_hostname="127.0.0.1"))
            made.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n".encode())
            return b"".join(iter(lambda: made.recv(65536), b""))
        except OSError:
            return b""


def trusting(certificates: Certificates, shown: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certificates.ca))
    if shown:
        context.load_cert_chain(certificates.client.cert, certificates.client.key)
    return context


def pair(certificates: Certificates) -> dict[str, str]:
    return {"cert": str(certificates.server.cert), "key": str(certificates.server.key)}


def is_page(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.startswith(b"HTTP/1.1 200 ") and body == PAGE[0]


def test_over_tls_the_page_is_whole_and_without_it_there_is_none(certificates: Certificates, serve: Serve) -> None:
    port = serve(**pair(certificates))
    assert is_page(asked(port, trusting(certificates)))
    assert asked(port, None) == b""
    assert is_page(asked(port, trusting(certificates))), "whoever speaks no TLS ends his own connection alone"


def test_clients_show_a_certificate_where_that_is_wanted(certificates: Certificates, serve: Serve) -> None:
    port = serve(**pair(certificates), client_ca=str(certificates.ca))
    assert asked(port, trusting(certificates)) == b""
    assert is_page(asked(port, trusting(certificates, shown=True)))


def test_a_certificate_that_is_renewed_counts_with_the_next_connection(
    certificates: Certificates, serve: Serve, tmp_path: Path
) -> None:
    port = serve(**pair(certificates))
    other = Certificates(_made(tmp_path / "other"))
    assert asked_safely(port, other) == b""
    shutil.copyfile(other.server.key, certificates.server.key)
    assert is_page(asked(port, trusting(certificates))), "half of a new pair is none: the last one goes on"
    shutil.copyfile(other.server.cert, certificates.server.cert)
    assert is_page(asked(port, trusting(other)))


def asked_safely(port: int, certificates: Certificates) -> bytes:
    try:
        return asked(port, trusting(certificates))
    except ssl.SSLError:
        return b""


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_peer_that_says_nothing_over_tls_keeps_nobody_waiting(certificates: Certificates, serve: Serve) -> None:
    port = serve(**pair(certificates))
    with ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        assert is_page(asked(port, trusting(certificates)))


def test_only_users_with_their_passwords_read_the_page(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# who scrapes\n" + line("prometheus", "s3cret") + line("other", "pass:word"))
    file.chmod(0o600)
    port = serve(password_file=str(file))
    for good in (basic("prometheus", "s3cret"), basic("other", "pass:word"), basic("prometheus", "s3cret")):
        assert is_page(asked(port, None, good))
    for bad in (
        "",
        "Basic",
        "Basic !",
        "Bearer s3cret",
        basic("prometheus", "pass:word"),
        basic("", ""),
        basic("x", ""),
    ):
        answer = asked(port, None, bad)
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert b'WWW-Authenticate: Basic realm="cmgr"' in answer
        assert b"s3cret" not in answer


def test_wrong_passwords_are_limited_and_keep_nobody_out_who_was_in(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text(line("prometheus", "s3cret"))
    file.chmod(0o600)
    passwords = Passwords(str(file))
    passwords.check(basic("prometheus", "s3cret"), "10.0.0.1")
    for _ in range(WRONG):
        with pytest.raises(NoPassword):
            passwords.check(basic("prometheus", "guess"), "10.0.0.1")
    with pytest.raises(TooMany):
        passwords.check(basic("prometheus", "guess"), "10.0.0.1")
    passwords.check(basic("prometheus", "s3cret"), "10.0.0.1")
    passwords.check(basic("prometheus", "s3cret"), "10.0.0.2")
    file.write_text(line("prometheus", "changed"))
    os.utime(file, ns=(1, 1))
    with pytest.raises(NoPassword):
        passwords.check(basic("prometheus", "s3cret"), "10.0.0.2")
    passwords.check(basic("prometheus", "changed"), "10.0.0.2")


@pytest.mark.parametrize(
    "text", ["", "me:s3cret\n", "me:scrypt:zz:zz\n", "me:scrypt:00:00\n", "me:bcrypt:00:" + "00" * 32]
)
def test_a_file_that_has_no_hashes_is_refused_without_its_content(tmp_path: Path, text: str) -> None:
    file = tmp_path / "users"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match=r"line 1 is no|no user") as told:
        Passwords(str(file)).begin()
    assert "s3cret" not in str(told.value)


def test_a_key_that_others_can_read_is_refused_and_told(certificates: Certificates) -> None:
    certificates.server.key.chmod(0o644)
    port = free_port()
    warned: list[str] = []
    server = MetricsServer(Metrics(f"127.0.0.1:{port}", **pair(certificates)), lambda _: PAGE, _bug, warned.append)
    with closing(server):
        server.start(retry_seconds=0.01)
        eventually(lambda: bool(warned))
        assert "cannot serve metrics" in warned[0]
        certificates.server.key.chmod(0o600)
        eventually(lambda: _listens(port))


def test_the_line_of_the_documentation_makes_a_user(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "docs/metrics.md").read_text()
    (command,) = [each for each in text.splitlines() if "hashlib.scrypt" in each]
    program = command.partition("python3 -c '")[2].rpartition("'")[0].replace("getpass.getpass()", "input()")
    ended = subprocess.run(["python3", "-c", program], input="s3cret", capture_output=True, text=True, check=True)
    file = tmp_path / "users"
    file.write_text(ended.stdout)
    file.chmod(0o600)
    Passwords(str(file)).check(basic("prometheus", "s3cret"), "")
