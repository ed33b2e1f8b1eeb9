"""The playbook of docs/examples: Ansible itself installs and configures cmgr with it, on more than one machine."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packages import dists
from tests.packages.conftest import Boot, cannot
from tests.packages.machines.machine import Done, Machine, Place
from tests.packages.machines.sim import CONFIGURATION, PRETENDED
from tests.packages.repositories.conftest import URL
from tests.support.daemons.daemon import CannotRun

pytestmark = pytest.mark.alone

PLAYBOOK = dists.ROOT / "docs/examples/playbook.yml"

LINE = """#!/bin/sh
while [ $# -gt 1 ]; do shift; done
exec {door} sh -c "$1"
"""
"""Stands in for ssh(1): the last word is the command. There is no network between us and the machines."""


@pytest.fixture(scope="session")
def managed(place: Place, debian: Path) -> Path:
    """A layer on Debian with what Ansible asks of a machine: its Python, and there apt."""
    if shutil.which("ansible-playbook") is None:
        cannot("Ansible", CannotRun("there is no ansible-playbook"))
    try:
        return place.once("managed", lambda: _managed(place, debian))
    except CannotRun as exc:
        cannot("machine for Ansible", exc)


def _managed(place: Place, debian: Path) -> Path:
    upper, root = place.stacked(debian)
    place.install(root, "python3-apt")
    (root / "etc/apt/sources.list").write_text("")
    return upper


@dataclass(frozen=True, slots=True)
class Hand:
    """Whoever has Ansible, and these machines in an inventory."""

    home: Path
    machines: Sequence[Machine]

    def play(self, configuration: str, **more: str) -> Done:
        rows = [f"{number} ansible_ssh_executable={self._line(number)}" for number in range(len(self.machines))]
        inventory = self.home / "inventory.ini"
        inventory.write_text("\n".join(rows))
        given = json.dumps({"url": URL, "configuration": configuration, "ansible_user": "root", **more})
        done = subprocess.run(
            ["ansible-playbook", f"--inventory={inventory}", f"--extra-vars={given}", str(PLAYBOOK)],
            # Ansible starts in no locale but one of UTF-8.
            env={
                **os.environ, "HOME": str(self.home), "LC_ALL": "C.UTF-8",
                "ANSIBLE_SSH_TRANSFER_METHOD": "piped", "ANSIBLE_NOCOLOR": "1",
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def _line(self, number: int) -> Path:
        file = self.home / f"line-{number}"
        file.write_text(LINE.format(door=shlex.join(self.machines[number].door())))
        file.chmod(0o755)
        return file


@pytest.fixture
def hand(boot: Boot, managed: Path, repository: Path, tmp_path: Path) -> Hand:
    return Hand(tmp_path, [boot(managed, binds={"/repo": str(repository)}) for _ in range(2)])


def counts(told: Done, what: str) -> list[int]:
    """Return a figure of each machine, of the list that Ansible ends with."""
    return [int(count) for count in re.findall(rf"\b{what}=(\d+)", told.out.partition("PLAY RECAP")[2])]


def test_it_installs_and_configures_appliances_and_changes_nothing_the_second_time(hand: Hand) -> None:
    configuration = CONFIGURATION.format(runtime="sim", reset="100ms") + PRETENDED
    told = hand.play(configuration)
    assert told.code == 0, told
    for machine in hand.machines:
        assert machine.do("cat", "/etc/cmgr/cmgr.toml") == configuration
        assert machine.do("stat", "-c", "%a %U %G", "/etc/cmgr/cmgr.toml") == "640 root cmgr\n"
        assert machine.do("systemctl", "is-enabled", "cmgr") == "enabled\n"
        assert machine.status()["service"]["strategy"] == "ringRecover"
    told = hand.play(configuration)
    assert (told.code, counts(told, "changed")) == (0, [0, 0]), told
    told = hand.play(configuration.replace("ringRecover", "singleRecover"))
    # The configuration, and the restart.
    assert (told.code, counts(told, "changed")) == (0, [2, 2]), told
    assert {machine.status()["service"]["strategy"] for machine in hand.machines} == {"singleRecover"}


def test_a_mistake_changes_nothing_and_reaches_no_second_appliance(hand: Hand) -> None:
    told = hand.play('strategy = "sometimes"\n')
    assert told.code != 0
    assert "must be" in told.out
    first, second = hand.machines
    assert "sometimes" not in first.do("cat", "/etc/cmgr/cmgr.toml")
    assert second.run("test", "-e", "/usr/bin/cmgr").code == 1
