"""The words of other tools, answered with ours."""

from collections.abc import Mapping

_ALL, _ONE, _OUT = "cmgr status", "cmgr show NAME", "cmgr isolate CHIP --reason WHY"
_PAST = "cmgr history; as it happens: cmgr events; the service's own log: journalctl -u cmgr"

OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("ps", "ls", "list", "get", "info", "health"), _ALL),
    **dict.fromkeys(("top", "watch"), "cmgr status --watch"),
    **dict.fromkeys(("inspect", "describe"), _ONE),
    **dict.fromkeys(("logs", "log", "journal"), _PAST),
    **dict.fromkeys(("doctor", "validate", "config"), "cmgr check"),
    **dict.fromkeys(("init", "configure"), "cmgr setup"),
    **dict.fromkeys(("cordon", "drain", "disable"), _OUT),
    **dict.fromkeys(("uncordon", "enable"), "cmgr release CHIP"),
    "stop": f"{_OUT}; the service: systemctl stop cmgr",
    "start": "cmgr resume CONTAINER; the service: systemctl start cmgr",
    "restart": "cmgr reset CHIP --stop; a group: cmgr group restart NAME; the service: systemctl restart cmgr",
    "pause": "cmgr maintenance on",
    "unpause": "cmgr maintenance off",
    "ack": "cmgr acknowledge TROUBLE",
    "rm": "cmgr forget CONTAINER",
    "nodes": "cmgr fleet",
    "stats": "cmgr chips",
}
"""Words that people know from docker, kubectl and systemctl, each with what to type here."""
