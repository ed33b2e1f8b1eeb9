"""Shell completion: what is offered, and that nothing else is ever written."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Home, answers
from tests.cli.scenes import in_need, twins
from tests.support.door import door
from tests.support.picture import faulty
from tests.support.waiting import PATIENCE


@pytest.fixture
def needy(home: Home) -> Iterator[Home]:
    shown = answers(faulty(in_need(), 3), [])
    named: Mapping[str, Mapping[str, object]] = {
        "episodes": {"episodes": [{"number": 7, "cause": "chip 3 has fault 80E24E00"}]},
        "groups": {"groups": [{"name": "training", "phase": "running"}]},
        "slots": {"slots": [{"name": "llm", "reason": ""}]},
    }
    server = door(home.socket, lambda request: named.get(request.do) or shown(request))
    server.start()
    with closing(server):
        yield home


def offered(home: Home, line: str, socket: Path | None = None) -> list[str]:
    """Return what bash is offered at the end of this line."""
    words = f"cmgr {line}"
    environment = {
        **os.environ, "_CMGR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
        "CMGR_SOCKET": str(socket or home.socket),
    }  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "cmgr"], capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rel", ["release", "reload"]),
        ("reset ", ["0", "1", "2", "3"]),
        ("isolate 2", ["2"]),
        ("inject ", ["0", "1", "2", "3"]),
        ("release ", ["2"]),
        ("resume ", ["a", "b"]),
        ("forget b", ["b"]),
        ("maintenance ", ["on", "off"]),
        ("show ", ["0", "1", "2", "3", "a", "b", "chip", "container", "episode", "group"]),
        ("show a", ["a"]),
        ("status ", ["a", "b", "0", "1", "2", "3"]),
        ("history --container ", ["a", "b"]),
        ("show chip 2", ["2"]),
        ("show episode ", ["7"]),
        ("history ", ["7"]),
        ("explain ", ["80E24E00"]),
        ("group train", ["training"]),
        ("slot remove ", ["llm"]),
        ("export node", ["nodeinfo"]),
    ],
)
def test_whatever_has_a_name_is_offered(needy: Home, line: str, words: list[str]) -> None:
    assert offered(needy, line) == words


def test_of_two_of_one_name_the_namespaces_are_offered(home: Home) -> None:
    server = door(home.socket, answers(twins(), []))
    server.start()
    with closing(server):
        assert offered(home, "resume gr") == ["green/web"]


def test_without_a_service_nothing_is_offered_and_nothing_is_said(home: Home) -> None:
    assert offered(home, "release ") == []
    assert offered(home, "release ", Path("relative")) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_the_shell_is_printed(home: Home, shell: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "cmgr"], capture_output=True, text=True, check=False,
        env={**os.environ, "_CMGR_COMPLETE": f"source_{shell}"},
    )  # fmt: skip
    assert "_CMGR_COMPLETE=complete_" in ended.stdout
    assert ended.returncode == 0
    assert home.folder.exists()
