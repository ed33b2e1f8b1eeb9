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
from tests.support.service import Service
from tests.support.waiting import eventually

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


@pytest.mark.alone
def test_every_example_says_what_the_page_says(service: Service) -> None:
    different: list[tuple[str, str, str]] = []

    def differ(example: Example, said: str) -> None:
        different.append((example.command, plain(example.output), plain(said)))

    made = run(PAGE.read_text(), Session(service), differ)
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(made)
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
