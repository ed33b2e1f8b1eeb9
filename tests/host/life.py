"""A life of cmgr that runs one program, and says that it has begun, and how it ended: `life.py BUS PROGRAM NAME`.

Without a bus (`-`) it is a child that outlives its cmgr.

`life.py BUS` says why it would run programs as children, or nothing.
"""

import math
import os
import sys
from threading import Event

from cmgr.host.act import Act
from cmgr.host.host import Host, obstacle


def say(*words: object) -> None:
    sys.stdout.write("|".join(map(str, words)) + "\n")
    sys.stdout.flush()


def live(bus: str, program: str, name: str) -> None:
    is_child = bus == "-"
    act = Act(name, (program,), {"PATH": "/usr/bin:/bin"}, None if is_child else 60.0)
    begun = Host(bus, "it is to be a child" if is_child else "").begin(act)
    say("begun")
    ended = begun.wait(math.inf, Event())
    assert ended is not None
    say(ended.code, ended.found, ended.why, " ".join(ended.output.split()))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        live(*sys.argv[1:])
    else:
        say(obstacle(sys.argv[1], os.getpid()) or "nothing")
