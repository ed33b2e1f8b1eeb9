"""`cmgr check`: what it finds, what it advises, and that it changes nothing."""

import grp
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.cli.check.rings import divided, rings, told_apart
from cmgr.config.settings import Config
from cmgr.model.values.chips import UNCLEAR, Chip, ChipId, RingId, Share
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Heal
from cmgr.store import open_store
from tests.cli.conftest import Home, Outcome, answers
from tests.support.door import door
from tests.support.picture import T0, key, machine, running


def found(home: Home) -> dict[str, dict[str, str]]:
    """Return the findings by what was looked at."""
    told = json.loads(home.here("check", "--json").out)
    assert told["ok"] is all(f["state"] != "error" for f in told["findings"])
    for each in told["findings"]:
        each.pop("messages", None)
    return {f["what"]: f for f in told["findings"]}


@contextmanager
def told_by_service(home: Home, node: Node) -> Iterator[None]:
    """Let a service answer that has this state."""
    server = door(home.socket, answers(node, []))
    server.start()
    with closing(server):
        yield


def everything(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_mode, p.stat().st_mtime_ns) for p in folder.rglob("*"))


def test_a_good_configuration_is_fine_and_nothing_is_changed(home: Home) -> None:
    home.configure('strategy = "ringRecover"')
    before = everything(home.folder)
    told = home.here("check")
    assert told.code == 0
    assert everything(home.folder) == before
    # Units that run containers are those of the machine that the tests run on.
    states = {what: f["state"] for what, f in found(home).items() if what != "unit"}
    assert states == {
        "configuration": "ok",
        "strategy": "ok",
        "fault tables": "ok",
        "escalation rules": "ok",
        "driver": "ok",
        "rings": "ok",
        "runtime sim": "ok",
        "database": "ok",
        "service": "warning",
        "metrics": "ok",
        "group": "ok",
        "directories": "ok",
    }


def test_a_setting_that_has_gone_is_taken_and_said_to_have_no_effect(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure('alarms.backoff = "5s"', "nvml.settle = 7")
    monkeypatch.setenv("CMGR_EXPORT_EVERY", "30s")
    told = home.here("check", "--json")
    assert told.code == 0
    rows = [row for row in json.loads(told.out)["findings"] if row["state"] == "warning" and "effect" in row["text"]]
    assert [(row["text"].partition(" has no effect any more: ")[0], row["hint"]) for row in rows] == [
        (name, "take it out") for name in ("alarms.backoff", "CMGR_EXPORT_EVERY", "nvml.settle")
    ]


def test_a_wrong_configuration_is_the_one_finding(home: Home) -> None:
    home.configure('strategy = "always"', "nonsense = 1")
    told: Outcome = home.here("check")
    assert told.code == 1
    assert "strategy = " in told.out
    assert "nonsense" in told.out
    assert told.out.endswith("\n1 error, 0 warnings\n")
    assert list(found(home)) == ["configuration"]


def test_a_strategy_that_does_nothing_is_a_warning(home: Home) -> None:
    assert found(home)["strategy"]["state"] == "warning"
    home.configure('strategy = "ringRecover"', "observe = true")
    assert "nothing is done" in found(home)["strategy"]["text"]


def test_a_drill_that_is_allowed_on_real_chips_is_a_warning_until_it_is_over(home: Home) -> None:
    home.configure("allow_injection = true")
    assert "injection" not in found(home), "simulated chips are there for drills"
    for driver in ("auto", "dcmi"):
        home.configure("allow_injection = true")
        home.config.write_text(home.config.read_text().replace('driver = "sim"', f'driver = "{driver}"'))
        told = found(home)["injection"]
        assert (told["state"], "allow_injection = true" in told["text"]) == ("warning", True)
        assert told["hint"].endswith("set allow_injection = false, then type: systemctl restart cmgr")
        home.config.write_text(home.config.read_text().replace("allow_injection = true", ""))
        assert "injection" not in found(home)


def test_a_missing_group_is_a_warning_on_real_chips_only(home: Home) -> None:
    there = any(group.gr_name == "cmgr" for group in grp.getgrall())
    home.config.write_text(home.config.read_text().replace('driver = "sim"', 'driver = "dcmi"'))
    told = found(home)["group"]
    assert told["state"] == ("ok" if there else "warning")
    assert there or "usermod -aG cmgr" in told["hint"]


def test_an_odd_fault_table_is_told(home: Home) -> None:
    table = home.folder / "codes.toml"
    table.touch(mode=0o600)
    table.write_text('NotHandleFaultCodes = ["xyz"]\n')
    home.configure("[faults]", f'file = "{table}"')
    assert found(home)["fault tables"]["state"] == "error"
    table.write_text('RestartNPUCodes = ["80E24E00"]\nSeparateNPUCodes = ["80E24E00"]\n')
    told = json.loads(home.here("check", "--json").out)
    assert [f["state"] for f in told["findings"] if f["what"] == "fault tables"] == ["ok", "warning"]


def test_rules_of_escalation_are_told_with_how_many_are_in_force(home: Home) -> None:
    assert found(home)["escalation rules"]["text"] == "43 codes by FaultFrequency, 3 codes by FaultDuration"
    rules = home.folder / "rules.json"
    rules.touch(mode=0o600)
    home.configure("[faults]", f'rules = "{rules}"', 'rules_mode = "replace"')
    rules.write_text('{"GraceTolerance": {}, "FaultFrequency": []}')
    told = [f for f in json.loads(home.here("check", "--json").out)["findings"] if f["what"] == "escalation rules"]
    assert [f["state"] for f in told] == ["ok", "warning"]
    assert told[0]["text"] == "0 codes by FaultFrequency, 0 codes by FaultDuration"
    rules.write_text('{"FaultFrequency": [{"EventId": ["A1"], "Times": 0}]}')
    wrong = found(home)["escalation rules"]
    assert wrong["state"] == "error"
    assert wrong["text"].count("\n") == 3


def test_a_driver_that_is_not_there_is_an_error_with_a_hint(home: Home) -> None:
    home.config.write_text(home.config.read_text().replace('driver = "sim"', 'driver = "dcmi"'))
    driver = found(home)["driver"]
    assert (driver["state"], bool(driver["hint"])) == ("error", True)


@contextmanager
def daemon(path: Path, reply: bytes) -> Iterator[None]:
    """Answer every connection on this path with these bytes."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(5)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                if connection.recv(65536):
                    connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        listening.close()


def docker_at(home: Home, path: Path, runtimes: str = '"docker"') -> None:
    home.configure("[docker]", f'socket = "{path}"', "[containerd]", f'address = "{home.folder / "none.sock"}"')
    home.config.write_text(home.config.read_text().replace('runtimes = ["sim"]', f"runtimes = [{runtimes}]"))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ('"DockerRootDir": "/data"', "Docker 27.5.1 answers on {}: its data root is /data"),
        ('"DockerRootDir": "/data", "BuildahVersion": "1"', "podman 27.5.1 answers on {}: its graph root is /data"),
    ],
)
def test_the_engine_that_answers_for_docker_is_told(home: Home, more: str, text: str) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path)
    body = b'{"ApiVersion": "1.47", "ServerVersion": "27.5.1", "LiveRestoreEnabled": true, %s}' % more.encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with daemon(path, reply):
        assert found(home)["runtime docker"] == {
            "what": "runtime docker",
            "state": "ok",
            "text": text.format(path),
            "hint": "",
        }


def test_a_docker_that_lets_health_checks_end_with_its_restart_is_a_warning(home: Home) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path)
    body = b'{"ApiVersion": "1.41", "ServerVersion": "20.10.24", "LiveRestoreEnabled": true}'
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with daemon(path, reply):
        told = found(home)["runtime docker"]
    assert (told["state"], "runs no health check" in told["text"]) == ("warning", True)


def test_a_docker_that_talks_nonsense_is_an_error(home: Home) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path)
    with daemon(path, b"nonsense\r\n\r\n"):
        assert found(home)["runtime docker"]["state"] == "error"


def test_a_docker_that_is_not_there_is_an_error(home: Home) -> None:
    docker_at(home, home.folder / "docker.sock")
    told = found(home)["runtime docker"]
    assert (told["state"], "nobody answers" in told["text"]) == ("error", True)


@pytest.mark.parametrize(
    ("told", "state", "text", "hint"),
    [
        ({}, "error", "knows no CDI: it can give nobody single chips", "Docker 28 or later can"),
        ({"CDISpecDirs": []}, "error", "CDI is switched off", "daemon.json"),
        ({"CDISpecDirs": ["/var/run/cdi"]}, "error", "reads CDI files in /var/run/cdi, and not in /etc/cdi", "cdi.dir"),
        ({"CDISpecDirs": ["/etc/cdi/"], "ServerVersion": "26.1.5"}, "warning", "by its restart policy", "28 or later"),
        ({"CDISpecDirs": ["/etc/cdi"], "ServerVersion": "28.5.2"}, "ok", "gives single chips from /etc/cdi", ""),
    ],
)
def test_whether_docker_can_give_by_cdi_is_told(
    home: Home, told: dict[str, object], state: str, text: str, hint: str
) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path)
    with home.config.open("a") as file:
        file.write("[cdi]\nchips = true\n")
    body = json.dumps({"ApiVersion": "1.41", **told}).encode()
    with daemon(path, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)):
        found_it = found(home)["cdi"]
    assert (found_it["state"], text in str(found_it["text"]), hint in str(found_it["hint"])) == (state, True, True)


def test_auto_needs_one_runtime_and_does_not_miss_the_others(home: Home) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path, '"auto"')
    assert {found(home)[f"runtime {name}"]["state"] for name in ("docker", "containerd")} == {"error"}
    body = b'{"ApiVersion": "1.47"}'
    with daemon(path, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)):
        names = [what for what in found(home) if what.startswith("runtime ")]
    assert names == ["runtime docker"]


def test_the_database_is_examined(home: Home) -> None:
    open_store(home.database).close()
    assert found(home)["database"]["state"] == "ok"
    home.database.chmod(0o644)
    assert found(home)["database"]["hint"] == f"chmod 640 {home.database}"
    home.database.write_bytes(b"this is no database, and long enough to be taken for one" * 100)
    assert found(home)["database"]["state"] == "error"


def test_a_database_that_cannot_be_made_is_an_error(home: Home) -> None:
    (home.folder / "state").touch(mode=0o600)
    assert found(home)["database"]["state"] == "error"


def test_a_service_that_answers_is_told(home: Home) -> None:
    server = door(home.socket, answers(machine(), []))
    server.start()
    with closing(server):
        assert found(home)["service"]["text"] == f"ready on {home.socket}"
        home.socket.chmod(0o666)
        assert found(home)["service"]["state"] == "warning"


def test_no_driver_is_opened_beside_a_reset_which_it_would_keep_from_its_chips(home: Home) -> None:
    node = machine()
    (ring, *others) = node.rings.values()
    rings = {each.id: each for each in (replace(ring, phase=Phase.RESETTING, reset=CommandId("1")), *others)}
    with told_by_service(home, replace(node, rings=rings)):
        told = found(home)["driver"]
    assert (told["state"], "is being reset: the driver is not looked at meanwhile" in told["text"]) == ("warning", True)
    assert "again when that is over" in told["hint"]


def test_a_container_that_its_stop_would_remove_is_told_beforehand(home: Home) -> None:
    node = replace(machine(), policy=Policy(strategy=Strategy.RING))
    node = replace(node, containers={key("web"): replace(running("web", 0), auto_remove=True)})
    with told_by_service(home, node):
        assert found(home)["container"]["text"].startswith("web was started with --rm, so that a stop would remove it")


def test_a_container_whose_chips_nobody_knows_is_told_beforehand(home: Home) -> None:
    lab = replace(running("lab"), claims=frozenset({UNCLEAR}), warnings=("is privileged",))
    with told_by_service(home, replace(machine(), containers={lab.key: lab})):
        told = found(home)["container"]
        shown = home.here("status").out
    assert told["state"] == "warning"
    assert told["text"] == (
        "lab: nobody knows which chips it uses: "
        "a reset waits for it where the driver lists a process of it, or cannot list any"
    )
    assert '[containers] ignore = ["lab"]' in told["hint"]
    assert "nobody knows which chips it uses" in " ".join(shown.split())


def test_who_is_healed_by_its_end_alone_is_told_once(home: Home) -> None:
    names = ("well", "plain", "a", "b", "paused", "old")
    healed = {
        key(name): replace(running(name), heal=Heal(), kept=replace(running(name).kept, wanted=True)) for name in names
    }
    healed[key("well")] = replace(healed[key("well")], health="healthy")
    healed[key("plain")] = replace(healed[key("plain")], heal=None)
    healed[key("paused")] = replace(healed[key("paused")], frozen=True)
    healed[key("old")] = replace(healed[key("old")], unchecked=T0)
    with told_by_service(home, replace(machine(), containers=healed)):
        told = json.loads(home.here("check", "--json").out)["findings"]
    (only,) = [finding["text"] for finding in told if "cmgr.heal" in finding["text"]]
    assert only == "a, b: cmgr.heal without a health check sees only the end of the first process"


def test_one_of_podmans_without_its_monitor_is_told_beforehand(home: Home) -> None:
    path = home.folder / "docker.sock"
    docker_at(home, path)
    body = b'{"ApiVersion": "1.41", "ServerVersion": "4.3.1", "BuildahVersion": "1"}'
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with daemon(path, reply), told_by_service(home, replace(machine(), containers={key("web"): running("web", 0)})):
        told = found(home)["container"]
    assert told["text"] == "web runs without its monitor (conmon): its next stop will be its last"
    assert "podman rm -f web" in told["hint"]


def test_a_runtime_that_was_used_and_is_out_of_hearing_is_told_although_its_socket_is_gone(home: Home) -> None:
    node = machine()
    state = replace(next(iter(node.runtimes.values())), name="containerd", listed=None, why_down="no such socket")
    with told_by_service(home, replace(node, runtimes={**node.runtimes, "containerd": state})):
        told = found(home)["runtime containerd"]
        shown = home.here("status", "--check")
    assert (told["state"], told["text"]) == ("warning", "cannot reach containerd: no such socket")
    assert "cmgr forget --runtime containerd" in told["hint"]
    assert (shown.code, "cannot reach containerd" in shown.out) == (4, True)


def test_a_container_that_its_stop_would_remove_is_told_by_status_before_any_fault(home: Home) -> None:
    node = replace(machine(), policy=Policy(strategy=Strategy.RING))
    with told_by_service(home, replace(node, containers={key("web"): replace(running("web", 0), auto_remove=True)})):
        shown = " ".join(home.here("status").out.split())
    assert "was started with --rm, so that a stop would remove it: cmgr does not stop it, and a reset waits" in shown


def test_what_the_strategy_means_on_the_rings_is_told_with_how_many_containers_run_there(home: Home) -> None:
    home.configure('strategy = "singleRecover"')
    with told_by_service(home, replace(machine(), containers={key("a"): running("a", 0), key("b"): running("b", 1)})):
        told = found(home)["rings"]
    assert told["text"].startswith("singleRecover: the containers on a faulty chip are stopped; a reset of ring 0-")
    assert told["text"].endswith("; 2 containers run there")


EIGHT = [[chip] for chip in range(8)]
ALONE = "(each is a ring of its own)"


@pytest.mark.parametrize(
    ("strategy", "ring", "users", "told"),
    [
        (
            Strategy.SINGLE, 8, EIGHT,
            "the containers on a faulty chip are stopped; a reset of ring 0-7 waits until all 8 chips are free, and "
            "after 10 min stops the other containers there too; 8 containers run there",
        ),
        (
            Strategy.RING, 8, [[0, 1]],
            "a fault on ring 0-7 stops all containers there, and its 8 chips are reset together; "
            "1 container runs there",
        ),
        (
            Strategy.NEVER, 2, None,
            "no container is stopped; a reset of ring 0-1, 2-3, 4-5 or 6-7 waits until all 2 chips are free",
        ),
        (Strategy.NEVER, 1, None, f"no container is stopped; a reset of a chip waits until it is free {ALONE}"),
        (
            Strategy.SINGLE, 1, EIGHT,
            f"the containers on a faulty chip are stopped, and it is reset alone {ALONE}; 8 containers run there",
        ),
    ],
)  # fmt: skip
def test_rings_that_are_alike_are_told_once(
    strategy: Strategy, ring: int, users: list[list[int]] | None, told: str
) -> None:
    chips = [Chip(ChipId(c), RingId(c // ring * ring), logical=c) for c in range(8)]
    assert [(f.state, f.text) for f in rings(replace(Config(), strategy=strategy), chips, users)] == [
        ("ok", f"{strategy}: {told}")
    ]


def test_a_wait_for_ring_mates_without_an_end_is_a_warning(home: Home) -> None:
    home.configure('strategy = "singleRecover"', "[reset]", 'widen_after = ""')
    told = found(home)["rings"]
    assert (told["state"], told["text"].endswith(" chips are free, without an end")) == ("warning", True)
    assert told["hint"] == "set reset.widen_after, or strategy = ringRecover"


def test_something_else_in_the_place_of_the_socket_is_an_error(home: Home) -> None:
    home.socket.touch()
    assert found(home)["service"]["state"] == "error"


def listening(home: Home, address: str) -> dict[str, str]:
    """Return what is found of metrics with this address."""
    home.config.write_text(home.config.read_text().replace('metrics.listen = ""', f'metrics.listen = "{address}"'))
    return found(home)["metrics"]


def test_metrics_that_everybody_can_read_are_a_warning(home: Home) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    finding = listening(home, f"0.0.0.0:{port}")
    assert finding["state"] == "warning"
    assert "there is no password" in finding["text"]
    home.configure()
    assert listening(home, f"localhost:{port}")["state"] == "ok"


def test_an_address_for_metrics_that_another_program_has_is_a_warning(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        finding = listening(home, f"127.0.0.1:{taken.getsockname()[1]}")
    assert finding["state"] == "warning"
    assert finding["text"].startswith("another program listens on 127.0.0.1:")
    assert finding["hint"] == "set metrics.listen to a free port"


def test_an_address_for_metrics_that_is_not_of_this_machine_is_a_warning(home: Home) -> None:
    finding = listening(home, "192.0.2.1:9477")
    assert finding["state"] == "warning"
    assert finding["text"] == "cannot listen on 192.0.2.1:9477: Cannot assign requested address"
    home.configure()
    assert listening(home, "no..name:9477")["text"].startswith("cannot listen on no..name:9477: ")


def test_a_folder_that_others_can_write_is_told(home: Home) -> None:
    assert found(home)["directories"]["state"] == "ok"
    odd = home.folder / "odd"
    (odd / "deep").mkdir(parents=True)
    odd.chmod(0o777)
    home.config.write_text(home.config.read_text().replace(str(home.folder / "state"), str(odd / "deep")))
    with home.config.open("a") as file:
        file.write(f'[log]\nfile = "{odd}/deep/log"\n')
    told = [f for f in json.loads(home.here("check", "--json").out)["findings"] if f["what"] == "directories"]
    why = f"others can write the directory {odd} (mode 0777)"
    assert [(f["state"], f["text"], f["hint"]) for f in told] == [
        ("error", f"state_dir: {why}", f"chmod +t {odd}"),
        ("warning", f"log.file: {why}", f"chmod +t {odd}"),
    ]
    odd.chmod(0o1777)
    assert found(home)["directories"]["state"] == "ok"


def test_what_a_reset_does_to_shares_is_told_beforehand() -> None:
    shares = (Share("116", "vir04"), Share("117"), Share("118", there=False))
    chips = [Chip(ChipId(0), RingId(0), 0), Chip(ChipId(1), RingId(1), 1, shares=shares)]
    what = "chip 1 has share 116 (vir04), share 117: a reset takes them, and they are"
    assert [(f.what, f.state, f.text) for f in divided(chips, "")] == [("shares", "ok", f"{what} made again after it")]
    (told,) = divided(chips, "no program does it")
    assert (told.state, told.text) == ("warning", f"{what} not made again: no program does it")
    assert not list(divided(chips[:1], ""))


def test_chips_of_which_only_the_seat_is_known_are_named() -> None:
    seat = Chip(ChipId(0), RingId(0), 0, bus="0000:c1:00.0")
    known = (replace(seat, id=ChipId(1), serial="GPU-1"), replace(seat, id=ChipId(2), board="2102314000"))
    (told,) = told_apart((seat, *known))
    assert (told.state, told.text.partition(":")[0]) == ("ok", "chip 0")
    assert not list(told_apart(known))


def test_a_database_that_would_be_brought_along_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    own = home.folder / "own"
    monkeypatch.setenv("STATE_DIRECTORY", str(own))
    open_store(own / "cmgr.db").close()
    assert found(home)["database"]["text"].endswith(f"brings it along from {own}/cmgr.db, with all that is held")
