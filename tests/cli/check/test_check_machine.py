"""`cmgr check` says which sources of the machine's faults are on, and why the others are off."""

import os
from pathlib import Path

from cmgr.cli.check import machine
from cmgr.config.settings import Config, Systemd
from cmgr.config.sources import Machine
from cmgr.model.values.handling.policy import RebootWhen
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


def test_a_reboot_needs_a_program_and_a_unit_that_is_started_after_it(tmp_path: Path) -> None:
    config = Config(machine=Machine(reboot=RebootWhen.NOW), systemd=Systemd(bus="/nowhere"))
    assert [*machine.reboot(Config(), 1)] == []
    (without,) = machine.reboot(config, os.getpid(), str(tmp_path))
    (tmp_path / "shutdown").touch(0o755)
    (by_hand,) = machine.reboot(config, os.getpid(), str(tmp_path))
    assert (without.state, without.text) == ("warning", "there is no shutdown")
    assert (by_hand.state, by_hand.hint) == ("warning", "systemctl --no-reload enable cmgr")
    assert by_hand.text.startswith("nobody would start cmgr after the boot: ")
