"""Bystanders: containers that could reach every chip and use none, and services on healthy chips of a faulty ring.

Tried in 2026 on cmgr as it was: one container with all of /dev (on appliances `--privileged` is what most tutorials
start with) kept the service on a faulty chip down until a person came, though the driver, asked 25 times, listed no
process of it; and the only mend was to make the vendor's container anew with a label. A container that cmgr must not
stop was on a faulty chip, and a service on healthy chips of its ring was down for 13 minutes without an end.
"""

import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.fakes.dcmi import hosts
from tests.support.service import NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.containers import Containers, Spec, deaf
from tests.system.dcmi.conftest import Furnish

pytestmark = pytest.mark.docker

MINE = Spec("mine", "0", labels={"cmgr.enable": "false"})
MATE = Spec("mate", "1")
LLM = Spec("llm", "0")
EXPORTER = Spec("npu-exporter", "", binds=("/dev:/dev",))
LABELLED = Spec("npu-exporter", "", binds=("/dev:/dev",), labels={"cmgr.enable": "ignore"})


def told(service: Service, *words: str) -> str:
    return " ".join(service.cmgr(*words).out.split())


def test_an_exporter_of_which_the_driver_lists_no_process_keeps_nobody_down(
    furnish: Furnish, containers: Containers
) -> None:
    service, machine = (appliance := furnish(hosts.host_910b(8))).service, appliance.machine
    containers.run(LLM, EXPORTER)
    machine.process(0, containers.pid("llm"))
    service.start()
    eventually(lambda: service.runs("llm"))
    assert '[containers] ignore = ["npu-exporter"], then cmgr reload' in told(service, "check")
    machine.fault(0, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    assert len(machine.resets) == 1
    assert service.runs("llm")
    assert containers.count("npu-exporter", "kill") == 0


@pytest.mark.parametrize(
    ("exporter", "settings"), [(EXPORTER, {"containers.ignore": ["npu-exporter*"]}), (LABELLED, {})]
)
def test_nothing_is_reset_under_a_process_of_one_that_is_ignored_and_it_is_told_by_its_name(
    furnish: Furnish, containers: Containers, exporter: Spec, settings: Mapping[str, Setting]
) -> None:
    service, machine = (appliance := furnish(hosts.host_910b(8), settings)).service, appliance.machine
    containers.run(LLM, exporter)
    machine.process(0, containers.pid("llm"))
    machine.process(1, containers.pid("npu-exporter"))
    service.start()
    eventually(lambda: service.runs("llm"))
    machine.fault(0, NOW)
    service.until_reason("of npu-exporter, which is ignored, is on chip 1")
    assert "to have it reset, stop npu-exporter yourself" in told(service, "status")
    assert (containers.is_running("npu-exporter"), machine.resets) == (True, ())
    containers.stop("npu-exporter")
    eventually(lambda: len(machine.resets) == 1)
    service.until_over()
    assert containers.count("npu-exporter", "start") == 0


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a process of the machine's that is nobody's container."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        yield process
        process.kill()


def test_a_service_on_healthy_chips_is_not_stopped_while_somebody_on_the_ring_does_not_go(
    furnish: Furnish, containers: Containers
) -> None:
    service, machine = (appliance := furnish(hosts.host_910b(8))).service, appliance.machine
    containers.run(LLM, MATE, MINE)
    service.start()
    eventually(lambda: service.runs("mate"))
    machine.fault(0, NOW)
    service.until_reason("waits for mine (label cmgr.enable=false)")
    eventually(lambda: not containers.is_running("llm"))
    assert containers.count("mate", "kill") == 0
    containers.stop("mine")
    eventually(lambda: len(machine.resets) == 1)
    service.until_over()
    assert (service.runs("llm"), service.runs("mate")) == (True, True)


def test_a_service_on_healthy_chips_that_was_stopped_for_a_reset_that_does_not_come_is_given_back(
    furnish: Furnish, containers: Containers, stranger: "subprocess.Popen[bytes]"
) -> None:
    service, machine = (appliance := furnish(hosts.host_910b(8), {"limits.mercy": "2s"})).service, appliance.machine
    containers.run(deaf("llm", "0", grace=600), MATE)
    service.start()
    eventually(lambda: service.runs("mate"))
    machine.fault(0, NOW)
    eventually(lambda: not containers.is_running("mate"))
    # It comes when the mates are down already: only the last look finds it.
    machine.process(0, stranger.pid)
    containers.crash("llm")
    service.until_said("has not begun within 2 s (limits.mercy): mate runs again")
    eventually(lambda: service.runs("mate"))
    service.until_reason("mate runs until nothing is in the way", f"process {stranger.pid}")
    assert (machine.resets, containers.count("mate", "kill")) == ((), 1)
    stranger.kill()
    stranger.wait()
    eventually(lambda: len(machine.resets) == 1)
    service.until_over()
    assert (service.runs("llm"), service.runs("mate")) == (True, True)
