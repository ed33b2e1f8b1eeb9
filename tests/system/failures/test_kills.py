"""cmgr is killed, or told to end, in every phase of an episode; the next life goes on from there."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.support.daemons.dockerd import Dockerd
from tests.support.service import LATER, NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf

pytestmark = pytest.mark.docker

KILL = signal.SIGKILL
TERM = signal.SIGTERM


@contextmanager
def frozen(dockerd: Dockerd) -> Iterator[None]:
    """Let the daemon answer nobody."""
    dockerd.freeze()
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            dockerd.thaw()


@dataclass(frozen=True, slots=True)
class Stage:
    """A phase that lasts long enough to be seen, because of these settings, this fault or this container."""

    phase: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    code: str = NOW
    grace: int = 0


STAGES = (
    Stage("draining", grace=2),
    Stage("waiting", {"levels.RestartRequest.reset_after": "2s"}, LATER),
    Stage("resetting", {"sim.reset_time": "2s"}),
    Stage("verifying", {"sim.boot_time": "2s"}),
)

WAITS = {"levels.RestartRequest.reset_after": "1h"}

Scene = Callable[[Stage], Service]


@pytest.fixture
def begun(on_docker: Install, containers: Containers) -> Scene:
    """Start a service and three containers on a ring and one beside it; let the fault come."""

    def begin(stage: Stage) -> Service:
        service = on_docker(stage.settings)
        slow = deaf("slow", "1", stage.grace) if stage.grace else Spec("slow", "1")
        containers.run(Spec("quick", "0"), slow, Spec("keen", "2", policy="always"), Spec("beside", "4"))
        service.start()
        service.inject(0, stage.code)
        return service

    return begin


def ended_well(service: Service, containers: Containers, resets: int = 1) -> None:
    """Check what must be true after any number of deaths of cmgr."""
    service.until_said("is over: recovered")
    service.until_over()
    held = ["quick", "slow", "keen"]
    assert [r.outcome for r in service.resets()] == ["taken"] * resets
    checks.each_was_stopped_once(containers, held)
    checks.resets_were_safe(service, containers, held)
    assert containers.policy("keen") == "always"
    (episode,) = service.episodes()
    assert episode.outcome == "recovered"
    with_restarts = [n.text for n in service.notes(1) if n.text.startswith("cmgr was restarted while the ring was")]
    assert with_restarts, "the timeline tells of it"


@pytest.mark.parametrize("how", [KILL, TERM], ids=["kill", "term"])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.phase)
def test_an_episode_goes_on_after_a_death(
    begun: Scene, containers: Containers, stage: Stage, how: signal.Signals
) -> None:
    service = begun(stage)
    service.until_phase(stage.phase)
    assert service.end(how) == (-KILL if how is KILL else 0)
    service.start()
    ended_well(service, containers)


def test_it_goes_on_after_a_kill_while_docker_was_asked_who_uses_the_ring(
    containers: Containers, on_docker: Install
) -> None:
    service = on_docker({})
    containers.run(Spec("quick", "0"), Spec("slow", "1"), Spec("keen", "2", policy="always"), Spec("beside", "4"))
    service.start()
    with frozen(containers.dockerd):
        service.inject(0)
        service.until_phase("listing")
        service.kill9()
    service.start()
    ended_well(service, containers)


def test_it_goes_on_after_a_kill_while_containers_were_started(begun: Scene, containers: Containers) -> None:
    service = begun(Stage("verifying", {"sim.boot_time": "3s"}))
    service.until_phase("verifying")
    with frozen(containers.dockerd):
        service.until_phase("resuming")
        service.kill9()
    service.start()
    ended_well(service, containers)


def test_a_kill_in_every_phase_of_one_episode_costs_no_reset_and_no_start(begun: Scene, containers: Containers) -> None:
    settings: Mapping[str, Setting] = {
        "levels.RestartRequest.reset_after": "8s",
        "sim.reset_time": "3s",
        "sim.boot_time": "3s",
    }
    service = begun(Stage("draining", settings, LATER, grace=1))
    for phase in ("draining", "waiting", "resetting", "verifying"):
        service.until_phase(phase)
        service.kill9()
        service.start()
    ended_well(service, containers)


def test_what_was_paused_is_paused_again_after_a_kill(on_docker: Install, containers: Containers) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("quick", "0"), Spec("keen", "2", policy="always"))
    containers.pause("keen")
    service.start()
    eventually(lambda: "somebody has paused it" in service.cmgr("status").out, why="cmgr knows it, and not since when")
    service.inject(0, LATER)
    service.until_phase("waiting")
    assert not containers.is_running("keen")
    service.kill9()
    service.start()
    service.inject(0)
    service.until_over()
    checks.each_was_stopped_once(containers, ["quick", "keen"])
    assert [n for n in containers.names if containers.is_paused(n)] == ["keen"]
    assert containers.policy("keen") == "always"


def test_kills_in_the_middle_of_resets_cannot_exceed_the_budget(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"sim.incurable": [NOW], "sim.reset_time": "2s"})
    containers.run(Spec("hit", "0"), Spec("mate", "1"))
    service.start()
    service.inject(0)
    for reset in (1, 2, 3):
        service.until_said(f"reset {reset} of 3")
        # Between the order and the driver's call a bundle is saved.
        eventually(lambda reset=reset: len(service.resets()) == reset, why="the driver took it")  # type: ignore[misc]
        service.kill9()
        service.start()
    service.until_said("chip 0 is isolated")
    service.until_said("is over: isolated")
    assert [r.outcome for r in service.resets()] == ["taken"] * 3
    eventually(lambda: containers.is_running("mate"))
    assert not containers.is_running("hit")
    checks.resets_were_safe(service, containers, ["hit"])
    service.kill9()
    service.start()
    eventually(lambda: service.status()["chips"][0]["isolated"])
    assert len(service.resets()) == 3
    service.inject(0, assertion="cleared")
    eventually(lambda: not service.status()["chips"][0]["faults"])
    assert service.cmgr("release", "0").code == 0
    service.until_over()
    checks.each_was_stopped_once(containers, ["hit", "mate"])


def test_held_containers_stay_down_while_cmgr_is_and_run_when_it_is_back(begun: Scene, containers: Containers) -> None:
    service = begun(Stage("waiting", WAITS, LATER))
    service.until_phase("waiting")
    service.terminate()
    assert [n for n in containers.names if containers.is_running(n)] == ["beside"]
    assert service.resets() == ()
    told = service.cmgr("status")
    assert "the service is not running" in told.err
    assert "paused" in told.out
    service.start()
    service.inject(0)
    ended_well(service, containers)


def test_it_ends_soon_though_docker_hangs(containers: Containers, on_docker: Install) -> None:
    service = on_docker({})
    containers.run(Spec("quick", "0"), Spec("slow", "1"), Spec("keen", "2", policy="always"))
    service.start()
    with frozen(containers.dockerd):
        service.inject(0)
        service.until_phase("listing")
        service.tell(TERM)
        # A list may take 28 s, and what is under way gets 5.
        eventually(lambda: not service.running(), why="it ends")
    service.start()
    ended_well(service, containers)


def test_it_ends_soon_though_a_container_has_a_long_grace(containers: Containers, on_docker: Install) -> None:
    service = on_docker({})
    containers.run(deaf("slow", "0", grace=300))
    service.start()
    service.inject(0)
    service.until_phase("draining")
    service.tell(TERM)
    eventually(lambda: not service.running(), why="it ends")
    service.start()
    containers.crash("slow")
    service.until_said("is over: recovered")
    service.until_over()
    checks.each_was_stopped_once(containers, ["slow"])
