"""Whose ranks they are, and why there is no table."""

from dataclasses import replace

from cmgr.model.values.messages.commands import StopContainer
from cmgr.view.groups import ranks
from tests.model.builders import Cmgr, container, key
from tests.model.moving.test_moves import STOPPING, isolate, on_slot, order


def test_members_go_by_their_order_and_then_by_name_in_which_numbers_count() -> None:
    members = [container(f"r{n}", chip, group="tp") for n, chip in ((10, 0), (2, 1), (1, 2))]
    cmgr = Cmgr(*members, container("first", 5, 4, group="tp", order=-1), container("other", 6))
    assert ranks(cmgr.node, "tp") == [4, 5, 2, 1, 0]


def test_what_is_held_counts_with_the_chips_that_it_is_to_be_started_on() -> None:
    cmgr = Cmgr(on_slot("chat", group="tp"), policy=STOPPING)
    order(cmgr, "chat", 3)
    cmgr.run()
    isolate(cmgr, 3)
    while cmgr.sent(StopContainer) == [] or cmgr.hold("chat").chips == {3}:
        cmgr.answer(type(cmgr.pending[0]))
    assert ranks(cmgr.node, "tp") == [0]
    assert replace(cmgr.truth[key("chat")]).running is False
