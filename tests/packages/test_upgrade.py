"""Upgrading, going back, removing, purging."""

from pathlib import Path

import pytest

from tests.config import regenerate
from tests.config.template import template
from tests.packages import dists
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine, Place
from tests.packages.machines.sim import CONFIGURATION, episode, inject, phase, recovered, simulate
from tests.support.waiting import eventually

RAISE_LEVEL = (
    "import sqlite3; d = sqlite3.connect('/var/lib/cmgr/cmgr.db');"
    " d.execute('UPDATE meta SET level = level + 1, version = \\'9.0.0\\''); d.commit()"
)

TOUCHED_BY_OTHERS = (
    "/var/lib/dpkg",
    "/var/log/journal",
    "/var/log/dpkg.log",
    "/var/cache",
    "/var/lib/systemd",
    "/etc/.pwd.lock",
)
"""Files that dpkg, systemd and the making of the group write for themselves."""


def version(machine: Machine) -> str:
    return machine.do("cmgr", "version").strip()


CHANGED = "[Service]\nEnvironment=IS_LATER=yes\n"


def test_an_upgrade_in_mid_episode_goes_on_with_it(machine: Machine, tmp_path: Path) -> None:
    simulate(machine, reset="4s")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    before = machine.reloads()
    machine.do("dpkg", "--install", machine.bring(dists.later(dists.deb(), tmp_path, "8.0.0")))
    assert (machine.reloads(), machine.show("NeedDaemonReload")) == (before, "no"), "its units are the same"
    assert version(machine) == "cmgr 8.0.0"
    assert machine.status()["service"]["version"] == "8.0.0"
    recovered(machine)
    assert episode(machine, 2) is None


def test_an_upgrade_keeps_a_changed_configuration_and_asks_nothing(machine: Machine, tmp_path: Path) -> None:
    simulate(machine)
    mine = machine.do("cat", "/etc/cmgr/cmgr.toml")
    machine.put("/etc/cmgr/faults.d/ours.toml", "# ours\n")
    newer = machine.bring(dists.later(dists.deb(), tmp_path, "8.0.0", configuration="# new\n"))
    machine.do("dpkg", "--force-confold", "--install", newer)
    assert machine.do("cat", "/etc/cmgr/cmgr.toml") == mine
    assert machine.do("stat", "-c", "%a %U %G", "/etc/cmgr/cmgr.toml") == "640 root cmgr\n"
    assert machine.do("cat", "/etc/cmgr/faults.d/ours.toml") == "# ours\n"
    assert machine.active()


def test_an_unchanged_configuration_takes_over_the_new_one(machine: Machine, tmp_path: Path) -> None:
    machine.do("dpkg", "--install", machine.bring(dists.later(dists.deb(), tmp_path, "8.0.0", configuration="# new\n")))
    assert machine.do("tail", "-n", "1", "/etc/cmgr/cmgr.toml") == "# new\n"
    assert machine.do("stat", "-c", "%a %U %G", "/etc/cmgr/cmgr.toml") == "640 root cmgr\n"


@pytest.fixture
def former(boot: Boot, tmp_path: Path) -> Machine:
    """A machine with a cmgr whose file had every setting, commented out."""
    machine = boot()
    machine.do(
        "dpkg", "--install", machine.bring(dists.later(dists.deb(), tmp_path, "0.0.9", configuration=template()))
    )
    assert machine.do("cat", "/etc/cmgr/cmgr.toml") == template()
    return machine


def test_the_long_file_becomes_a_dozen_lines_where_nobody_has_changed_it(former: Machine) -> None:
    former.do("dpkg", "--install", f"/packages/{dists.deb().name}")
    assert former.do("cat", "/etc/cmgr/cmgr.toml") == regenerate.PACKAGED.read_text()
    assert former.do("stat", "-c", "%a %U %G", "/etc/cmgr/cmgr.toml") == "640 root cmgr\n"
    assert former.do("cat", "/usr/share/doc/cmgr/cmgr.toml") == regenerate.TEMPLATE.read_text()


def test_the_long_file_stays_where_somebody_has_changed_it_until_setup(former: Machine) -> None:
    former.do("sed", "-i", 's/^#sweep = "5s"/sweep = "7s"/', "/etc/cmgr/cmgr.toml")
    mine = former.do("cat", "/etc/cmgr/cmgr.toml")
    former.do("dpkg", "--force-confold", "--install", f"/packages/{dists.deb().name}")
    assert former.do("cat", "/etc/cmgr/cmgr.toml") == mine
    done = former.run("cmgr", "setup", "--yes", "--strategy", "ringRecover")
    # There is no runtime: that is told, and the file is written.
    assert (done.code, "it waits for a container runtime: there is no socket at" in done.out) == (0, True), done
    short = former.do("cat", "/etc/cmgr/cmgr.toml")
    assert 'strategy = "ringRecover"' in short
    assert '\nsweep = "7s"\n' in short
    assert len(short) < len(mine) / 10
    (kept,) = former.do("sh", "-c", "ls /etc/cmgr/cmgr.toml.2*").split()
    assert former.do("cat", kept) == mine
    assert former.do("stat", "-c", "%a %U %G", "/etc/cmgr/cmgr.toml", kept) == "640 root cmgr\n" * 2


def test_a_downgrade_below_the_state_is_refused_in_words(machine: Machine, tmp_path: Path) -> None:
    simulate(machine)
    machine.do("dpkg", "--install", machine.bring(dists.later(dists.deb(), tmp_path, "8.0.0")))
    machine.do("systemctl", "stop", "cmgr")
    # The later version changes the tables.
    machine.do("/usr/lib/cmgr/python/bin/python3.11", "-ISBc", RAISE_LEVEL)
    done = machine.run("dpkg", "--install", f"/packages/{dists.deb().name}")
    assert done.code == 0, done
    machine.run("systemctl", "start", "cmgr")
    eventually(lambda: "9.0.0" in machine.said() and "newer" in machine.said())
    assert not machine.active()
    told = machine.run("cmgr", "history")
    assert told.code == 1
    assert "newer" in told.err


def test_a_downgrade_that_the_state_allows_goes_on(machine: Machine, tmp_path: Path) -> None:
    simulate(machine)
    inject(machine)
    recovered(machine)
    before = machine.reloads()
    machine.do("dpkg", "--install", machine.bring(dists.later(dists.deb(), tmp_path, "8.0.0", unit=CHANGED)))
    assert (machine.reloads(), machine.show("Environment").endswith("IS_LATER=yes")) == (before + 1, True)
    machine.do("dpkg", "--install", f"/packages/{dists.deb().name}")
    assert (machine.reloads(), "IS_LATER" in machine.show("Environment")) == (before + 2, False)
    assert machine.active()
    assert (episode(machine, 1) or {})["outcome"] == "recovered"


def test_removing_keeps_state_and_configuration_and_installing_again_goes_on(machine: Machine) -> None:
    simulate(machine, reset="4s")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    machine.do("dpkg", "--remove", "cmgr")
    assert "cmgr" not in machine.processes()
    assert machine.run("cmgr").code != 0
    assert CONFIGURATION.splitlines()[1] in machine.do("cat", "/etc/cmgr/cmgr.toml")
    machine.do("dpkg", "--install", f"/packages/{dists.deb().name}")
    assert machine.active()
    recovered(machine)


def test_removing_gives_back_what_is_held_and_lists_what_it_cannot(machine: Machine) -> None:
    simulate(machine, reset="4s")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    machine.do("systemctl", "kill", "--signal=KILL", "cmgr")
    told = machine.do("dpkg", "--purge", "cmgr")
    assert "llm-0" in told
    assert "llm-1" in told
    for name in ("llm-0", "llm-1"):
        (line,) = [line for line in told.splitlines() if line.startswith(name)]
        assert "runs" in line or "start it yourself" in line


def files(machine: Machine) -> set[str]:
    found = machine.do("find", "/", "-xdev").splitlines()
    return {path for path in found if not path.startswith(TOUCHED_BY_OTHERS)}


def test_purging_leaves_nothing(boot: Boot) -> None:
    machine = boot()
    before, reloads = files(machine), machine.reloads()
    machine.do("dpkg", "--install", f"/packages/{dists.deb().name}")
    simulate(machine)
    machine.put("/etc/cmgr/hooks.d/ours", "#!/bin/sh\n")
    inject(machine)
    recovered(machine)
    machine.do("dpkg", "--remove", "cmgr")
    assert machine.reloads() == reloads, "systemd reads by itself what is new"
    machine.do("dpkg", "--purge", "cmgr")
    left = {path for path in files(machine) - before if not path.endswith("-")}
    assert left == set()
    assert machine.run("getent", "group", "cmgr").code == 2
    assert machine.run("systemctl", "cat", "cmgr").code != 0


def test_installing_where_systemd_does_not_run_works_too(place: Place, debian: Path) -> None:
    """As in a chroot that becomes an image."""
    _, root = place.stacked(debian)
    made = root / "var/cache" / dists.deb().name
    made.write_bytes(dists.deb().read_bytes())
    dists.said("chroot", str(root), "dpkg", "--install", f"/var/cache/{made.name}")
    assert (root / "etc/systemd/system/multi-user.target.wants/cmgr.service").is_symlink()
    assert dists.said("chroot", str(root), "cmgr", "version").startswith("cmgr ")
    dists.said("chroot", str(root), "dpkg", "--purge", "cmgr")
    assert not (root / "etc/cmgr").exists()
