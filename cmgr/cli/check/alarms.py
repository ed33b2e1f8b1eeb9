"""The command about receivers of alarms: alarms."""

import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cmgr.cli import source
from cmgr.cli.options import Showing, option
from cmgr.cli.show import page
from cmgr.cli.text import out
from cmgr.errors import CmgrError, chain
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

if TYPE_CHECKING:
    from cmgr.service.notices.channel import Channel
    from cmgr.view.slot_shapes import AlarmReceiver, AlarmReceivers
    from cmgr.view.text import texts
    from cmgr.view.text.render import Face


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsOptions(Showing):
    test: bool = option("--test", "Send to each of them one that says it is a test.", False)


def alarms(options: AlarmsOptions) -> int:
    """Show who is told of alarms, and try whether it arrives.

    The test is sent by this command, with the settings and secrets that the service has after its next reload, whether
    it runs or not. Exit code 1 when one of them does not take it.
    """
    from cmgr.host.host import Host
    from cmgr.service.notices.channel import Channel

    settings, host = source.configuration(options).alarms, Host("", "a person has typed this")
    seconds = settings.timeout.total_seconds()
    channels = [Channel(each, socket.gethostname(), seconds, host) for each in settings.receivers]
    rows = [_row(channel, test=options.test) for channel in channels]
    told: AlarmReceivers = {"receivers": rows}
    out.result(told, _lines(rows, page(options), test=options.test), options.as_json)
    return 1 if any(row["sent"] is False for row in rows) else 0


def _row(channel: "Channel", *, test: bool) -> "AlarmReceiver":
    from cmgr.config.receivers import named

    receiver = channel.receiver
    sent, answer = _tested(channel) if test else (None, "")
    return {
        "receiver": named(receiver),
        "format": receiver.format,
        "events": list(receiver.events),
        "sent": sent,
        "answer": answer,
    }


def _tested(channel: "Channel") -> tuple[bool, str]:
    """Return whether it was sent, and what came back."""
    from cmgr.model.values.troubles import TroubleKind
    from cmgr.service.notices.alarms import TEST, Alarm
    from cmgr.service.notices.sending import ALERTMANAGER
    from cmgr.service.notices.ways import way_of

    format_, now = channel.receiver.format, datetime.now(UTC)
    # Alertmanager tells nobody of what is over; there it ends by itself after some minutes.
    test = Alarm(TEST, TroubleKind.DEGRADED, "test", now, now, say("notice.test"), over=format_ != ALERTMANAGER)
    try:
        return True, way_of(format_).send(channel, [test], 0)
    except CmgrError as error:
        return False, chain(error) + (f"\nhint: {error.hint}" if error.hint else "")
    except (OSError, ValueError, ImportError) as error:
        return False, chain(error)


def _lines(rows: "Sequence[AlarmReceiver]", page: "texts.Page", *, test: bool) -> list[str]:
    face = page.face
    if not rows:
        return [face.says("label.nobody-is-told")]
    cells = [(row["receiver"], row["format"], _answer(row, face) if test else ", ".join(row["events"])) for row in rows]
    return page.table(("RECEIVER", "FORMAT", "ANSWER" if test else "EVENTS"), cells)


def _answer(row: "AlarmReceiver", face: "Face") -> str:
    answer = row["answer"]
    return face.says("label.taken", answer=answer) if row["sent"] else face.says("label.not-taken", answer=answer)
