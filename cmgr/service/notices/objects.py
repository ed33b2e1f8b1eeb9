"""Alarms as receivers want them: one JSON object for each, or alerts for Alertmanager. Pure.

The shapes are documented for users (docs/notices.md) and stable: keys are added, never renamed.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from cmgr import __version__
from cmgr.model.values.troubles import TroubleKind
from cmgr.sentences.sentence import ENGLISH, in_language, messages
from cmgr.service.notices.alarms import TEST, Alarm
from cmgr.words import Json, stamp

RESEND = timedelta(seconds=60)
"""How often standing alerts are sent again, as Prometheus does: Alertmanager may have been restarted."""

_LIVES = RESEND * 4
"""An alert that is not sent again for so long is over: cmgr is gone."""

_NAMES: Mapping[str, str] = {"detected": "CmgrEpisode", "deaf": "CmgrDeaf"}
"""By event; all others are called as the alert rule in etc/ that tells of the same."""


_RUNBOOKS = "/usr/share/doc/cmgr/runbooks.md"
"""The page that says for each alert what to do about it; the alert rules in etc/ name it, too."""


def event(alarm: Alarm, host: str, language: str = ENGLISH) -> Json:
    """Return the alarm as the object that format json sends. `language`: that of its sentences."""
    return {
        "version": 1,
        "cmgr": __version__,
        "host": host,
        "event": alarm.event,
        "id": alarm.id,
        "status": "resolved" if alarm.over else "firing",
        "repeated": alarm.again,
        "at": stamp(alarm.at),
        "since": stamp(alarm.since),
        "summary": in_language(alarm.summary, language),
        "hint": in_language(alarm.hint, language),
        "messages": messages(summary=alarm.summary, hint=alarm.hint),
        "episode": alarm.episode,
        "ring": alarm.ring,
        "chips": list(alarm.chips),
        "codes": list(alarm.codes),
        "containers": list(alarm.containers),
        "outcome": alarm.outcome,
        "observe": alarm.observe,
    }


def alerts(alarms: Iterable[Alarm], host: str, now: datetime, language: str = ENGLISH) -> list[Json]:
    """Return the alarms as Alertmanager's API (POST /api/v2/alerts) takes them.

    Labels are what an alert is known by: they stay the same from its beginning to its end.
    """
    return [_alert(alarm, host, now, language) for alarm in alarms]


def _alert(alarm: Alarm, host: str, now: datetime, language: str) -> Json:
    labels = {
        "alertname": "CmgrTest" if alarm.event == TEST else _NAMES.get(alarm.kind.event, alarm.kind.rules[0]),
        "severity": str(alarm.kind.severity),
        "source": "cmgr",
        "host": host,
        "id": alarm.id,
    }
    if alarm.kind is TroubleKind.EPISODE:
        labels |= {"ring": str(alarm.ring), "episode": str(alarm.episode)}
    if alarm.kind is TroubleKind.ISOLATED:
        labels["chip"] = str(alarm.chips[0])
    if len(alarm.containers) == 1 and alarm.kind is not TroubleKind.EPISODE:
        labels["container"] = alarm.containers[0]
    told = {
        "summary": in_language(alarm.summary, language),
        "step": alarm.event,
        "chips": " ".join(map(str, alarm.chips)),
        "codes": " ".join(alarm.codes),
        "containers": " ".join(alarm.containers),
        "outcome": alarm.outcome,
        "hint": in_language(alarm.hint, language) or "cmgr status",
        "runbook_url": "" if alarm.event == TEST else f"{_RUNBOOKS}#{labels['alertname'].lower()}",
    }
    return {
        "labels": labels,
        "annotations": {name: text for name, text in told.items() if text},
        "startsAt": stamp(alarm.since),
        # Alertmanager refuses an end before the beginning, which a clock that was set back would make.
        "endsAt": stamp(max(alarm.at, alarm.since) if alarm.over else now + _LIVES),
    }
