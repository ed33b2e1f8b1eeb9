"""Chips that are pre-isolated: nothing new is started on them, what runs there goes on, and what is held comes back."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.scope import dead_link, pre_isolating
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultClass, FaultCode, Handling, Isolation, Level
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Raise, RuleKind, Rules, Tally
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StartContainer, StopContainer
from cmgr.model.values.node import Node
from cmgr.view.status import available, chips
from cmgr.view.troubles import troubles
from tests.model.builders import CATALOG, RESET, T0, Cmgr, container, key, names, seconds

LINK, EARLY, TIRED = "81078603", "80E3A200", "8C2FA001"
ENTRIES = {
    **CATALOG.entries,
    FaultCode(LINK): Entry(Handling.NotHandleFault, "a test", "link down", FaultClass.NETWORK),
    FaultCode(EARLY): Entry(Handling.PreSeparateNPU, "a test"),
    FaultCode(TIRED): Entry(Handling.SubHealthFault, "a test"),
}
RULES = Rules(
    {FaultCode(LINK): FrequencyRule(timedelta(days=1), 5, Handling.ManuallySeparateNPU, timedelta(days=2))},
    {FaultCode(LINK): DurationRule(seconds(20), seconds(60), Handling.PreSeparateNPU)},
)
SHIPPED = Catalog(ENTRIES, rules=RULES)


def kept_free(cmgr: Cmgr) -> dict[int, list[str]]:
    return {int(c): [*codes] for c in cmgr.node.chips if (codes := pre_isolating(cmgr.node, c))}


@pytest.mark.parametrize("code", [EARLY, TIRED])
def test_what_asks_for_it_keeps_new_work_away_and_stops_nothing(code: str) -> None:
    cmgr = Cmgr(container("a", 0), catalog=SHIPPED)
    cmgr.fault(0, code)
    cmgr.run()
    assert (kept_free(cmgr), cmgr.node.isolations, cmgr.sent(StopContainer)) == ({0: [code]}, {}, [])
    assert [c["id"] for c in chips(cmgr.node) if c["pre_isolated"]] == [0]
    cmgr.removes("a")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert 0 not in available(cmgr.node)
    cmgr.clears(0, code)
    cmgr.run()
    assert (kept_free(cmgr), available(cmgr.node)[0]) == ({}, 0)


def test_eight_links_that_are_down_for_long_are_one_trouble_and_isolate_no_chip() -> None:
    cmgr = Cmgr(container("a", 0), catalog=SHIPPED)
    for chip in range(8):
        cmgr.fault(chip, LINK)
    cmgr.wait(19)
    assert not kept_free(cmgr)
    cmgr.wait(2)
    assert (kept_free(cmgr), cmgr.node.isolations) == ({chip: [LINK] for chip in range(8)}, {})
    (told,) = troubles(cmgr.node)
    assert (told.id, told.text) == (f"network-{LINK}", f"network fault {LINK} on chips 0-7")
    assert "look at the switch" in told.hint
    assert "replace or repair" not in told.hint


def test_a_chip_whose_link_is_down_is_reset_and_recovered_for_its_own_fault() -> None:
    cmgr = Cmgr(container("a", 1), catalog=SHIPPED)
    for chip in range(8):
        cmgr.fault(chip, LINK)
    cmgr.wait(30)
    cmgr.fault(1, RESET)
    cmgr.wait(30)
    assert len(cmgr.sent(ResetRing)) == 1
    assert (names(cmgr.log, StartContainer), cmgr.booked("a").running) == (["a"], True)


def test_what_needs_the_network_waits_for_the_link_and_the_rest_does_not() -> None:
    needs = container("needs", 0, needs_network=True)
    cmgr = Cmgr(needs, container("plain", 0), container("elsewhere", 4, needs_network=True), catalog=SHIPPED)
    cmgr.cures = False
    cmgr.fault(0, LINK)
    cmgr.fault(0, RESET)
    cmgr.wait(5)
    cmgr.clears(0, RESET)
    cmgr.wait(30)
    assert (cmgr.held(), cmgr.booked("plain").running) == (["needs"], True)
    (row,) = [c for c in troubles(cmgr.node) if c.containers == ("needs",)]
    assert row.why == f"it needs the network (cmgr.needs-network), and chip 0 has {LINK}"
    cmgr.clears(0, LINK)
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.booked("needs").running) == ([], True)
    assert cmgr.booked("elsewhere").run == "life 1"


def test_a_link_that_is_up_again_is_told_as_that_until_it_is_believed() -> None:
    cmgr = Cmgr(container("needs", 0, needs_network=True), catalog=SHIPPED)
    for chip in (0, 1):
        cmgr.fault(chip, LINK)
    cmgr.wait(25)
    cmgr.clears(0, LINK)
    (told,) = troubles(cmgr.node)
    assert (told.text, told.chips) == (f"network fault {LINK} on chip 1", (0, 1))
    assert "on chip 0 it is over since 2026-01-01T00:00:25." in told.why
    assert "chip 1" in told.hint
    assert "chip 0" not in told.hint, "nobody looks at a cable that is well"
    cmgr.clears(1, LINK)
    cmgr.wait(5)
    (told,) = troubles(cmgr.node)
    assert (told.id, told.text) == (f"network-{LINK}", "link of chips 0-1 is up again")
    assert "believed from 2026-01-01T00:01:25." in told.why
    assert "cable" not in told.hint
    cmgr.wait(60)
    assert not list(troubles(cmgr.node))


def test_what_waits_for_a_link_that_is_up_again_says_until_when() -> None:
    cmgr = Cmgr(container("needs", 0, needs_network=True), catalog=SHIPPED)
    cmgr.cures = False
    cmgr.fault(0, LINK)
    cmgr.fault(0, RESET)
    cmgr.wait(30)
    cmgr.clears(0, RESET)
    cmgr.clears(0, LINK)
    cmgr.wait(5)
    assert "chip 0 had 81078603: over since 2026-01-01T00:00:30." in cmgr.hold("needs").reason


def test_another_fault_that_a_rule_holds_against_a_chip_is_told_as_over_too() -> None:
    rules = Rules(duration={FaultCode(EARLY): DurationRule(seconds(20), seconds(60), Handling.PreSeparateNPU)})
    cmgr = Cmgr(catalog=Catalog(ENTRIES, rules=rules))
    cmgr.fault(0, EARLY)
    cmgr.wait(25)
    (told,) = troubles(cmgr.node)
    assert (told.text, "it is over" in told.why) == (f"{EARLY} keeps new work from chip 0", False)
    cmgr.clears(0, EARLY)
    cmgr.wait(5)
    (told,) = troubles(cmgr.node)
    assert "on chip 0 it is over since 2026-01-01T00:00:25." in told.why
    assert told.hint == "wait: new work goes there by itself again"


def test_a_link_that_flaps_counts_as_down_until_it_has_been_up_for_long_enough() -> None:
    cmgr = Cmgr(catalog=SHIPPED)
    cmgr.fault(0, LINK)
    cmgr.wait(25)
    cmgr.clears(0, LINK)
    cmgr.wait(50)
    assert (kept_free(cmgr), dead_link(cmgr.node, ChipId(0))) == ({0: [LINK]}, LINK)
    cmgr.wait(15)
    assert (kept_free(cmgr), dead_link(cmgr.node, ChipId(0))) == ({}, None)


def test_a_rule_that_would_isolate_keeps_new_work_away_where_the_code_is_the_networks() -> None:
    cmgr = Cmgr(container("a", 0), catalog=SHIPPED)
    for _ in range(5):
        cmgr.fault(0, LINK)
        cmgr.wait(25)
        cmgr.clears(0, LINK)
        cmgr.wait(70)
    assert (kept_free(cmgr), cmgr.node.isolations) == ({0: [LINK]}, {})
    cmgr.wait(2 * 86400)
    assert kept_free(cmgr) == {}


def test_a_fault_that_a_rule_pre_isolates_is_handled_as_its_own_level_has_it() -> None:
    lasting = Rules({}, {FaultCode(RESET): DurationRule(seconds(0), seconds(60), Handling.PreSeparateNPU)})
    cmgr = Cmgr(container("a", 0), catalog=replace(SHIPPED, rules=lasting))
    cmgr.fault(0)
    cmgr.wait(5)
    assert cmgr.fault_of(0).level is Level.RestartNPU
    assert (len(cmgr.sent(ResetRing)), cmgr.booked("a").running, kept_free(cmgr)) == (1, True, {0: [RESET]})


@pytest.mark.parametrize(("by", "manual"), [("escalation", False), ("escalation", True), ("level", False)])
def test_an_isolation_that_cmgr_0_1_0_made_for_a_link_is_lifted(by: str, manual: bool) -> None:
    chip, code = ChipId(0), FaultCode(LINK)
    raised = Raise(RuleKind.DURATION, Handling.SeparateNPU, T0, "has lasted 20 s", manual)
    tally = Tally(chip, code, raised=(raised,) if by == "escalation" else (), last=T0, recovered=T0)
    old = Node(isolations={chip: Isolation(chip, T0, by, "its link", code)}, tallies={tally.key: tally})
    cmgr = Cmgr(catalog=SHIPPED)
    cmgr.node = old
    cmgr.begin()
    cmgr.run()
    assert cmgr.node.isolations == {}
    assert f"chip 0 is released: {LINK} is a fault of the network, and not the chip's" in cmgr.notes()


def test_what_a_person_has_isolated_stays_so_whatever_its_link_does() -> None:
    cmgr = Cmgr(catalog=SHIPPED)
    cmgr.fault(0, LINK)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "smells", "uid 0"))
    cmgr.begin()
    assert [i.by for i in cmgr.node.isolations.values()] == ["operator"]


def test_a_held_container_of_which_nothing_is_known_is_not_kept_for_a_link() -> None:
    cmgr = Cmgr(container("a", 0), catalog=SHIPPED)
    cmgr.fault(0, LINK)
    cmgr.fault(0)
    cmgr.wait(1)
    assert cmgr.node.containers[key("a")].running
