"""The repositories that `make repo` makes: the ordinary clients install from them, upgrade and go back."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages import dists
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Place
from tests.packages.machines.sim import episode, simulate
from tests.packages.repositories.conftest import URL
from tests.packages.test_rpm import stub

__all__ = ["stub"]

pytestmark = pytest.mark.alone


def test_apt_installs_upgrades_and_goes_back(boot: Boot, repository: Path) -> None:
    machine = boot(binds={"/repo": str(repository)})
    machine.put("/etc/apt/sources.list", "")
    machine.do("mkdir", "-p", "/etc/apt/keyrings")
    machine.do("cp", "/repo/cmgr.asc", "/etc/apt/keyrings/")
    machine.do("cp", "/repo/apt/cmgr.sources", "/etc/apt/sources.list.d/")
    machine.do("apt-get", "update")
    machine.do("apt-get", "install", "--yes", "cmgr=0.1.0-1")
    assert machine.do("systemctl", "is-enabled", "cmgr") == "enabled\n"
    machine.do("apt-get", "install", "--yes", "cmgr")
    assert machine.do("cmgr", "version") == "cmgr 8.0.0\n"
    machine.do("apt-get", "install", "--yes", "--allow-downgrades", "cmgr=0.1.0-1")
    assert machine.do("cmgr", "version") == "cmgr 0.1.0\n"


PAGE = (dists.ROOT / "docs/install.md").read_text()

CURL = """#!/bin/sh
# A bare system has none, and apt's own: curl --output FILE URL
exec /usr/lib/apt/apt-helper download-file "$3" "$2"
"""


def lines_behind(text: str) -> list[str]:
    """Return the lines of the page's next block behind this, as root types them here."""
    block = PAGE.partition(text)[2].partition("```\n")[2].partition("```")[0]
    return [line.removeprefix("sudo ").replace("https://packages.example/cmgr", URL) for line in block.splitlines()]


def test_a_bare_system_comes_to_a_drill_by_the_lines_of_the_page(boot: Boot, repository: Path) -> None:
    machine = boot(binds={"/repo": str(repository)})
    machine.put("/etc/apt/sources.list", "")
    machine.put("/usr/bin/curl", CURL)
    machine.do("chmod", "+x", "/usr/bin/curl")
    machine.do("mkdir", "-p", "/etc/apt/keyrings")
    fetched, index, installed = lines_behind("On an appliance with apt:")
    for line in (fetched, index, installed.replace("install", "install --yes")):
        machine.do("sh", "-c", line)
    # It has neither chips nor containers: simulated ones stand for both, and nothing else is given to it.
    simulate(machine)
    setup, drill = lines_behind("Where nobody can be asked:")
    told = machine.do("sh", "-c", setup)
    assert "the service goes by it: strategy singleRecover" in told
    assert "to see a recovery: cmgr drill" in told
    seen = machine.do("sh", "-c", drill)
    assert "llm-0" in seen
    assert (episode(machine, 1) or {})["outcome"] == "recovered"
    assert machine.run("cmgr", "status", "--check").code == 0


def test_apt_refuses_one_that_was_changed_on_the_way(boot: Boot, repository: Path, tmp_path: Path) -> None:
    changed = tmp_path / "repo"
    shutil.copytree(repository / "apt/dists", changed / "apt/dists")
    shutil.copy(repository / "cmgr.asc", changed)
    shutil.copy(repository / "apt/cmgr.sources", changed / "apt")
    for signed in ("InRelease", "Release"):
        file = changed / "apt/dists/stable" / signed
        file.write_text(file.read_text().replace("Origin: cmgr", "Origin: others"))
    machine = boot(binds={"/repo": str(changed)})
    machine.put("/etc/apt/sources.list", "")
    machine.do("mkdir", "-p", "/etc/apt/keyrings")
    machine.do("cp", "/repo/cmgr.asc", "/etc/apt/keyrings/")
    machine.do("cp", "/repo/apt/cmgr.sources", "/etc/apt/sources.list.d/")
    done = machine.run("apt-get", "update")
    assert done.code != 0
    assert "BADSIG" in done.err or "invalid" in done.err


def test_dnf_installs_upgrades_and_goes_back(
    place: Place, debian: Path, repository: Path, stub: Path, tmp_path: Path
) -> None:
    """Into a root, whose distribution is a Debian with a stub for what packages of rpm would have brought."""
    _, root = place.stacked(debian)
    distribution = tmp_path / "distribution"
    distribution.mkdir()
    shutil.copy(stub, distribution)
    dists.said("createrepo_c", "--quiet", str(distribution))
    repos = tmp_path / "repos"
    repos.mkdir()
    own = (repository / "dnf/cmgr.repo").read_text().replace(URL, f"file://{repository}")
    (repos / "cmgr.repo").write_text(own)
    other = f"[distribution]\nname=distribution\nbaseurl=file://{distribution}\ngpgcheck=0\n"
    (repos / "distribution.repo").write_text(other)
    dnf = ("dnf", "--assumeyes", f"--installroot={root}", f"--setopt=reposdir={repos}", "--releasever=1")

    def version() -> str:
        return dists.said("rpm", f"--root={root}", "--query", "--queryformat=%{release}", "cmgr")

    dists.said(*dnf, "install", "cmgr-0.1.0-1")
    assert version() == "1"
    dists.said(*dnf, "upgrade", "cmgr")
    assert version() == "2"
    dists.said(*dnf, "downgrade", "cmgr")
    assert version() == "1"
    assert dists.said("chroot", str(root), "cmgr", "version") == "cmgr 0.1.0\n"


def test_without_a_key_it_says_what_is_missing() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("KEY", "URL")}
    for script, says in (("repo", "KEY=… URL=https://… make repo"), ("release", "KEY=… make release")):
        done = subprocess.run(
            ["sh", str(dists.ROOT / f"packaging/{script}.sh")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert says in done.stderr
