"""Whatever files and programs of a broken machine say: a source answers, is off, or says why it cannot."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.config.sources import SOURCES, Machine
from cmgr.drivers.kernel_log import Record
from cmgr.drivers.machine.file_systems import FileSystems
from cmgr.drivers.machine.ibmc import Ibmc
from cmgr.drivers.machine.ipmi import Ipmi, entries, sensed
from cmgr.drivers.machine.kernel import Kernel, said
from cmgr.drivers.machine.smart import Smart
from cmgr.drivers.machine.source import Off, Source
from cmgr.drivers.machine.sysfs import Disks, Memory, Raid, Sensors
from cmgr.drivers.machine.watch import sources
from cmgr.errors import DriverError
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages.facts import MachineTold
from cmgr.view.machine import machine_faults
from tests.drivers.machine.test_ibmc import CABLE, PSU, answer
from tests.drivers.machine.test_ipmi import LOG, SENSORS
from tests.drivers.machine.test_kernel import OOM
from tests.fakes.machine.tree import Tree
from tests.model.builders import Cmgr

SEEDS = 40
WORDS = [
    "",
    "-1",
    "9" * 4000,
    "0x1",
    "nan",
    "٣",
    "\x00",
    "a\nb",
    "\x1b[2J",
    "1 2",
    "ro",
    "é" * 300,
    "\ud800".encode("utf-8", "surrogatepass").decode("latin1"),
    "  7  ",
    "1e9",
    "|",
    ",",
    " - ",
    "dead",
    "faulty",
]


def mangled(text: str, dice: random.Random) -> str:
    """Return the text with some of it changed, doubled, or taken away."""
    parts = list(text)
    for _ in range(dice.randrange(1, 12)):
        at = dice.randrange(len(parts) + 1)
        parts[at : at + dice.randrange(4)] = dice.choice([*WORDS, dice.choice(text or "x")])
    return "".join(parts)


def booked(name: str, found: object) -> None:
    """Let cmgr take in what a source found: it is told as it is, or not at all."""
    assert isinstance(found, list | tuple)
    assert all(isinstance(each, Symptom) for each in found)
    cmgr = Cmgr()
    cmgr.tell(MachineTold(name, tuple(found)))
    assert len(machine_faults(cmgr.node)) <= len(found)


OF_FILES: list[Callable[[Path], Source]] = [Memory, Disks, Raid, Sensors, FileSystems]
OF_LINES = [Kernel]
OF_PROGRAMS = [Ibmc, Ipmi, Smart]


def test_every_source_is_tried() -> None:
    made = sources(Machine(), SOURCES)
    assert {source.name for source in made} == {*SOURCES}
    assert {type(source) for source in made} == {*OF_FILES, *OF_LINES, *OF_PROGRAMS}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", OF_FILES)
def test_files(kind: Callable[[Path], Source], seed: int, tree: Tree) -> None:
    dice = random.Random(f"{kind} {seed}")  # noqa: S311
    files = [path for path in tree.root.rglob("*") if path.is_file()]
    for path in dice.sample(files, dice.randrange(1, len(files))):
        text = dice.choice(WORDS) if dice.random() < 0.5 else mangled(path.read_text(), dice)
        if dice.random() < 0.1:
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(text.encode("utf-8", "surrogatepass") + dice.randbytes(dice.randrange(3)))
    source = kind(tree.root)
    for _ in range(2):
        try:
            booked(source.name, source.look())
        except (Off, OSError, DriverError):
            continue


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lines(seed: int, tree: Tree) -> None:
    dice = random.Random(seed)  # noqa: S311
    log = Kernel(tree.root)
    for number in range(20):
        line = mangled(
            dice.choice([OOM, "INFO: task a:1 blocked for more than 120 seconds.", "I/O error, dev sda,"]), dice
        )
        said(Record(line))
        tree.log(line.replace("\n", " "), number=number, seconds=dice.choice([0, 1, 1e9]))
    booked("kernel", log.look())
    booked("ipmi", sensed(mangled(SENSORS, dice)))
    booked("ipmi", [symptom for symptom, _ in entries(mangled(LOG, dice))])


@pytest.mark.parametrize("seed", range(6))
def test_programs(seed: int, tree: Tree) -> None:
    dice = random.Random(seed)  # noqa: S311
    tree.put("dev/ipmi0", "")
    for name, words, text in (
        ("ipmitool", "sdr elist", SENSORS),
        ("ipmitool", "sel list", LOG),
        ("ipmitool", "sel time get", "11/24/26 06:00:00 UTC"),
        ("ipmitool", "raw 0x30", answer(2, PSU, CABLE)),
        ("smartctl", "nvme0", '{"smartctl": {"exit_status": 0}, "smart_status": {"passed": false}}'),
        ("smartctl", "sda", '{"smartctl": {"exit_status": 2, "messages": [{"string": "no"}]}}'),
    ):
        program = tree.program(name)
        program.answers(words, mangled(text, dice).replace("\x00", " "))
        program.ends(dice.choice([0, 0, 1, 4, 255]))
    ipmitool = f"{tree.programs}/ipmitool"
    for source in (
        Ipmi(tree.root, ipmitool, 20),
        Ibmc(tree.root, ipmitool, 20),
        Smart(tree.root, f"{tree.programs}/smartctl", 20),
    ):
        try:
            booked(source.name, source.look())
        except (Off, DriverError):
            continue
