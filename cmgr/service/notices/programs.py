"""Notices by a program of the operator's: it reads them as JSON on its standard input, and 0 is its word for "sent".

The rule for hooks holds: only root, or the user who runs cmgr, can have put it there. It runs as hooks do.
"""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from cmgr import trust
from cmgr.errors import CmgrError
from cmgr.host.act import PLAIN, Act
from cmgr.sentences.sentence import say
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.notice import notice
from cmgr.service.notices.objects import event

_MOST = 16_000
_SECONDS = 30.0
"""Its time at least: what others send by the network may take longer than their networks' own bound."""


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    path, lang = channel.receiver.program, channel.receiver.lang
    if why := objection(path):
        raise CmgrError(f"{path} is not run: {why.reason}: {why.hint}")
    told = notice(alarms, lost, channel.machine, _MOST, lang)
    events = [event(alarm, channel.machine, lang) for alarm in alarms]
    given = os.memfd_create("cmgr-notice")
    try:
        with open(given, "wb", closefd=False) as file:
            file.write(json.dumps({"title": told.title, "text": told.text, "lost": lost, "alarms": events}).encode())
        os.lseek(given, 0, os.SEEK_SET)
        act = Act(f"notice-{time.time_ns()}", (path,), PLAIN, max(_SECONDS, channel.seconds))
        ended = channel.host.run(act, Event(), given)
    finally:
        os.close(given)
    said = f": {ended.said}" if ended.said else ""
    if not ended.well:
        raise CmgrError(f"it {ended.how}{said}")
    return f"it ended well{said}"


def objection(path: str) -> trust.Weakness | None:
    """Return why cmgr does not run this program."""
    try:
        found = trust.weakness(path, itself=True)
        if found is not None:
            return found
    except OSError as error:
        return trust.Weakness(say("trust.cannot-look", why=str(error.strerror)), say("trust.run-as-root"))
    if not Path(path).is_file():
        return trust.Weakness(say("trust.not-there"), say("trust.put-there"))
    return None if os.access(path, os.X_OK) else trust.Weakness(say("trust.not-executable"), f"chmod u+x {path}")
