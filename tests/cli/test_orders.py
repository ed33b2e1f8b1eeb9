"""Orders of a person: what the service is asked, what is said, and when a person is asked first."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping

import pytest

from cmgr.service.door.routes import Request
from tests.cli.conftest import Home

pytestmark = pytest.mark.usefixtures("service")


@pytest.mark.parametrize(
    ("words", "do", "args", "said"),
    [
        (("release", "3"), "release", {"chip": 3}, "chip 3: released\n"),
        (
            ("isolate", "3", "--reason", "its fan is loud"), "isolate", {"chip": 3, "reason": "its fan is loud"},
            "chip 3: isolated; cmgr release 3 ends it\n",
        ),
        (("resume", "llm"), "resume", {"container": "llm"}, "llm: will be started as soon as its chips allow\n"),
        (
            ("forget", "blue/llm"), "forget", {"container": "blue/llm"},
            "blue/llm: forgotten; it is down, and stays so until somebody starts it\n",
        ),
        (
            ("forget", "--runtime", "docker"), "forget", {"runtime": "docker"},
            "docker: forgotten; nothing waits for it any more\n",
        ),
        (
            ("forget", "--chip", "3"), "forget", {"chip": 3},
            "chip 3 (a): forgotten\nslot llm needs another chip: cmgr slot assign llm CHIPS\n",
        ),
        (("maintenance", "off"), "maintenance", {"on": False, "seconds": None}, "maintenance is over: what is true"),
        (
            ("maintenance", "on"), "maintenance", {"on": True, "seconds": None},
            "maintenance until ",
        ),
        (("maintenance", "on", "--for", "2h"), "maintenance", {"on": True, "seconds": 7200.0}, "maintenance until"),
        (("reload",), "reload", {}, "configuration and fault tables were read again: no setting has changed\n"),
        (("reset", "3"), "reset", {"chip": 3, "stop": False}, "chip 3: the reset of ring"),
        (
            ("cancel", "--reboot"), "cancel", {"reboot": True},
            "the machine is not rebooted for chip 3; not before a day is over\n",
        ),
        (
            ("cancel", "3"), "cancel", {"chip": 3},
            "chip 3: the order is taken back\nstarted again where its chips are well: b\n",
        ),
        (("test", "3", "--stop", "--yes"), "test", {"chip": 3, "stop": True}, "chip 3: the test of ring"),
        (("reset", "3", "--stop", "--yes"), "reset", {"chip": 3, "stop": True}, "chip 3: the reset of ring"),
    ],
)  # fmt: skip
def test_an_order_is_told_to_the_service(
    home: Home, asked: list[Request], words: tuple[str, ...], do: str, args: Mapping[str, object], said: str
) -> None:
    told = home.here(*words)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(said)
    assert [(r.do, r.args) for r in asked] == [(do, args)]


@pytest.mark.parametrize("chip", ["9"])
def test_what_the_service_refuses_ends_with_1(home: Home, chip: str) -> None:
    assert home.here("isolate", chip, "--reason", "x").code == 1


def test_a_reset_that_stops_containers_is_not_ordered_unless_somebody_says_yes(
    home: Home, asked: list[Request]
) -> None:
    told = home.program("reset", "2", "--stop", "--config", str(home.config))
    assert told.code == 1
    assert told.err == "cmgr: cannot reset chip 2: this stops b, and nobody can be asked\nhint: --yes says yes\n"
    assert [r.do for r in asked] == ["status"]


@pytest.mark.parametrize(("answer", "code", "did"), [("y", 0, ["status", "reset"]), ("n", 1, ["status"])])
def test_on_a_terminal_the_person_is_asked(
    home: Home, asked: list[Request], answer: str, code: int, did: list[str]
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    ended = subprocess.run(
        [sys.executable, "-m", "cmgr", "reset", "2", "--stop", "--config", str(home.config)],
        stdin=theirs, capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert "This stops b. Go on? [y/N]" in ended.stderr
    assert (ended.returncode, [r.do for r in asked]) == (code, did)
    assert ("nothing was done" in ended.stderr) is (code == 1)


def test_where_nobody_runs_on_the_ring_nobody_is_asked(home: Home, asked: list[Request]) -> None:
    assert home.program("reset", "0", "--stop", "--config", str(home.config)).code == 0
    assert [r.do for r in asked] == ["status", "reset"]


def test_resume_takes_one_container_or_all(home: Home) -> None:
    for words in ((), ("--all", "llm")):
        assert home.here("resume", *words).code == 2
