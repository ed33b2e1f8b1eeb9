"""Hooks of the packaged service, on a machine that systemd has started: they run in the host, apart from cmgr."""

import json

from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import inject, recovered, simulate
from tests.support.waiting import eventually

HOOK = """#!/bin/sh
echo begun
readlink /proc/self/ns/mnt >>/usr/hook-namespaces
until test -e /run/go; do sleep 0.05; done
echo "written by $(id -un) in $(sed -n 's/^CapEff:.//p' /proc/self/status)"
"""


def test_a_hook_has_the_hosts_namespace_and_rights_and_survives_the_service(machine: Machine) -> None:
    machine.put("/etc/cmgr/hooks.d/before_reset", HOOK)
    machine.do("chmod", "0755", "/etc/cmgr/hooks.d/before_reset")
    simulate(machine)
    inject(machine)
    eventually(lambda: machine.run("cat", "/usr/hook-namespaces").out, why="the hook runs")
    told = [f for f in json.loads(machine.run("cmgr", "check", "--json").out)["findings"] if f["what"] == "programs"]
    assert [(f["state"], f["text"].startswith("hooks and makers' tools run in the host")) for f in told] == [
        ("ok", True)
    ]
    first = machine.show("MainPID")
    machine.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "cmgr")
    eventually(lambda: machine.show("MainPID") not in ("0", first), why="systemd has started it again")
    unit = "cmgr-hook-before_reset-ring0-episode1.service"
    eventually(lambda: machine.show("Refs", unit), why="the next life waits for it")
    eventually(lambda: "resetting" in machine.do("cmgr", "status", "-o", "json"))
    machine.do("touch", "/run/go")
    recovered(machine)
    assert machine.do("cat", "/usr/hook-namespaces").split() == [machine.do("readlink", "/proc/1/ns/mnt").strip()]
    said = machine.do("journalctl", "-u", "cmgr", "-o", "cat")
    assert "hook before_reset, which an earlier life of cmgr began, ended well" in said
    assert "begun | written by root in " in said, "its words from before are known, too"
