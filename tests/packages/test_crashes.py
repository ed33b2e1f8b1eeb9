"""systemd brings the service back, and the service goes on with what it was at."""

import re
from pathlib import Path

from cmgr.sentences.sentence import say
from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import inject, phase, recovered, simulate
from tests.support.daemons.dockerd import Dockerd
from tests.support.waiting import eventually
from tests.system.containers import Containers, Spec

DECIDING = "cmgr/service/daemon.py"
"""The deciding thread is in its loop, or still on its way there: systemd hears READY=1 a moment before."""


def another(machine: Machine, before: str) -> str:
    """Wait for another life of the service than the one with that pid, and return its pid."""
    eventually(lambda: machine.show("MainPID") not in ("0", before) and machine.active())
    return machine.show("MainPID")


def test_a_service_that_is_killed_in_an_episode_comes_back_and_ends_it(machine: Machine) -> None:
    simulate(machine, reset="3s")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    before = machine.show("MainPID")
    machine.signal("KILL", before)
    another(machine, before)
    recovered(machine)
    assert machine.show("NRestarts") == "1"


def test_a_service_that_hangs_says_where_and_comes_back(machine: Machine) -> None:
    # As shipped, but for the time: nobody has to wait twenty seconds for this.
    machine.put("/etc/systemd/system/cmgr.service.d/soon.conf", "[Service]\nWatchdogSec=3s\n")
    machine.do("systemctl", "daemon-reload")
    simulate(machine)
    before = machine.show("MainPID")
    machine.signal("STOP", before)
    another(machine, before)
    # The journal reads each life's stream by itself: the end of the last one may come after the next one's beginning.
    eventually(lambda: DECIDING in machine.said(), why="the journal says where the deciding thread was")
    told = machine.said()
    assert "Watchdog timeout" in told
    assert "Fatal Python error: Aborted" in told


def test_what_is_hinted_of_a_service_that_hangs_has_it_say_where_and_come_back(machine: Machine) -> None:
    simulate(machine)
    before = machine.show("MainPID")
    command = re.match(r"(systemctl [-a-zA-Z ]*?) ends it", say("error.to-end-it"))
    assert command
    machine.do(*command[1].split())
    another(machine, before)
    eventually(lambda: DECIDING in machine.said(), why="the journal says where the deciding thread was")


def test_the_watchdog_is_fed_by_the_deciding_thread(machine: Machine) -> None:
    machine.put("/etc/systemd/system/cmgr.service.d/soon.conf", "[Service]\nWatchdogSec=2s\n")
    machine.do("systemctl", "daemon-reload")
    simulate(machine)
    first = machine.show("WatchdogTimestampMonotonic")
    eventually(lambda: machine.show("WatchdogTimestampMonotonic") != first)
    assert machine.show("NRestarts") == "0"


def test_a_reboot_forgets_nothing(machine: Machine) -> None:
    simulate(machine, reset="3s")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    machine.stop()
    machine.boot()
    recovered(machine)


REBOOTS = """
strategy = "ringRecover"
driver = "sim"
runtimes = ["sim"]
retry.settle = "1s"
reset.attempts = 1
isolation.release_after = "1s"
machine.reboot = "now"
machine.reboot_delay = "1h"
[sim]
chips = 8
ring = 4
reset_time = "100ms"
boot_time = "100ms"
world = "/var/lib/cmgr/world"
incurable = ["80E24E00"]
[[sim.containers]]
name = "llm-0"
chips = [0]
"""


BOOT = """
[Service]
BindReadOnlyPaths=/etc/boot:/proc/sys/kernel/random/boot_id
"""
"""In a sandbox a service sees the boot of the host: nspawn lays its machine's own over that, and it is taken off."""


def test_a_machine_is_rebooted_where_nothing_else_helps(machine: Machine) -> None:
    machine.put("/etc/cmgr/cmgr.toml", REBOOTS)
    machine.put("/etc/systemd/system/cmgr.service.d/boot.conf", BOOT)
    machine.put("/etc/boot", "the first boot")
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "restart", "cmgr")
    assert "announced 1 h before" in machine.run("cmgr", "check").out
    machine.do("cmgr", "inject", "0", "80E24E00")
    told = eventually(lambda: machine.run("cat", "/run/systemd/shutdown/scheduled").out, why="the machine is told")
    assert "MODE=reboot" in told.splitlines()
    assert "WALL_MESSAGE=cmgr reboots this machine in 1 h, as nothing else brings back chip 0" in told
    machine.put("/etc/boot", "another boot")
    machine.stop()  # Its time comes.
    machine.boot()
    machine.do("cmgr", "inject", "0", "80E24E00", "--clear")
    helped = "the reboot of the machine has helped: chip 0"
    eventually(
        lambda: helped in machine.do("cmgr", "history", "--all", "-o", "json"), why=machine.do("cmgr", "history", "1")
    )
    eventually(lambda: [row["status"] for row in machine.status()["containers"]] == ["running"])
    assert machine.run("cmgr", "cancel", "--reboot").code == 1


def test_a_reboot_is_called_off_by_whoever_types_shutdown(machine: Machine) -> None:
    machine.put("/etc/cmgr/cmgr.toml", REBOOTS)
    machine.do("systemctl", "restart", "cmgr")
    machine.do("cmgr", "inject", "0", "80E24E00")
    # The status says it as soon as it is ordered: before that there is nothing which shutdown -c could call off.
    eventually(
        lambda: machine.run("test", "-s", "/run/systemd/shutdown/scheduled").code == 0, why="the machine is told"
    )
    assert "cmgr cancel --reboot" in machine.run("cmgr", "status").out
    machine.do("shutdown", "-c")
    eventually(lambda: "cmgr does not: by somebody on the machine (shutdown)" in machine.run("cmgr", "status").out)


def test_a_stop_leaves_no_process_and_keeps_the_state(machine: Machine) -> None:
    simulate(machine)
    assert "cmgr" in machine.processes()
    machine.do("systemctl", "stop", "cmgr")
    assert machine.show("Result") == "success"
    assert machine.show("ActiveState") == "inactive"
    assert "cmgr" not in machine.processes()
    machine.do("test", "-f", "/var/lib/cmgr/cmgr.db")


def test_an_episode_with_containers_of_a_real_docker(boot: Boot, installed: Path, dockerd: Dockerd) -> None:
    containers = Containers(dockerd)
    try:
        containers.run(Spec("web-1", "0-1"), Spec("web-2", "4"))
        machine = boot(installed, binds={"/run/docker.sock": dockerd.socket})
        simulate(machine, runtime="docker")
        eventually(lambda: len(machine.status()["containers"]) == 2)
        inject(machine)
        recovered(machine)
        assert containers.was_restarted("web-1")
        assert not containers.was_restarted("web-2")
        assert containers.all_running()
    finally:
        containers.close()
