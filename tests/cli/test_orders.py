"""Orders of a person: what the service is asked, what is said, and when a person is asked first."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime

import pytest

from cmgr.service.door.routes import Request
from cmgr.view.text.render import Face
from cmgr.words import stamp
from tests.cli.conftest import Home
from tests.cli.scenes import NOW
from tests.support.door import door

pytestmark = pytest.mark.usefixtures("service")


@pytest.mark.parametrize(
    ("words", "do", "args"),
    [
        (("release", "3"), "release", {"chip": 3}),
        (("isolate", "3", "--reason", "its fan is loud"), "isolate", {"chip": 3, "reason": "its fan is loud"}),
        (("resume", "llm"), "resume", {"container": "llm"}),
        (("resume", "--all"), "resume", {"all": True}),
        (("forget", "blue/llm"), "forget", {"container": "blue/llm"}),
        (("forget", "--runtime", "docker"), "forget", {"runtime": "docker"}),
        (("forget", "--chip", "3"), "forget", {"chip": 3}),
        (("maintenance", "off"), "maintenance", {"on": False, "seconds": None}),
        (("maintenance", "on"), "maintenance", {"on": True, "seconds": None}),
        (("maintenance", "on", "--for", "2h"), "maintenance", {"on": True, "seconds": 7200.0}),
        (("acknowledge", "a"), "acknowledge", {"trouble": "a", "all": False}),
        (("reload",), "reload", {}),
        (("reset", "3"), "reset", {"chip": 3, "stop": False}),
        (("cancel", "--reboot"), "cancel", {"reboot": True}),
        (("cancel", "3"), "cancel", {"chip": 3}),
        (("test", "3", "--stop", "--yes"), "test", {"chip": 3, "stop": True}),
        (("reset", "3", "--stop", "--yes"), "reset", {"chip": 3, "stop": True}),
        (("group", "restart", "tp"), "group-restart", {"group": "tp", "reason": None}),
        (("group", "cancel", "tp"), "group-cancel", {"group": "tp"}),
        (("group", "resume", "tp", "--without", "b"), "group-resume", {"group": "tp", "alone": False, "without": "b"}),
        (("slot", "create", "one", "4,5"), "slot-create", {"slot": "one", "chips": "4,5", "count": None}),
        (("slot", "assign", "one", "4,5"), "slot-assign", {"slot": "one", "chips": "4,5", "stop": False}),
        (("slot", "remove", "one"), "slot-remove", {"slot": "one"}),
        (("inject", "3", "80E24E00"), "inject", {"chip": 3, "code": "80E24E00", "assertion": "occurred"}),
    ],
)
def test_an_order_is_told_to_the_service_and_what_it_did_is_printed_in_local_time(
    home: Home, asked: list[Request], words: tuple[str, ...], do: str, args: Mapping[str, object]
) -> None:
    told = home.here(*words)
    assert (told.code, told.err) == (0, "")
    meant = args.get("chip", args.get("container", ""))
    assert told.out.splitlines()[0] == f"{meant}: did {do} at {Face(datetime.now(UTC)).clock(stamp(NOW))}"
    assert [(r.do, r.args) for r in asked] == [(do, args)]


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("C.UTF-8", "done; the service is older than this command, and says no more of it\n"),
        ("zh_CN.UTF-8", "已完成；服务的版本比此命令旧，因此没有更多说明\n"),
    ],
)
def test_an_order_of_which_an_older_service_does_not_say_what_it_did_is_said_to_be_done(
    home: Home, monkeypatch: pytest.MonkeyPatch, locale: str, said: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    older = door(home.folder / "older.sock", lambda request: {**request.args, "isolated": False, "reason": ""})
    older.start()
    with closing(older):
        told = home.cmgr("release", "3", "--socket", str(home.folder / "older.sock"))
    assert (told.code, told.out, told.err) == (0, said, "")


@pytest.mark.parametrize("words", [(), ("adopt", "llm")])
def test_only_an_order_about_slots_can_be_tried_without_doing_it(home: Home, words: tuple[str, ...]) -> None:
    told = home.here("slot", *words, "--dry-run")
    assert told.code == 2
    assert "--dry-run goes with create|assign|remove" in told.err


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
