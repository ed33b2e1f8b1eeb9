"""Slots with real containers on a real Docker daemon that knows CDI (from 25 on), simulated chips."""

import json

import pytest

from cmgr.service.door.client import order
from tests.support.service import Service
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
