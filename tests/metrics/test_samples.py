"""The values of the metrics, made from nodes: what they say, and that there are not ever more of them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from cmgr.model.values.chips import ChipId, ChipReport, Process, RingId, Share
from cmgr.model.values.faults import Fault, FaultCode, Isolation, Level
from cmgr.model.values.fleet import Engine
from cmgr.model.values.handling.policy import Policy, ResetPolicy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.holds import HoldState
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.presence import Appliance, FleetSeen, Presence
from cmgr.model.values.services.containers import Exit
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.service.metrics import table
from cmgr.service.metrics.look import Kind, Look, Metric, Samples
from cmgr.service.metrics.table import METRICS
from cmgr.service.metrics.totals import Totals
from cmgr.service.metrics.usage import MOST, USERS
from cmgr.view import shapes
from cmgr.view.presence import STATES
from cmgr.view.status import Own
from tests.support import picture
from tests.support.picture import T0, faulty, held, in_episode, isolated, machine

OWN = Own(
    "degraded", "sim", (), troubles=(Trouble(TroubleKind.DATABASE, "", "a"), Trouble(TroubleKind.BUG, "", "b"))
)  # fmt: skip


SHOWN = Presence("ready", T0)


def look(node: Node, totals: Totals | None = None, ahead: float = 0.0) -> Look:
    return Look(
        node,
        totals or Totals(),
        now=T0 + timedelta(hours=1),
        ahead=ahead,
        own=OWN,
        driver_troubles=0,
        writable=True,
        bugs=0,
        queued=0,
        merged=0,
        dropped=0,
    )


def of(name: str, seen: Look) -> Samples:
    """Return the samples of the metric of this name."""
    return next(metric.of(seen) for metric in METRICS if metric.name == name)


def told(found: Samples) -> dict[str, float]:
    """Return values by their labels, without those that are 0."""
    values = {" ".join(labels): value for labels, value in found}
    return {labels: float(value) for labels, value in values.items() if isinstance(value, int | float) and value}


def test_the_fleet_is_told_where_there_is_one() -> None:
    alone = look(machine())
    for name in ("cmgr_fleet_engine_up", "cmgr_fleet_engine_heard_timestamp_seconds", "cmgr_fleet_appliances"):
        assert list(of(name, alone)) == []
    others = tuple(
        Appliance(name, here=False, version="1", life=1, presence=p) for name, p in (("b", SHOWN), ("c", None))
    )
    for up, told_as in ((True, {"degraded": 1, "ready": 1, "away": 1}), (False, {"degraded": 1, "unknown": 2})):
        node = replace(machine(), engine=Engine("a", up=up))
        seen = replace(look(node), fleet=FleetSeen(others, T0))
        assert told(of("cmgr_fleet_engine_up", seen)) == ({"": 1} if up else {})
        full = replace(seen, fleet=replace(seen.fleet, refusal="it is full"))
        assert told(of("cmgr_fleet_engine_up", full)) == {}
        assert told(of("cmgr_fleet_engine_heard_timestamp_seconds", seen)) == {"": T0.timestamp()}
        assert told(of("cmgr_fleet_appliances", seen)) == told_as
        assert {labels[0] for labels, _ in of("cmgr_fleet_appliances", seen)} == {*STATES}


def test_each_state_is_told_and_one_is_the_case() -> None:
    assert told(of("cmgr_service_state", look(machine()))) == {"degraded": 1}
    assert {labels[0] for labels, _ in of("cmgr_service_state", look(machine()))} == {*table.STATES}
    assert told(of("cmgr_service_troubles", look(machine()))) == {"": 2}
    assert told(of("cmgr_troubles", look(machine()))) == {"database": 1, "bug": 1}


def test_containers_are_counted_by_runtime_and_status() -> None:
    node = held(machine(), picture.hold("b", HoldState.DOWN, 2))
    node = replace(node, runtimes={**node.runtimes, "containerd": RuntimeState("containerd", why_down="gone")})
    assert told(of("cmgr_containers", look(node))) == {"docker running": 1, "docker paused": 1}
    assert len(list(of("cmgr_containers", look(node)))) == 2 * len(table.STATUSES)
    failed = held(machine(), replace(picture.hold("b", HoldState.FAILED, 2)))
    assert told(of("cmgr_containers", look(failed))) == {"docker running": 1, "docker failed": 1}
    assert told(of("cmgr_runtime_up", look(node))) == {"docker": 1}


def test_containers_that_ought_to_run_and_do_not_are_counted() -> None:
    node = machine()
    assert told(of("cmgr_wanted_down", look(node))) == {}
    (known,) = (container for container in node.containers.values() if container.name == "b")
    ended = replace(known, running=False, exit=Exit(1, T0, asked=False), kept=replace(known.kept, wanted=True))
    node = replace(node, containers={**node.containers, ended.key: ended})
    assert told(of("cmgr_wanted_down", look(node))) == {"docker": 1}


def test_who_is_asked_is_counted_by_the_answer() -> None:
    node = machine()
    key, known = next((k, c) for k, c in node.containers.items() if c.running)
    asked = replace(known, ready=question("tcp://:80"), kept=replace(known.kept, answer="unhealthy"))
    node = replace(node, containers={**node.containers, key: asked})
    assert told(of("cmgr_containers_asked", look(node))) == {"docker unhealthy": 1}


def test_an_isolated_chip_is_told_with_its_cause_and_is_not_healthy() -> None:
    node = isolated(machine(), 2)
    assert told(of("cmgr_chip_isolated", look(node))) == {"2 level": 1}
    assert told(of("cmgr_chip_healthy", look(node))) == {"0": 1, "1": 1, "3": 1}
    assert {labels[0]: value for labels, value in of("cmgr_chips", look(node))} == {
        "healthy": 3, "unhealthy": 1, "unknown": 0,
    }  # fmt: skip
    silent = {chip: ChipReport(chip, error="gone") for chip in (ChipId(0), ChipId(2))}
    node = replace(node, reports={**node.reports, **silent})
    assert told(of("cmgr_chips", look(node))) == {"healthy": 2, "unhealthy": 1, "unknown": 1}
    assert told(of("cmgr_chips", look(replace(machine(), reports={})))) == {"unknown": 4}
    other = replace(node, isolations={ChipId(1): Isolation(ChipId(1), T0, "frequency", "often")})
    assert told(of("cmgr_chip_isolated", look(other))) == {"1 frequency": 1}, "a cause that is new is told as well"


def many(chip: int, codes: Iterable[int], level: Level) -> Node:
    faults = [Fault(ChipId(chip), FaultCode(f"{c:08X}"), "", level, T0, T0, T0) for c in codes]
    return replace(machine(), faults={ChipId(chip): {f.key: f for f in faults}})


def test_faults_are_told_by_chip_code_and_level() -> None:
    assert told(of("cmgr_faults_active", look(faulty(machine(), 1)))) == {"1 80E24E00 RestartNPU": 1}
    assert told(of("cmgr_faults_active", look(machine()))) == {}


def test_a_chip_with_ever_new_codes_does_not_make_ever_new_series() -> None:
    found = told(of("cmgr_faults_active", look(many(0, range(500), Level.RestartNPU))))
    assert len(found) == table.MOST_CODES + 1
    assert found["0 other RestartNPU"] == 500 - table.MOST_CODES
    assert sum(found.values()) == 500


def test_a_ring_tells_its_phase_its_episode_and_what_is_left_of_its_budget() -> None:
    node = in_episode(machine(), 2)
    ring = replace(node.rings[RingId(2)], resets=(T0, T0 - timedelta(hours=7)))
    node = replace(node, rings={**node.rings, ring.id: ring}, policy=Policy(reset=ResetPolicy(attempts=3)))
    assert told(of("cmgr_ring_phase", look(node))) == {"0 healthy": 1, "2 waiting": 1}
    assert told(of("cmgr_ring_episode_start_timestamp_seconds", look(node))) == {"2": T0.timestamp()}
    assert told(of("cmgr_ring_resets_left", look(node))) == {"0": 3, "2": 2}, "one is longer ago than the window"
    spent = replace(ring, resets=(T0,) * 5)
    assert told(of("cmgr_ring_resets_left", look(replace(node, rings={ring.id: spent})))) == {}
    assert told(of("cmgr_ring_resets_limit", look(node))) == {"0": 3, "2": 3}


def test_times_are_unix_times_by_the_clock_as_it_is_set_now() -> None:
    totals = Totals(heard={"driver": T0})
    assert told(of("cmgr_last_event_timestamp_seconds", look(machine(), totals, ahead=3600))) == {
        "driver": T0.timestamp() + 3600
    }
    assert {labels[0] for labels, _ in of("cmgr_last_event_timestamp_seconds", look(machine()))} == {"driver", "docker"}


def test_of_the_driver_the_ring_that_was_read_longest_ago_tells() -> None:
    node = machine()
    unread = replace(node, rings={r.id: replace(r, read=None) for r in node.rings.values()})
    assert told(of("cmgr_last_read_timestamp_seconds", look(unread))) == {"docker": T0.timestamp()}
    first, second = (replace(r, read=T0 + timedelta(seconds=n)) for n, r in enumerate(node.rings.values()))
    node = replace(node, rings={first.id: first, second.id: second})
    assert told(of("cmgr_last_read_timestamp_seconds", look(node)))["driver"] == T0.timestamp()


def test_what_was_counted_is_told_and_what_never_happened_is_told_as_none() -> None:
    totals = Totals(episodes={"recovered": 2, "unheard of": 1})
    assert told(of("cmgr_episodes_total", look(machine(), totals))) == {"recovered": 2, "unheard of": 1}
    assert {labels[0] for labels, _ in of("cmgr_episodes_total", look(machine()))} == {*table.OUTCOMES}
    for spreads in ("episode", "reset", "stop", "start"):
        assert list(of(f"cmgr_{spreads}_duration_seconds", look(machine()))), (
            "a histogram is there before the first of its spans"
        )


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_every_metric_is_named_as_prometheus_wants_it(metric: Metric) -> None:
    assert metric.name.startswith("cmgr_")
    assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
    assert metric.text.endswith(".")
    for labels, _ in metric.of(look(faulty(machine(), 1))):
        assert len(labels) == len(metric.labels)


def test_the_words_of_labels_are_those_of_the_documents() -> None:
    assert set(get_args(shapes.ContainerStatus)) == {*table.STATUSES}
    assert set(get_args(shapes.ServiceState)) - {"stopped", "not to be reached"} == {*table.STATES}
    (form,) = (meta for meta in get_args(shapes.Outcome) if isinstance(meta, shapes.Form))
    assert {*form.words} - {"under way"} == {*table.OUTCOMES}


def test_no_two_metrics_have_one_name() -> None:
    assert len({m.name for m in METRICS}) == len(METRICS)


def using(node: Node, chip: int, *processes: Process) -> Node:
    return replace(node, reports={**node.reports, ChipId(chip): ChipReport(ChipId(chip), processes=processes)})


def test_who_uses_which_chip_is_told() -> None:
    node = machine()
    down = replace(picture.running("c", 3), running=False)
    node = replace(node, containers={**node.containers, down.key: down})
    assert told(of("cmgr_chip_container_info", look(node))) == {"0 docker  a": 1, "1 docker  a": 1, "2 docker  b": 1}


def test_memory_is_told_by_container_and_by_process() -> None:
    own = (Process(10, "python", 100, "a"), Process(11, "python", 20, "a"), Process(12, "npu-smi", 3))
    node = using(machine(), 0, *own, Process(13, "other", 7, "f" * 64))
    assert told(of("cmgr_chip_container_memory_bytes", look(node))) == {"0 docker  a": 120}
    assert told(of("cmgr_chip_process_memory_bytes", look(node))) == {
        "0 10 python a": 100,
        "0 11 python a": 20,
        "0 12 npu-smi ": 3,
        f"0 13 other {'f' * 12}": 7,
    }


def test_containers_without_end_do_not_make_series_without_end() -> None:
    many = {c.key: c for c in (picture.running(f"n{number:04}" + "x" * 200, 0, 1, 2, 3) for number in range(300))}
    node = using(
        replace(machine(), containers=many), 0, *(Process(n, "p", 1, f"n{n:04}" + "x" * 200) for n in range(900))
    )
    for metric in USERS:
        found = list(metric.of(look(node)))
        assert len(found) <= MOST, metric.name
        assert len({labels for labels, _ in found}) == len(found), metric.name
        assert all(len(label) <= 64 for labels, _ in found for label in labels), metric.name


def test_containers_without_end_on_one_chip_hide_no_other_chip() -> None:
    many = {c.key: c for c in (picture.running(f"n{number:04}", 0) for number in range(600))}
    last = picture.running("last", 3)
    found = dict(of("cmgr_chip_container_info", look(replace(machine(), containers={**many, last.key: last}))))
    assert len(found) == MOST
    assert found["3", "docker", "", "last"] == 1


def test_shares_are_told_and_one_that_is_to_be_made_again_is_not_there() -> None:
    shares = (Share("100", "vir04"), Share("101", "vir02", there=False, kept=True))
    node = machine()
    node = replace(node, chips={**node.chips, ChipId(1): replace(node.chips[ChipId(1)], shares=shares)})
    assert dict(of("cmgr_chip_share_info", look(node))) == {("1", "100", "vir04"): 1, ("1", "101", "vir02"): 0}


def test_who_uses_which_share_is_told_by_definitions_and_by_processes() -> None:
    shares = (Share("100", aliases=frozenset({"1:100"})), Share("101"), Share("102"))
    named = replace(picture.running("named", 1), claims=frozenset({"1:100"}))
    down = replace(named, key=named.key._replace(id="down"), name="down", running=False)
    node = using(machine(), 1, Process(7, "python", 1, "b", "101"), Process(8, "npu-smi", 1, "", "102"))
    node = replace(
        node,
        chips={**node.chips, ChipId(1): replace(node.chips[ChipId(1)], shares=shares)},
        containers={**node.containers, named.key: named, down.key: down},
    )
    assert told(of("cmgr_chip_share_container_info", look(node))) == {
        "1 100 docker  named": 1,
        "1 101 docker  b": 1,
    }
