"""What the service would answer, made of the database and the configuration. Loaded only where it does not answer."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.config.tables.catalog import load_catalog
from cmgr.model.values.node import Node
from cmgr.store.reader import Reader
from cmgr.view import status as view
from cmgr.words import Json


def status(common: Common, database: Reader) -> Json:
    config = source.configuration(common)
    node = _node(common, database)
    service = {
        "state": "stopped",
        "pid": None,
        "since": None,
        "driver": config.driver,
        "runtimes": list(config.runtimes),
        "strategy": str(config.strategy),
        "observe": config.observe,
        **view.maintenance(node),
    }
    return view.status(node, service, source.now())


def chips(common: Common, database: Reader) -> Json:
    return {"chips": view.chips(_node(common, database))}


def faults(_common: Common, database: Reader) -> Json:
    return {"faults": view.faults(database.node())}


ANSWERS: Mapping[str, Callable[[Common, Reader], Json]] = {"status": status, "chips": chips, "faults": faults}
"""By the request that they stand in for."""


def past_faults(database: Reader, since: datetime | None) -> Json:
    """Return the active faults and those that cleared at `since` or later."""
    node = database.node()
    return {"faults": [view.fault_of_chip(node, fault) for fault in database.faults(since=since)]}


def explain(common: Common, code: str) -> Json:
    """Return what the configured tables say of the code. Raises `ConfigError`."""
    config = source.configuration(common)
    return view.explain(code, Node(config.policy(), load_catalog(config)))


def _node(common: Common, database: Reader) -> Node:
    # What the strategy and the levels are is not in the database: they are what the configuration says today.
    return replace(database.node(), policy=source.configuration(common).policy())
