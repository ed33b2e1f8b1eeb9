"""The words of hooks: the chips, called in all the ways in which a script may need them."""

from dataclasses import replace

from cmgr.model.values.chips import ChipId
from cmgr.service.extras import hook_words
from tests.support.picture import machine


def test_the_makers_tool_finds_each_chip_in_the_order_of_the_ids() -> None:
    node = machine()
    names = {1: "NPU 0 chip 1", 2: "NPU 1 chip 0", 3: "NPU 7"}
    chips = {chip: replace(known, tool_name=names.get(chip, "")) for chip, known in node.chips.items()}
    told = hook_words.of_chips(replace(node, chips=chips), [ChipId(n) for n in (3, 1, 0, 2, 1)])
    assert told == {"CHIPS": "0 1 2 3", "CALLED": "0 0/1 1/0 7"}


def test_a_chip_that_is_gone_is_called_by_its_id() -> None:
    assert hook_words.of_chips(machine(), [ChipId(99)]) == {"CHIPS": "99", "CALLED": "99"}
