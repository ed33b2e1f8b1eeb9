"""Programs as transient units of a real systemd: where they run, what bounds them, and how they outlive cmgr."""

import fcntl
import math
import os
import signal
import threading
from pathlib import Path

import pytest

from cmgr.host import transient
from cmgr.host.act import Act, CannotBegin
from cmgr.host.host import Host, obstacle
from tests.host.programs import LIFE, LONG, NEVER, PATH, ROOT, Life, Program
from tests.support.daemons.systemd import Systemd
from tests.support.waiting import eventually


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def state(systemd: Systemd, act: Act) -> str:
    return systemd.property(transient.unit_name(act.name), "ActiveState")


def test_it_runs_in_systemds_namespaces_and_not_in_those_of_the_caller(by_systemd: Host, tmp_path: Path) -> None:
    words = ("/bin/sh", "-c", "for who in self 1; do readlink /proc/$who/ns/mnt /proc/$who/ns/pid; done")
    ours = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "pid")]
    told = by_systemd.run(Act(tmp_path.name, words, PATH, LONG), NEVER).output.split()
    assert told[:2] == told[2:]
    assert not set(told) & set(ours)


@pytest.fixture(params=["bus", "no-bus"])
def life(systemd: Systemd, request: pytest.FixtureRequest) -> list[str]:
    """The words of a life on a machine with a D-Bus, and on one where only systemd itself answers."""
    return systemd.inside(*LIFE, str(systemd.folder / request.param))


def test_the_next_life_finds_what_ran_when_cmgr_was_killed_and_does_not_run_it_again(
    life: list[str], tmp_path: Path
) -> None:
    program = Program(tmp_path, code=7)
    first = Life(life, program)
    program.until_begun()
    first.kill()
    second = Life(life, program)
    program.let()
    assert second.said() == ["7", "True", "", "begun done"]
    assert program.runs == 1
    assert Life(life, program).said() == ["7", "False", "", "begun done"]
    assert program.runs == 2


@pytest.mark.parametrize(
    ("then", "code", "told"),
    [("", 0, ["0", "False", "", "begun"]), ("kill -KILL $$", 0, ["-9", "False", "", "begun"])],
)
def test_how_it_ended_is_told_on_both_ways_and_nothing_of_it_stays(
    life: list[str], systemd: Systemd, tmp_path: Path, then: str, code: int, told: list[str]
) -> None:
    program = Program(tmp_path, code, then)
    program.let()
    assert Life(life, program).said() == told
    name = transient.unit_name(program.act().name)
    eventually(lambda: systemd.property(name, "LoadState") == "not-found", why="systemd has forgotten it")


def test_what_cannot_be_executed_says_so_on_both_ways(life: list[str], program: Program) -> None:
    program.path.write_text("no first line that says how")
    assert Life(life, program).said()[2] == "cannot be run: systemd could not execute it"


def test_two_who_want_it_at_once_share_one_run(life: list[str], program: Program) -> None:
    lives = [Life(life, program) for _ in range(3)]
    program.let()
    assert [each.said()[1] for each in lives] == ["False", "True", "True"]
    assert program.runs == 1


def test_what_nobody_waits_for_any_more_is_bounded_all_the_same(
    by_systemd: Host, systemd: Systemd, program: Program
) -> None:
    begun = by_systemd.begin(program.act(seconds=3.0))
    program.until_begun()
    begun.leave()
    eventually(lambda: state(systemd, program.act()) != "activating", why="systemd has ended it")
    assert state(systemd, program.act()) == "inactive"


def test_it_goes_on_when_cmgr_ends(by_systemd: Host, systemd: Systemd, program: Program) -> None:
    cut = threading.Event()
    cut.set()
    told = by_systemd.run(program.act(), cut)
    assert (told.code, told.why) == (None, "goes on though cmgr ends")
    program.until_begun()
    program.let()
    eventually(lambda: state(systemd, program.act()) == "inactive", why="it has ended by itself")


def test_what_is_locked_by_its_input_stays_locked_until_it_ends(
    by_systemd: Host, program: Program, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        begun = by_systemd.begin(program.act(None), file.fileno())
    assert begun.wait(0, NEVER) is None
    assert not free(lock)
    program.let()
    told = begun.wait(math.inf, NEVER)
    assert told is not None
    assert (told.code, told.output) == (0, "begun\ndone")
    eventually(lambda: free(lock))


def free(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_what_must_not_be_killed_is_waited_for_by_a_stop(by_systemd: Host, systemd: Systemd, program: Program) -> None:
    begun = by_systemd.begin(program.act(None))
    program.until_begun()
    systemd.systemctl("stop", "--no-block", transient.unit_name(program.act().name))
    eventually(lambda: state(systemd, program.act()) == "deactivating")
    program.let()
    told = begun.wait(math.inf, NEVER)
    assert told is not None
    assert (told.code, told.output) == (0, "begun\ndone")


def test_one_that_somebody_stops_says_that_a_signal_has_ended_it(
    by_systemd: Host, systemd: Systemd, program: Program
) -> None:
    begun = by_systemd.begin(program.act())
    program.until_begun()
    systemd.systemctl("stop", transient.unit_name(program.act().name))
    told = begun.wait(math.inf, NEVER)
    assert told is not None
    assert told.code == -signal.SIGKILL


def test_one_with_a_root_of_its_own_has_that(by_systemd: Host, tmp_path: Path) -> None:
    # A system whose programs are all in /usr has a /bin and a /lib in there.
    told = by_systemd.run(Act(tmp_path.name, ("/bin/sh", "-c", "cd / && echo *"), PATH, LONG, "/usr"), NEVER)
    assert set(told.output.split()) == {each.name for each in Path("/usr").iterdir()}


def test_it_has_the_limits_of_the_service(by_systemd: Host, systemd: Systemd, program: Program) -> None:
    begun = by_systemd.begin(program.act())
    limits = {name: systemd.property(transient.unit_name(program.act().name), name) for name in LIMITS}
    program.let()
    assert begun.wait(math.inf, NEVER)
    assert limits == LIMITS


LIMITS = {
    "MemoryMax": str(1 << 30),
    "TasksMax": "512",
    "KillMode": "control-group",
    "UMask": "0027",
    "TimeoutStartUSec": "1min",
}


def test_its_end_is_seen_though_the_bus_is_begun_anew(by_systemd: Host, systemd: Systemd, tmp_path: Path) -> None:
    program = Program(tmp_path, code=3)
    begun = by_systemd.begin(program.act())
    program.until_begun()
    systemd.systemctl("restart", "dbus.service")
    assert begun.wait(1.0, NEVER) is None
    program.let()
    told = begun.wait(math.inf, NEVER)
    assert told is not None
    assert (told.code, told.output) == (3, "begun\ndone")


def test_without_a_bus_it_is_not_run_and_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotBegin, match=r"^cannot be run: nobody answers on /nowhere: "):
        Host("/nowhere", "").begin(Act(tmp_path.name, ("/bin/true",), PATH, LONG))


@pytest.mark.parametrize("bus", ["bus", "no-bus"])
@pytest.mark.parametrize(("before", "why"), [("exec ", "nothing"), ("true && ", "systemd has not begun it")])
def test_units_are_for_a_cmgr_that_is_the_first_process_of_a_service(
    systemd: Systemd, tmp_path: Path, bus: str, before: str, why: str
) -> None:
    line = f"{before}{' '.join(LIFE)} {systemd.folder}/{bus} >{tmp_path}/said && true"
    systemd.define("cmgr-probe.service", Type="exec", WorkingDirectory=str(ROOT), ExecStart=f"/bin/sh -c '{line}'")
    systemd.systemctl("start", "cmgr-probe.service")
    eventually(lambda: said(tmp_path) == why, why=why)
    systemd.undefine("cmgr-probe.service")


def said(folder: Path) -> str:
    return (folder / "said").read_text().strip() if (folder / "said").exists() else ""


def test_without_systemd_there_are_none(systemd: Systemd) -> None:
    assert obstacle("/nowhere", os.getpid()).startswith("systemd does not know it: nobody answers on /nowhere")
    assert obstacle(systemd.socket, os.getpid()).startswith("systemd does not know it: ")
