"""Notices for people: alarms in words, the gravest first, in no more bytes than the receiver takes. Pure.

All words of cmgr's own are in a table by id, so that another language is another such table.
"""

from collections.abc import Iterator, Mapping, Sequence

from cmgr.frozen import dataclass
from cmgr.model.values.troubles import Severity
from cmgr.service.notices.alarms import Alarm
from cmgr.words import one_line, runs

ENGLISH: Mapping[str, str] = {
    "title": "[cmgr] {machine}: {summary}",
    "title.more": "[cmgr] {machine}: {summary} (and {count} more)",
    "critical": "CRITICAL: {summary}",
    "warning": "WARNING: {summary}",
    "over": "RESOLVED: {summary}",
    "since": "  since {since}",
    "chips": "chips {chips}",
    "codes": "codes {codes}",
    "containers": "containers {containers}",
    "do": "  what to do: {hint}",
    "more": "and {count} more: cmgr status",
    "lost": "{count} earlier alarms could not be sent: cmgr history",
}

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


def notice(alarms: Sequence[Alarm], lost: int, machine: str, most: int) -> Notice:
    """Return one notice of these alarms, which are in their order; its title and text have at most so many bytes.

    Of each condition the latest is told, those that stand before those that are over, the critical first.
    """
    latest = {alarm.id: alarm for alarm in alarms}
    told = sorted(latest.values(), key=lambda alarm: (alarm.over, alarm.kind.severity is not Severity.CRITICAL))
    first, more = told[0], len(told) - 1
    named = {"machine": machine, "summary": first.summary, "count": more}
    title = cut(one_line(ENGLISH["title.more" if more else "title"].format(**named)), _TITLE)
    return Notice(title, _fitting(told, lost, most - len(title.encode()) - 1))


def cut(text: str, most: int) -> str:
    """Return as much of the text as fits into so many bytes of UTF-8."""
    data = text.encode()
    return text if len(data) <= most else f"{data[: most - 3].decode(errors='ignore')}…"


def _fitting(told: Sequence[Alarm], lost: int, most: int) -> str:
    lines = [ENGLISH["lost"].format(count=lost)] if lost else []
    room = most - _bytes(lines)
    for number, alarm in enumerate(told):
        left = len(told) - number
        more = ENGLISH["more"].format(count=left)
        block = [one_line(line) for line in _block(alarm)]
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


def _block(alarm: Alarm) -> Iterator[str]:
    mark = "over" if alarm.over else str(alarm.kind.severity)
    yield ENGLISH[mark].format(summary=alarm.summary)
    since = ENGLISH["since"].format(since=f"{alarm.since.astimezone():%Y-%m-%d %H:%M:%S %z}")
    about = {
        "chips": runs(alarm.chips),
        "codes": " ".join(alarm.codes),
        "containers": cut(", ".join(alarm.containers), _NAMES),
    }
    yield "; ".join([since, *(ENGLISH[key].format(**{key: text}) for key, text in about.items() if text)])
    if alarm.hint:
        yield ENGLISH["do"].format(hint=alarm.hint)
