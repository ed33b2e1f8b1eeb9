"""Spares that have just become free: nothing waits for a look that comes anyhow, or for who was moved off them."""

from dataclasses import replace

from cmgr.model.containers.moving.moves import NO_SPARE
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers
from cmgr.model.values.services.containers import Exit
from tests.model.builders import Cmgr, key
from tests.model.moving.test_moves import isolate, of, with_slot


def with_strangers() -> Cmgr:
    """Return a machine on whose chips, all of them, a process was seen by the last look."""
    cmgr = with_slot(3)
    cmgr.processes.update({ChipId(n): "somebody" for n in range(8)})
    cmgr.tell(facts.Resync())
    cmgr.run()
    return cmgr


def test_a_chip_that_a_container_was_moved_off_is_the_next_ones_spare_as_soon_as_it_is_released() -> None:
    cmgr = with_slot(3)
    for chip, to in ((3, 0), (0, 1), (1, 0)):
        isolate(cmgr, chip)
        cmgr.answer(ListContainers)
        # Its end is told before the stop is answered, as one that was asked for.
        ended = replace(cmgr.truth[key("chat")], running=False, exit=Exit(143, cmgr.now, asked=True))
        cmgr.tell(facts.ContainerSeen(ended))
        cmgr.run()
        assert of(cmgr) == {to}
        cmgr.tell(facts.ReleaseOrdered(ChipId(chip), "a"))
        cmgr.run()


def test_a_chip_whose_user_has_gone_since_the_last_look_is_a_spare() -> None:
    cmgr = with_strangers()
    del cmgr.processes[ChipId(6)]
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running, cmgr.node.slots["chat"].short) == ({6}, True, "")


def test_a_chip_that_was_in_use_when_it_was_isolated_is_a_spare_as_soon_as_it_is_released() -> None:
    cmgr = with_strangers()
    isolate(cmgr, 3)
    isolate(cmgr, 6)
    cmgr.run()
    assert (of(cmgr), cmgr.node.slots["chat"].short) == ({3}, NO_SPARE)
    del cmgr.processes[ChipId(6)]
    cmgr.tell(facts.ReleaseOrdered(ChipId(6), "a"))
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running) == ({6}, True)
