"""The nodes of the engine, one by one: which answer, of which version, which of them leads, how their clocks go."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial

from cmgr.errors import FleetError, Unsure
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.gateway import PATIENCE, Gateway
from cmgr.model.values.presence import EngineNode
from cmgr.sentences.sentence import reason

_MOST = 9
"""So many nodes are asked; etcd itself advises against more than seven."""

_LEADS = re.compile(r"^etcd_server_is_leader 1$", re.MULTILINE)
_VERSION = re.compile(r'^etcd_server_version\{server_version="([0-9A-Za-z.+~-]{1,40})"\} 1$', re.MULTILINE)


def nodes(gateway: Gateway) -> tuple[EngineNode, ...]:
    """Return those that the settings name, in their order. Blocks up to 3 s. Does not raise."""
    with ThreadPoolExecutor(_MOST, "fleet-nodes") as pool:
        return tuple(pool.map(partial(_node, gateway), gateway.endpoints[:_MOST]))


def _node(gateway: Gateway, endpoint: str) -> EngineNode:
    try:
        listed = gateway.ask_at(endpoint, "/v3/cluster/member/list", {}, PATIENCE / 3)
        number, _ = wire.term(listed)
        names = wire.members(listed)
        version, leads = _state(gateway, endpoint, number)
        full = wire.is_full(gateway.ask_at(endpoint, "/v3/maintenance/alarm", {"action": "GET"}, PATIENCE / 3))
    except (FleetError, Unsure) as error:
        return EngineNode(endpoint, error=reason(error, ""))
    ahead = _ahead(gateway.heard, endpoint)
    return EngineNode(endpoint, names.get(number, ""), version, leads, full, ahead)


def _state(gateway: Gateway, endpoint: str, number: int) -> tuple[str, bool]:
    try:
        version, leader = wire.state(gateway.ask_at(endpoint, "/v3/maintenance/status", {}, PATIENCE / 3))
        return version, bool(leader) and leader == number
    except wire.Refused as error:
        if not error.is_denied:
            raise
    # Newer ones tell that to their root only; their metrics, to everybody.
    page = gateway.fetch_at(endpoint, "/metrics", PATIENCE / 3).decode("utf-8", "replace")
    found = _VERSION.search(page)
    return found[1] if found else "", _LEADS.search(page) is not None


def _ahead(heard: Mapping[str, tuple[float, str]], endpoint: str) -> timedelta | None:
    at, told = heard.get(endpoint, (0.0, ""))
    try:
        return parsedate_to_datetime(told).astimezone(UTC) - datetime.fromtimestamp(at, UTC).replace(microsecond=0)
    except ValueError:
        return None
