"""Whole episodes with containerd: the real service, real containers on a private containerd, simulated chips."""

import json
import os
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.door.client import order
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import OBEYS
from tests.support.service import LATER, NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf
from tests.system.tasks import POLICY, Tasks

pytestmark = pytest.mark.containerd


def recovered(service: Service) -> None:
    service.until_said("is over: recovered")
    service.until_over()


def test_one_container_is_stopped_and_runs_again_with_its_log(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"strategy": "singleRecover", "sim.ring": 1})
    tasks.run(Spec("one", "3"), Spec("beside", "4"))
    service.start()
    service.inject(3)
    recovered(service)
    assert [(r.chips, r.outcome) for r in service.resets()] == [((3,), "taken")]
    checks.each_was_stopped_once(tasks, ["one"])
    checks.resets_were_safe(service, tasks, ["one"])
    checks.timeline_is_true(service, tasks, 1, list(tasks.keys))
    eventually(lambda: tasks.lives("one") == 2, why="its log goes on")


def test_a_ring_of_eight_over_two_namespaces(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"sim.ring": 8})
    names = [f"c{n}" for n in range(8)]
    tasks.run(*(Spec(name, name[1:]) for name in names[:4]))
    tasks.run(*(Spec(name, name[1:]) for name in names[4:]), namespace=1)
    service.start()
    service.inject(2)
    recovered(service)
    assert [r.outcome for r in service.resets()] == ["taken"]
    checks.each_was_stopped_once(tasks, names)
    checks.resets_were_safe(service, tasks, names)
    checks.timeline_is_true(service, tasks, 1, names)


def test_the_same_name_in_two_namespaces_is_two_containers(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"strategy": "singleRecover", "sim.ring": 1})
    tasks.run(Spec("web", "0"))
    tasks.run(Spec("web", "1"), namespace=1)
    service.start()
    eventually(lambda: len(service.status()["containers"]) == 2)
    service.inject(1)
    recovered(service)
    checks.each_was_stopped_once(tasks, ["web"])
    assert tasks.world.said(tasks.keys["web"]).count("ready") == 2
    first = tasks.keys["web"]._replace(namespace=tasks.containerd.namespaces[0])
    assert tasks.world.said(first).count("ready") == 1


def test_what_is_skipped_is_left_alone_and_its_chips_are_not_reset_under_it(
    on_containerd: Install, tasks: Tasks
) -> None:
    service = on_containerd({"containerd.skip_namespaces": [tasks.containerd.namespaces[1]]})
    tasks.run(Spec("ours", "0"))
    tasks.run(Spec("theirs", "1"), namespace=1)
    service.start()
    eventually(lambda: [c["name"] for c in service.status()["containers"]] == ["ours"])
    service.inject(0)
    recovered(service)
    checks.each_was_stopped_once(tasks, ["ours"])


def test_one_that_ignores_the_stop_is_killed_and_delays_nobody_else(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({})
    tasks.run(deaf("deaf", "0"), Spec("quick", "1"))
    service.start()
    service.inject(1)
    recovered(service)
    ends = [(h.name, h.detail) for h in tasks.happenings() if h.action == "die"]
    assert ends == [("quick", ""), ("deaf", "137")]
    checks.each_was_stopped_once(tasks, ["deaf", "quick"])
    checks.resets_were_safe(service, tasks, ["deaf", "quick"])


def test_one_that_exits_with_an_error_is_healed(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"strategy": "never", "heal.backoff": "300ms"})
    crashes = ("sh", "-c", "echo ready; trap 'exit 1' HUP; while :; do sleep 1 & wait $!; done")
    heal = {"cmgr.heal": "true"}
    tasks.run(Spec("web", "0", crashes, labels=heal), Spec("stopped", "1", labels=heal), Spec("plain", "2", crashes))
    service.start()
    tasks.world.kill(tasks.keys["stopped"])
    for name in ("plain", "web"):
        os.kill(tasks.world.task(tasks.keys[name])[0], signal.SIGHUP)
    service.until_said("web runs again")
    eventually(lambda: tasks.lives("web") == 2, why="its log goes on")
    assert [tasks.is_running(name) for name in ("web", "stopped", "plain")] == [True, False, False]


def test_one_that_crashes_of_the_fault_runs_again_and_what_a_person_stopped_does_not(
    on_containerd: Install, tasks: Tasks
) -> None:
    service = on_containerd({})
    crashes = ("sh", "-c", "echo ready; trap 'exit 1' HUP; while :; do sleep 1 & wait $!; done")
    tasks.run(Spec("faulty", "0", crashes), Spec("stopped", "1"), Spec("mate", "1"))
    tasks.world.kill(tasks.keys["stopped"])
    service.start()
    os.kill(tasks.world.task(tasks.keys["faulty"])[0], signal.SIGHUP)
    # Until cmgr knows, too: else it is stopped first, and only then found to have died.
    eventually(lambda: not service.runs("faulty"), why="its death was heard of")
    service.inject(0, LATER)
    service.until_said("faulty died by itself (exit code 1)")
    recovered(service)
    assert [tasks.is_running(name) for name in ("faulty", "mate", "stopped")] == [True, True, False]
    assert (tasks.count("faulty", "start"), tasks.count("mate", "start")) == (1, 1)
    checks.resets_were_safe(service, tasks, ["faulty", "mate"])


def test_a_restart_label_is_off_while_its_container_is_held_and_back_afterwards(
    on_containerd: Install, tasks: Tasks
) -> None:
    # Longer than two passes of the monitor.
    service = on_containerd({"levels.RestartRequest.reset_after": "7s"})
    tasks.run(Spec("keen", "0", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: f'"{POLICY}": "running"' not in tasks.world.labels(tasks.keys["keen"]))
    recovered(service)
    assert f'"{POLICY}": "running"' in tasks.world.labels(tasks.keys["keen"])
    checks.each_was_stopped_once(tasks, ["keen"], monitored="keen")
    checks.resets_were_safe(service, tasks, ["keen"])


@dataclass(frozen=True, slots=True)
class Stage:
    """A phase that lasts long enough to be seen, because of these settings, this fault or this container."""

    phase: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    code: str = NOW
    grace: int = 0


STAGES = (
    Stage("draining", grace=2),
    Stage("waiting", {"levels.RestartRequest.reset_after": "3s"}, LATER),
    Stage("resetting", {"sim.reset_time": "2s"}),
    Stage("verifying", {"sim.boot_time": "2s"}),
)

Begin = Callable[[Stage], Service]


@pytest.fixture
def begun(on_containerd: Install, tasks: Tasks) -> Begin:
    def begin(stage: Stage) -> Service:
        service = on_containerd(stage.settings)
        slow = deaf("slow", "1", stage.grace) if stage.grace else Spec("slow", "1")
        tasks.run(Spec("quick", "0"), slow, Spec("keen", "2", policy="always"))
        tasks.run(Spec("beside", "4"), namespace=1)
        service.start()
        service.inject(0, stage.code)
        return service

    return begin


HELD = ["quick", "slow", "keen"]


def ended_well(service: Service, tasks: Tasks, *, keen: Collection[int] = (2,)) -> None:
    """`keen`: how often the one with a restart label may have said in its log that it lives."""
    recovered(service)
    assert [r.outcome for r in service.resets()] == ["taken"]
    # A task that runs has not yet come to say so. A life that the monitor began has no log.
    others = ("quick", "slow", "beside")
    eventually(lambda: [tasks.lives(name) for name in others] == [2, 2, 1], why="each goes on in its log")
    eventually(lambda: tasks.lives("keen") in keen, why="keen goes on in its log")
    assert tasks.all_running()
    assert f'"{POLICY}": "running"' in tasks.world.labels(tasks.keys["keen"])
    (episode,) = service.episodes()
    assert episode.outcome == "recovered"


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.phase)
def test_an_episode_goes_on_after_a_kill_of_cmgr(begun: Begin, tasks: Tasks, stage: Stage) -> None:
    service = begun(stage)
    service.until_phase(stage.phase)
    service.kill9()
    service.start()
    ended_well(service, tasks)
    checks.each_was_stopped_once(tasks, HELD, monitored="keen")
    checks.resets_were_safe(service, tasks, HELD)


@contextmanager
def frozen(containerd: Containerd) -> Iterator[None]:
    """Let the daemon answer nobody."""
    containerd.freeze()
    try:
        yield
    finally:
        containerd.thaw()


def test_it_goes_on_after_a_kill_while_containerd_was_asked_who_uses_the_ring(
    on_containerd: Install, tasks: Tasks
) -> None:
    service = on_containerd({})
    tasks.run(Spec("quick", "0"), Spec("slow", "1"), Spec("keen", "2", policy="always"), Spec("beside", "4"))
    service.start()
    with frozen(tasks.containerd):
        service.inject(0)
        service.until_phase("listing")
        service.kill9()
    service.start()
    # The signal may be taken and the labels that went with it not, for their sender is dead. Where the monitor comes
    # then, it puts a task of its own in the place of the only one that knew of the log.
    ended_well(service, tasks, keen=(1, 2))


def test_it_goes_on_after_a_kill_while_containers_were_started(begun: Begin, tasks: Tasks) -> None:
    service = begun(Stage("verifying", {"sim.boot_time": "3s"}))
    service.until_phase("verifying")
    with frozen(tasks.containerd):
        service.until_phase("resuming")
        service.kill9()
    service.start()
    ended_well(service, tasks)


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.phase)
def test_a_restart_of_containerd_in_the_middle_of_an_episode_loses_nothing(
    begun: Begin, tasks: Tasks, stage: Stage, how: str
) -> None:
    service = begun(stage)
    service.until_phase(stage.phase)
    getattr(tasks.containerd, how)()
    tasks.containerd.start()
    ended_well(service, tasks)


def test_a_docker_and_a_containerd_container_share_a_ring(
    install: Install, tasks: Tasks, containers: Containers
) -> None:
    sockets = {"docker.socket": containers.dockerd.socket, "containerd.address": tasks.containerd.socket}
    service = install({"runtimes": ["auto"], **sockets})
    containers.run(Spec("whale", "0"))
    tasks.run(Spec("box", "1"), Spec("beside", "5"))
    service.start()
    runtimes = {"whale": "docker", "box": "containerd", "beside": "containerd"}
    eventually(lambda: {c["name"]: c["runtime"] for c in service.status()["containers"]} == runtimes)
    service.inject(1)
    recovered(service)
    assert [r.chips for r in service.resets()] == [(0, 1, 2, 3)]
    checks.each_was_stopped_once(containers, ["whale"])
    checks.each_was_stopped_once(tasks, ["box"])
    checks.resets_were_safe(service, containers, ["whale"])
    checks.resets_were_safe(service, tasks, ["box"])
    told = json.loads(service.cmgr("history", "1", "--json").out)
    assert told["episode"]["outcome"] == "recovered"


def test_dockers_own_containers_are_never_seen_through_its_containerd(install: Install, containers: Containers) -> None:
    address = str(containers.dockerd.folder / "exec-root" / "containerd" / "containerd.sock")
    settings: Mapping[str, Setting] = {"containerd.address": address, "containerd.skip_namespaces": []}
    service = install({"runtimes": ["docker", "containerd"], "docker.socket": containers.dockerd.socket, **settings})
    containers.run(Spec("whale", "0"))
    service.start()
    eventually(lambda: service.container("whale"))
    service.inject(0)
    recovered(service)
    checks.each_was_stopped_once(containers, ["whale"])
    assert [(c["name"], c["runtime"]) for c in service.status()["containers"]] == [("whale", "docker")]


def test_a_container_on_a_slot_moves_off_an_isolated_chip(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"strategy": "singleRecover", "isolation.on_isolate": "stop"})
    service.start()
    assert service.cmgr("slot", "create", "chat", "--chips", "3").code == 0
    key = ContainerKey("containerd", tasks.containerd.namespaces[0], "chat")
    # As nerdctl makes it of --device cmgr.io/slot=chat.
    given = [word for line in ("CMGR_SLOT=chat", "CMGR_CHIPS=3", "SIM_CHIPS=3") for word in ("--env", line)]
    tasks.world.run(key, *OBEYS, chips="", options=("--log-uri", f"file://{tasks.world.log(key)}", *given))
    tasks.world.ready(key, 0)
    eventually(lambda: service.runs("chat"), why="cmgr knows it")
    order(service.socket, "isolate", chip=3, reason="its fan is loud")
    service.until_said("chat runs again")
    row = service.container("chat")
    assert row is not None
    # Which one is free depends on how far its own ring is by then.
    ((chip,), slots, reason) = row["chips"], row["slots"], row["reason"]
    assert chip != 3
    assert (slots, reason) == (["chat"], f"moved from 3 to {chip}")
    environment = Path(f"/proc/{tasks.world.task(key)[0]}/environ").read_bytes().split(b"\0")
    assert {b"CMGR_CHIPS=%d" % chip, b"SIM_CHIPS=%d" % chip} <= set(environment)


def test_a_container_without_a_slot_moves_off_an_isolated_chip_and_back(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"strategy": "singleRecover", "isolation.on_isolate": "stop"})
    service.start()
    tasks.run(Spec("plain", "3", labels={"cmgr.spare": "auto"}), Spec("fixed", "3"))
    eventually(lambda: service.runs("plain") and service.runs("fixed"), why="cmgr knows both")
    order(service.socket, "isolate", chip=3, reason="its fan is loud")
    service.until_said("plain runs again")
    row = service.container("plain")
    assert row is not None
    # Which one is free depends on how far its own ring is by then.
    (chip,) = row["chips"]
    assert (chip in (0, 4), row["reason"]) == (True, f"moved from 3 to {chip}")
    assert f"ASCEND_VISIBLE_DEVICES={chip}".encode() in _environment(tasks, "plain")
    waits = service.container("fixed")
    assert waits is not None
    assert (waits["status"], waits["chips"]) == ("paused", [3])
    assert service.cmgr("release", "3").code == 0
    eventually(lambda: service.runs("fixed"), why="fixed runs again")
    assert "--stop" in service.cmgr("slot", "assign", "plain", "5").err
    assert service.cmgr("slot", "assign", "plain", "5", "--stop").out.startswith("slot plain: chips 5")
    eventually(lambda: b"ASCEND_VISIBLE_DEVICES=5" in _environment(tasks, "plain"), why="it is on chip 5")
    service.kill9()
    service.start()
    eventually(lambda: service.runs("plain"), why="cmgr knows it")
    row = service.container("plain")
    assert row is not None
    assert (row["chips"], row["reason"]) == ([5], "moved from 3 to 5")


def _environment(tasks: Tasks, name: str) -> list[bytes]:
    pid = tasks.world.task(tasks.keys[name])[0]
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if pid else []
    return []
