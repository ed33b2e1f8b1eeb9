"""Looking whether chips have booted, as soon as something says that they may have."""

from cmgr.model.faults.books import NOT_AGAIN_WITHIN
from cmgr.model.values.commands import ReadRing
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
    assert [c.reason for c in cmgr.sent(ReadRing)[before:]] == ["a fault of chip 0 cleared: have chips 0-3 booted?"]
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
