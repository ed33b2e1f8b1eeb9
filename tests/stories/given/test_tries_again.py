"""A client that makes another container when its own ends: a batch script in a loop, an agent of CI with retries.

NVIDIA-NeMo/Run 59, actions/runner 2446, aws/amazon-ecs-agent 386, gitlab-runner's `retry:`. Tried in 2026 on cmgr as it
was: eight copies of one job were on one chip after the recovery, and `all is well: 9 containers running`.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemons.dockerd import IMAGE
from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SCRIPT = """
i=1
until docker -H "$1" run --name $4-$i --network none -e ASCEND_VISIBLE_DEVICES=$5 "$2" sh -c "$3"
do while [ ! -e "$6" ]; do sleep 0.1; done
   i=$((i + 1))
done
"""
FAILS = "trap 'exit 1' TERM; echo ready; while :; do sleep 0.05; done"


@contextmanager
def batch(containers: Containers, job: str, chip: str, gate: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the script until it is ended, or the block. It tries again once there is the gate."""
    socket = f"unix://{containers.dockerd.socket}"
    words = ["sh", "-c", SCRIPT, "batch", socket, IMAGE, FAILS, job, chip, str(gate)]
    script = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield script
    finally:
        ended(script)


def ended(script: "subprocess.Popen[bytes]") -> None:
    """End it as a person does by closing its terminal; its containers run on."""
    if script.poll() is None:
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()


def running(service: Service, job: str) -> list[str]:
    """Return the names of the job's containers that run, as cmgr knows."""
    found = service.status()["containers"]
    return [row["name"] for row in found if row["name"].startswith(job) and service.runs(row["name"])]


def told(service: Service) -> str:
    return " ".join(service.cmgr("status").out.split())


def test_after_a_recovery_one_of_its_jobs_runs_and_the_others_are_told(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "5m", "retry.settle": "1s"})
    containers.run(Spec("mate", "1"))
    service.start()
    with batch(containers, "job", "0", folder) as script:
        eventually(lambda: service.runs("job-1"), why="it has begun")
        service.inject(0, LATER)
        eventually(lambda: _is_left_alone(service), why="the fourth new one is left alone")
        assert running(service, "job") == ["job-5"]
        assert service.cmgr("status", "--check").code == 4
        ended(script)
        containers.stop("job-5")
    service.inject(0)
    service.until_said("is over: recovered")
    assert running(service, "job") == ["job-4"]
    assert containers.is_running("mate")
    assert "not well: job-1, job-2, job-3 are not started" in told(service)
    assert "job-4 was made in its place" in told(service)
    for name in ("job-1", "job-2", "job-3"):
        assert service.cmgr("forget", name).code == 0
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    _tried_again_after_the_start(service, containers, folder / "late")


def _tried_again_after_the_start(service: Service, containers: Containers, gate: Path) -> None:
    """If the client makes another only when cmgr has started the old one, both are told: two of one job on a chip."""
    service.configure({"retry.settle": "1m"})
    assert service.cmgr("reload").code == 0
    with batch(containers, "late", "4", gate) as script:
        eventually(lambda: running(service, "late") == ["late-1"], why="it has begun")
        service.inject(4)
        service.until_said("late-1 runs again")
        gate.touch()
        eventually(lambda: "chip 4 is used by late-2 and late-1" in told(service), why="it is told")
        ended(script)
    containers.stop("late-2")
    eventually(lambda: "chip 4 is used" not in told(service))
    assert (containers.is_running("late-1"), containers.is_running("late-2")) == (True, False)


def test_where_the_reset_comes_at_once_one_job_runs_or_two_are_told(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    """Two ran then, and all was well. Now the client is quicker, now the reset."""
    service = on_docker({"retry.settle": "1s"})
    service.start()
    with batch(containers, "job", "0", folder) as script:
        eventually(lambda: service.runs("job-1"), why="it has begun")
        service.inject(0)
        eventually(lambda: "is over: " in service.said() or _is_left_alone(service), why="either has got its way")
        ended(script)
    if _is_left_alone(service):  # The client was the quicker for so long that the reset waits for what it made.
        for name in running(service, "job"):
            containers.stop(name)
    service.until_said("is over: ")
    eventually(lambda: _is_one_or_told(service), why="one runs, or two are told")


def _is_left_alone(service: Service) -> bool:
    return "or another in its place" in told(service)


def _is_one_or_told(service: Service) -> bool:
    jobs, words = running(service, "job"), told(service)
    if len(jobs) == 2:
        return f"chip 0 is used by {jobs[1]} and {jobs[0]}" in words and service.cmgr("status", "--check").code == 4
    return len(jobs) == 1 and "chip 0 is used by" not in words
