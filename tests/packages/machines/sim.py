"""Configurations of an installed cmgr on simulated chips, and its episodes."""

import json
from typing import Any

from tests.packages.machines.machine import Machine
from tests.support.service import NOW
from tests.support.waiting import eventually

CONFIGURATION = """
strategy = "ringRecover"
driver = "sim"
runtimes = ["{runtime}"]
retry.settle = "1s"
[sim]
chips = 8
ring = 4
reset_time = "{reset}"
boot_time = "100ms"
world = "/var/lib/cmgr/world"
"""

PRETENDED = """
[[sim.containers]]
name = "llm-0"
chips = [0]
[[sim.containers]]
name = "llm-1"
chips = [1]
"""


def simulate(machine: Machine, runtime: str = "sim", reset: str = "100ms") -> None:
    """Configure simulated chips, with pretended containers or those of a runtime, and start anew."""
    text = CONFIGURATION.format(runtime=runtime, reset=reset) + (PRETENDED if runtime == "sim" else "")
    machine.put("/etc/cmgr/cmgr.toml", text)
    done = machine.run("systemctl", "restart", "cmgr")
    assert done.code == 0, machine.said()[-2000:]


def episode(machine: Machine, number: int) -> dict[str, Any] | None:
    """Return the line of that episode, or None when there is none yet."""
    rows = json.loads(machine.do("cmgr", "history", "-o", "json"))["episodes"]
    return next((row for row in rows if row["number"] == number), None)


def inject(machine: Machine, chip: int = 0) -> None:
    machine.do("cmgr", "inject", str(chip), NOW)


def recovered(machine: Machine, number: int = 1) -> None:
    """Wait until that episode is over, recovered."""
    eventually(lambda: (episode(machine, number) or {}).get("outcome") == "recovered")


def phase(machine: Machine) -> str:
    """Return the phase of the ring of chip 0."""
    return str(machine.status()["rings"][0]["phase"])
