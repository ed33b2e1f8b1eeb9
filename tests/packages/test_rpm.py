"""The .rpm: its dependencies, its files, and its scriptlets on a machine that boots."""

import shutil
from pathlib import Path

import pytest

from tests.config import regenerate
from tests.packages import dists
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import inject, phase, recovered, simulate
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone

NEEDS = ("glibc >= 2.28", "libstdc++", "systemd", "/bin/sh", "/usr/sbin/groupadd")

MAINTAINER = "Jo Doe <mail@packages.example>"

STUB = """
Name: distribution
Version: 1
Release: 1
Summary: What a distribution of rpm packages would have
License: none
BuildArch: noarch
Provides: glibc = 2.28
Provides: libstdc++ systemd /bin/sh /usr/sbin/groupadd
%description
%files
"""


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package for the things that this Debian has, and that rpm knows nothing of."""
    folder = tmp_path_factory.mktemp("stub")
    (folder / "distribution.spec").write_text(STUB)
    dists.said("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {folder}", str(folder / "distribution.spec"))
    return next(folder.rglob("*.noarch.rpm"))


@pytest.fixture
def machine(boot: Boot, stub: Path) -> Machine:
    made = boot()
    made.do("rpm", "--install", made.bring(stub))
    return made


def newer(to: Path, configuration: str = "") -> Path:
    """Return the same package as another release, with this as its file."""
    tree = dists.ROOT / "build/packages" / dists.NATIVE / "tree"
    if configuration:
        tree = shutil.copytree(tree, to / "tree", symlinks=True)
        (tree / "etc/cmgr/cmgr.toml").write_text(configuration)
    more = {"MAINTAINER": MAINTAINER, "PAYLOAD": "w1.gzdio", "TREE": str(tree)}
    return Path(dists.built(to, "rpm/build.sh", REVISION="2", **more).splitlines()[-1])


@pytest.mark.parametrize("arch", dists.ARCHES)
def test_it_asks_for_what_it_needs_and_offers_nothing_to_others(arch: str) -> None:
    needs = dists.said("rpm", "-qp", "--requires", str(dists.rpm(arch))).splitlines()
    asked = {need for need in needs if not need.startswith(("rpmlib(", "config("))}
    assert asked == set(NEEDS)
    offers = dists.said("rpm", "-qp", "--provides", str(dists.rpm(arch))).splitlines()
    assert all(offer.startswith(("cmgr", "config(cmgr)")) for offer in offers)


def test_without_what_it_needs_it_is_refused(boot: Boot) -> None:
    done = boot().run("rpm", "--install", f"/packages/{dists.rpm().name}")
    assert done.code != 0
    for need in NEEDS:
        assert need in done.err


def test_it_has_the_files_of_the_deb() -> None:
    ours = set(dists.said("rpm", "-qpl", str(dists.rpm())).splitlines())
    theirs = {entry.path for entry in dists.entries(dists.deb()) if not entry.mode.startswith("d")}
    only_deb = {
        "/usr/share/lintian/overrides/cmgr", "/usr/share/doc/cmgr/copyright", "/usr/share/doc/cmgr/changelog.Debian.gz",
        "/usr/share/zsh/vendor-completions/_cmgr",
    }  # fmt: skip
    assert theirs - only_deb <= ours
    told = dists.said(
        "rpm",
        "-qp",
        "--queryformat",
        "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags}\n]",
        str(dists.rpm()),
    )
    assert "/etc/cmgr/cmgr.toml -rw-r----- root:cmgr cn\n" in told


def test_its_life_on_a_machine(machine: Machine, tmp_path: Path) -> None:
    reloads = machine.reloads()
    told = machine.do("rpm", "--install", f"/packages/{dists.rpm().name}")
    assert 'strategy "never"' in told
    assert machine.do("systemctl", "is-enabled", "cmgr").strip() == "enabled"
    assert machine.run("rpm", "--verify", "cmgr").out == ""
    simulate(machine, reset="4s")
    mine = machine.do("cat", "/etc/cmgr/cmgr.toml")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    before = machine.show("MainPID")
    machine.do("rpm", "--upgrade", machine.bring(newer(tmp_path)))
    assert f"Packager    : {MAINTAINER}\n" in machine.do("rpm", "-qi", "cmgr")
    assert machine.show("MainPID") not in ("0", before)
    recovered(machine)
    assert machine.do("cat", "/etc/cmgr/cmgr.toml") == mine
    machine.do("rpm", "--erase", "cmgr")
    assert "cmgr" not in machine.processes()
    assert machine.reloads() == reloads, "the units of both are the same"
    assert machine.run("test", "-e", "/usr/lib/cmgr").code == 1
    assert machine.do("cat", "/etc/cmgr/cmgr.toml.rpmsave") == mine
    machine.do("test", "-f", "/var/lib/cmgr/cmgr.db")


def test_an_upgrade_takes_over_a_file_that_nobody_has_changed_and_puts_its_own_beside_one_that_was(
    machine: Machine, tmp_path: Path
) -> None:
    path, older, package = "/etc/cmgr/cmgr.toml", f"/packages/{dists.rpm().name}", newer(tmp_path, "# new\n")
    machine.do("rpm", "--install", older)
    assert machine.do("cat", path) == regenerate.PACKAGED.read_text()
    machine.do("rpm", "--upgrade", machine.bring(package))
    assert machine.do("cat", path) == "# new\n"
    assert machine.do("stat", "-c", "%a %U %G", path) == "640 root cmgr\n"
    machine.do("rpm", "--upgrade", "--oldpackage", older)
    machine.do("sed", "-i", 's/^strategy = "never"/strategy = "singleRecover"/', path)
    mine = machine.do("cat", path)
    machine.do("rpm", "--upgrade", machine.bring(package))
    assert machine.do("cat", path) == mine
    assert machine.do("cat", f"{path}.rpmnew") == "# new\n"
