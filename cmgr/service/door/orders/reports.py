"""Faults that other programs report on the service's socket: who may report which codes, and on which chips."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.config.reporters import Reporter, Reports
from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.faults import FaultCode, FaultKey, Handling
from cmgr.model.values.handling.catalog import is_reported
from cmgr.model.values.messages.facts import Ordered, ReportOrdered
from cmgr.model.values.node import Node
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.chip_list import chips_in
from cmgr.service.door.routes import Request

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

LONGEST = timedelta(days=30)
MOST_KEPT = 256
"""Reported faults that are active at once on one chip, so that no reporter can fill the memory."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


@dataclass(frozen=True, slots=True)
class ReportOrders:
    """Any thread; raises `CmgrError`. `give` returns when the report is booked and written."""

    node: Callable[[], Node]
    now: Callable[[], datetime]
    give: Callable[[Ordered], None]
    settings: Callable[[], Reports]
    roles: Roles

    def report(self, request: Request) -> "slot_shapes.ReportTaken":
        """Book a fault that a program reports, or that it is over."""
        mine = self._sources(request)
        code, id_, chips = _code(request), _id(request), _chips(request, self.node())
        source, highest = _right(mine, code, chips)
        over = request.args.get("clear", False)
        if not isinstance(over, bool):
            raise BadRequest("cannot report: clear must be true or false")
        if not chips and not over:
            raise BadRequest("cannot report: no chips are given")
        module, until = f"{source}/{id_}", None if over else self.now() + self._lasts(request)
        if not over:
            self._refuse_flood(chips, module)
        self.give(ReportOrdered(code, module, chips, until, f"{source} (uid {request.uid})", highest))
        found = [f for known in self.node().faults.values() if (f := known.get(FaultKey(code, module))) is not None]
        return {
            "code": code,
            "id": id_,
            "source": source,
            "chips": sorted(f.chip for f in found),
            "handling": max((f.handling for f in found), default=Handling.NotHandleFault).name,
        }

    def _sources(self, request: Request) -> list[Reporter]:
        """Return what the reporter may report as; nothing: anything, as root. Before anything that it says is read."""
        if request.uid == 0 and not request.on_page:
            return []
        mine = [] if request.on_page else self.roles.reporters(request.uid, request.groups)
        if not mine:
            hint = "add it to the configuration: [[reports.sources]]"
            raise CmgrError(f"cannot report: uid {request.uid} is no source of reports", hint=hint)
        return mine

    def _lasts(self, request: Request) -> timedelta:
        seconds = request.args.get("seconds")
        if seconds is None:
            return self.settings().lasts
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, int | float)
            or not 0 < seconds <= LONGEST.total_seconds()
        ):
            raise BadRequest(f"cannot report: seconds must be above 0 and at most {int(LONGEST.total_seconds())}")
        return timedelta(seconds=seconds)

    def _refuse_flood(self, chips: frozenset[ChipId], module: str) -> None:
        for chip in sorted(chips):
            known = self.node().faults.get(chip, {}).values()
            others = [f for f in known if f.until is not None and f.module != module]
            if len(others) >= MOST_KEPT:
                raise CmgrError(
                    f"cannot report: {MOST_KEPT} faults are reported on chip {chip} already", hint="cmgr faults"
                )


def _right(mine: list[Reporter], code: str, chips: frozenset[ChipId]) -> tuple[str, Handling | None]:
    """Return the reporter's name and the most that it may ask for; None: anything."""
    if not mine:
        return "root", None
    for each in mine:
        if each.may_report(code) and (not each.chips or chips <= set(each.chips)):
            return each.name, Handling[each.highest]
    raise CmgrError(f"cannot report {code} on {listed(chips)}: {_allowed(mine)}", hint="see reports.sources")


def _allowed(mine: list[Reporter]) -> str:
    rights = [(r.name, ", ".join(r.codes), listed(map(ChipId, r.chips)) if r.chips else "any chip") for r in mine]
    return "; ".join(f"{name} may report {codes} on {chips}" for name, codes, chips in rights)


def _code(request: Request) -> FaultCode:
    code = request.args.get("code")
    if not isinstance(code, str) or not is_reported(code):
        raise BadRequest(f"cannot report {str(code)[:40]!r}: the code of a reported fault has nine digits")
    return FaultCode(code)


def _id(request: Request) -> str:
    id_ = request.args.get("id")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise BadRequest(
            f"cannot report: id {str(id_)[:80]!r} is no name",
            hint="letters, digits, dots, colons, dashes and underscores, at most 64",
        )
    return id_


def _chips(request: Request, node: Node) -> frozenset[ChipId]:
    text = request.args.get("chips")
    if text is None:
        return frozenset()
    try:
        found = chips_in(str(text))
    except ValueError as error:
        raise BadRequest(f"cannot report: chips {str(error)!r} is no list such as 0-2,5") from error
    if missing := found - node.chips.keys():
        raise NotThere(
            f"cannot report: there is no {listed(missing)[:80]}", hint=f"this machine has {listed(node.chips)}"
        )
    return found
