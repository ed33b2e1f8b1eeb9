"""Answers in the service's stead, from the database and the configuration. Loaded only where it does not answer."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import ServiceDown, ServiceHangs, chain
from cmgr.model.values.node import Node
from cmgr.model.values.services.outages import summed
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import say
from cmgr.service.door import records
from cmgr.service.timing.period import quarter_of
from cmgr.store.reader import Reader
from cmgr.view import status as view

if TYPE_CHECKING:
    from cmgr.view import shapes
    from cmgr.view.one import one_shapes


def status(config: Config, database: Reader, why: ServiceDown) -> "shapes.Status":
    now = datetime.now(UTC)
    asked = quarter_of(now)
    down = view.quarter(asked.name, summed(database.downtime(*asked.days)))
    own = view.Own("stopped", config.driver, tuple(config.runtimes), downtime=down)
    if isinstance(why, ServiceHangs):
        hangs = Trouble(TroubleKind.SERVICE, "", say("trouble.hangs-itself"), chain(why), why.hint)
        own = replace(own, state="hangs", pid=why.pid, troubles=(hangs,))
    elif why.pid is not None:
        unheard = Trouble(TroubleKind.SERVICE, "", why.message, hint=why.hint)
        own = replace(own, state="not to be reached", pid=why.pid, troubles=(unheard,))
    return view.status(_node(config, database), own, now)


def chips(config: Config, database: Reader, _why: ServiceDown) -> "shapes.Chips":
    return {"chips": view.chips(_node(config, database))}


def faults(_config: Config, database: Reader, _why: ServiceDown) -> "shapes.Faults":
    return view.faults(database.node())


Answer = Callable[[Config, Reader, ServiceDown], Mapping[str, object]]

ANSWERS: Mapping[str, Answer] = {"status": status, "chips": chips, "faults": faults}
"""By the request that they stand in for. They are told why the service does not answer."""


def past_faults(database: Reader, since: datetime | None) -> "shapes.Faults":
    """Return the active faults and those that cleared at `since` or later."""
    return records.faults(database.node(), database, since)


def explain(config: Config, code: str) -> "shapes.Explanation":
    """Return what the configured tables say of the code. Raises `ConfigError`."""
    return view.explain(code, Node(config.policy(), load_catalog(config)))


def about_chip(config: Config, database: Reader, number: int) -> "one_shapes.AboutChip":
    """Return all about a chip. Raises `NotThere` where there is none of this number."""
    return records.about_chip(_node(config, database), database, number, datetime.now(UTC))


def about_container(config: Config, database: Reader, text: str) -> "one_shapes.AboutContainer":
    """Return all about the container that is called so. Raises `NotThere` where that is not one."""
    return records.about_container(_node(config, database), database, text, datetime.now(UTC))


def _node(config: Config, database: Reader) -> Node:
    # Strategy and levels are not in the database: today's configuration has them.
    return replace(database.node(), policy=config.policy())
