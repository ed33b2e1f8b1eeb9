"""A control socket whose every request is answered by one function of a test's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

from cmgr.config.reporters import Reports
from cmgr.config.settings import Config, Export
from cmgr.host.host import Host
from cmgr.model.values.node import Node
from cmgr.ports import ChipDriver, Runtime
from cmgr.service.door.answers import Answers
from cmgr.service.door.api import routes
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.pages import Pages
from cmgr.service.door.routes import Request, Route
from cmgr.service.door.sessions import Sessions
from cmgr.service.door.shown import Shown
from cmgr.service.parts.cdi_files import CdiFiles
from cmgr.service.parts.exports import Exports
from cmgr.service.parts.ranks import Ranks
from cmgr.service.work.drilling import Drills
from cmgr.vendor import giving
from cmgr.view.status import Own
from tests.cli.scenes import NOW

NO_GROUP = "no-such-group-of-cmgr"
WELL = Own("ready", "sim", ())


@dataclass(frozen=True, slots=True)
class Books:
    """All that a service knows which is asked."""

    node: Callable[[], Node] = Node
    database: Path = Path("/nowhere")
    reports: Callable[[], Reports] = Reports
    runtimes: Mapping[str, Runtime] = field(default_factory=dict)


def table(own: Own = WELL, books: Books = Books()) -> tuple[Route, ...]:  # It is frozen.
    """Return everything that can be asked of a service, of one that knows nothing but this of itself."""
    none = cast("ChipDriver", None)
    files = CdiFiles(Path("/nowhere"), giving("sim"), "auto")
    answers = Answers(
        none,
        books.node,
        lambda: own,
        lambda: NOW,
        books.database,
        lambda: {"ok": True, "findings": []},
        lambda: files,
        Exports(Export(node="box"), books.node, lambda: NOW),
        lambda _: {"name": "", "engine": None, "appliances": [], "remarks": []},
        Ranks(none, "box", books.node, None),
        timedelta,
        books.runtimes,
    )
    roles = Roles(Config(reports=books.reports()))
    drills = Drills(none, Host("", ""), lambda _: None, lambda: NOW)
    orders = Orders(
        books.node,
        lambda: NOW,
        lambda _: None,
        lambda _: {"changed": [], "after_restart": [], "did": []},
        none,
        drills,
        books.reports,
        roles=roles,
    )
    shown, pages = Shown(answers, lambda: NOW), Pages(Sessions(roles.of_user), lambda: NOW, orders=True)
    return routes(answers, shown, orders, pages)


def answering(answer: Callable[[Request], Mapping[str, object]]) -> tuple[Route, ...]:
    """Return the same with this answer to each of them."""
    return tuple(replace(route, answer=answer, tag=None) for route in table())


def door(
    path: str | Path, answer: Callable[[Request], Mapping[str, object]], group: str = NO_GROUP, patience: float = 5.0
) -> ControlServer:
    """Return a server that answers every request of a service by this function. It has not started."""
    return ControlServer(path, answering(answer), group=group, patience=patience)
