"""The way of each format. Each is loaded when its first message is sent: an idle service has none of them."""

from cmgr.loading import whole
from cmgr.service.notices.channel import Way

GROUPED = frozenset({"wecom", "dingtalk", "feishu", "slack", "teams", "mail", "program"})
"""These are told of all that waits in one message, and not too often: people read them."""


def way_of(format_: str) -> Way:
    """Return how receivers of this format are told. Raises `OSError` or `ImportError` when it cannot be loaded now."""
    with whole():
        match format_:
            case "json" | "alertmanager":
                from cmgr.service.notices import webhooks

                return webhooks
            case "mail":
                from cmgr.service.notices import mail

                return mail
            case "syslog":
                from cmgr.service.notices import rfc5424

                return rfc5424
            case "snmp":
                from cmgr.service.notices import traps

                return traps
            case "program":
                from cmgr.service.notices import programs

                return programs
            case _:
                from cmgr.service.notices import chats

                return chats
