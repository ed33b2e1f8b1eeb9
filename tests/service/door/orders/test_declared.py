"""Each order that is declared stands wherever people and programs meet it, says what it would do, and what it did."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from cmgr.cli.app import COMMANDS
from cmgr.host.host import Host
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import StopContainer
from cmgr.ports import ChipDriver, SoftFault
from cmgr.sentences.sentence import CHINESE, in_language
from cmgr.service.door import previews
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.orders.declared import PREVIEW, declared_of
from cmgr.service.door.routes import LANG, Request
from cmgr.service.work.drilling import Drills
from tests.model.builders import SINGLE, Cmgr, container
from tests.model.faults import test_machine_faults as of_machine
from tests.model.together.test_groups import halted, tp
from tests.support.door import table
from tests.view.test_orders_that_wait import group, isolated, reset

ROOT = Path(__file__).parents[4]
STATIC = ROOT / "cmgr" / "web" / "static"
ORDERS = {route.do: route for route in table() if route.method == "POST" and "/orders/" in route.path}

COMMAND_ONLY = {
    *("test", "drill", "drill-end", "inject", "reload", "reserve"),
    *("group-restart", "group-cancel", "group-resume", "slot-create", "slot-assign", "slot-remove"),
}
"""The orders that the page has no button for."""


class Raising:
    def soft_fault(self, chip: ChipId) -> SoftFault:
        return SoftFault("80E24E00", ("true",))


def quiet() -> Cmgr:
    return Cmgr(container("llm", 0), policy=replace(SINGLE, reset=replace(SINGLE.reset, test="/bin/true")))


def held() -> Cmgr:
    cmgr = quiet()
    cmgr.fault(0)
    cmgr.run(StopContainer)
    return cmgr


def noticed() -> Cmgr:
    cmgr = of_machine.machine()
    of_machine.told(cmgr, of_machine.event(of_machine.KEPT, "1"))
    return cmgr


def with_slot() -> Cmgr:
    cmgr = quiet()
    cmgr.tell(facts.SlotOrdered("a", "uid 7", frozenset({ChipId(1)})))
    return cmgr


CHIP, GROUP, CONTAINER, SLOT = {"chip": 0}, {"group": "tp"}, {"container": "llm"}, {"slot": "a"}
ALLOWED: Mapping[str, tuple[Callable[[], Cmgr], Mapping[str, object]]] = {
    "release": (isolated, CHIP),
    "isolate": (quiet, {**CHIP, "reason": "its fan is loud"}),
    "reset": (quiet, {**CHIP, "stop": True}),
    "test": (quiet, {**CHIP, "stop": True}),
    "cancel": (reset, CHIP),
    "resume": (held, CONTAINER),
    "forget": (held, CONTAINER),
    "maintenance": (quiet, {"on": True}),
    "acknowledge": (noticed, {"trouble": f"machine-{of_machine.KEPT}"}),
    "group-restart": (tp, GROUP),
    "group-cancel": (group, GROUP),
    "group-resume": (lambda: halted(tp()), GROUP),
    "slot-create": (quiet, {**SLOT, "count": 1}),
    "slot-assign": (with_slot, {**SLOT, "chips": "2"}),
    "slot-remove": (with_slot, SLOT),
    "drill": (quiet, CHIP),
}
"""Of each order that has a preview a machine on which it is allowed."""


def door(cmgr: Cmgr, given: list[facts.Ordered]) -> dict[str, Callable[[Request], object]]:
    def give(order: facts.Ordered) -> None:
        given.append(order)
        cmgr.tell(order)

    driver = cast("ChipDriver", Raising())
    drills = Drills(driver, Host("", ""), lambda _: None, lambda: cmgr.now)
    orders = Orders(
        lambda: cmgr.node,
        lambda: cmgr.now,
        give,
        lambda _: {"changed": [], "after_restart": [], "did": []},
        driver,
        drills,
    )
    return {route.do: route.answer for part in (orders, orders.groups, orders.slots) for route in declared_of(part)}


def test_each_order_that_has_a_preview_is_tried_here() -> None:
    assert {do for do, route in ORDERS.items() if PREVIEW in (route.args or ())} == ALLOWED.keys()


@pytest.mark.parametrize("do", ALLOWED)
def test_a_preview_says_what_would_be_done_and_changes_nothing(do: str) -> None:
    make, args = ALLOWED[do]
    cmgr, given = make(), list[facts.Ordered]()
    before = cmgr.node
    told = cast("Mapping[str, list[str]]", door(cmgr, given)[do](Request(do, {**args, "preview": True}, uid=7)))
    assert told["does"]
    assert (given, cmgr.node is before) == ([], True)


@pytest.mark.parametrize("do", sorted(ALLOWED.keys() - {"drill"}))
def test_an_order_is_one_fact_and_says_in_both_languages_what_it_did(do: str) -> None:
    make, args = ALLOWED[do]
    cmgr, given = make(), list[facts.Ordered]()
    told = cast("Mapping[str, list[str]]", door(cmgr, given)[do](Request(do, args, uid=7)))
    assert len(given) == 1
    assert [line for line in told["did"] if in_language(line, CHINESE) == line] == []


@pytest.mark.parametrize(
    ("chip", "assertion", "said"),
    [
        (3, Assertion.OCCURRED, "chip 3: fault 80E24E00 occurred"),
        (3, Assertion.CLEARED, "chip 3: fault 80E24E00 cleared"),
        (3, Assertion.ONCE, "chip 3: fault 80E24E00 occurred and passed at once"),
        (None, Assertion.ONCE, "machine DIMM3: fault 80E24E00 has happened"),
    ],
)
def test_an_injected_fault_is_told_of(chip: int | None, assertion: Assertion, said: str) -> None:
    assert previews.injected(None if chip is None else ChipId(chip), "DIMM3", "80E24E00", assertion) == [said]


@pytest.mark.parametrize("do", ORDERS)
def test_an_order_has_a_row_of_the_page_about_the_api_and_a_command(do: str) -> None:
    (row,) = re.findall(rf"^\| `{ORDERS[do].path}` \| (.*)$", (ROOT / "docs" / "api.md").read_text(), re.M)
    assert do == "drill-end" or re.findall(r"`cmgr ([a-z-]+)", row)[0] in COMMANDS
    for arg in ORDERS[do].args or ():
        assert arg in (PREVIEW, LANG) or f"`{arg.name}`" in row, "the row names each argument"


def test_each_order_is_one_of_the_page_or_of_the_command_line_only() -> None:
    script = (STATIC / "orders.js").read_text()
    words = re.search(r"const WORDS = \{(.*?)\};", script, re.S)
    assert words is not None
    named = {*re.findall(r"(\w+): \[", words[1]), *re.findall(r'what === "([a-z-]+)"', script)}
    assert named | COMMAND_ONLY == ORDERS.keys()
    assert named.isdisjoint(COMMAND_ONLY)


def test_the_words_of_the_page_about_orders_are_there_in_both_languages() -> None:
    texts = (STATIC / "texts.js").read_text()
    shown = re.findall(r'\["[^\]]*\]', re.split(r"\nconst titleOf", (STATIC / "orders.js").read_text())[0])
    for word in re.findall(r'"([^"]+)"', " ".join(shown)):
        assert re.search(rf'(?:^|[ ,])"?{word}"?: (?:"[^"]*[^\x00-\x7f]|\["[^"]+", "[^"]*[^\x00-\x7f])', texts, re.M), (
            word
        )
