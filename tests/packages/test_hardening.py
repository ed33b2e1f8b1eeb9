"""The rights of the service on the machine: as little as docs/install.md says, and enough for its work."""

import re

from tests.packages import dists
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import simulate

ABOUT_THE_PROGRAM = ("#", "Type", "Exec", "Restart", "Notify", "Watchdog", "Timeout", "KillMode")

CALLBACK = """
import ctypes
order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), order(lambda a, b: a[0] - b[0]))
print(list(numbers))
"""


def test_the_score_is_what_the_documentation_says(machine: Machine) -> None:
    told = machine.do(
        "systemd-analyze", "security", "--offline=yes", "--no-pager", "/usr/lib/systemd/system/cmgr.service"
    )
    found = re.search(r"exposure level for cmgr.service: ([\d.]+)", told)
    assert found, told
    said = re.search(r"exposure level of ([\d.]+)", (dists.ROOT / "docs/install.md").read_text())
    assert said
    assert float(found[1]) <= float(said[1]), told


def test_the_page_s_process_has_next_to_nothing(machine: Machine) -> None:
    unit = "/usr/lib/systemd/system/cmgr-web.service"
    told = machine.do("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    found = re.search(r"exposure level for cmgr-web.service: ([\d.]+)", told)
    assert found, told
    assert float(found[1]) <= 1.0, told


def test_the_page_is_off_until_its_socket_is_enabled_and_then_answers_and_ends(machine: Machine) -> None:
    simulate(machine)
    assert machine.run("systemctl", "is-enabled", "cmgr-web.socket").out.strip() == "disabled"
    machine.do("systemctl", "start", "cmgr-web.socket")
    link = machine.do("cmgr", "web").strip()
    assert link.startswith("http://127.0.0.1:9478/#t=")
    page = machine.do("/usr/lib/cmgr/python/bin/python3.11", "-ISBc", ASKED, link.partition("#t=")[2])
    assert "200 " in page, page
    status = machine.do("cat", f"/proc/{machine.show('MainPID', 'cmgr-web')}/status")
    held = dict(line.split(":\t", 1) for line in status.splitlines())
    assert int(held["CapBnd"], 16) == 0
    machine.do("systemctl", "stop", "cmgr-web.socket", "cmgr-web.service")


ASKED = """
import http.client, json, sys
connection = http.client.HTTPConnection("127.0.0.1", 9478)
connection.request("POST", "/api/enter", json.dumps({"ticket": sys.argv[1]}), {"Content-Type": "application/json"})
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""


def test_the_process_has_two_capabilities_and_gets_no_more(machine: Machine) -> None:
    simulate(machine)
    status = machine.do("cat", f"/proc/{machine.show('MainPID')}/status")
    # CAP_DAC_OVERRIDE is number 1, CAP_SYS_PTRACE number 19.
    held = dict(line.split(":\t", 1) for line in status.splitlines())
    assert int(held["CapBnd"], 16) == 1 << 1 | 1 << 19
    assert held["NoNewPrivs"] == "1"


def test_what_the_machines_sources_need_is_added_by_a_shipped_file_and_nothing_else(machine: Machine) -> None:
    simulate(machine)
    machine.do("mkdir", "-p", "/etc/systemd/system/cmgr.service.d")
    machine.do("ln", "-s", "/usr/lib/cmgr/machine.conf", "/etc/systemd/system/cmgr.service.d/")
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "restart", "cmgr")
    assert machine.show("ProtectKernelLogs") == "no"
    # As systemd has it: a machine in a container has no CAP_SYSLOG to give.
    held = set(machine.show("CapabilityBoundingSet").lower().split())
    assert held == {"cap_dac_override", "cap_sys_ptrace", "cap_syslog", "cap_sys_rawio", "cap_sys_admin"}
    machine.do("rm", "/etc/systemd/system/cmgr.service.d/machine.conf")
    machine.do("systemctl", "daemon-reload")


def inside(machine: Machine, *command: str, of: str = "cmgr.service") -> tuple[str, str]:
    """Run a command as the unit would. Return how it ended, and what it said."""
    unit = machine.do("cat", f"/usr/lib/systemd/system/{of}").partition("[Service]")[2].partition("[Install]")[0]
    kept = [line for line in unit.splitlines() if line and not line.startswith(ABOUT_THE_PROGRAM)]
    words = " ".join(f'"{word}"' for word in command)
    machine.put(
        "/etc/systemd/system/probe.service", "\n".join(["[Service]", "Type=oneshot", f"ExecStart={words}", *kept])
    )
    machine.run("systemctl", "start", "probe")
    said = machine.do("journalctl", "-u", "probe", "-o", "cat", "_TRANSPORT=stdout")
    return machine.show("Result", "probe"), said


def test_a_library_can_call_back_although_no_memory_is_both_written_and_run(machine: Machine) -> None:
    machine.put("/var/cache/callback.py", CALLBACK)
    python = ("/usr/lib/cmgr/python/bin/python3.11", "-ISB")
    result, told = inside(machine, *python, "/var/cache/callback.py", of="cmgr-chips@.service")
    assert (result, told) == ("success", "[1, 2, 3]\n")


def test_the_makers_library_can_write_what_it_writes(machine: Machine) -> None:
    """The files of the maker's driver of 2026-07 for Ascend, and the devices and files that NVIDIA's tools write to."""
    files = (
        "/etc/custom_process.cfg /etc/vnpu.cfg /run/vnpu_cfg_lock/lock /run/mcu_lock_flag /var/log/nputools_LOG_ERR.log"
    )
    tries = (
        f"mkdir -p /run/vnpu_cfg_lock && touch {files} && exec 3<>/etc/custom_process.cfg && readlink /proc/self/ns/mnt"
    )
    result, told = inside(machine, "/bin/sh", "-c", tries, of="cmgr-chips@.service")
    assert (result, told.strip()) == ("success", machine.do("readlink", "/proc/1/ns/mnt").strip())


def test_the_chips_devices_are_not_hidden(machine: Machine) -> None:
    for setting in ("PrivateDevices", "ProtectClock"):
        assert machine.show(setting) == "no"
    assert machine.show("DevicePolicy") == "auto"


def test_the_system_is_read_only(machine: Machine) -> None:
    tries = "echo x >/usr/x || echo x >/etc/cmgr/x || echo x >/var/lib/x || true"
    result, told = inside(machine, "/bin/sh", "-c", tries)
    assert result == "success"
    assert told.count("Read-only file system") == 3, told


def test_a_container_s_fifo_can_be_made(machine: Machine) -> None:
    machine.do("mkdir", "-p", "/run/containerd/fifo")
    assert inside(machine, "/usr/bin/mkfifo", "/run/containerd/fifo/out") == ("success", "")
