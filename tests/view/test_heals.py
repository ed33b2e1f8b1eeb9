"""Containers that ail, as a person is shown them."""

from dataclasses import replace

import pytest

from cmgr.model.values.messages import facts, health_facts
from cmgr.model.values.services.containers import UNHEALTHY, Heal
from cmgr.model.values.services.healing import Hang
from cmgr.model.values.troubles import TroubleKind
from cmgr.view import shapes
from cmgr.view import status as view
from cmgr.view.advice import named
from cmgr.view.troubles import troubles
from cmgr.words import stamp
from tests.model.builders import T0, Cmgr, key
from tests.model.healing.ailing import ailing, becomes, crash_often

PLAIN = {"restarts": 0, "limit": 5, "window_seconds": 3600.0, "since": None, "next": None, "given_up": None}
RESUME = "fix the cause, then type: cmgr resume web"


def row(cmgr: Cmgr) -> shapes.Container:
    (found,) = view.containers(cmgr.node)
    return found


def test_one_that_is_well_says_that_it_wishes_to_be_healed() -> None:
    told = row(ailing())
    assert (told["health"], told["heal"], told["reason"]) == ("", PLAIN, "")
    told = row(ailing(heal=None, health=UNHEALTHY))
    assert (told["health"], told["heal"], told["reason"]) == (UNHEALTHY, None, UNHEALTHY)


def test_one_that_is_unhealthy_says_when_it_is_restarted() -> None:
    cmgr = ailing()
    becomes(cmgr, UNHEALTHY)
    due = stamp(cmgr.node.healings[key("web")].due)  # type: ignore[arg-type]
    told = row(cmgr)
    assert (told["status"], told["held"]) == ("running", False)
    assert told["reason"] == f"unhealthy; restarted 0 of 5 times within 1 h, next at {due}"
    assert told["heal"] is not None
    assert (told["heal"]["next"], told["heal"]["restarts"]) == (due, 0)


def test_one_that_exited_says_how_often_and_what_keeps_it_down() -> None:
    cmgr = ailing()
    crash_often(cmgr, 2)
    cmgr.tell(facts.IsolateOrdered(cmgr.chips[0].id, "loud", "uid 0"))
    cmgr.dies("web")
    due = stamp(cmgr.node.healings[key("web")].due)  # type: ignore[arg-type]
    told = row(cmgr)
    assert told["heal"] is not None
    assert (told["status"], told["held"], told["heal"]["restarts"]) == ("paused", True, 2)
    assert told["reason"].startswith(f"exited with code 1; restarted 2 of 5 times within 1 h, next at {due}; chip 0 is")
    assert "cmgr release 0" in told["hint"]


@pytest.mark.parametrize("down", [True, False])
def test_one_that_was_given_up_says_what_to_type(down: bool) -> None:
    cmgr = ailing()
    crash_often(cmgr, 5)
    if down:
        cmgr.dies("web")
    else:
        becomes(cmgr, UNHEALTHY)
    told = row(cmgr)
    what, status = ("exited with code 1", "failed") if down else (UNHEALTHY, "running")
    assert (told["status"], told["hint"]) == (status, RESUME)
    assert told["reason"] == f"{what}; given up after 5 of 5 restarts within 1 h"
    assert told["heal"] is not None
    assert told["heal"]["given_up"] is not None
    assert named(cmgr.node, "web") == [key("web")], "what can be typed is understood"


def test_one_that_a_person_left_as_it_is_says_so() -> None:
    cmgr = ailing()
    becomes(cmgr, UNHEALTHY)
    cmgr.tell(facts.ForgetOrdered(key("web"), "uid 0"))
    assert row(cmgr)["reason"] == "unhealthy: left as it is, which a person ordered"


def test_nothing_is_done_in_maintenance_and_that_is_said() -> None:
    cmgr = ailing()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0"))
    becomes(cmgr, UNHEALTHY)
    told = row(cmgr)["reason"]
    assert "; maintenance until " in told
    assert told.endswith(": it is not restarted")


@pytest.mark.parametrize(("heal", "blind"), [(Heal(), True), (None, False)])
def test_one_whose_own_check_does_not_run_any_more_is_a_trouble(heal: Heal | None, blind: bool) -> None:
    cmgr = ailing(heal=heal)
    web = cmgr.node.containers[key("web")]
    cmgr.tell(facts.ContainerSeen(replace(web, unchecked=T0)))
    why = f"its check has not run since {stamp(T0)}"
    why += "; heal sees only the end of its first process" if blind else ""
    assert row(cmgr)["reason"] == why
    (trouble,) = troubles(cmgr.node)
    assert (trouble.kind, trouble.text, trouble.why) == (
        TroubleKind.BLIND,
        "nobody knows whether container web is well",
        why,
    )
    assert "docker restart web" in trouble.hint
    cmgr.tell(facts.ContainerSeen(replace(web, health="healthy")))
    assert (troubles(cmgr.node), row(cmgr)["reason"]) == ([], "")


def test_one_that_seems_to_hang_is_left_alone_while_its_own_check_does_not_run() -> None:
    cmgr = ailing()
    web = cmgr.node.containers[key("web")]
    cmgr.tell(facts.ContainerSeen(replace(web, unchecked=T0)))
    cmgr.tell(health_facts.HangsSeen((Hang(web.key, web.run, T0, "nothing has changed"),)))
    assert [trouble.kind for trouble in troubles(cmgr.node)] == [TroubleKind.BLIND]
    cmgr.tell(facts.ContainerSeen(web))
    assert [trouble.kind for trouble in troubles(cmgr.node)] == [TroubleKind.AILING]
