"""`cmgr check` says which sources of the machine's faults are on, and why the others are off."""

from pathlib import Path

from tests.cli.check.test_check import found
from tests.cli.conftest import Home
from tests.fakes.machine.tree import Tree


def sources(home: Home) -> dict[str, tuple[str, str]]:
    told = found(home)
    return {what.removeprefix("machine "): (f["state"], f["text"]) for what, f in told.items() if "machine " in what}


def test_each_source_is_on_off_or_deaf(home: Home, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root")
    tree.take("sys/class/hwmon")
    tree.put("dev/ipmi0", "")
    program = tree.program("ipmitool")
    program.hangs()
    named = ["memory", "disks", "smart", "raid", "file-systems", "sensors", "ipmi"]
    home.configure(
        f"machine.sources = {named}", 'machine.timeout = "1s"', f'machine.root = "{tree.root}"',
        f'machine.ipmitool = "{program.path}"', 'machine.smartctl = "/nowhere/smartctl"',
    )  # fmt: skip
    assert sources(home) == {
        "memory": ("ok", "on"),
        "disks": ("ok", "on"),
        "smart": ("warning", "off: /nowhere/smartctl is not there"),
        "raid": ("ok", "on"),
        "file-systems": ("ok", "on"),
        "sensors": ("warning", "off: the kernel has no sensor (hwmon)"),
        "ipmi": ("warning", "ipmitool elist has not ended within 1 s"),
    }
    assert home.here("check").code == 0


def test_simulated_chips_have_no_machine(home: Home) -> None:
    home.configure('strategy = "ringRecover"')
    assert sources(home) == {}
