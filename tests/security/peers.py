"""Processes of other users that ask the service something."""

import json
import subprocess
import sys
from collections.abc import Sequence
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
