"""A recovery that took the GPUs away: each `docker update` of a running container has runc write its device rules anew.

NVIDIA/nvidia-docker 515, 966 and 1469: after an update of a running container, by whatever hand, `nvidia-smi` in it
says "Failed to initialize NVML: Unknown Error", for runc before 1.0.0 leaves the rules out that NVIDIA's hook had
added. Tried in 2026 on cmgr as it was, which put the restart policy back into what it had just started.

dockerd tells each update of a container in its events, so that they need not be believed but can be counted. The last
tests have a runc that treats the rules of devices as 1.0.0-rc92 does. NVIDIA/nvidia-container-toolkit 48 tells of the
same by `systemctl daemon-reload`, and hashicorp/nomad 878 of a service that computed without its GPU for a day.
"""

import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.tool.standin import Speaker
from tests.stories.spoiling import mend, spoil
from tests.support.service import LATER, NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

KEEN = {"always": "0", "unless-stopped": "1", "on-failure:3": "2"}
WAITS = {"levels.RestartRequest.reset_after": "1h"}


def served(on_docker: Install, containers: Containers, settings: Mapping[str, Setting]) -> Service:
    service = on_docker(settings)
    containers.run(*(Spec(policy.partition(":")[0], chips, policy=policy) for policy, chips in KEEN.items()))
    service.start()
    return service


def updates(containers: Containers) -> dict[str, list[bool]]:
    """Return of each container, for each time that it was changed, whether it ran."""
    runs, found = dict.fromkeys(containers.names, True), {name: list[bool]() for name in containers.names}
    for happening in containers.happenings():
        if happening.action in ("start", "die"):
            runs[happening.name] = happening.action == "start"
        elif happening.action == "update":
            found[happening.name].append(runs[happening.name])
    return found


def policies(containers: Containers) -> list[str]:
    return [containers.policy(name) for name in containers.names]


def test_no_container_is_changed_while_it_runs(on_docker: Install, containers: Containers) -> None:
    service = served(on_docker, containers, {})
    for time in (1, 2):
        service.inject(0, NOW)
        service.until_said("is over: recovered", time)
    assert policies(containers) == list(KEEN)
    assert updates(containers) == {name: [False] * 4 for name in containers.names}


def test_what_a_person_starts_meanwhile_is_not_changed_and_loses_nothing(
    on_docker: Install, containers: Containers
) -> None:
    service = served(on_docker, containers, WAITS | {"retry.owner_window": "0s"})
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: policies(containers) == ["no"] * 3)
    containers.start("always")
    service.until_said("somebody started it by hand")
    eventually(lambda: "runs without its restart policy" in str(service.status()["troubles"]))
    service.inject(0, LATER, "cleared")
    service.until_over()
    containers.crash("always")
    eventually(lambda: containers.is_running("always"), why="cmgr has taken its policy, and does what that would have")
    eventually(lambda: policies(containers) == list(KEEN))
    assert not any(any(ran) for ran in updates(containers).values())


def test_one_that_could_not_be_started_is_not_brought_back_by_the_next_dockerd(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.starts": 1, "retry.backoff_max": "1h"})
    containers.run(Spec("keen", "0", policy="always"))
    spoil(containers, "keen")
    service.start()
    service.inject(0, NOW)
    service.until_said("cannot start keen, try 1")
    assert containers.policy("keen") == "no"
    mend(containers, "keen")
    before = containers.started_at("keen")
    containers.dockerd.kill()
    containers.dockerd.start()
    eventually(lambda: service.status()["service"]["state"] == "ready", why="Docker is back")
    eventually(lambda: containers.started_at("keen") != before, why="a new daemon is a new try")
    eventually(lambda: containers.policy("keen") == "always")
    assert containers.count("keen", "start") == 1


OLD_RUNC = """#!{python}
import glob, os, sys
words = sys.argv[1:]
id_ = words[-1] if words else ""

def groups():
    return [path for path in glob.glob("/sys/fs/cgroup/devices/**/*" + id_, recursive=True) if id_]

if "update" in words:
    with open("{record}", "a") as record:
        record.write(id_ + chr(10))
done = os.spawnvp(os.P_WAIT, "runc", ["runc", *words])
# The hook of NVIDIA's runtime adds the rule when the container is made; runc up to 1.0.0-rc92 writes all rules anew for
# an update, and does not know of that one.
for path in groups() if done == 0 and ("create" in words or "update" in words) else ():
    what = "allow" if "create" in words else "deny"
    with open(os.path.join(path, "devices." + what), "w") as rules:
        rules.write("{rule}")
sys.exit(done)
"""
"""A runc that does to the rules of devices what 1.0.0-rc92 did, and NVIDIA's hook; it notes each update."""


def rules(containers: Containers, name: str) -> str:
    """Return the rules of devices of the container's control group."""
    lines = Path(f"/proc/{containers.pid(name)}/cgroup").read_text().splitlines()
    (path,) = [line.split(":", 2)[2] for line in lines if line.split(":")[1] == "devices"]
    return Path(f"/sys/fs/cgroup/devices{path}/devices.list").read_text()


def on_old_runc(containers: Containers, folder: Path, rule: str) -> Path:
    """Have the daemon's containers made by such a runc, whose hook adds this rule; return where it notes updates."""
    runc, record = folder / "runc", folder / "updates"
    runc.write_text(OLD_RUNC.format(python=sys.executable, record=record, rule=rule))
    runc.chmod(0o755)
    containers.dockerd.runc = str(runc)
    containers.dockerd.restart(lives_on=False)
    return record


shows_rules = pytest.mark.skipif(
    not Path("/sys/fs/cgroup/devices").exists(), reason="rules of devices are files in cgroup v1 only"
)


@shows_rules
def test_on_an_old_runc_the_rules_that_a_hook_added_are_there_after_a_recovery(
    on_docker: Install, containers: Containers, tmp_path: Path
) -> None:
    record = on_old_runc(containers, tmp_path, "c 195:* rw")
    service = served(on_docker, containers, {})
    assert "c 195:* rw" in rules(containers, "always")
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    eventually(lambda: policies(containers) == list(KEEN))
    assert all("c 195:* rw" in rules(containers, name) for name in containers.names)
    assert not record.exists(), "runc was asked to update none"
    containers.limit("always", shares=512)
    assert "c 195:* rw" not in rules(containers, "always"), "so an update by a person takes them away"
    assert len(record.read_text().split()) == 1


def reached(service: Service) -> list[str]:
    """Return the chips that each container's rules have let it open, as the service has them in its books."""
    with closing(sqlite3.connect(f"file:{service.folder}/state/cmgr.db?mode=ro", uri=True)) as books:
        return [row[0] for row in books.execute("SELECT kept_reached FROM containers")]


def told(service: Service) -> list[str]:
    return [f"{each['kind']}: {each['text']}" for each in service.status()["troubles"]]


@shows_rules
def test_one_that_a_person_updates_on_an_old_runc_has_lost_its_chip_and_is_healed(
    on_docker: Install, containers: Containers, tmp_path: Path
) -> None:
    speaker = Speaker()
    on_old_runc(containers, tmp_path, "c 240:* rw")
    service = on_docker({"driver": "tool", "tool.program": str(speaker.program), "resync": "1s", "heal.backoff": "1s"})
    containers.run(Spec("web", "", labels={"cmgr.heal": "true"}))
    speaker.set(processes={"0": [containers.pid("web")]})
    service.start()
    eventually(lambda: reached(service) == ["[0]"], why="its rules have been read")
    assert told(service) == []
    containers.limit("web", shares=512)
    eventually(lambda: told(service) == ["reach: container web can open chip 0 no more"])
    service.kill9()
    service.start()
    assert "reach: container web can open chip 0 no more" in told(service), "another life knows it, too"
    assert containers.count("web", "start") == 0, "its process has the chip open"
    speaker.set(processes={})
    eventually(lambda: containers.count("web", "start") == 1, why="it has lost its chip, and is restarted")
    service.until_said("web cannot reach its chips any more: it is restarted in 1 s, restart 1 of 5")
    speaker.set(processes={"0": [containers.pid("web")]})
    eventually(lambda: told(service) == [])
    assert "c 240:* rw" in rules(containers, "web")
