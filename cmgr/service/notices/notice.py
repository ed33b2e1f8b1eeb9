"""Notices for people: alarms in words, the gravest first, in no more bytes than the receiver takes. Pure."""

from collections.abc import Iterator, Sequence

from cmgr.frozen import dataclass
from cmgr.model.values.troubles import Severity
from cmgr.sentences.sentence import ENGLISH, Sentence, in_language, say
from cmgr.service.notices.alarms import Alarm
from cmgr.words import one_line, runs

_TITLE = 200
"""The most bytes of a title: mail programs show hardly more of a subject."""

_NAMES = 300
"""The most bytes of a list of names."""


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}"


def notice(alarms: Sequence[Alarm], lost: int, machine: str, most: int, language: str = ENGLISH) -> Notice:
    """Return one notice of these alarms, which are in their order; its title and text have at most so many bytes.

    Of each condition the latest is told, those that stand before those that are over, the critical first.
    """
    latest = {alarm.id: alarm for alarm in alarms}
    told = sorted(latest.values(), key=lambda alarm: (alarm.over, alarm.kind.severity is not Severity.CRITICAL))
    first, more = told[0], len(told) - 1
    if more:
        title = say("notice.title-and-more", machine=machine, summary=first.summary, count=more)
    else:
        title = say("notice.title", machine=machine, summary=first.summary)
    shown = cut(one_line(in_language(title, language)), _TITLE)
    return Notice(shown, _fitting(told, lost, most - len(shown.encode()) - 1, language))


def cut(text: str, most: int) -> str:
    """Return as much of the text as fits into so many bytes of UTF-8."""
    data = text.encode()
    return text if len(data) <= most else f"{data[: most - 3].decode(errors='ignore')}…"


def _fitting(told: Sequence[Alarm], lost: int, most: int, language: str) -> str:
    lines = [in_language(say("notice.lost", count=lost), language)] if lost else []
    room = most - _bytes(lines)
    for number, alarm in enumerate(told):
        left = len(told) - number
        more = in_language(say("notice.more", count=left), language)
        block = [one_line(in_language(line, language)) for line in _block(alarm)]
        # Behind the last one nothing needs room; the first is cut rather than left out.
        if _bytes(block) > room - (_bytes([more]) if left > 1 else 0):
            if number:
                return "\n".join([*lines, more])
            kept = room - _bytes([more])
            block = [cut("\n".join(block), kept - 1)]
        lines += block
        room -= _bytes(block)
    return "\n".join(lines)


def _bytes(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _block(alarm: Alarm) -> Iterator[Sentence]:
    yield _marked(alarm)
    parts = [say("notice.since", since=f"{alarm.since.astimezone():%Y-%m-%d %H:%M:%S %z}")]
    parts += [say("notice.chips", chips=runs(alarm.chips))] if alarm.chips else []
    parts += [say("notice.codes", codes=" ".join(alarm.codes))] if alarm.codes else []
    parts += [say("notice.containers", names=cut(", ".join(alarm.containers), _NAMES))] if alarm.containers else []
    yield say("notice.about", parts=parts)
    if alarm.hint:
        yield say("notice.do", hint=alarm.hint)


def _marked(alarm: Alarm) -> Sentence:
    if alarm.over:
        return say("notice.resolved", summary=alarm.summary)
    if alarm.kind.severity is Severity.CRITICAL:
        return say("notice.critical", summary=alarm.summary)
    return say("notice.warning", summary=alarm.summary)
