"""Settings that cmgr had: they are still taken, without effect, so that no upgrade keeps the service from starting."""

from collections.abc import Mapping

from cmgr.vendor import vendors

_ROTATED = "logrotate rotates the file"
_WAITS = "it is 1 s, then twice as long each time, up to 60 s"

FORMER: Mapping[str, str] = {
    "log.max_size": _ROTATED,
    "log.max_age": _ROTATED,
    "log.max_files": _ROTATED,
    "alarms.backoff": _WAITS,
    "alarms.backoff_max": _WAITS,
    "alarms.queue": "1,000 wait",
    "alarms.network_after": "it is 5 s",
    "bundles.timeout": "it is 5 s",
    "export.every": "it is 60 s",
    "reset.refused_after": "it is 10 min",
    **dict.fromkeys(("sim.lose_events", "sim.double_events", "sim.delay_events"), "each is told once, at once"),
    **{f"{vendor.name}.{name}": why for vendor in vendors() for name, why in vendor.former.items()},
}
"""By their key: what is so in their place."""
