"""The words of other tools, answered with ours."""

from collections.abc import Mapping

from cmgr.sentences.sentence import parts, say

_ALL, _ONE, _OUT = "cmgr status", "cmgr show NAME", "cmgr isolate CHIP --reason WHY"
_PAST = parts(
    [
        "cmgr history",
        say("usage.as-it-happens", command="cmgr events"),
        say("usage.own-log", command="journalctl -u cmgr"),
    ]
)

OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("ps", "ls", "list", "get", "info", "health"), _ALL),
    **dict.fromkeys(("top", "watch"), "cmgr status --watch"),
    **dict.fromkeys(("inspect", "describe"), _ONE),
    **dict.fromkeys(("logs", "log", "journal"), _PAST),
    **dict.fromkeys(("doctor", "validate", "config"), "cmgr check"),
    **dict.fromkeys(("init", "configure"), "cmgr setup"),
    **dict.fromkeys(("cordon", "drain", "disable"), _OUT),
    **dict.fromkeys(("uncordon", "enable"), "cmgr release CHIP"),
    "stop": parts([_OUT, say("usage.of-service", command="systemctl stop cmgr")]),
    "start": parts(["cmgr resume CONTAINER", say("usage.of-service", command="systemctl start cmgr")]),
    "restart": parts(
        [
            "cmgr reset CHIP --stop",
            say("usage.of-group", command="cmgr group restart NAME"),
            say("usage.of-service", command="systemctl restart cmgr"),
        ]
    ),
    "pause": "cmgr maintenance on",
    "unpause": "cmgr maintenance off",
    "ack": "cmgr acknowledge TROUBLE",
    "rm": "cmgr forget CONTAINER",
    "nodes": "cmgr fleet",
    "stats": "cmgr chips",
}
"""Words that people know from docker, kubectl and systemctl, each with what to type here."""
