"""Slots with real containers on a real Docker daemon that knows CDI (from 25 on), simulated chips."""

import json

import pytest

from cmgr.service.door.client import order
from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


@pytest.fixture
def service(on_docker: Install, containers: Containers) -> Service:
    """Return a service that has slot `chat` on chip 3, and `chat` running on that."""
    dockerd = containers.dockerd
    if not dockerd.knows_cdi:
        pytest.skip("this dockerd is older than 25: it knows no CDI")
    made = on_docker({"cdi.dir": str(dockerd.cdi), "strategy": "singleRecover", "isolation.on_isolate": "stop"})
    made.start()
    told = made.cmgr("slot", "create", "chat", "--chips", "3")
    assert (told.code, told.out) == (0, "slot chat: chips 3; --device cmgr.io/slot=chat\n")
    file = dockerd.cdi / "cmgr-slot-chat.json"
    eventually(file.exists, why="the slot's file is there")
    containers.run(Spec("chat", "", slot="chat"))
    assert containers.variable("chat", "CMGR_CHIPS") == "3"
    eventually(lambda: made.runs("chat"), why="cmgr knows it")
    return made


def isolate(service: Service, chip: int) -> None:
    order(service.socket, "isolate", chip=chip, reason="its fan is loud")


def chips_of(service: Service, containers: Containers) -> tuple[str, list[int]]:
    """Return the chips that the container has been given, and those that cmgr says it has."""
    (row,) = json.loads(service.cmgr("slot", "-o", "json").out)["slots"]
    return containers.variable("chat", "CMGR_CHIPS"), row["chips"]


def until_moved(service: Service, containers: Containers, chip: int) -> None:
    eventually(lambda: containers.was_restarted("chat") and service.runs("chat"), why="chat runs again")
    assert chips_of(service, containers) == (str(chip), [chip])


def test_a_service_moves_off_an_isolated_chip_and_a_person_moves_it_back(
    service: Service, containers: Containers
) -> None:
    isolate(service, 3)
    until_moved(service, containers, 0)
    assert "moved from 3 to 0" in service.cmgr("status").out
    history = " ".join(service.cmgr("history", "--all").out.split())
    assert "chat moves from chip 3 (chip 3 is isolated: its fan is loud) to chip 0" in history
    assert service.cmgr("release", "3").code == 0
    assert "--stop" in service.cmgr("slot", "assign", "chat", "3").err
    containers.mark()
    told = service.cmgr("slot", "assign", "chat", "3", "--stop")
    assert told.out == "slot chat: chips 3\nstopped for that, and started again there: chat\n"
    until_moved(service, containers, 3)
    assert containers.count("chat", "start") == 1


def test_whoever_starts_it_by_hand_on_an_isolated_chip_is_told_why_not(
    service: Service, containers: Containers
) -> None:
    containers.stop("chat")
    isolate(service, 3)
    file = containers.dockerd.cdi / "cmgr-slot-chat.json"
    eventually(lambda: "is isolated" in file.read_text(), why="the file refuses")
    with pytest.raises(Exception, match=r"chip 3 is isolated: its fan is loud"):
        containers.start("chat")
    assert not containers.is_running("chat")


def test_what_others_do_to_the_file_is_seen_and_put_right(service: Service, containers: Containers) -> None:
    file = containers.dockerd.cdi / "cmgr-slot-chat.json"
    service.terminate()
    service.configure({"resync": "1s"})
    service.start()
    text = file.read_text()
    file.unlink()
    service.until_said("was gone: it is written again")
    file.write_text("{")
    service.until_said("had been changed: it is written again")
    (file.parent / "copy.json").write_text(text)
    service.until_said("it is set aside")
    assert file.read_text() == text
    containers.stop("chat")
    containers.start("chat")
    assert containers.variable("chat", "CMGR_CHIPS") == "3"


def test_a_move_while_the_daemon_is_restarted_ends_on_the_spare(service: Service, containers: Containers) -> None:
    isolate(service, 3)
    service.until_said("chat moves from chip 3")
    containers.dockerd.stop()
    containers.dockerd.start()
    eventually(lambda: containers.is_running("chat") and service.runs("chat"), why="chat runs again")
    assert chips_of(service, containers) == ("0", [0])


def test_a_daemon_that_was_away_when_the_slot_moved_gives_the_new_chip(
    service: Service, containers: Containers
) -> None:
    service.terminate()
    service.configure({"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(3, LATER)
    service.until_said("chat is stopped")
    containers.dockerd.stop()
    eventually(lambda: service.status()["runtimes"][0]["why_down"], why="cmgr knows that Docker is away")
    isolate(service, 3)
    file = containers.dockerd.cdi / "cmgr-slot-chat.json"
    eventually(lambda: "CMGR_CHIPS=0" in file.read_text(), why="the slot has moved, and so has its file")
    assert not service.runs("chat")
    containers.dockerd.start()
    eventually(lambda: containers.is_running("chat") and service.runs("chat"), why="chat runs again")
    assert chips_of(service, containers) == ("0", [0])


@pytest.fixture
def keen(service: Service, containers: Containers) -> Service:
    """Return the service with a second slot and container, which Docker starts with itself."""
    assert service.cmgr("slot", "create", "keen", "--chips", "5").code == 0
    eventually((containers.dockerd.cdi / "cmgr-slot-keen.json").exists, why="the slot's file is there")
    containers.run(Spec("keen", "", slot="keen", policy="always"))
    eventually(lambda: service.runs("keen"), why="cmgr knows it")
    return service


def boot(containers: Containers) -> None:
    """Restart Docker, as a boot of the machine does."""
    containers.dockerd.stop()
    containers.dockerd.start()


def test_a_boot_without_cmgr_starts_containers_on_the_chips_of_their_slots(
    keen: Service, containers: Containers
) -> None:
    keen.terminate()
    boot(containers)
    if containers.dockerd.restarts_cdi:
        eventually(lambda: containers.is_running("keen"), why="Docker starts it")
    else:  # moby issue 49989: by hand it can be started.
        assert not containers.is_running("keen")
        containers.start("keen")
    containers.start("chat")
    assert [containers.variable(name, "CMGR_CHIPS") for name in ("keen", "chat")] == ["5", "3"]
    keen.start()
    eventually(lambda: keen.runs("keen") and keen.runs("chat"), why="cmgr finds them as they are")
    assert keen.cmgr("status", "--check").code == 0


def test_a_boot_without_cmgr_starts_nothing_on_an_isolated_chip_and_cmgr_says_what_is_down(
    keen: Service, containers: Containers
) -> None:
    keen.terminate()
    keen.configure({"isolation.on_isolate": "leave"})
    keen.start()
    isolate(keen, 5)
    file = containers.dockerd.cdi / "cmgr-slot-keen.json"
    eventually(lambda: "is isolated" in file.read_text(), why="the file refuses")
    keen.terminate()
    boot(containers)
    assert not containers.is_running("keen")
    with pytest.raises(Exception, match="chip 5 is isolated: its fan is loud"):
        containers.start("keen")
    keen.start()
    eventually(lambda: "keen" in [c["name"] for c in keen.status()["down"]], why="it is told as down")
    assert keen.cmgr("status", "--check").code == 4


def test_what_cmgr_holds_is_started_by_it_after_dockers_restart_whatever_docker_does(
    keen: Service, containers: Containers
) -> None:
    keen.terminate()
    keen.configure({"levels.RestartRequest.reset_after": "1h"})
    keen.start()
    keen.inject(5, LATER)
    keen.until_said("keen is stopped")
    eventually(lambda: containers.policy("keen") == "no", why="its restart policy is off while it is held")
    boot(containers)
    assert not containers.is_running("keen")
    keen.inject(5, LATER, "cleared")
    eventually(lambda: containers.is_running("keen") and keen.runs("keen"), why="cmgr has started it")
    assert (containers.policy("keen"), containers.variable("keen", "CMGR_CHIPS")) == ("always", "5")


def test_a_cmgr_that_is_killed_in_a_move_ends_it_in_its_next_life(service: Service, containers: Containers) -> None:
    isolate(service, 3)
    service.until_said("chat moves from chip 3")
    service.kill9()
    service.start()
    until_moved(service, containers, 0)
    assert containers.count("chat", "start") == 1


def test_without_a_spare_it_runs_on_the_chips_that_are_left_and_then_on_all(
    service: Service, containers: Containers
) -> None:
    for name, chips in (("pair", "4-5"), ("rest", "0-2,6-7")):
        assert service.cmgr("slot", "create", name, "--chips", chips).code == 0
    file = containers.dockerd.cdi / "cmgr-slot-pair.json"
    eventually(file.exists, why="the slot's file is there")
    containers.run(Spec("pair", "", slot="pair", labels={"cmgr.min-chips": "1"}))
    eventually(lambda: service.runs("pair"), why="cmgr knows it")
    isolate(service, 5)
    eventually(lambda: containers.was_restarted("pair") and service.runs("pair"), why="pair runs again")
    told = {name: containers.variable("pair", f"CMGR_{name}") for name in ("CHIPS", "CHIP_COUNT", "CHIP_COUNT_FULL")}
    assert told == {"CHIPS": "4", "CHIP_COUNT": "1", "CHIP_COUNT_FULL": "2"}
    status = service.cmgr("status", "--check")
    assert status.code == 4
    assert "pair runs on 1 of its 2 chips, without 5" in " ".join(status.out.split())
    assert service.cmgr("release", "5").code == 0
    assert "cmgr slot assign pair 4,5 --stop" in " ".join(service.cmgr("status").out.split())
    containers.mark()
    assert service.cmgr("slot", "assign", "pair", "4,5", "--stop").code == 0
    eventually(lambda: containers.was_restarted("pair") and service.runs("pair"), why="pair runs again")
    assert containers.variable("pair", "CMGR_CHIP_COUNT") == "2"
    assert service.cmgr("status", "--check").code == 0
