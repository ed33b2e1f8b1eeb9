"""The service as a process, from its start to its end: signals, systemd, modes of files, a full disk."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from cmgr.service.door.client import order
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.alone


@pytest.fixture
def service() -> Iterator[Service]:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="cmgr-daemon-"))
    made = Service(folder, {})
    made.pretend("one")
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture
def systemd(service: Service) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(service.folder / "notify"))
        listening.settimeout(PATIENCE)
        yield listening


def until_told(systemd: socket.socket, word: str) -> list[str]:
    """Return all words that come before this one, which must come."""
    before: list[str] = []
    while True:
        words = systemd.recv(4096).decode().splitlines()
        if word in words:
            return before
        before += words


def test_systemd_hears_of_the_whole_life(service: Service, systemd: socket.socket) -> None:
    service.launch({"NOTIFY_SOCKET": str(service.folder / "notify"), "WATCHDOG_USEC": "30000000"})
    assert until_told(systemd, "READY=1") == [], "nothing comes before READY"
    eventually(lambda: service.status()["service"]["state"] == "ready")
    until_told(systemd, "WATCHDOG=1")
    service.tell(signal.SIGHUP)
    until_told(systemd, "RELOADING=1")
    until_told(systemd, "READY=1")
    service.terminate()
    until_told(systemd, "STOPPING=1")


def test_systemd_hears_why_it_could_not_start(service: Service, systemd: socket.socket) -> None:
    missing = str(service.folder / "docker.sock")
    service.configure({"runtimes": ["auto"], "docker.socket": missing, "containerd.address": missing})
    service.launch({"NOTIFY_SOCKET": str(service.folder / "notify")})
    told = systemd.recv(4096).decode()
    assert told.startswith("STATUS=cannot find a container runtime: there is no socket at ")
    assert told.endswith('or name the one to wait for: runtimes = ["docker"])')


def test_the_watchdog_is_fed_twice_in_its_time_though_nothing_happens(service: Service, systemd: socket.socket) -> None:
    service.launch({"NOTIFY_SOCKET": str(service.folder / "notify"), "WATCHDOG_USEC": "200000"})
    until_told(systemd, "READY=1")
    systemd.settimeout(PATIENCE)
    for _ in range(12):
        until_told(systemd, "WATCHDOG=1")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_well_and_leaves_containers_as_they_are(service: Service, how: signal.Signals) -> None:
    service.start()
    assert service.end(how) == 0
    assert not service.socket.exists()
    world = json.loads(Path(str(service.settings["sim.world"]) + ".containers").read_text())
    assert "running" in json.dumps(world)
    assert "cmgr ends: containers are left as they are" in service.said()
    assert "Traceback" not in service.said()


def test_everything_is_readable_by_root_and_the_group_alone(service: Service) -> None:
    service.configure({"log.file": str(service.folder / "cmgr.log")})
    service.start()
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    # Threads of their own write the file of the log, and held.json by way of a file that is soon gone.
    eventually(lambda: "is over: recovered" in (service.folder / "cmgr.log").read_text())
    for path in (*service.database.parent.iterdir(), service.folder / "cmgr.log", service.folder / "world"):
        with suppress(FileNotFoundError):
            assert stat.S_IMODE(path.lstat().st_mode) & 0o027 == 0, path
    assert stat.S_IMODE(service.database.parent.stat().st_mode) == 0o750
    assert stat.S_IMODE(service.socket.stat().st_mode) in (0o600, 0o660)


def test_a_fault_that_comes_before_the_service_is_loaded_is_recovered_when_it_is(service: Service) -> None:
    script = service.folder / "script.toml"
    script.write_text(f'[[script]]\nchip = 0\ncode = "{NOW}"\n')
    script.chmod(0o600)
    service.configure({"sim.script_file": str(script)})
    service.start()
    service.until_said("is over: recovered")
    (ready,) = (line for line in service.said().splitlines() if " is ready: " in line)
    heard = service.notes(1)[0].at.astimezone().replace(tzinfo=None)
    assert heard < datetime.fromisoformat(ready[:23])
    assert "does not have" not in service.said(), "the machine's chips are known before it is decided on"


def test_the_journal_gets_priorities_and_no_times(service: Service) -> None:
    # Where no journald is, the priorities are all that systemd can be told.
    service.log.touch()
    status = service.log.stat()
    service.start({"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    service.inject(0, "80818C00")
    service.until_said("chip 0 is isolated")
    lines = service.said().splitlines()
    assert [line for line in lines if not re.match(r"<[4-6]>\D", line)] == []
    assert next(line for line in lines if "chip 0 is isolated" in line).startswith("<4>")
    assert next(line for line in lines if "is ready" in line).startswith("<6>")


def test_a_full_disk_stops_nothing_and_is_told_until_there_is_room(service: Service) -> None:
    service.start()
    eventually(lambda: service.container("one"))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The write-ahead log is longer than this already; the file of the simulated chips is not.
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (16 * 1024, most))
    service.inject(0, LATER)
    eventually(lambda: service.status()["service"]["state"] == "degraded")
    eventually(lambda: "its hold could not be written" in str(service.container("one")))
    shown = service.container("one")
    assert shown is not None
    assert shown["status"] == "pausing"
    assert service.status()["service"]["troubles"][0].startswith("the database cannot be written")
    assert service.resets() == ()
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (most, most))
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert len(service.resets()) == 1
    assert service.episodes()[-1].outcome == "recovered"


def test_requests_that_make_no_sense_are_refused_and_the_service_goes_on(service: Service) -> None:
    service.start()
    for do, args in (
        ("explode", {}),
        ("inject", {"chip": "0", "code": NOW, "assertion": "occurred"}),
        ("inject", {"chip": True, "code": NOW, "assertion": "occurred"}),
        ("inject", {"chip": 0, "code": "nonsense", "assertion": "occurred"}),
        ("inject", {"chip": 0, "code": NOW, "assertion": "perhaps"}),
        ("release", {"chip": 0}),
        ("resume", {"container": "one"}),
        ("resume", {"container": ""}),
        ("explain", {"code": 7}),
    ):
        with pytest.raises(CmgrError, match=r"^cannot "):
            order(service.socket, do, **args)
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert service.episodes() == ()


def test_a_container_that_was_given_up_runs_again_when_a_person_says_so(service: Service) -> None:
    service.configure({"retry.starts": 2})
    with service.config.open("a") as file:
        file.write('[[sim.containers]]\nname = "bad"\nchips = [1]\nfail_starts = 2\n')
    service.start()
    service.inject(0, NOW)
    service.until_said("is over: failed")
    shown = service.container("bad")
    assert shown is not None
    assert (shown["status"], shown["held"]) == ("failed", True)
    assert "cmgr resume bad" in shown["hint"]
    told = service.cmgr("resume", "bad")
    assert told.code == 0
    service.until_over()
    assert f"uid {os.geteuid()}" in next(
        n.text for n in service.notes() if "is started again" in n.text and "ordered" in n.text
    )
