"""The package of the SELinux module on a machine whose kernel enforces Debian's policy; nspawn has the host's kernel.

It takes minutes, and so only CMGR_MACHINE=1 has it: `make test-machine`.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import workshop
from tests.packages import dists
from tests.packages.conftest import cannot
from tests.packages.machines.machine import Place
from tests.packages.machines.whole import WholeMachine
from tests.packages.test_chips import units
from tests.packages.whole.test_whole_machine import SECTION, begin, furnish, pytestmark, recovered
from tests.support.daemons.daemon import CannotRun
from tests.support.figures import Figures
from tests.support.waiting import eventually

__all__ = ["pytestmark", "workshop"]

ENFORCING = ("security=selinux", "selinux=1", "enforcing=1")

LABELS = """
mount -t proc proc "$1/proc"
exec chroot "$1" setfiles -F /etc/selinux/default/contexts/files/file_contexts /
"""

TYPES = {
    "/etc/cmgr/cmgr.toml": "cmgr_conf_t",
    "/usr/lib/cmgr/bin/cmgr": "cmgr_exec_t",
    "/var/lib/cmgr/cmgr.db": "cmgr_var_lib_t",
    "/var/log/cmgr": "cmgr_log_t",
    "/run/cmgr/cmgr.sock": "cmgr_runtime_t",
}

HOOK = """#!/bin/sh
tr : " " </proc/self/attr/current
"""

VISIT = """
my $page = IO::Socket::INET->new("127.0.0.1:9478") or exit 1;
print $page "GET / HTTP/1.1\\r\\nHost: 127.0.0.1:9478\\r\\nConnection: close\\r\\n\\r\\n";
print scalar <$page>;
"""


@pytest.fixture(scope="module")
def machine(
    place: Place, debian: Path, installed: Path, workshop: Workshop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WholeMachine]:
    try:
        policy = place.once("policy", lambda: _policy(place, debian))
        _, root = place.stacked(installed, policy, debian)
        furnish(root, workshop.place("one"))
        hook = root / "etc/cmgr/hooks.d/before_reset"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        shutil.copy(dists.selinux(), root / "var/cache")
        # Here, where it takes seconds.
        dists.said("chroot", str(root), "rpm", "--install", "--nodeps", f"/var/cache/{dists.selinux().name}")
        made = WholeMachine(root, tmp_path_factory.mktemp("enforcing"), *ENFORCING)
        dists.said("unshare", "--mount", "sh", "-ec", LABELS, "sh", str(root))
        made.boot()
    except CannotRun as exc:
        cannot("machine that enforces a policy", exc)
    with closing(made):
        begin(made)
        yield made


def _policy(place: Place, debian: Path) -> Path:
    """Return a layer with Debian's policy."""
    upper, root = place.stacked(debian)
    place.install(root, "selinux-policy-default", "policycoreutils", "selinux-utils")
    (root / "etc/selinux/config").write_text("SELINUX=enforcing\nSELINUXTYPE=default\n")
    return upper


def domain(machine: WholeMachine, unit: str = "cmgr") -> str:
    told = machine.do("cat", f"/proc/{machine.show('MainPID', unit)}/attr/current")
    return told.rstrip("\0\n").split(":")[2]


def test_all_of_it_runs_in_its_domain(machine: WholeMachine, figures: Figures) -> None:
    assert machine.do("cat", "/sys/fs/selinux/enforce") == "1"
    machine.do("systemctl", "start", "cmgr-web.socket")
    assert eventually(lambda: machine.do("perl", "-MIO::Socket::INET", "-e", VISIT)) == "HTTP/1.1 200 OK\r\n"
    (driver,) = eventually(lambda: units(machine))
    assert [domain(machine, unit) for unit in ("cmgr", driver, "cmgr-web")] == ["cmgr_t"] * 3
    told = machine.do("ls", "-Zd", *TYPES)
    assert {path: context.split(":")[2] for context, path in map(str.split, told.splitlines())} == TYPES
    figures.add(SECTION, "boots with SELinux, enforcing")


def test_of_those_that_the_policy_confines_nobody_may_connect(machine: WholeMachine) -> None:
    (policy,) = (machine.root / "etc/selinux/default/policy").iterdir()
    words = ("-A", "-t", "cmgr_t", "-c", "unix_stream_socket", "-p", "connectto")
    told = dists.said("sesearch", *words, str(policy))
    assert [line.split()[1] for line in told.splitlines() if line.strip()] == ["unconfined_domain_type"]


def test_a_ring_is_recovered_with_a_hook_in_the_domain_of_unknown_services(
    machine: WholeMachine, figures: Figures
) -> None:
    with recovered(machine, figures, 1) as number:
        pass
    told = [note["text"] for note in machine.asked(f"/v1/episodes/{number}")["notes"]]
    (said,) = [text for text in told if text.startswith("hook before_reset ended well")]
    # That of units of which Debian's policy knows nothing.
    assert " initrc_t " in said


def test_directories_are_made_anew(machine: WholeMachine) -> None:
    machine.do("rmdir", "/var/log/cmgr")
    machine.do("systemd-tmpfiles", "--create", "cmgr.conf")
    assert ":cmgr_log_t:" in machine.do("ls", "-Zd", "/var/log/cmgr")


def test_nothing_was_denied(machine: WholeMachine) -> None:
    told = machine.do("journalctl", "--boot", "--output=cat", "--no-pager")
    assert [line for line in told.splitlines() if re.search(r"denied.*cmgr", line)] == []


def test_without_the_module_it_runs_as_others_do(machine: WholeMachine) -> None:
    # A whole policy is compiled anew, by an emulated processor.
    assert machine.run("rpm", "--erase", "cmgr-selinux", within=3000).code == 0
    assert machine.active()
    assert domain(machine) != "cmgr_t"
    assert machine.do("systemctl", "is-active", "cmgr-web.socket") == "active\n"
    assert ":cmgr_" not in machine.do("ls", "-Zd", *TYPES)
