"""Chips that only a restart of the machine cures: one line for each such fault, and once what to type."""

from dataclasses import replace

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault, FaultCode, Isolation, Level
from cmgr.model.values.holds import HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.standing import Reboot, RebootStage
from cmgr.model.values.troubles import TroubleKind
from cmgr.sentences.sentence import orders_in
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text import reading
from cmgr.view.troubles import troubles
from tests.support.picture import T0, held, hold, machine

NODE_REBOOT, LOST, WORN = FaultCode("E0010002"), FaultCode("E0020001"), FaultCode("E0030004")
RESET = FaultCode("E0010001")

OWN = Own("ready", "nvml", ("docker",))


def ailing(codes: dict[int, FaultCode]) -> Node:
    found = {ChipId(n): Isolation(ChipId(n), T0, "level", f"{code} asks for it", code) for n, code in codes.items()}
    return replace(machine(), isolations=found, catalog=load_catalog(Config()))


def told(node: Node) -> list[tuple[str, str]]:
    return [(trouble.id, trouble.words) for trouble in troubles(node)]


def test_gpus_that_want_a_restart_of_the_machine_for_one_cause_are_one_trouble() -> None:
    assert told(ailing({0: NODE_REBOOT, 1: NODE_REBOOT, 3: LOST, 2: WORN})) == [
        (
            "reboot-E0010002",
            "only a restart of this machine brings chips 0-1 back: E0010002: recovery action 2: reboot the node",
        ),
        (
            "reboot-E0020001",
            "only a restart of this machine brings chip 3 back: E0020001: the GPU is lost: it does not answer on PCIe "
            "any more",
        ),
        ("isolated-chip-2", "chip 2 is isolated: E0030004 asks for it"),
    ]


def test_a_fault_that_is_only_observed_asks_for_the_restart_all_the_same() -> None:
    fault = Fault(ChipId(1), LOST, "GPU", Level.SeparateNPU, since=T0, risen=T0, changed=T0)
    node = replace(ailing({}), faults={ChipId(1): {fault.key: fault}})
    assert [trouble.id for trouble in troubles(node)] == ["reboot-E0020001"]


def test_what_to_type_is_said_once_and_no_chip_is_to_be_replaced() -> None:
    node = held(ailing({0: NODE_REBOOT, 1: NODE_REBOOT}), hold("a", HoldState.DOWN, 0, 1))
    lines = reading.to_type(view.status(node, OWN, T0))
    assert [line for line in lines if "restart the machine (systemctl reboot)" in line] == [
        "only a restart of this machine brings chips 0-1 back: restart the machine (systemctl reboot); chips are used "
        "again when they have been well for 5 min after it"
    ]
    assert not [line for line in lines if "replace" in line]


REBOOT = Reboot(RebootStage.ANNOUNCED, T0, what="chip 3 (E0020001)", due=T0)


def test_one_that_is_announced_is_a_trouble_with_the_order_that_calls_it_off() -> None:
    (found, _) = troubles(replace(ailing({3: LOST}), reboot=REBOOT))
    assert (found.kind, found.id, found.words) == (
        TroubleKind.REBOOTS, "reboots-machine",
        "this machine is rebooted: at 2026-03-01T03:00:00.000Z: nothing else brings back chip 3 (E0020001)",
    )  # fmt: skip
    assert (found.hint, orders_in(found.hint)[0].args) == ("to call it off: cmgr cancel --reboot", {"reboot": True})


def test_one_that_has_not_come_is_a_trouble_and_one_that_waits_says_why_beside_the_chips() -> None:
    failed = replace(REBOOT, stage=RebootStage.FAILED, reason="its time was T, and the machine has not rebooted")
    assert told(replace(ailing({3: LOST}), reboot=failed))[0] == (
        "reboots-machine",
        "this machine was to be rebooted, and was not: its time was T, and the machine has not rebooted",
    )
    waits = replace(REBOOT, stage=RebootStage.WAITING, reason="job runs and nothing would start it after the boot")
    spent = Isolation(ChipId(2), T0, "budget", "is still there", RESET)
    node = replace(ailing({3: LOST}), reboot=waits)
    node = replace(node, isolations={**node.isolations, ChipId(2): spent})
    of_reboot, of_budget = (trouble.hint for trouble in troubles(node))
    why = "systemctl reboot; cmgr does not: job runs and nothing would start it after the boot"
    assert of_reboot.startswith(f"restart the machine ({why}); chips are used again")
    assert of_budget == f"replace or repair chip 2, or restart the machine ({why}), then type: cmgr release 2"
