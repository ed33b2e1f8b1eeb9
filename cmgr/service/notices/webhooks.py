"""Alarms as objects for programs, by HTTP: format json, and alertmanager."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from cmgr.config.receivers import address_of
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.objects import alerts, event
from cmgr.service.notices.post import judge, post, posting

ALERTS_PATH = "/api/v2/alerts"


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    """Send them as alerts, or the one as an object; `lost` is told to nobody. As `Way.send`."""
    url, lang = address_of(channel.receiver), channel.receiver.lang
    if channel.receiver.format == "alertmanager":
        url = _with_path(url)
        body = json.dumps(alerts(alarms, channel.machine, datetime.now(UTC), lang))
    else:
        body = json.dumps(event(alarms[0], channel.machine, lang))
    answer = post(posting(channel, url, body.encode()))
    judge(answer)
    return answer.words


def _with_path(url: str) -> str:
    bare = url.rstrip("/")
    return bare if bare.endswith(ALERTS_PATH) else bare + ALERTS_PATH
