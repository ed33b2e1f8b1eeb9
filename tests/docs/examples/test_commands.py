"""Every example of docs/commands.md says what the page says. CMGR_REWRITE_GOLDEN=1 writes those anew that do not."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cmgr.cli.app import app_of
from tests.docs.made.session import PAGE, Example, Session, examples, plain, run, words
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make, gpu_workshop, nvidia
from tests.fakes.nvml.standin import Standin
from tests.support.service import Service
from tests.support.waiting import eventually

__all__ = ["gpu_workshop", "nvidia"]

ON_GPUS = "## On NVIDIA GPUs"
"""Where the examples begin that have a service of their own."""

CONTAINERS = """
[[sim.containers]]
name = "chat"
chips = [0, 1]
[[sim.containers]]
name = "code"
chips = [2]
[[sim.containers]]
name = "search"
chips = [4]
[[sim.containers]]
name = "speech"
chips = [6]
fail_starts = 2
"""


@pytest.fixture
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-commands-"))
    made = Service(folder, {"levels.RestartRequest.reset_after": "60s", "retry.starts": 2})
    with made.config.open("a") as file:
        file.write(CONTAINERS)
    made.start()
    eventually(lambda: len(made.status()["containers"]) == 4)
    yield made
    made.close()
    shutil.rmtree(folder)


def compared(text: str, session: Session) -> tuple[str, list[tuple[str, str, str]]]:
    """Run this part of the page. Return it as it should be, and the examples that say something else."""
    different: list[tuple[str, str, str]] = []

    def differ(example: Example, said: str) -> None:
        different.append((example.command, plain(example.output), plain(said)))

    return run(text, session, differ), different


@pytest.mark.alone
def test_every_example_says_what_the_page_says(service: Service) -> None:
    page, heading, on_gpus = PAGE.read_text().partition(ON_GPUS)
    made, different = compared(page, Session(service))
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(made + heading + on_gpus)
        return
    assert different == []


class OnGpus(Session):
    """A session in which GPUs are lost where the page says so."""

    def __init__(self, service: Service, machine: Standin) -> None:
        super().__init__(service)
        self._machine = machine

    def until(self, text: str) -> None:
        if text != "GPUs 1 and 3 are lost":
            super().until(text)
            return
        for gpu in (1, 3):
            self._machine.set("lost", 1, gpu)
        super().until("chip 1 isolated")
        super().until("chip 3 isolated")


@pytest.fixture
def gpus(nvidia: Make) -> Iterator[tuple[Service, Standin]]:
    folder, machine = Path(tempfile.mkdtemp(prefix="cmgr-gpus-")), nvidia(hosts.host_l40(4))
    places = {"library": machine.library, "tool": machine.tool, "kernel_log": machine.kernel_log}
    settings = {f"nvml.{name}": str(path) for name, path in places.items()}
    made = Service(folder, {"driver": "nvml", "strategy": "singleRecover", **settings})
    made.more = "".join(f'[[sim.containers]]\nname = "{n}"\nchips = [{c}]\n' for n, c in (("chat", 1), ("search", 2)))
    made.configure({})
    made.start()
    eventually(lambda: len(made.status()["containers"]) == 2)
    yield made, machine
    made.close()
    shutil.rmtree(folder)


@pytest.mark.alone
def test_the_examples_on_gpus_say_what_the_page_says(gpus: tuple[Service, Standin]) -> None:
    page, heading, on_gpus = PAGE.read_text().partition(ON_GPUS)
    made, different = compared(on_gpus, OnGpus(*gpus))
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(page + heading + made)
        return
    assert different == []


def test_every_command_has_a_chapter_and_an_example() -> None:
    text = PAGE.read_text()
    chapters = dict(re.findall(r"^## cmgr (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    commands = set(typer.main.get_command(app_of()).commands)  # type: ignore[attr-defined]  # It is a group.
    assert set(chapters) == commands
    # These have pages of their own, and events (on the page of the API) do not end.
    for name in commands - {"run", "demo", "migrate", "bundle", "events"}:
        assert any(e.command.startswith(f"cmgr {name}") for e in examples(chapters[name])), name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("since 04:56:52, 3 s ago, pid 17", "since 2026-03-01 05:00:00, 2 min ago, pid 9"),
        ("SINCE    WHY\nnow", "SINCE  WHY\n2 h 5 min ago"),
        ("+0.012 s", "+1:00.250 min"),
        ("uid 0 (root)", "uid 1000"),
        ("a is stopped\nb is stopped", "b is stopped\na is stopped"),
    ],
)
def test_what_differs_each_time_is_not_compared(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(("one", "other"), [("a is stopped", "b is stopped"), ("7 chips healthy", "8 chips healthy")])
def test_what_matters_is_compared(one: str, other: str) -> None:
    assert words(one) != words(other)
