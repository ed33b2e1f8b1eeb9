"""The metrics of the real service, asked for over HTTP: whole episodes, two lives, a port that is taken, and off."""

import json
import resource
import socket
import subprocess
import sys
from contextlib import closing

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from cmgr.service.door.scrapes import listening
from cmgr.service.metrics.table import METRICS
from tests.metrics.conftest import Install
from tests.metrics.scrape import Page, get, scrape
from tests.support.promtool import promtool
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually

SEPARATE = "80818C00"


def ready(service: Service, port: int) -> Page:
    """Start the service, and wait until it serves metrics with its containers in them."""
    service.start()

    def first() -> Page | None:
        try:
            page = scrape(port)
        except OSError:
            return None
        return page if page.value("cmgr_containers", runtime="sim", status="running") == 2 else None

    found = eventually(first, why="metrics are served")
    assert found is not None
    return found


def eventually_value(port: int, wanted: float, name: str, **labels: str) -> Page:
    eventually(lambda: scrape(port).value(name, **labels) == wanted, why=f"{name} {labels} is {wanted}")
    return scrape(port)


def test_every_metric_is_served_and_prometheus_finds_nothing_to_say_against_it(service: Service, port: int) -> None:
    page = ready(service, port)
    assert {m.name: str(m.kind) for m in METRICS} == {n: k for n, k in page.kinds.items() if n.startswith("cmgr_")}
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"):
        assert page.value(name) > 0
    service.inject(0, LATER)
    service.inject(5, SEPARATE)
    service.until_said("is over: ")
    assert promtool("check", "metrics", given=get(port).body.encode()) == ""
    reply = get(
        port, accept="application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
    )
    assert reply.kind.startswith("application/openmetrics-text; version=1.0.0; charset=utf-8")
    families = text_string_to_metric_families(reply.body)  # type: ignore[no-untyped-call]  # It ships no type for this.
    told = {family.name: family.type for family in families}
    assert told == {name.removesuffix("_total"): kind for name, kind in scrape(port).kinds.items()}


@pytest.mark.parametrize("accept", ["*/*", "application/openmetrics", "application/json;version=x", ";,,="])
def test_who_does_not_ask_for_openmetrics_gets_prometheus_text(service: Service, port: int, accept: str) -> None:
    ready(service, port)
    assert get(port, accept=accept).kind == "text/plain; version=0.0.4; charset=utf-8"


def test_a_service_that_is_well(service: Service, port: int) -> None:
    page = ready(service, port)
    version = service.status()["service"]["version"]
    for name, labels, value in (
        ("cmgr_build_info", {"version": version}, 1),
        ("cmgr_service_state", {"state": "ready"}, 1),
        ("cmgr_strategy_info", {"strategy": "ringRecover"}, 1),
        ("cmgr_database_writable", {}, 1),
        ("cmgr_runtime_up", {"runtime": "sim"}, 1),
        ("cmgr_ring_phase", {"ring": "4", "phase": "healthy"}, 1),
        ("cmgr_ring_resets_left", {"ring": "0"}, 3),
        ("cmgr_observe", {}, 0),
        ("cmgr_maintenance", {}, 0),
        ("cmgr_service_troubles", {}, 0),
        ("cmgr_driver_troubles", {}, 0),
        ("cmgr_bugs_total", {}, 0),
    ):
        assert page.value(name, **labels) == value, name
    assert all(value == 1 for value in page.all("cmgr_chip_healthy").values())
    assert len(page.all("cmgr_chip_healthy")) == 8
    assert page.all("cmgr_faults_active") == {}
    assert page.value("cmgr_last_read_timestamp_seconds", source="driver") >= page.value("process_start_time_seconds")


def test_an_episode_and_then_its_counters_and_histograms(service: Service, port: int) -> None:
    before = ready(service, port)
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    page = eventually_value(port, 1, "cmgr_episodes_total", outcome="recovered")
    assert before.value("cmgr_episodes_total", outcome="recovered") == 0
    for name, labels in (
        ("cmgr_episode_duration_seconds", {"outcome": "recovered"}),
        ("cmgr_reset_duration_seconds", {"result": "cured"}),
        ("cmgr_stop_duration_seconds", {"runtime": "sim"}),
        ("cmgr_start_duration_seconds", {"runtime": "sim"}),
    ):
        number = 2 if "runtime" in labels else 1
        assert page.value(f"{name}_count", **labels) == number, name
        assert page.value(f"{name}_bucket", le="+Inf", **labels) == number
        assert page.value(f"{name}_sum", **labels) > 0
    (episode,) = service.episodes()
    assert episode.ended is not None
    took = (episode.ended - episode.began).total_seconds()
    assert page.value("cmgr_episode_duration_seconds_sum", outcome="recovered") == pytest.approx(took, abs=0.001)
    least = 0.2  # Reset and boot of the simulated chips.
    assert least <= page.value("cmgr_reset_duration_seconds_sum", result="cured") < took
    assert page.value("cmgr_ring_resets_left", ring="0") == 2
    assert page.value("cmgr_ring_episode_start_timestamp_seconds", ring="0") == 0
    assert page.value("cmgr_events_total", source="driver") >= 1
    heard = page.value("cmgr_last_event_timestamp_seconds", source="driver")
    assert heard == pytest.approx(episode.ended.timestamp(), abs=30)


def test_an_episode_while_it_goes_on(service: Service, port: int) -> None:
    service.configure({"levels.RestartRequest.reset_after": "1h"})
    ready(service, port)
    service.inject(1, LATER)
    service.until_phase("waiting")
    page = scrape(port)
    assert page.value("cmgr_ring_phase", ring="0", phase="waiting") == 1
    assert page.value("cmgr_ring_phase", ring="0", phase="healthy") == 0
    assert page.value("cmgr_faults_active", chip="1", code=LATER, level="RestartRequest") == 1
    assert page.value("cmgr_chip_healthy", chip="1") == 0
    assert page.value("cmgr_containers", runtime="sim", status="paused") == 2
    assert page.value("cmgr_containers", runtime="sim", status="running") == 0
    began = page.value("cmgr_ring_episode_start_timestamp_seconds", ring="0")
    assert began == pytest.approx(service.episodes()[0].began.timestamp(), abs=2)
    service.inject(1, LATER, assertion="cleared")
    eventually_value(port, 1, "cmgr_episodes_total", outcome="cleared")
    assert scrape(port).all("cmgr_faults_active") == {}


def test_episodes_of_earlier_lives_count_and_a_life_begins_with_empty_histograms(service: Service, port: int) -> None:
    ready(service, port)
    for number in (1, 2):
        service.inject(0, NOW)
        service.until_said("is over: recovered", times=number)
    service.kill9()
    page = ready(service, port)
    assert page.value("cmgr_episodes_total", outcome="recovered") == 2
    assert page.value("cmgr_episode_duration_seconds_count", outcome="recovered") == 0
    assert page.value("cmgr_ring_resets_left", ring="0") == 1
    service.inject(0, NOW)
    eventually_value(port, 3, "cmgr_episodes_total", outcome="recovered")


def test_an_isolated_chip_and_a_policy_that_only_observes(install: Install, port: int) -> None:
    service = install({"observe": True})
    ready(service, port)
    service.inject(5, SEPARATE)
    page = eventually_value(port, 1, "cmgr_chip_isolated", chip="5", cause="level")
    assert page.value("cmgr_chip_isolated", chip="5", cause="operator") == 0
    assert page.value("cmgr_observe") == 1


def test_a_database_that_cannot_be_written_and_is_written_again(service: Service, port: int) -> None:
    ready(service, port)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The write-ahead log is longer than this already.
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (16 * 1024, most))
    service.inject(0, LATER)
    page = eventually_value(port, 0, "cmgr_database_writable")
    assert page.value("cmgr_service_state", state="degraded") == 1
    assert page.value("cmgr_service_troubles") == 1
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (most, most))
    eventually_value(port, 1, "cmgr_database_writable")


def test_a_port_that_is_taken_keeps_nothing_else_from_working(service: Service, port: int) -> None:
    with closing(listening(f"127.0.0.1:{port}")):
        service.start()
        eventually(lambda: service.status()["service"]["state"] == "degraded")
        (trouble,) = service.status()["service"]["troubles"]
        assert trouble == f"metrics are not served: cannot serve metrics on 127.0.0.1:{port}: Address already in use"
        service.inject(0, NOW)
        service.until_said("is over: recovered")
        found = {f["what"]: f for f in json.loads(service.cmgr("check", "--json").out)["findings"]}
        assert found["metrics"]["state"] == "warning"
        assert found["metrics"]["text"] == f"another program listens on 127.0.0.1:{port}"
    assert service.said().count("cannot serve metrics") == 1
    assert "Traceback" not in service.said()


def test_check_tells_its_own_service_from_another_program(service: Service, port: int) -> None:
    def found() -> str:
        findings = json.loads(service.cmgr("check", "--json").out)["findings"]
        return next(f"{f['state']}: {f['text']}" for f in findings if f["what"] == "metrics")

    assert found() == f"ok: 127.0.0.1:{port} is free; the service takes it"
    ready(service, port)
    assert found() == f"ok: served on http://127.0.0.1:{port}/metrics"


def test_metrics_that_are_switched_off_are_not_served(install: Install, port: int) -> None:
    service = install({"metrics.listen": ""})
    service.start()
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert "metrics are" not in service.said()


def test_the_library_is_not_loaded_before_somebody_asks() -> None:
    program = "import sys, cmgr.service.daemon; print('prometheus_client' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_a_page_that_was_made_while_no_file_could_be_opened_leaves_nothing_out_of_the_next() -> None:
    told = (
        "import resource, types\n"
        "from prometheus_client import exposition, process_collector\n"
        "from cmgr.service.metrics.page import Metrics\n"
        "class OfTheProcess(Metrics):\n"
        "    def collect(self): return ()\n"
        "metrics = OfTheProcess(types.SimpleNamespace(driver=None), {})\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "for limit in (3, soft):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))\n"
        "    print(metrics.page('')[0].count(b'\\nprocess_start_time_seconds '))\n"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n1\n", done.stderr
