"""Containers that can reach chips without saying which: the driver's process lists tell, or they are in the way."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.chips import UNCLEAR
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.advice import ring_hint
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, Cmgr, container, key, names

CLAIMS = frozenset({UNCLEAR})
WAITS = "the reset of chips 0-3 waits for lab (nobody knows which chips it uses)"


def lab(**fields: Any) -> Container:
    return replace(container("lab"), claims=CLAIMS, warnings=("is privileged",), **fields)


CLEAR = 'give it the chips that it uses; or, where it uses none: [containers] ignore = ["lab"], then cmgr reload'


def told(cmgr: Cmgr, kind: TroubleKind) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is kind]


def test_one_of_which_the_driver_lists_no_process_is_in_nobodys_way_and_told_with_its_name() -> None:
    cmgr = Cmgr(lab(), container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    (trouble,) = told(cmgr, TroubleKind.UNCLEAR)
    assert trouble.words == (
        "nobody knows which chips container lab uses: "
        "the driver lists no process of it on the ring, so that the reset does not wait for it"
    )
    assert (trouble.hint, told(cmgr, TroubleKind.BLOCKED)) == (CLEAR, [])
    cmgr.run()
    assert (cmgr.phase(), names(cmgr.log), told(cmgr, TroubleKind.UNCLEAR)) == (Phase.HEALTHY, ["a"], [])
    assert cmgr.booked("lab").running


def test_one_whose_process_nobody_can_tell_to_be_its_is_in_the_way_by_that() -> None:
    cmgr = Cmgr(lab())
    cmgr.processes[1] = "python3"
    cmgr.fault(0)
    cmgr.wait(60)
    assert (cmgr.ring().reason, cmgr.sent(ResetRing)) == ("process 99 (python3) is on chip 1", [])


def test_where_the_driver_cannot_list_processes_it_keeps_its_ring_from_a_reset() -> None:
    cmgr = Cmgr(lab(), container("a", 0), container("b", 4))
    cmgr.blind = {1}
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(4)
    cmgr.run()
    assert (cmgr.phase(4), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)
    cmgr.log.clear()
    cmgr.fault(0)
    cmgr.wait(60)
    assert (cmgr.ring().reason, cmgr.sent(ResetRing), names(cmgr.log)) == (WAITS, [], ["a"])
    assert str(ring_hint(cmgr.node, cmgr.ring())) == (f"to have it reset, stop lab yourself; {CLEAR}")
    assert [trouble.id for trouble in told(cmgr, TroubleKind.BLOCKED)] == ["blocked-docker-lab"]
    assert told(cmgr, TroubleKind.UNCLEAR) == []
    cmgr.dies("lab", 143, asked=True)
    cmgr.wait(5)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), names(cmgr.log, StartContainer)) == (Phase.HEALTHY, 1, ["a"])


def test_one_that_the_driver_sees_on_a_chip_of_the_ring_is_stopped_and_held_for_it() -> None:
    cmgr = Cmgr(lab())
    cmgr.inside[1] = key("lab")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (set(cmgr.booked("lab").kept.chips), cmgr.booked("lab").kept.wanted) == ({1}, True)
    assert names(cmgr.fault(0)) == ["lab"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("lab").running) == (Phase.HEALTHY, [], True)


def test_one_that_the_driver_sees_on_another_ring_is_in_nobodys_way_here() -> None:
    cmgr = Cmgr(lab())
    cmgr.inside[4] = key("lab")
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.sent(StopContainer)) == (Phase.HEALTHY, 1, [])


def test_one_that_is_seen_on_the_ring_only_while_that_waits_is_stopped_then() -> None:
    cmgr = Cmgr(lab())
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.inside[1] = key("lab")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert names(cmgr.log) == ["lab"]


def test_what_was_seen_is_known_after_a_restart_of_cmgr_and_not_in_another_life_of_the_container() -> None:
    cmgr = Cmgr(lab())
    cmgr.inside[1] = key("lab")
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.inside.clear()
    cmgr.begin()
    cmgr.run()
    assert (set(cmgr.booked("lab").kept.chips), cmgr.booked("lab").unclear) == ({1}, False)
    cmgr.sees(lab(run="life 2"))
    assert (set(cmgr.booked("lab").kept.chips), cmgr.booked("lab").unclear) == (set(), True)


@pytest.mark.parametrize("fields", [{"running": False}, {"claims": frozenset({UNCLEAR, "5"})}])
def test_one_that_does_not_run_or_names_its_chips_is_clear(fields: dict[str, Any]) -> None:
    cmgr = Cmgr(replace(lab(), **fields))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)
