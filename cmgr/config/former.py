"""Settings that cmgr had: they are still taken, without effect, so that no upgrade keeps the service from starting."""

from collections.abc import Mapping
from datetime import timedelta

from cmgr.sentences.sentence import say
from cmgr.vendor import vendors

_ROTATED = say("config.rotated")
_WAITS = say("config.waits")

FORMER: Mapping[str, str] = {
    "log.max_size": _ROTATED,
    "log.max_age": _ROTATED,
    "log.max_files": _ROTATED,
    "alarms.backoff": _WAITS,
    "alarms.backoff_max": _WAITS,
    "alarms.queue": say("config.so-many-wait", count="1,000"),
    "alarms.network_after": say("config.it-is", length=timedelta(seconds=5)),
    "bundles.timeout": say("config.it-is", length=timedelta(seconds=5)),
    "export.every": say("config.it-is", length=timedelta(seconds=60)),
    "reset.refused_after": say("config.it-is", length=timedelta(minutes=10)),
    **dict.fromkeys(("sim.lose_events", "sim.double_events", "sim.delay_events"), say("config.told-once")),
    **{f"{vendor.name}.{name}": why for vendor in vendors() for name, why in vendor.former.items()},
}
"""By their key: what is so in their place."""
