"""The commands from outside: what they print, where they read, and how they end."""

import json
import os
import socket
from contextlib import closing
from dataclasses import replace

import pytest

from cmgr import __version__, shortcut
from cmgr.cli import past
from cmgr.cli.show import _of_few_rings
from cmgr.config.load import DEFAULT_PATH
from cmgr.config.settings import Config
from cmgr.model.values.node import Node
from cmgr.service.door.routes import Request
from cmgr.store import open_store
from cmgr.store.files import Lock
from tests.cli.conftest import Home, answers
from tests.cli.scenes import NOTES, in_need
from tests.support.door import door
from tests.support.picture import key, machine, running

SHOWING = ("status", "chips", "faults", "history", "explain", "check", "version")
ORDERS = ("reset", "isolate", "release", "resume", "forget", "maintenance", "reload")
COMMANDS = (*SHOWING, *ORDERS, "run", "inject", "demo")


def test_help_names_every_command_and_the_exit_codes(home: Home) -> None:
    told = home.cmgr("--help")
    assert told.code == 0
    assert all(f"\n  {command} " in told.out for command in COMMANDS)
    assert "3 the service is not running" in " ".join(told.out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(home: Home, command: str) -> None:
    told = home.cmgr(command, "--help")
    assert told.code == 0
    assert told.out.startswith(f"Usage: cmgr {command}")
    assert ("--output" in told.out) is (command in SHOWING)
    assert ("--config" in told.out) is (command != "version")


@pytest.mark.usefixtures("service", "database")
def test_the_service_is_asked_first(home: Home) -> None:
    for command in ("status", "chips", "faults"):
        told = home.here(command)
        assert (told.code, told.err) == (0, "")


@pytest.mark.usefixtures("service")
def test_a_mistake_in_the_configuration_keeps_nobody_from_asking_the_service(home: Home) -> None:
    home.configure('strategy = "always"')
    told = home.here("status")
    assert (told.code, told.err) == (0, "")


def test_a_socket_that_is_no_path_is_a_mistake(home: Home) -> None:
    home.config.write_text("socket = 7\n")
    told = home.here("status")
    assert (told.code, "socket = 7" in told.err) == (1, True)


@pytest.mark.usefixtures("service")
def test_flag_and_environment_name_the_socket_too(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.cmgr("status", "--socket", str(home.socket)).code == 0
    monkeypatch.setenv("CMGR_SOCKET", str(home.socket))
    assert home.cmgr("status").code == 0
    monkeypatch.delenv("CMGR_SOCKET")
    monkeypatch.setenv("CMGR_CONFIG", str(home.config))
    assert home.cmgr("status").code == 0


def test_the_defaults_are_those_of_the_configuration() -> None:
    assert Config().socket == shortcut.DEFAULT_SOCKET
    assert shortcut.DEFAULT_CONFIG == DEFAULT_PATH


@pytest.mark.usefixtures("database")
def test_the_database_is_read_when_the_service_is_not_running(home: Home) -> None:
    for command in ("status", "chips", "faults"):
        told = home.here(command)
        assert (told.code, told.err) == (0, "cmgr: from the database: the service is not running\n")
    assert home.here("status").out.startswith("not well: the service is not running")


@pytest.mark.usefixtures("database")
def test_a_service_that_runs_without_its_socket_is_told_as_that(home: Home) -> None:
    right = Lock(home.database)
    told = home.here("status")
    right.release()
    why = f"the service runs (pid {os.getpid()}), and nobody listens on {home.socket}"
    assert told.out.startswith(f"not well: {why}")
    assert (told.code, told.err) == (0, "cmgr: from the database: the service runs and is not to be reached\n")
    assert home.here("status").out.startswith("not well: the service is not running")


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("words", [("isolate", "0", "--reason", "dust"), ("reset", "0"), ("events",), ("check",)])
def test_whatever_is_asked_of_a_service_without_its_socket_nobody_is_told_to_start_it(
    home: Home, words: tuple[str, ...]
) -> None:
    right = Lock(home.database)
    told = home.here(*words)
    right.release()
    said = " ".join((told.out + told.err).split())  # The table of a check is wrapped.
    assert f"the service runs (pid {os.getpid()}), and nobody listens on {home.socket}" in said
    assert "systemctl start cmgr" not in said
    assert "systemctl start cmgr" in home.here("isolate", "0", "--reason", "dust").err


def test_without_service_and_database_there_is_nothing_to_show(home: Home) -> None:
    told = home.here("status")
    assert (told.code, told.out) == (3, "")
    assert told.err == (
        f"cmgr: cannot reach the service: nobody listens on {home.socket}\nhint: start it: systemctl start cmgr; "
        "if it does not start: journalctl -u cmgr -e\n"
    )


@pytest.mark.usefixtures("service")
def test_status_begins_with_what_is_wrong(home: Home) -> None:
    told = home.here("status")
    assert told.out.startswith("not well: container a is down; ring 0 is in an episode (waiting); and 1 more\n")
    assert told.code == 0


@pytest.mark.usefixtures("service")
def test_status_check_ends_with_4_when_something_is_wrong(home: Home) -> None:
    assert home.here("status", "--check").code == 4


def test_status_check_ends_with_0_when_all_is_well(home: Home) -> None:
    server = door(home.socket, answers(machine(), []))
    server.start()
    with closing(server):
        told = home.here("status", "--check")
    assert told.code == 0
    assert told.out.startswith("all is well: 4 chips healthy, 2 containers running\n")


@pytest.mark.usefixtures("service", "database")
@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (
            ("status",),
            {"at", "service", "troubles", "warnings", "restraint", "rings", "containers", "down", "chips", "runtimes"}
            | {"windows", "drills", "downtime", "headline"},
        ),
        (("chips",), {"chips"}),
        (("faults",), {"faults", "machine"}),
        (("faults", "--all"), {"faults", "machine"}),
        (("history",), {"episodes"}),
        (("history", "1"), {"episode", "notes", "lanes"}),
        (("history", "--all"), {"notes"}),
        (
            ("explain", "80E24E00"),
            {
                "code",
                "level",
                "handling",
                "fault_class",
                "origin",
                "known",
                "meaning",
                "advice",
                "meaning_zh",
                "advice_zh",
                "rules",
                "chips",
                "does",
            },
        ),
        (("check",), {"ok", "findings"}),
    ],
)
def test_json_is_the_same_either_way_of_asking_and_has_its_keys(
    home: Home, words: tuple[str, ...], keys: set[str]
) -> None:
    told = json.loads(home.here(*words, "--json").out)
    assert set(told) == keys
    assert set(json.loads(home.here(*words, "-o", "json").out)) == keys


@pytest.mark.usefixtures("database")
def test_the_status_from_the_database_has_the_keys_of_the_services(home: Home) -> None:
    told = json.loads(home.here("status", "--json").out)
    assert told["service"] == {
        "state": "stopped",
        "pid": None,
        "since": None,
        "driver": "sim",
        "runtimes": ["sim"],
        "strategy": "never",
        "observe": False,
        "maintenance": False,
        "maintenance_until": None,
        "maintenance_by": None,
    }
    assert [c["name"] for c in told["containers"]] == ["a", "b"]


@pytest.mark.usefixtures("service")
def test_available_chips_are_printed_ready_for_use(home: Home) -> None:
    told = home.here("chips", "--available")
    assert (told.code, told.out, told.err) == (0, "3\n", "")
    assert home.here("chips", "--available", "--count", "1").out == "3\n"
    assert json.loads(home.here("chips", "--available", "--json").out) == {"available": [3], "numbers": [3]}


@pytest.mark.usefixtures("service")
def test_too_few_available_chips_are_an_error(home: Home) -> None:
    told = home.here("chips", "--available", "--count", "2")
    assert (told.code, told.out) == (1, "")
    assert "cannot find 2 healthy unused chips: there are 1" in told.err


def test_no_available_chip_is_an_error(home: Home) -> None:
    server = door(home.socket, answers(Node(), []))
    server.start()
    with closing(server):
        told = home.here("chips", "--available")
    assert (told.code, told.out) == (1, "")
    assert "cannot find a chip that is healthy and unused" in told.err


@pytest.mark.parametrize(
    ("free", "count", "chosen"),
    [
        ({0: 0, 1: 0, 4: 4, 5: 4, 6: 4}, 2, [0, 1]),
        ({3: 0, 5: 4, 7: 4}, 2, [5, 7]),
        ({3: 0, 5: 4, 7: 4}, 1, [3]),
        ({0: 0, 4: 4, 5: 4, 8: 8}, 3, [0, 4, 5]),
        ({0: 0, 4: 4}, 2, [0, 4]),
    ],
)
def test_available_chips_are_of_as_few_rings_as_can_be(free: dict[int, int], count: int, chosen: list[int]) -> None:
    assert _of_few_rings(free, count) == chosen


def test_of_the_available_chips_those_of_one_ring_are_given(home: Home) -> None:
    server = door(home.socket, answers(replace(machine(), containers={key("a"): running("a", 0)}), []))
    server.start()
    with closing(server):
        assert home.here("chips", "--available").out == "1,2,3\n"
        assert home.here("chips", "--available", "--count", "2").out == "2,3\n"


@pytest.mark.usefixtures("database")
def test_available_chips_are_not_guessed_from_the_database(home: Home) -> None:
    told = home.here("chips", "--available")
    assert (told.code, told.out) == (3, "")


@pytest.mark.usefixtures("database")
def test_fault_history_goes_back_as_far_as_asked(home: Home) -> None:
    assert "CLEARED" in home.here("faults", "--all").out
    assert "80E24E00" in home.here("faults", "--since", "24h").out


@pytest.mark.usefixtures("database")
def test_history_lists_episodes_and_shows_one(home: Home) -> None:
    listed = home.here("history")
    assert [line.split()[0] for line in listed.out.splitlines() if line[0].isdigit()] == ["2", "1"]
    assert listed.err == ""
    shown = home.here("history", "1")
    assert shown.out.startswith("episode 1 of ring 0: recovered")
    assert all(note.text in shown.out for note in NOTES[:3])
    assert len(json.loads(home.here("history", "--limit", "1", "--json").out)["episodes"]) == 1
    drawn = home.here("history", "1", "-o", "svg")
    assert drawn.out.startswith("<svg xmlns=")
    assert f"episode 1 of ring 0 on {socket.gethostname()}: recovered" in drawn.out


@pytest.mark.usefixtures("database")
def test_a_list_that_may_be_cut_says_how_to_see_more(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "LIMIT", 1)
    for words in (["history"], ["history", "--all"]):
        assert home.here(*words).err == "cmgr: the newest 1; --limit N shows more\n"
        assert home.here(*words, "--limit", "1").err == ""
    assert home.here("history", "1").err == ""


@pytest.mark.usefixtures("database")
def test_an_episode_that_is_not_there_is_an_error(home: Home) -> None:
    told = home.here("history", "77")
    assert (told.code, told.out) == (1, "")
    assert "cannot show episode 77: there is none" in told.err


def test_history_without_a_database_says_where_it_looked(home: Home) -> None:
    told = home.here("history")
    assert told.code == 1
    assert f"cannot read {home.database}: there is no such file" in told.err


def test_explain_works_without_the_service(home: Home) -> None:
    told = home.here("explain", "0x80e24e00")
    assert told.code == 0
    assert told.out.startswith("code")
    assert "RestartNPU" in told.out
    assert "from the configuration" in told.err


@pytest.mark.usefixtures("service")
def test_explain_asks_the_service_for_the_tables_in_force(home: Home, asked: list[Request]) -> None:
    assert home.here("explain", "80E24E00").err == ""
    assert [(r.do, r.args) for r in asked] == [("explain", {"code": "80E24E00"})]


def test_explain_refuses_a_fault_table_with_every_mistake(home: Home) -> None:
    table = home.folder / "codes.toml"
    table.touch(mode=0o600)
    table.write_text('NotHandleFaultCodes = ["xyz"]\nNoSuchCodes = []\n')
    home.configure("[faults]", f'file = "{table}"')
    told = home.here("explain", "80E24E00")
    assert told.code == 1
    assert "xyz" in told.err
    assert "NoSuchCodes" in told.err


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(("flag", "assertion"), [((), "occurred"), (("--clear",), "cleared"), (("--once",), "once")])
def test_inject_tells_the_service(home: Home, asked: list[Request], flag: tuple[str, ...], assertion: str) -> None:
    assert home.here("inject", "3", "0x80e24e00", *flag).code == 0
    assert [(r.do, r.args) for r in asked] == [("inject", {"chip": 3, "code": "80E24E00", "assertion": assertion})]


@pytest.mark.usefixtures("service")
def test_inject_tells_the_service_of_the_machine_too(home: Home, asked: list[Request]) -> None:
    assert home.here("inject", "machine", "memory-uncorrected", "--part", "DIMM3", "--once").code == 0
    assert home.here("inject", "machine", "fan-failed").code == 0
    assert [r.args for r in asked] == [
        {"part": "DIMM3", "code": "memory-uncorrected", "assertion": "once"},
        {"code": "fan-failed", "assertion": "occurred"},
    ]


@pytest.mark.usefixtures("service")
def test_what_the_service_refuses_ends_with_1_and_its_words(home: Home) -> None:
    told = home.here("inject", "9", "80E24E00")
    assert told.code == 1
    assert told.err == "cmgr: cannot inject: there is no chip 9\nhint: cmgr chips lists them\n"


@pytest.mark.usefixtures("database")
def test_an_order_needs_the_service(home: Home) -> None:
    assert home.here("inject", "3", "80E24E00").code == 3


def test_a_configuration_with_mistakes_is_told_mistake_by_mistake(home: Home) -> None:
    home.configure('strategy = "always"', "nonsense = 1")
    for words in (("run",), ("status",), ("history",), ("explain", "80E24E00")):
        told = home.here(*words)
        assert told.code == 1
        assert "cmgr: cannot use the configuration: 2 mistakes\n" in told.err
        assert "\n  strategy = " in told.err
        assert "\n  nonsense" in told.err


@pytest.mark.parametrize("words", [("version",), ("--version",), ("version", "--json")])
def test_the_version_is_shown(home: Home, words: tuple[str, ...]) -> None:
    told = home.cmgr(*words)
    assert told.code == 0
    assert __version__ in told.out


def test_a_database_with_much_to_tell_is_told(home: Home) -> None:
    with closing(open_store(home.database)) as store:
        store.save(in_need(), (), ())
    told = home.here("status")
    assert told.out.startswith("not well: the service is not running; container a failed; and 2 more\n")
    assert "cmgr resume a" in told.out
    assert "cmgr release 2" in told.out


@pytest.mark.parametrize("code", ["79", "xid 79", "Xid 79"])
def test_an_xid_is_explained_on_a_machine_without_chips_and_without_a_service(
    home: Home, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMGR_DRIVER", "auto")
    told = home.here("explain", code)
    assert told.code == 0
    assert told.out.startswith("code     Xid 79\nmeaning  the GPU does not answer on PCIe any more\n")
    assert "NVIDIA says RESTART_BM" in told.out
    assert "掉卡" in home.here("explain", code, "--lang", "zh").out


@pytest.mark.usefixtures("database")
def test_a_meaning_is_told_in_chinese_where_that_is_wished(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert "AI core: multi-bit ECC error" in home.here("explain", "80C98008").out
    assert "多比特ECC错误" in home.here("explain", "80C98008", "--lang", "zh").out
    assert "复位芯片所在的环" in home.here("explain", "80C98008", "--lang", "zh").out
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "多比特ECC错误" in home.here("explain", "80C98008").out
    assert "AI core: multi-bit ECC error" in home.here("explain", "80C98008", "--lang", "en").out
    assert home.here("explain", "80C98008", "--lang", "fr").code == 2
