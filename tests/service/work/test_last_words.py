"""The command that is run in a container before its stop signal: bounded, told in a line, and in no stop's way."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from cmgr.errors import ContainerError, RuntimeAils
from cmgr.model.values.messages.commands import CommandId, StopContainer
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.sim.runtime import SimRuntime
from cmgr.service.work.last_words import LEAST, last_words

KEY = ContainerKey("sim", "", "web.1")


class Speaking(SimRuntime):
    """A runtime whose containers run every command so."""

    def __init__(self, code: int = 0, output: str = "", error: ContainerError | None = None) -> None:
        super().__init__()
        self._answer = code, output
        self._error = error
        self.asked: list[tuple[Sequence[str], float]] = []

    def run_inside(self, key: ContainerKey, command: Sequence[str], seconds: float) -> tuple[int, str]:
        self.asked.append((command, seconds))
        if self._error is not None:
            raise self._error
        return self._answer


def stop(grace: float = 30) -> StopContainer:
    return StopContainer(CommandId("s1"), "a fault", KEY, "web", timedelta(seconds=grace), ("save", "--now"))


def test_its_code_and_the_end_of_its_output_are_told_in_a_line() -> None:
    runtime = Speaking(3, "step 7\nno space\x1b[2J left\n")
    words, grace = last_words(runtime, stop())
    assert runtime.asked == [(("save", "--now"), 30.0)]
    assert words.startswith("ran save: code 3 after ")
    assert words.endswith("; it wrote: step 7 | no space [2J left")
    assert timedelta(seconds=29) < grace <= timedelta(seconds=30)


def test_long_output_is_cut_and_none_is_said() -> None:
    assert len(last_words(Speaking(0, "x" * 4096), stop())[0]) < 300
    assert last_words(Speaking(), stop())[0].endswith("it wrote: nothing")


@pytest.mark.parametrize("error", [ContainerError("cannot run save in web: no such program"), RuntimeAils("too long")])
def test_its_failure_is_told_and_the_stop_goes_on(error: ContainerError) -> None:
    words, grace = last_words(Speaking(error=error), stop())
    assert words == f"could not run save to its end: {error.message}"
    assert grace >= LEAST


def test_the_least_that_is_left_is_no_more_than_the_grace() -> None:
    assert last_words(Speaking(), stop(grace=1))[1] == timedelta(seconds=1)


def test_a_runtime_that_cannot_run_it_says_so() -> None:
    assert last_words(SimRuntime(), stop())[0] == "could not run save: sim does not do that"
