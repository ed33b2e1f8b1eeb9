"""Reports of faults over the socket: who may report what, and what is refused."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.reporters import Reporter, Reports
from cmgr.config.settings import Config
from cmgr.errors import CmgrError
from cmgr.model.values.messages import facts
from cmgr.model.values.node import known_faults
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.reports import MOST_KEPT, ReportOrders
from cmgr.service.door.routes import Request
from tests.model.builders import Cmgr
from tests.security.fuzz import json_values, texts, tries

STORAGE = Reporter("storage", 985, ("2200*",), (0, 1, 2), "PreSeparateNPU")
SETTINGS = Reports(timedelta(minutes=10), (STORAGE,))
GOOD: dict[str, object] = {"id": "disk-7", "code": "220001001", "chips": "0-2"}


def orders(cmgr: Cmgr) -> ReportOrders:
    def give(fact: facts.Ordered) -> None:
        cmgr.tell(fact)

    return ReportOrders(lambda: cmgr.node, lambda: cmgr.now, give, lambda: SETTINGS, Roles(Config(reports=SETTINGS)))


def ask(cmgr: Cmgr, uid: int = 985, **args: Any) -> Any:
    return orders(cmgr).report(Request("report", {**GOOD, **args}, uid=uid))


def test_a_source_reports_what_it_may_and_ends_it() -> None:
    cmgr = Cmgr()
    assert ask(cmgr) == {
        "code": "220001001", "id": "disk-7", "source": "storage", "chips": [0, 1, 2], "handling": "NotHandleFault",
        "did": ["storage/disk-7: 220001001 on chips 0-2, NotHandleFault"],
    }  # fmt: skip
    assert ask(cmgr, clear=True, chips="0-1")["chips"] == [2]
    ended = ask(cmgr, clear=True, chips=None)
    assert (ended["chips"], ended["did"]) == ([], ["storage/disk-7: 220001001 over"])


def test_a_report_lasts_as_long_as_it_says_or_as_the_settings_do() -> None:
    for given_, lasts in ((None, 600), (5, 5)):
        cmgr = Cmgr()
        ask(cmgr, chips="0", seconds=given_)
        cmgr.wait(lasts - 1)
        assert [f.active for f in cmgr.node.faults[cmgr.chips[0].id].values()] == [True]
        cmgr.wait(2)
        assert [f.active for f in known_faults(cmgr.node, cmgr.chips[0].id)] == [False]


def test_root_may_report_anything() -> None:
    assert ask(Cmgr(), uid=0, chips="7")["source"] == "root"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"uid": 7}, "uid 7 is no source of reports"),
        ({"code": "330001001"}, "storage may report 2200* on chips 0-2"),
        ({"chips": "0-3"}, "storage may report"),
        ({"chips": "99"}, "there is no chip 99"),
        ({"chips": "a"}, "no list such as"),
        ({"chips": None}, "no chips are given"),
        ({"code": "80E24E00"}, "has nine digits"),
        ({"code": "\u0662\u0662\u0660\u0660\u0660\u0661\u0660\u0660\u0661"}, "has nine digits"),
        ({"id": "../x"}, "is no name"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": True}, "seconds must be"),
        ({"clear": "yes"}, "clear must be"),
    ],
)
def test_what_is_not_allowed_is_refused_in_words(args: dict[str, Any], why: str) -> None:
    cmgr = Cmgr()
    with pytest.raises(CmgrError, match=why.replace("*", r"\*")):
        ask(cmgr, **args)
    assert cmgr.node.faults == {}


def test_the_page_reports_nothing() -> None:
    request = replace(Request("report", GOOD, uid=0), on_page=True)
    with pytest.raises(CmgrError, match="no source of reports"):
        orders(Cmgr()).report(request)


def test_no_reporter_fills_the_memory() -> None:
    cmgr = Cmgr()
    for number in range(MOST_KEPT):
        ask(cmgr, chips="0", id=f"d{number}")
    with pytest.raises(CmgrError, match="are reported on chip 0 already"):
        ask(cmgr, chips="0", id="one-more")
    assert ask(cmgr, chips="0", id="d0")["chips"] == [0]


@tries(150)
@given(args=st.dictionaries(st.sampled_from(["id", "code", "chips", "seconds", "clear"]), json_values | texts))
def test_whatever_is_sent_is_booked_or_refused(args: dict[str, Any]) -> None:
    cmgr = Cmgr()
    with suppress(CmgrError):
        assert set(ask(cmgr, **args)["chips"]) <= {0, 1, 2}
    assert set(cmgr.node.faults) <= {0, 1, 2}
