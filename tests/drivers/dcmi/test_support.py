"""The programs that Ascend's support asks for, of which chips, and by which of their numbers."""

from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.vendor import support


def asked(*chips: Chip) -> set[str]:
    wanted = support("dcmi", chips)
    return {" ".join(tool.words) for tool in (*wanted.tools, *wanted.lost)}


def test_each_program_has_the_number_that_it_knows_the_chip_by() -> None:
    # The second die of the second card of an A3, and a machine that lacks one chip.
    told = asked(Chip(ChipId(3), RingId(0), logical=2, card=1, device=1, model="910_93"))
    tools = "/usr/local/Ascend/driver/tools"
    assert {
        "npu-smi info", "npu-smi info -m", "npu-smi info -l", "npu-smi info -t topo", "dmesg",
        "npu-smi info -t health -i 1", "npu-smi info -t board -i 1", "npu-smi info -t ecc -i 1",
        "npu-smi info -t pcie-err -i 1", "npu-smi info -t phyid-remap -p 3",
        f"{tools}/hccn_tool -i 3 -link_stat -g", f"{tools}/msnpureport report -d 2",
    } == told  # fmt: skip


def test_a_card_of_two_chips_is_asked_once() -> None:
    told = asked(*(Chip(ChipId(n), RingId(0), n, card=0, device=n, model="910_93") for n in (0, 1)))
    assert len([words for words in told if words.startswith("npu-smi info -t health")]) == 1
    assert len([words for words in told if "msnpureport" in words]) == 2


def test_no_two_programs_have_one_name_and_none_is_a_path() -> None:
    chips = [Chip(ChipId(n), RingId(0), n, card=n // 2, device=n % 2, model="910_93") for n in range(16)]
    wanted = support("dcmi", chips)
    names = [tool.name for tool in (*wanted.tools, *wanted.lost)]
    assert len(names) == len(set(names))
    assert not [name for name in names if "/" in name]


def test_a_950_is_asked_for_its_links_in_words_of_its_own() -> None:
    told = asked(Chip(ChipId(5), RingId(5), 2, model="Ascend950PR"))
    assert [words.partition("hccn_tool ")[2] for words in told if "hccn_tool" in words] == ["-g -dev_info -i 2"]


def test_other_makes_ask_for_nothing_yet() -> None:
    for driver in ("nvml", "sim"):
        wanted = support(driver, (Chip(ChipId(0), RingId(0), 0),))
        assert (wanted.files, wanted.tools, wanted.lost) == ((), (), ())
