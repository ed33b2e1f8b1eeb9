"""The vendor's tool for network ports: its words read, and whatever it does instead of answering."""

from pathlib import Path

import pytest

from cmgr.drivers.dcmi.optics import EVERY, STALE, Optics
from tests.support.waiting import eventually

SAYS = {
    "-link": "link status: UP",
    "-speed": "Speed: 200000 Mb/s",
    # As the maker's driver of 2026-07 prints it: hccn_tool/tool.c.
    "-link_stat": "[devid 3]current time        : Wed Jun  7 10:08:28 2023\n[devid 3]link up count       : 2",
    "-optical": "optical info:\npresent              : present\ntemperature          : 46 C"
    "\nVcc                  : 3245.10 mV\nTx Power0            : 1.0231 mW\nTx Power1            : NA"
    "\nRx Power0            : 0.7933 mW"
    "\nVcc High Thres       : 3465.00 mV\nRx Los Flag          : 0xff",
}


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def tool(folder: Path, says: dict[str, str], more: str = "") -> str:
    """Return the path of a program that says this, and notes what it was asked."""
    path = folder / "hccn_tool"
    cases = "".join(f"{word}) printf '%s' '{text}';;\n" for word, text in says.items())
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{more}\ncase "$3" in\n{cases}esac\n')
    path.chmod(0o755)
    return str(path)


def asked(folder: Path) -> list[str]:
    file = folder / "asked"
    return file.read_text().splitlines() if file.exists() else []


def told(optics: Optics, chip: int = 3) -> dict[str, float]:
    return dict(eventually(lambda: optics.of(chip), why="the tool was asked"))


def test_link_speed_and_module_are_told(folder: Path) -> None:
    assert told(Optics(tool(folder, SAYS), Watch())) == {
        "roce_up": 1,
        "roce_megabits": 200000,
        "roce_ups": 2,
        "optics_present": 1,
        "optics_celsius": 46,
        "optics_volts": pytest.approx(3.2451),
        "optics_sent_0_milliwatts": 1.0231,
        "optics_received_0_milliwatts": 0.7933,
    }
    assert asked(folder) == [f"-i 3 {question} -g" for question in SAYS]


def test_of_a_module_that_is_not_there_nothing_else_is_told(folder: Path) -> None:
    says = {"-link": "link status: DOWN", "-optical": SAYS["-optical"].replace(": present", ": not present")}
    assert told(Optics(tool(folder, says), Watch())) == {"roce_up": 0, "optics_present": 0}


def test_older_drivers_tell_of_links_in_the_words_of_the_manual(folder: Path) -> None:
    says = {"-link_stat": SAYS["-link_stat"].replace("devid", "device")}
    assert told(Optics(tool(folder, says), Watch())) == {"roce_ups": 2}


# The form: tests of MindCluster's hccn package. That speeds are in Gb/s is a guess: in another table they are "400 G".
PORTS = """+--------+--------+--------+----------+-------------+------------+
| UdieID | PortID | Speed  | PortType | Link Status | Media Type |
+--------+--------+--------+----------+-------------+------------+
| 0      | 4      | 200    | ETH      | DOWN        | Electrical |
| 0      | 5      | NA     | ETH      | NA          | Electrical |
| 1      | 8      | 400 G  | UB       | UP          | Optical    |
+--------+--------+--------+----------+-------------+------------+
"""


def test_of_a_chip_with_many_ports_each_is_told_by_its_die_and_number(folder: Path) -> None:
    optics = Optics(tool(folder, {"-i": PORTS}), Watch())
    found = dict(eventually(lambda: optics.of(5, by_ports=True), why="the tool was asked"))
    assert found == {
        "udie0port4_up": 0,
        "udie0port4_megabits": 200_000,
        "udie1port8_up": 1,
        "udie1port8_megabits": 400_000,
    }
    assert asked(folder) == ["-g -dev_info -i 5"]


@pytest.mark.parametrize(
    "says", ["", "| UdieID |", "| PortID | UdieID |\n| x | 1 |", "|4|0|200|UP|", PORTS.splitlines()[3]]
)
def test_a_table_without_ports_tells_of_none(folder: Path, says: str) -> None:
    optics = Optics(tool(folder, {"-i": says}), Watch())
    optics.of(5, by_ports=True)
    eventually(lambda: len(asked(folder)) == 1, why="it was asked")
    assert optics.of(5, by_ports=True) == {}


def test_it_is_asked_once_in_a_while_and_what_is_old_is_not_told(folder: Path) -> None:
    watch = Watch()
    optics = Optics(tool(folder, SAYS), watch)
    assert told(optics) == told(optics)
    assert len(asked(folder)) == len(SAYS)
    watch.at += EVERY
    optics.of(3)
    eventually(lambda: len(asked(folder)) == 2 * len(SAYS), why="a minute later it is asked again")
    optics.close()
    watch.at += STALE
    assert optics.of(3) == {}


@pytest.mark.parametrize("says", ["", "\0\377:", "link status: :::", "present: \n" * 1000, "Tx Power0 : 1e999 mW"])
def test_nonsense_is_no_value(folder: Path, says: str) -> None:
    program = tool(folder, {})
    Path(program).write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\nprintf "{says}"\n')
    optics = Optics(program, Watch())
    optics.of(0)
    eventually(lambda: len(asked(folder)) == len(SAYS), why="all is asked")
    assert optics.of(0) == {}


def test_a_tool_that_ends_badly_or_is_not_to_be_trusted_tells_nothing(folder: Path) -> None:
    bad = Optics(tool(folder, SAYS, more="exit 1"), Watch())
    bad.of(0)
    eventually(lambda: len(asked(folder)) == len(SAYS), why="all is asked")
    assert bad.of(0) == {}
    Path(tool(folder, SAYS)).chmod(0o777)
    anybodys = Optics(str(folder / "hccn_tool"), Watch())
    assert anybodys.of(0) == {}
    assert Optics("").of(0) == {}
    assert len(asked(folder)) == len(SAYS), "it was not run"
