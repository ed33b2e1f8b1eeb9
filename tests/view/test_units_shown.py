"""A container that a unit of systemd runs, as it is shown."""

from cmgr.model.values.services.containers import Exit
from cmgr.view.containers import containers
from tests.model.containers.test_units import UNIT, machine, unit


def test_a_unit_that_is_down_is_not_said_to_be_stopped_in_a_containers_place() -> None:
    cmgr = machine()
    cmgr.sees(unit(running=False, exit=Exit(0, cmgr.now, asked=True)))
    (row,) = [row for row in containers(cmgr.node) if row["name"] == "llm"]
    assert (row["status"], row["unit"], row["reason"]) == ("running", UNIT, "")
