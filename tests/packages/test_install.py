"""Installing the .deb on a machine without a network, and what is there then."""

import re
from collections.abc import Mapping

import pytest

from tests.packages import dists
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import episode, inject, recovered, simulate
from tests.support.waiting import eventually


def test_installing_needs_no_network_and_says_that_nobody_is_stopped(machine: Machine) -> None:
    told = machine.do("cat", "/var/tmp/install.log")  # noqa: S108  # In the machine.
    assert told.startswith("0\n"), told
    assert 'strategy "never"' in told
    assert machine.do("dpkg-query", "-W", "-f", "${db:Status-Status}", "cmgr") == "installed"
    assert machine.run("dpkg", "--verify", "cmgr").out == ""


def test_the_service_is_enabled_and_a_machine_without_chips_hears_why_it_does_not_run(machine: Machine) -> None:
    assert machine.do("systemctl", "is-enabled", "cmgr").strip() == "enabled"
    eventually(lambda: "cannot find a chip driver" in machine.said())


def test_files_belong_to_root_and_only_the_group_can_read_them(machine: Machine) -> None:
    simulate(machine)
    modes = {
        "/etc/cmgr/cmgr.toml": "640 root cmgr",
        "/etc/cmgr/faults.d": "755 root root",
        "/etc/cmgr/hooks.d": "755 root root",
        "/var/lib/cmgr": "750 root cmgr",
        "/var/lib/cmgr/cmgr.db": "640 root cmgr",
        "/run/cmgr": "750 root cmgr",
        "/run/cmgr/cmgr.sock": "660 root cmgr",
        "/var/log/cmgr": "750 root cmgr",
    }
    told = machine.do("stat", "-c", "%n=%a %U %G", *modes).splitlines()
    assert dict(line.split("=") for line in told) == modes


def test_the_group_may_use_the_command_line_and_others_are_refused_politely(machine: Machine) -> None:
    simulate(machine)
    machine.do("useradd", "plain")
    machine.do("useradd", "--groups", "cmgr", "member")
    assert machine.run("cmgr", "status", user="member").code == 0
    refused = machine.run("cmgr", "status", user="plain")
    assert refused.code == 1
    assert "permission denied" in refused.err.lower()
    assert "Traceback" not in refused.err


def test_the_unit_is_without_a_mistake(machine: Machine) -> None:
    done = machine.run("systemd-analyze", "verify", "/usr/lib/systemd/system/cmgr.service")
    # The manual pages are looked for with man(1), which a small system does not have.
    told = [line for line in done.err.splitlines() if "man" not in line]
    assert told == []


def test_an_episode_runs_from_fault_to_recovery(machine: Machine) -> None:
    simulate(machine)
    inject(machine)
    recovered(machine)
    assert machine.run("cmgr", "status", "--check").code == 0
    eventually(lambda: machine.show("StatusText") == "all is well: 8 chips, strategy ringRecover")


def test_what_the_journal_has_carries_priority_unit_and_the_fields_of_cmgr(machine: Machine) -> None:
    simulate(machine)
    inject(machine)
    recovered(machine)
    rows = [row for row in machine.journal() if row.get("_COMM") == "cmgr"]
    assert {row["SYSLOG_IDENTIFIER"] for row in rows} == {"cmgr"}
    assert {row["_SYSTEMD_UNIT"] for row in rows} == {"cmgr.service"}
    assert {row["PRIORITY"] for row in rows} <= set("3456")
    told = [row for row in rows if "episode 1 is over: recovered" in str(row["MESSAGE"])]
    assert [row["PRIORITY"] for row in told] == ["6"]
    assert [(row["CMGR_EPISODE"], row["CMGR_RING"], row["CMGR_KIND"]) for row in told] == [("1", "0", "closed")]
    found = machine.do("journalctl", "-o", "cat", "-t", "cmgr", "CMGR_CHIP=0")
    assert "chip 0 reports" in found
    assert not any(str(row["MESSAGE"]).startswith("<") for row in rows)


def test_a_reload_reads_the_configuration_again(machine: Machine) -> None:
    simulate(machine)
    machine.do("sed", "-i", "s/ringRecover/singleRecover/", "/etc/cmgr/cmgr.toml")
    machine.do("systemctl", "reload", "cmgr")
    eventually(lambda: machine.status()["service"]["strategy"] == "singleRecover")


def test_a_disabled_service_stays_disabled(boot: Boot, installed: "object", machine: Machine) -> None:
    machine.do("systemctl", "disable", "--now", "cmgr")
    machine.do("dpkg", "--install", f"/packages/{dists.deb().name}")
    assert machine.run("systemctl", "is-enabled", "cmgr").out.strip() == "disabled"
    assert not machine.active()


@pytest.mark.parametrize(
    "shell", ["bash-completion/completions/cmgr", "zsh/vendor-completions/_cmgr", "fish/vendor_completions.d/cmgr.fish"]
)
def test_completions_are_there(machine: Machine, shell: str) -> None:
    assert "cmgr" in machine.do("cat", f"/usr/share/{shell}")


def test_episodes_are_told_after_a_restart(machine: Machine) -> None:
    simulate(machine)
    inject(machine)
    recovered(machine)
    machine.do("systemctl", "restart", "cmgr")
    assert (episode(machine, 1) or {})["outcome"] == "recovered"


RUN: Mapping[str, tuple[str, int]] = {
    "status": ("", 0),
    "show": ("7", 0),
    "chips": ("--available --count 2", 0),
    "group": ("", 0),
    "ranktable": ("--group none", 1),
    "fleet": ("status", 0),
    "slot": ("", 0),
    "cdi": ("", 0),
    "export": ("deviceinfo", 0),
    "faults": ("--all", 0),
    "history": ("--all", 0),
    "downtime": ("--quarter", 0),
    "events": ("--help", 0),
    "explain": ("80E24E00", 0),
    "report": ("--id a --code 220001001 --chips 7", 0),
    "inject": ("7 80E24E00 --once", 0),
    "drill": ("7 --real --dry-run", 1),
    "reset": ("7 --stop --dry-run", 0),
    "cancel": ("7", 1),
    "isolate": ("7 --reason a", 0),
    "release": ("7", 0),
    "resume": ("--all", 1),
    "forget": ("none", 1),
    "maintenance": ("on --for 1h", 0),
    "acknowledge": ("--all", 1),
    "test": ("7 --dry-run", 1),
    "alarms": ("--test", 0),
    "reload": ("", 0),
    "setup": ("--yes --dry-run", 0),
    "check": ("", 0),
    "migrate": ("--unit /usr/lib/systemd/system/cmgr.service", 0),
    "bundle": ("/root/b.tar.gz", 0),
    "web": ("--end", 0),
    "run": ("", 1),
    "demo": ("--runtime sim", 0),
    "version": ("", 0),
    "give-back": ("", 1),
}
"""Each command once: what is typed behind it, and its code on this machine."""


def test_every_command_runs_in_the_package(machine: Machine) -> None:
    simulate(machine)
    shown = machine.do("cmgr", "--help").partition("Look:")[2]
    assert set(re.findall(r"^  ([a-z-]+) ", shown, re.MULTILINE)) == set(RUN)
    for command, (words, code) in RUN.items():
        done = machine.run("cmgr", command, *words.split())
        assert (command, done.code) == (command, code), done.out + done.err
        assert not any(word in done.err for word in ("Traceback", "internal error", "please report")), done.err


def test_the_demo_on_a_page_prints_its_link(machine: Machine) -> None:
    done = machine.run("timeout", "--signal=INT", "20", "cmgr", "demo", "--runtime", "sim", "--web")
    assert re.search(r"^  http://127\.0\.0\.1:9478/#t=\S{20,}$", done.out, re.MULTILINE), done.out + done.err


def test_setup_takes_an_installed_cmgr_to_a_drill_that_is_passed(machine: Machine) -> None:
    simulate(machine)
    machine.do("systemctl", "stop", "cmgr")
    told = machine.do("cmgr", "setup", "--strategy", "singleRecover", "--yes")
    assert "the service goes by it: strategy singleRecover" in told
    assert machine.active(), "it was started"
    assert "a fault on chip 0 stops llm-0" in told
    assert "drill of ring 4 (chips 4-7): passed" in machine.do("cmgr", "drill", "4", "--yes")
    assert (episode(machine, 1) or {})["outcome"] == "recovered"
    assert "the service goes by it: strategy ringRecover" in machine.do(
        "cmgr", "setup", "--strategy", "ringRecover", "--yes"
    )


def test_on_a_machine_without_chips_it_says_so_and_writes_all_the_same(machine: Machine) -> None:
    done = machine.run("cmgr", "setup", "--yes")
    assert "Traceback" not in done.err
    assert "cannot find a chip driver" in done.out
    assert 'strategy = "singleRecover"' in machine.do("cat", "/etc/cmgr/cmgr.toml")
