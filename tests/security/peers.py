"""Processes of other users that ask the service something: once, or on a hundred connections without an end."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import PATIENCE

# It becomes who it is to be by itself: the way to the interpreter may be closed to others than root.
_PEER = """
import json, os, socket, sys
path, who, sent = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3].encode()
os.setgroups(who["groups"])
os.setgid(who["gid"])
(os.seteuid if who["effective"] else os.setuid)(who["uid"])
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(60)
try:
    connection.connect(path)
    try:
        connection.sendall(sent)
    except OSError:
        pass
    sys.stdout.write(connection.makefile("r", newline="").read().partition("\\r\\n\\r\\n")[2])
except PermissionError:
    sys.stdout.write(json.dumps({"error": "not let in"}))
"""


REQUEST = "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Who:
    """A user. `effective`: only the effective id is changed, as a setuid program does."""

    uid: int
    gid: int
    groups: Sequence[int] = ()
    effective: bool = False


def asked_by(who: Who, path: Path, request: str = REQUEST) -> dict[str, object]:
    """Return what the service says to a process of this user."""
    told = {"uid": who.uid, "gid": who.gid, "groups": list(who.groups), "effective": who.effective}
    command = [sys.executable, "-I", "-c", _PEER, str(path), json.dumps(told), request]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    answer: dict[str, object] = json.loads(ended.stdout)
    return answer


GROUP = "daemon"
PEERS = 100

KINDS: Mapping[str, tuple[str, bool]] = {
    "quick": ("asking", True),
    "slow": ("slow", True),
    "deaf": ("asking", False),
    "pipelining": ("pipelining", True),
    "deaf, pipelining": ("pipelining", False),
}
"""Of each: how it asks, and whether it reads the answers."""

# One process with many connections. It says when all are made, and ends with its input.
CROWD = """
import grp, os, select, socket, sys
path, count, kind, target = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
os.setgroups([]); os.setgid(grp.getgrnam("daemon").gr_gid); os.setuid(4242)
line = b"GET %b HTTP/1.1\\r\\nHost: x\\r\\n" % target.encode()
sent = {"slow": line, "asking": line + b"\\r\\n", "pipelining": (line + b"\\r\\n") * 1000}[kind]
poll, known = select.poll(), {}
def come():
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    one.setblocking(False)
    known[one.fileno()] = one
    try:
        one.send(sent)
    except OSError:
        pass
    poll.register(one, select.POLLIN if sys.argv[5] == "reads" else 0)
for _ in range(count):
    come()
print("ready", flush=True)
poll.register(0, select.POLLIN | select.POLLHUP)
while True:
    for number, event in poll.poll():
        if number == 0:
            sys.exit()
        try:
            if event & ~select.POLLIN or not known[number].recv(65536):
                raise OSError
            known[number].send(sent)
        except BlockingIOError:
            pass
        except OSError:
            poll.unregister(number)
            known.pop(number).close()
            come()
"""


@contextmanager
def crowd(path: Path, kind: str, do: str, count: int = PEERS) -> Iterator[None]:
    """Have as many connections of another user, of this kind of `KINDS`, ask this again and again. Needs root."""
    asks, reads = KINDS[kind]
    command = [sys.executable, "-I", "-c", CROWD, str(path), str(count), asks, f"/v1/{do}", "reads" if reads else ""]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.communicate("")
