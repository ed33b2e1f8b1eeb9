"""When a description of a container still holds, and what in it has a date of its own."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.runtimes.docker.inspect import Checked, Described
from cmgr.runtimes.docker.known import Known


def description(name: str = "web", *, state: str = "running", concerns: bool = True) -> Described:
    return Described(Container(ContainerKey("docker", "", "c"), name), 15, state, concerns)


@pytest.fixture
def known() -> Known:
    """Events flow."""
    known = Known()
    known.flow(True)
    return known


def test_a_description_holds_while_nothing_was_heard(known: Known) -> None:
    known.put("c", description(), known.ticket())
    assert known.fresh("c", "running") == description()


def test_a_description_does_not_hold_when_the_list_says_another_state(known: Known) -> None:
    known.put("c", description(), known.ticket())
    assert known.fresh("c", "exited") is None


@pytest.mark.parametrize("state", ["stopping", "removing"])
def test_of_one_that_is_being_ended_no_description_holds_for_its_monitor_may_be_gone(state: str, known: Known) -> None:
    known.put("c", description(state=state), known.ticket())
    assert known.fresh("c", state) is None
    assert known.is_followed("c", state)


def test_a_description_does_not_hold_after_an_event(known: Known) -> None:
    known.put("c", description(), known.ticket())
    known.touch("other")
    assert known.fresh("c", "running") is not None
    known.touch("c")
    assert known.fresh("c", "running") is None


def test_a_description_does_not_hold_across_a_gap_in_the_events(known: Known) -> None:
    known.put("c", description(), known.ticket())
    known.flow(False)
    assert known.fresh("c", "running") is None
    known.flow(True)
    assert known.fresh("c", "running") is None


def test_a_look_that_began_before_an_event_does_not_replace_a_later_one(known: Known) -> None:
    slow = known.ticket()
    known.touch("c")
    known.put("c", description("new"), known.ticket())
    known.put("c", description("old"), slow)
    found = known.last("c")
    assert found is not None
    assert found.container.name == "new"


def test_a_look_in_whose_midst_something_happened_does_not_hold_and_is_the_last_all_the_same(known: Known) -> None:
    known.put("c", description("old"), known.ticket())
    slow = known.ticket()
    known.touch("c")
    known.put("c", description("new"), slow)
    found = known.last("c")
    assert found is not None
    assert found.container.name == "new"
    assert known.fresh("c", "running") is None


def test_what_was_read_before_an_update_of_ours_tells_of_no_later_one(known: Known) -> None:
    known.put("c", description(), known.ticket())
    slow = known.ticket()
    known.updating("c")
    known.touch("c")
    assert known.was_ours("c")
    assert known.last_before("c", math.inf) is None
    known.put("c", description(), slow)
    assert known.last_before("c", math.inf) is None
    known.put("c", description(), known.ticket())
    assert known.last_before("c", math.inf) == description()
    assert not known.was_ours("c")


def test_a_container_of_others_stays_theirs(known: Known) -> None:
    known.put("c", description(concerns=False), known.ticket())
    known.flow(False)
    assert known.is_other("c")
    assert not known.drop("c")
    assert not known.is_other("c")


def test_a_removed_container_is_forgotten(known: Known) -> None:
    known.put("c", description(), known.ticket())
    assert known.drop("c")
    assert known.last("c") is None
    assert not known.drop("c")


def test_what_a_list_does_not_name_is_forgotten_unless_it_is_newer(known: Known) -> None:
    known.put("old", description(), known.ticket())
    known.put("theirs", description(concerns=False), known.ticket())
    ticket = known.ticket()
    known.touch("new")
    known.put("new", description(), known.ticket())
    known.flow(False)
    assert known.keep({"other"}, ticket) == {"other", "new"}
    assert known.last("old") is None
    assert not known.is_other("theirs")
    assert known.last("new") is not None


def test_while_events_flow_a_container_that_is_gone_is_known_until_its_end_is_told(known: Known) -> None:
    known.put("c", description(), known.ticket())
    known.put("theirs", description(concerns=False), known.ticket())
    first = known.ticket()
    assert known.keep((), first) == {"c", "theirs"}
    assert known.keep((), first._replace(at=first.at + 59)) == {"c", "theirs"}
    assert known.last("c") is not None
    assert known.keep((), first._replace(at=first.at + 61)) == set()
    assert known.last("c") is None


def test_one_that_is_named_again_was_not_gone(known: Known) -> None:
    known.put("c", description(), known.ticket())
    first = known.ticket()
    known.keep((), first)
    known.keep({"c"}, first._replace(at=first.at + 30))
    assert known.keep((), first._replace(at=first.at + 61)) == {"c"}


def test_a_container_is_called_by_its_name_once_that_is_known(known: Known) -> None:
    assert known.name("0123456789abcdef") == "0123456789ab"
    known.put("c", description("web"), known.ticket())
    assert known.name("c") == "web"


def checked(ago: float, within: float = 90.0) -> Described:
    """Return one whose own check was well so many seconds ago."""
    at = datetime.now(UTC) - timedelta(seconds=ago)
    found = description()
    return replace(found, container=replace(found.container, health="healthy"), checked=Checked(at, within))


def look(known: Known, found: Described) -> Container:
    dated = known.dated("c", found)
    known.put("c", dated, known.ticket())
    return dated.container


def test_a_health_that_was_found_long_ago_is_not_known(known: Known) -> None:
    old = checked(3600)
    assert old.checked is not None
    container = look(known, old)
    assert (container.health, container.unchecked) == ("", old.checked.at)
    assert known.fresh("c", "running") is None, "whether it is checked again is looked at each time"
    container = look(known, checked(1))
    assert (container.health, container.unchecked) == ("healthy", None)
    assert known.fresh("c", "running") is not None


def test_a_health_that_nothing_renews_is_known_until_it_is_late(known: Known) -> None:
    late, soon = checked(0, within=-1), checked(0)
    assert look(known, soon).health == "healthy"
    same = replace(soon, checked=replace(soon.checked, within=-1))  # type: ignore[type-var]  # It is one.
    assert (look(known, same).health, look(known, late).health) == ("", ""), "however soon it is to be there again"


def test_a_clock_that_is_set_makes_no_health_old(known: Known) -> None:
    assert look(known, checked(0)).health == "healthy"
    # The clock is put forward by a day: the next check is dated by it, and was yesterday once it is put back.
    assert look(known, checked(86400)).health == "healthy"


def test_of_one_that_was_paused_no_check_is_missed(known: Known) -> None:
    paused = replace(checked(3600), checked=None)
    look(known, paused)
    assert look(known, checked(3600)).health == "healthy"
