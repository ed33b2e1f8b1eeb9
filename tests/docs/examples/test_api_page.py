"""Every example of docs/api.md says what the page says. CMGR_REWRITE_GOLDEN=1 writes those anew that do not."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.service.door.client import order
from tests.docs.made.session import Example, Session, plain, run
from tests.support.door import table
from tests.support.service import Service
from tests.support.waiting import PATIENCE, eventually

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
SOCKET = "/run/cmgr/cmgr.sock"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are curl's")


@pytest.fixture
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-api-page-"))
    made = Service(folder, {"sim.boot_time": "50ms"})
    with made.config.open("a") as file:
        file.write('[[sim.containers]]\nname = "chat"\nchips = [0, 1]\n')
    made.start()
    eventually(lambda: made.container("chat"))
    yield made
    made.close()
    shutil.rmtree(folder)


class Calls(Session):
    """Runs what curl is told to do."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._at = service

    def until(self, text: str) -> None:
        assert text == "episode over"
        eventually(lambda: [e for e in self._at.episodes() if e.ended is not None])
        eventually(lambda: (self._at.container("chat") or {}).get("status") == "running")

    def say(self, command: str) -> str:
        given = shlex.split(command.replace(SOCKET, str(self._at.socket)))
        assert given[0] == "curl", command
        if "-sN" in given:
            return self._first_line(given)
        ended = subprocess.run(given, capture_output=True, text=True, timeout=PATIENCE, check=True)
        # A document of somebody else's format may end without a new line: in the page the next command comes after it.
        return ended.stdout.replace(str(self._at.folder / "cdi"), "/etc/cdi").rstrip("\n") + "\n"

    def _first_line(self, given: list[str]) -> str:
        # Its headers say from when on it follows.
        with subprocess.Popen([*given, "-D", "-"], stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout is not None
            while following.stdout.readline().strip():
                pass
            order(self._at.socket, "isolate", chip=7, reason="its fan is loud")
            line = following.stdout.readline()
            following.kill()
        return line


@pytest.mark.alone
def test_every_example_says_what_the_page_says(service: Service) -> None:
    different: list[tuple[str, str, str]] = []

    def differ(example: Example, said: str) -> None:
        different.append((example.command, plain(example.output), plain(said)))

    made = run(PAGE.read_text(), Calls(service), differ)
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(made)
        return
    assert different == []


def test_every_route_has_its_row_and_its_example() -> None:
    text = PAGE.read_text()
    for route in table():
        assert f"| `{route.path}` | " in text, route.path
        before = route.path.partition("{")[0]
        assert any(f"http://localhost{before}" in line for line in text.splitlines() if line.startswith("$ ")), before
