"""Faults that other programs report on the service's socket: who may report which codes, and on which chips."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.config.reporters import Reporter, Reports
from cmgr.config.roles import Role
from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, FaultKey, Handling
from cmgr.model.values.handling.catalog import is_reported
from cmgr.model.values.messages.facts import Ordered, ReportOrdered
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import parts, say
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.chip_list import chips_in
from cmgr.service.door.orders.declared import asked
from cmgr.service.door.routes import Arg, Request
from cmgr.words import runs

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

    @asked(
        "report", "Report a fault that another program has found.",
        Arg("id", "string", "The reporter's own name for it.", required=True),
        Arg("code", "string", "Its code: nine digits.", required=True),
        Arg("chips", "string", "The chips that it concerns: 0-2,5."),
        Arg("seconds", "number", "It counts as over after that, unless it is reported again."),
        Arg("clear", "boolean", "It is over: on these chips, or wherever it was reported."),
        path="/v1/reports", role=Role.REPORT,
    )  # fmt: skip
    def report(self, request: Request) -> "slot_shapes.ReportTaken":
        """Book a fault that a program reports, or that it is over."""
        mine = self._sources(request)
        code, id_, chips = _code(request), _id(request), _chips(request, self.node())
        source, highest = _right(mine, code, chips)
        over = request.args.get("clear", False)
        if not isinstance(over, bool):
            raise BadRequest(say("error.must-be-flag", do=request.do, name="clear"))
        if not chips and not over:
            raise BadRequest(say("error.report-no-chips"))
        module, until = f"{source}/{id_}", None if over else self.now() + self._lasts(request)
        if not over:
            self._refuse_flood(chips, module)
        self.give(ReportOrdered(code, module, chips, until, f"{source} (uid {request.uid})", highest))
        found = [f for known in self.node().faults.values() if (f := known.get(FaultKey(code, module))) is not None]
        handling = max((f.handling for f in found), default=Handling.NotHandleFault).name
        where: list[int] = sorted(f.chip for f in found)
        did = say("order.reported", name=module, code=code, chips=runs(where), handling=handling)
        if not where:
            did = say("order.reported-over", name=module, code=code)
        return {"code": code, "id": id_, "source": source, "chips": where, "handling": handling, "did": [did]}

    def _sources(self, request: Request) -> list[Reporter]:
        """Return what the reporter may report as; nothing: anything, as root. Before anything that it says is read."""
        if request.uid == 0 and not request.on_page:
            return []
        mine = [] if request.on_page else self.roles.reporters(request.uid, request.groups)
        if not mine:
            raise CmgrError(say("error.no-source", uid=request.uid), hint=say("error.add-source"))
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
            raise BadRequest(say("error.report-seconds", name="seconds", most=int(LONGEST.total_seconds())))
        return timedelta(seconds=seconds)

    def _refuse_flood(self, chips: frozenset[ChipId], module: str) -> None:
        for chip in sorted(chips):
            known = self.node().faults.get(chip, {}).values()
            others = [f for f in known if f.until is not None and f.module != module]
            if len(others) >= MOST_KEPT:
                raise CmgrError(say("error.report-flood", most=MOST_KEPT, chip=chip), hint="cmgr faults")


def _right(mine: list[Reporter], code: str, chips: frozenset[ChipId]) -> tuple[str, Handling | None]:
    """Return the reporter's name and the most that it may ask for; None: anything."""
    if not mine:
        return "root", None
    for each in mine:
        if each.may_report(code) and (not each.chips or chips <= set(each.chips)):
            return each.name, Handling[each.highest]
    why = parts(map(_right_of, mine))
    raise CmgrError(say("error.may-not-report", code=code, chips=[*chips], why=why), hint=say("error.see-sources"))


def _right_of(reporter: Reporter) -> str:
    if not reporter.chips:
        return say("error.may-report-on-any", name=reporter.name, codes=reporter.codes)
    return say("error.may-report-on", name=reporter.name, codes=reporter.codes, chips=reporter.chips)


def _code(request: Request) -> FaultCode:
    code = request.args.get("code")
    if not isinstance(code, str) or not is_reported(code):
        raise BadRequest(say("error.nine-digits", code=repr(str(code)[:40])))
    return FaultCode(code)


def _id(request: Request) -> str:
    id_ = request.args.get("id")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise BadRequest(say("error.report-id", id=repr(str(id_)[:80])), hint=say("error.id-letters"))
    return id_


def _chips(request: Request, node: Node) -> frozenset[ChipId]:
    text = request.args.get("chips")
    if text is None:
        return frozenset()
    try:
        found = chips_in(str(text))
    except ValueError as error:
        raise BadRequest(say("error.report-chips", name="chips", chips=repr(str(error)))) from error
    if missing := found - node.chips.keys():
        raise NotThere(say("error.report-absent", chips=[*missing]), hint=say("error.has-chips", chips=[*node.chips]))
    return found
