"""Looking whether chips have booted, as soon as something says that they may have."""

from dataclasses import replace

from cmgr.model.faults.occurrences import NOT_AGAIN_WITHIN
from cmgr.model.recovery.resetting import unready
from cmgr.model.turn import Turn
from cmgr.model.values.chips import RingId
from cmgr.model.values.messages.commands import Note, ReadRing
from cmgr.model.values.rings import Phase
from tests.model.builders import Cmgr, container


def booting() -> Cmgr:
    """Return a ring that was reset some time ago; chip 0 has not booted yet."""
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.unbooted = {0}
    cmgr.run_until(Phase.VERIFYING)
    cmgr.wait(20)
    assert cmgr.phase() is Phase.VERIFYING
    return cmgr


def test_a_fault_that_clears_after_the_reset_has_the_chips_read_at_once() -> None:
    cmgr = booting()
    cmgr.unbooted = set()
    before = len(cmgr.sent(ReadRing))
    cmgr.clears(0)  # No time goes by until the next look.
    assert [c.reason for c in cmgr.sent(ReadRing)[before:]] == ["a fault of chip 0 cleared: did chips 0-3 boot?"]
    cmgr.run(ReadRing)
    assert cmgr.phase() is Phase.RESUMING


def test_what_flaps_does_not_have_the_chips_read_without_a_pause() -> None:
    cmgr = booting()
    before, began = len(cmgr.sent(ReadRing)), cmgr.now
    for _ in range(200):
        cmgr.clears(0)
        cmgr.run(ReadRing)
        cmgr.fault(0)
    passed = cmgr.now - began
    assert passed < 200 * NOT_AGAIN_WITHIN
    assert len(cmgr.sent(ReadRing)) - before <= passed / NOT_AGAIN_WITHIN + 1


def test_a_chip_that_clears_its_fault_before_it_has_booted_is_looked_at_again_as_ever() -> None:
    cmgr = booting()
    cmgr.clears(0)
    cmgr.run(ReadRing)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.VERIFYING, "chip 0 not booted yet")
    cmgr.unbooted = set()
    cmgr.wait(2)
    assert cmgr.phase() is Phase.HEALTHY


def test_a_ring_of_one_chip_is_spoken_of_as_one() -> None:
    cmgr = Cmgr(container("a", 0), ring=1)
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    ring = cmgr.node.rings[RingId(0)]
    turn = Turn(cmgr.node, cmgr.now)
    assert unready(turn, replace(ring, read=None), ring.chips) == "the state of chip 0 is asked for"


def test_nothing_that_is_said_of_a_ring_of_one_chip_speaks_of_several() -> None:
    cmgr = Cmgr(container("a", 0), ring=1)
    cmgr.fault(0)
    cmgr.run()
    said = [c.text if isinstance(c, Note) else c.reason for c in cmgr.log]
    assert "did chip 0 boot?" in said
    assert not [text for text in said if "chips" in text]
