"""When the CDI files are written, and what happens when that fails."""

from dataclasses import replace
from typing import get_args

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, NoteKind, StartContainer, WriteCdi
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.cdi import Device
from cmgr.service.loop import unwritten
from tests.model.builders import CATALOG, RING, Cmgr
from tests.model.moving.test_moves import with_slot

KEPT = replace(RING, cdi_chips=True)


def chips_in(cmgr: Cmgr) -> dict[str, str]:
    """Return the devices of the chips' file that a runtime reads now, and why one is refused."""
    (spec,) = cmgr.files
    return {device.name: device.refusal for device in spec.devices}


def test_no_file_is_written_unless_that_is_wished() -> None:
    cmgr = Cmgr()
    assert not cmgr.sent(WriteCdi)
    assert cmgr.files == ()


def test_each_chip_and_all_that_are_in_use_are_devices() -> None:
    cmgr = Cmgr(policy=KEPT, chips=2)
    assert chips_in(cmgr) == {"0": "", "1": "", "all": ""}
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "it smells", "a"))
    cmgr.run()
    assert chips_in(cmgr) == {"0": "", "1": "chip 1 is isolated: it smells", "all": ""}
    every = cmgr.files[0].devices[-1]
    assert every == Device("all", (cmgr.node.chips[ChipId(0)],))
    cmgr.tell(facts.ReleaseOrdered(ChipId(1), "a"))
    cmgr.run()
    assert chips_in(cmgr)["1"] == ""


def test_a_device_has_the_number_by_which_containers_ask_for_its_chip() -> None:
    cmgr = Cmgr(policy=KEPT, chips=2)
    known = [replace(chip, number=7 - chip.id) for chip in cmgr.node.chips.values()]
    cmgr.tell(facts.ChipsListed(tuple(known)))
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "it smells", "a"))
    cmgr.run()
    assert chips_in(cmgr) == {"6": "chip 1 is isolated: it smells", "7": "", "all": ""}


def test_there_is_no_device_for_all_where_no_chip_is_left() -> None:
    cmgr = Cmgr(policy=KEPT, chips=1)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "it smells", "a"))
    cmgr.run()
    assert list(chips_in(cmgr)) == ["0"]


def test_the_files_are_looked_at_with_every_resync_and_what_was_mended_is_told() -> None:
    cmgr = Cmgr(policy=KEPT)
    cmgr.tell(facts.Resync())
    cmgr.answer(WriteCdi, mended=("cmgr-chips.json was gone: it is written again",))
    assert cmgr.notes(NoteKind.WARNING) == ["cmgr-chips.json was gone: it is written again"]
    cmgr.run()
    assert len(cmgr.sent(WriteCdi)) == 1


def test_a_change_that_comes_while_files_are_written_is_written_after_them() -> None:
    cmgr = Cmgr(policy=KEPT)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "one", "a"))
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "two", "a"))
    assert len(cmgr.sent(WriteCdi)) == 1, "two orders at a time could be carried out in the wrong order"
    cmgr.run()
    assert len(cmgr.sent(WriteCdi)) == 2
    assert [name for name, refusal in chips_in(cmgr).items() if refusal] == ["0", "1"]


def test_what_cannot_be_written_is_tried_again_ever_more_seldom_and_told_once() -> None:
    cmgr = Cmgr(policy=KEPT)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "one", "a"))
    cmgr.answer(WriteCdi, error="no space left")
    assert cmgr.node.cdi.error == "no space left"
    cmgr.wait(0.9, run=False)
    assert len(cmgr.sent(WriteCdi)) == 1
    cmgr.wait(0.2, run=False)
    cmgr.answer(WriteCdi, error="no space left")
    cmgr.wait(1.9, run=False)
    assert len(cmgr.sent(WriteCdi)) == 2
    cmgr.wait(0.2)
    assert len(cmgr.sent(WriteCdi)) == 3
    assert (cmgr.node.cdi.error, chips_in(cmgr)["0"]) == ("", "chip 0 is isolated: one")
    assert cmgr.notes(NoteKind.WARNING) == ["cannot write the CDI files: no space left"]


def test_a_new_life_writes_them_anew_and_one_that_no_longer_wishes_them_takes_them_away() -> None:
    cmgr = Cmgr(policy=KEPT)
    cmgr.begin()
    cmgr.run()
    assert len(cmgr.sent(WriteCdi)) == 1
    cmgr.tell(facts.Reconfigured(RING, CATALOG))
    cmgr.run()
    assert cmgr.files == ()


def test_who_only_observes_writes_nothing() -> None:
    cmgr = Cmgr(policy=replace(KEPT, observe=True))
    assert not cmgr.files


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    cmgr = Cmgr(policy=KEPT)
    before = cmgr.node
    cmgr.tell(facts.CdiWritten(cmgr.node.cdi.asked[0] if cmgr.node.cdi.asked else WriteCdi.__name__, "late"))  # type: ignore[arg-type]
    assert cmgr.node == before


def test_what_could_not_be_noted_is_not_written() -> None:
    cmgr = Cmgr(policy=KEPT)
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "one", "a"))
    (command,) = cmgr.sent(WriteCdi)
    assert str(unwritten(command, "the disk is full")) == "what is not noted is not written: the disk is full"


def test_nothing_is_started_on_a_slot_while_its_file_is_looked_at_again() -> None:
    cmgr = with_slot(3)
    cmgr.fault(3)
    cmgr.run_until(Phase.RESETTING)
    cmgr.tell(facts.Resync())
    (look,) = [c for c in cmgr.pending if isinstance(c, WriteCdi)]
    cmgr.run(*(kind for kind in get_args(Action) if kind is not WriteCdi))
    assert (cmgr.sent(StartContainer), cmgr.hold("chat").reason) == ([], "the file of slot chat is not written yet")
    cmgr.tell(facts.CdiWritten(look.id))
    assert [start.name for start in cmgr.sent(StartContainer)] == ["chat"]
