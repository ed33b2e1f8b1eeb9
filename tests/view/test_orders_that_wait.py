"""Each order of a person that waits is shown with the order that takes it back, and that one works.

Whatever is a new kind of order stands in one of the two tables here, or the first test fails.
"""

from collections.abc import Callable, Mapping
from typing import cast, get_args, get_type_hints

import pytest

from cmgr.config.settings import Config
from cmgr.host.host import Host
from cmgr.model.orders import DONE
from cmgr.model.values.chips import SLOT, ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StopContainer
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered
from cmgr.model.values.messages.reboot_facts import RebootCancelOrdered
from cmgr.model.values.services.containers import Spare
from cmgr.ports import ChipDriver
from cmgr.sentences.hints import Order
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.routes import Request
from cmgr.service.work.drilling import Drills
from cmgr.view import shapes
from cmgr.view import status as view
from cmgr.view.groups import groups
from cmgr.view.status import Own
from tests.model.builders import SINGLE, Cmgr, container, key

AT_ONCE: Mapping[type, str] = {
    facts.ResumeOrdered: "it hurries a promise that stands anyhow",
    facts.ResumeAllOrdered: "the same",
    facts.ReleaseOrdered: "done when it is answered",
    facts.ForgetOrdered: "done when it is answered",
    facts.GroupResumeOrdered: "it ends a wait",
    facts.RuntimeForgetOrdered: "done when it is answered; void when the runtime answers",
    ChipForgetOrdered: "done when it is answered",
    facts.AcknowledgeOrdered: "done when it is answered",
    RebootCancelOrdered: "nothing is begun by it; the next reboot is ordered after a day",
    facts.ReportOrdered: "done when it is answered; the reporter takes back the fault itself (`report --clear`)",
    facts.ReserveOrdered: "done when it is answered; it is over by time",
    facts.SlotRemoveOrdered: "done when it is answered",
}
"""Orders that wait for nothing, and why."""


def reset() -> Cmgr:
    cmgr = Cmgr(container("llm", 0), policy=SINGLE)
    cmgr.tell(facts.ResetOrdered(ChipId(0), "a person", stop=True))
    return cmgr


def group() -> Cmgr:
    cmgr = Cmgr(container("r0", 0, group="tp"), container("r1", 4, group="tp"), policy=SINGLE)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a person"))
    return cmgr


def isolated() -> Cmgr:
    cmgr = Cmgr(container("llm", 0), policy=SINGLE)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "it is loud", "a person"))
    return cmgr


def maintenance() -> Cmgr:
    cmgr = Cmgr(container("llm", 0), policy=SINGLE)
    cmgr.fault(0)
    cmgr.run(StopContainer)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    return cmgr


def moved() -> Cmgr:
    cmgr = Cmgr(container("llm", 0, spare=Spare.AUTO, tied=""), policy=SINGLE)
    cmgr.tell(facts.MoveOrdered(key("llm"), frozenset({ChipId(1)}), "a person", stop=True))
    return cmgr


def slotted() -> Cmgr:
    cmgr = Cmgr(policy=SINGLE)
    cmgr.tell(facts.SlotOrdered("one", "a person", frozenset({ChipId(0)})))
    cmgr.run()
    cmgr.sees(container("llm", claims=frozenset({f"{SLOT}one"})))
    cmgr.tell(facts.SlotOrdered("one", "a person", frozenset({ChipId(1)}), stop=True))
    return cmgr


def runs_on_its_chip(cmgr: Cmgr) -> bool:
    return cmgr.booked("llm").running and cmgr.booked("llm").kept.chips == {ChipId(0)} and not cmgr.held()


WAITS: Mapping[type, tuple[Callable[[], Cmgr], str, Callable[[Cmgr], bool]]] = {
    facts.ResetOrdered: (reset, "cmgr cancel 0", lambda c: runs_on_its_chip(c) and not c.sent(ResetRing)),
    facts.GroupRestartOrdered: (
        group,
        "cmgr group cancel tp",
        lambda c: not c.held() and not c.node.groups["tp"].in_round,
    ),
    facts.IsolateOrdered: (isolated, "cmgr release 0", lambda c: not c.node.isolations),
    facts.MaintenanceOrdered: (maintenance, "cmgr maintenance off", lambda c: c.node.maintenance is None),
    facts.MoveOrdered: (moved, "cmgr slot assign llm 0", runs_on_its_chip),
    facts.SlotOrdered: (slotted, "cmgr slot assign one 0", runs_on_its_chip),
}
"""Orders that wait: how one comes to, what takes it back, and what is true then."""


def shown(cmgr: Cmgr) -> list[Order]:
    """Return every order that is in what people are shown."""
    told = view.status(cmgr.node, Own("ready", "sim", ()), cmgr.now)
    rows = (*told["troubles"], *told["rings"], *told["containers"], *told["chips"], *groups(cmgr.node))
    orders: list[shapes.Order] = [order for row in rows for order in row["orders"]]
    return [Order(each["do"], each["args"]) for each in orders]


def given(cmgr: Cmgr, order: Order) -> None:
    """Give the order as the service takes it."""

    def told(fact: facts.Ordered) -> None:
        cmgr.tell(fact)

    none = cast("ChipDriver", None)
    drills = Drills(none, Host("", ""), lambda _: None, lambda: cmgr.now)
    reread: shapes.Reloaded = {"changed": [], "after_restart": [], "did": []}
    door = Orders(
        lambda: cmgr.node, lambda: cmgr.now, told, lambda _: reread, none, drills, roles=Roles(Config())
    )  # fmt: skip
    deeds: Mapping[str, Callable[[Request], object]] = {
        "cancel": door.cancel, "group-cancel": door.groups.cancel, "release": door.release,
        "maintenance": door.maintenance, "slot-assign": door.slots.assign,
    }  # fmt: skip
    deeds[order.do](Request(order.do, order.args, uid=0))


def test_every_kind_of_order_waits_or_does_not() -> None:
    assert {*WAITS, *AT_ONCE} == set(get_args(facts.Ordered))
    assert WAITS.keys().isdisjoint(AT_ONCE)


def test_every_kind_of_order_is_done_by_a_function_for_that_kind() -> None:
    assert DONE.keys() == set(get_args(facts.Ordered))
    assert {kind: [*get_type_hints(does).values()][1] for kind, does in DONE.items()} == {kind: kind for kind in DONE}


@pytest.mark.parametrize("kind", WAITS, ids=[kind.__name__ for kind in WAITS])
def test_one_that_waits_is_shown_with_what_takes_it_back_and_that_works(kind: type) -> None:
    make, typed, is_back = WAITS[kind]
    cmgr = make()
    (back,) = {str(order): order for order in shown(cmgr) if str(order) == typed}.values()
    assert not is_back(cmgr)
    given(cmgr, back)
    cmgr.run()
    cmgr.wait(120)
    assert is_back(cmgr)
    assert typed not in map(str, shown(cmgr))
