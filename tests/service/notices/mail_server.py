"""A mail server of the tests, which keeps what comes: SMTP (RFC 5321), STARTTLS (RFC 3207), AUTH PLAIN (RFC 4954)."""

import socket
import ssl
import threading
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from tests.support.waiting import PATIENCE


@dataclass(slots=True)
class Conduct:
    """How it behaves. `refused`: addresses that it does not know. `data`: its answer to a mail, if not a good one."""

    login: tuple[str, str] | None = None
    refused: tuple[str, ...] = ()
    data: str = ""
    greets: bool = True


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    to: tuple[str, ...]
    encrypted: bool
    message: EmailMessage


@dataclass(slots=True)
class _Session:
    encrypted: bool
    known: bool = False
    sender: str = ""
    to: list[str] = field(default_factory=list)


class MailServer:
    """Listens on a free port of the loopback. `tls`: it can STARTTLS; `at_once`: it speaks TLS from the beginning."""

    def __init__(self, tls: ssl.SSLContext | None = None, *, at_once: bool = False) -> None:
        self.conduct = Conduct()
        self.mails: list[Mail] = []
        self.asked: list[str] = []
        self._tls, self._at_once = tls, at_once
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._over = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._over.set()
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listening.accept()
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError):
            try:
                if self._at_once and self._tls is not None:
                    peer = self._tls.wrap_socket(peer, server_side=True)
                if not self.conduct.greets:
                    self._over.wait(PATIENCE)
                    return
                peer.sendall(b"220 mail.example ESMTP\r\n")
                session = _Session(encrypted=self._at_once)
                while (line := _line(peer)) is not None and line.upper() != "QUIT":
                    self.asked.append(line)
                    if line.upper() == "STARTTLS" and self._tls is not None:
                        peer.sendall(b"220 go ahead\r\n")
                        peer, session = self._tls.wrap_socket(peer, server_side=True), _Session(encrypted=True)
                        continue
                    peer.sendall(f"{self._answer(line, session)}\r\n".encode())
                    if line.upper() == "DATA":
                        peer.sendall(f"{self._taken(peer, session)}\r\n".encode())
                peer.sendall(b"221 bye\r\n")
            finally:
                peer.close()

    def _answer(self, line: str, session: _Session) -> str:
        word, _, rest = line.partition(" ")
        match word.upper():
            case "EHLO":
                can = ["STARTTLS"] if self._tls is not None and not session.encrypted else []
                can += ["AUTH PLAIN"] if self.conduct.login is not None else []
                return "\r\n".join([*(f"250-{each}" for each in ("mail.example", *can)), "250 SIZE 100000"])
            case "AUTH":
                _, user, password = b64decode(rest.partition(" ")[2]).decode().split("\0")
                session.known = (user, password) == self.conduct.login
                return "235 2.7.0 welcome" if session.known else "535 5.7.8 authentication failed"
            case "MAIL":
                session.sender = rest.partition("<")[2].partition(">")[0]
                return "530 5.7.0 log in first" if self.conduct.login and not session.known else "250 2.1.0 ok"
            case "RCPT":
                to = rest.partition("<")[2].partition(">")[0]
                if to in self.conduct.refused:
                    return "550 5.1.1 no such user"
                session.to.append(to)
                return "250 2.1.5 ok"
            case "DATA":
                return "354 end with a dot"
        return "502 5.5.1 not known"

    def _taken(self, peer: socket.socket, session: _Session) -> str:
        lines = []
        while (line := _line(peer)) != ".":
            if line is None:
                raise ConnectionError("it broke off")
            lines.append(line.removeprefix("."))
        if self.conduct.data:
            return self.conduct.data
        message = message_from_bytes("\r\n".join(lines).encode("latin-1"), policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.mails.append(Mail(session.sender, tuple(session.to), session.encrypted, message))
        return "250 2.0.0 queued as 7F2A"


def _line(peer: socket.socket) -> str | None:
    data = b""
    while not data.endswith(b"\r\n"):
        if not (more := peer.recv(1)):
            return None
        data += more
    return data[:-2].decode("latin-1")
