"""The tool as a unit of a real systemd: whatever it says and however it ends is understood as that of a child is."""

from collections.abc import Callable

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.errors import DriverError, ResetRefused
from cmgr.host.host import Host
from cmgr.model.values.chips import ChipId
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeReset, Standin

Open = Callable[..., NvmlDriver]

NO_CODES: frozenset[str] = frozenset()
FIRST = ChipId(0)


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def test_a_reset_that_works_is_done_and_the_persistence_mode_is_back(
    machine: Standin, opened: Open, by_systemd: Host
) -> None:
    machine.set("persistent", 1)
    opened(machine, host=by_systemd).reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    assert machine.get("persistent") == 1


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (15, DriverError, "nvidia-smi ended with 15: "),
        (3, ResetRefused, "not supported"),
        (19, ResetRefused, "held open by"),
    ],
)
def test_one_that_fails_or_is_refused_is_told_apart(
    machine: Standin, opened: Open, by_systemd: Host, answer: int, kind: type[DriverError], why: str
) -> None:
    machine.set("reset_answer", answer)
    with pytest.raises(kind, match=why) as caught:
        opened(machine, host=by_systemd).reset([FIRST], [FIRST], NO_CODES)
    assert isinstance(caught.value, ResetRefused) == (kind is ResetRefused)


@pytest.mark.parametrize("text", ["#!/nowhere/interpreter\n", "no first line that says how"])
def test_a_tool_that_cannot_be_executed_is_told(machine: Standin, opened: Open, by_systemd: Host, text: str) -> None:
    tool = machine.library.with_name("smi")
    tool.write_text(text)
    tool.chmod(0o755)
    with pytest.raises(ResetRefused, match=f"{tool} cannot be run: systemd could not execute it") as caught:
        opened(machine, host=by_systemd, tool=str(tool)).reset([FIRST], [FIRST], NO_CODES)
    assert caught.value.hint == "correct nvml.tool"


def test_without_systemd_nothing_is_reset_which_is_no_failed_reset(machine: Standin, opened: Open) -> None:
    with pytest.raises(ResetRefused, match=r"cannot run .*: nobody answers on /nowhere"):
        opened(machine, host=Host("/nowhere", "")).reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == ()
