"""Troubles come by what they cost, the worst first, and each thing once."""

from dataclasses import replace

from cmgr.model.values.faults import FaultCode, Handling
from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.troubles import Severity, TroubleKind
from cmgr.view import status as view
from cmgr.view import troubles
from cmgr.view.status import Own
from cmgr.view.text import texts
from tests.cli.scenes import PAGE
from tests.support.picture import T0, decided, held, hold, isolated, machine

OWN = Own("ready", "sim", ("docker",))


def test_no_warning_is_worse_than_what_is_critical() -> None:
    severities = [kind.severity for kind in TroubleKind]
    assert severities == sorted(severities, key=[Severity.CRITICAL, Severity.WARNING].index)
    assert [kind.rank for kind in TroubleKind] == list(range(len(TroubleKind)))


def test_a_service_that_is_down_comes_before_an_isolated_chip_and_that_before_a_disk() -> None:
    disk = MachineFault(FaultCode("raid-degraded"), "md0", "md", Handling.NotHandleFault, T0, T0)
    node = decided(isolated(held(machine(), hold("b", HoldState.DOWN, 2)), 3))
    shown = view.status(replace(node, machine_faults={disk.key: disk}), OWN, T0)
    assert [t["kind"] for t in shown["troubles"]][:2] == ["down", "isolated"]
    assert texts.headline(shown, 80).startswith("not well: container b is down; chip 3 is isolated")


def test_a_container_that_has_failed_is_told_once() -> None:
    given_up = replace(hold("a", HoldState.FAILED, 0, 1), attempt=Attempt(tries=5, error="no such image"))
    node = held(machine(), given_up)
    found = troubles.troubles(node)
    assert [str(t.kind) for t in found] == ["failed", "down"]
    assert [str(t.kind) for t in troubles.once(found)] == ["failed"]
    assert [t["kind"] for t in view.status(node, OWN, T0)["troubles"]] == ["failed"]


def test_containers_that_need_somebody_stand_above_those_that_run() -> None:
    node = decided(held(machine(), hold("b", HoldState.DOWN, 2)))
    rows = [line.split()[:2] for line in texts.status(view.status(node, OWN, T0), PAGE) if line[:2] in ("a ", "b ")]
    assert rows == [["b", "paused"], ["a", "running"]]
