"""A hold changes in random walks as the page in `tests/golden/model` says: `World` holds each change against it.

This holds the page, and how it is compared, to be what they should be.
"""

from dataclasses import replace

from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import CommandId, StopContainer
from tests.model.builders import RESET, Cmgr, container, key
from tests.model.walks.hold_changes import GOLDEN, LOOK, NONE, changes, state_of, table_of, text_of


def _stopping() -> Cmgr:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0, RESET)
    return cmgr


def test_the_page_is_written_as_it_is_read() -> None:
    text = GOLDEN.read_text()
    assert text_of(table_of(text)) == text


def test_in_the_page_every_state_can_be_left_and_come_to() -> None:
    table = table_of(GOLDEN.read_text())
    assert {was for was, _, _ in table} == {now for _, now, _ in table}
    assert NONE in {was for was, _, _ in table}


def test_a_change_is_told_with_the_news_that_it_comes_with() -> None:
    cmgr = _stopping()
    before, stop = cmgr.node, next(c for c in cmgr.pending if isinstance(c, StopContainer) and c.name == "a")
    cmgr.tell(answer := facts.ContainerStopped(stop.id, stop.key, "life 1"))
    assert [*changes(before, cmgr.node, answer)] == [("stopping", "down", "its stop is answered")]
    other = facts.ContainerStopped(CommandId("stop-99"), key("b"))
    assert [*changes(before, cmgr.node, other)] == [("stopping", "down", LOOK)]


def test_what_walks_have_never_met_is_not_in_the_page() -> None:
    cmgr = _stopping()
    before, hold = cmgr.node, cmgr.node.holds[key("a")]
    assert state_of(hold) == "stopping"
    gone = replace(cmgr.node, holds={k: h for k, h in cmgr.node.holds.items() if k != hold.key})
    lost = ("stopping", NONE, LOOK)
    assert [*changes(before, gone, facts.Tick())] == [lost]
    assert lost not in table_of(GOLDEN.read_text())
