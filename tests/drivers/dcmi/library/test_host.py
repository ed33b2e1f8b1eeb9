"""The host and containers, as the Ascend driver's kernel module tells them apart: by mount namespace, for real."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.library.load import check_host
from cmgr.errors import DriverError, DriverMissing
from tests.drivers.dcmi.driver import open_dcmi
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Standin
from tests.support.waiting import PATIENCE

APART = ["unshare", "--mount", "--propagation", "private", "setpriv", "--bounding-set", "-sys_time", sys.executable]
"""Another mount namespace, without one of the capabilities: how a sandboxed unit runs."""

CAN = os.geteuid() == 0 and subprocess.run([*APART, "-c", ""], capture_output=True, check=False).returncode == 0
namespaces = pytest.mark.skipif(not CAN, reason="only root can make a mount namespace")


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(4))


def act(what: str, path: str) -> str:
    """Do that with the library, in the process that calls."""
    place = Location(0, 0, 0)
    try:
        if what == "open the driver":
            return f"sees {len(open_dcmi(Standin(Path(path))).chips())}"
        library = Library(path)
        if what == "reset":
            library.reset(place, 1)
        return str(library.holders(place)) if what == "list" else "done"
    except (Refused, DriverError) as error:
        return error.message


@contextmanager
def apart(what: str, machine: Standin) -> Iterator[str]:
    """A process in a mount namespace of its own that has done so, and lives on until the end."""
    script = f"import sys; from {__name__} import act; print(act(*sys.argv[1:]), flush=True); input()"
    with subprocess.Popen(
        [*APART, "-c", script, what, str(machine.library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("\n", PATIENCE)


@namespaces
def test_in_another_mount_namespace_the_driver_does_not_open_the_library(machine: Standin) -> None:
    with apart("open the driver", machine) as said:
        assert said.startswith("cannot open libdcmi.so here: this process is not in the mount namespace of init and")
        assert "25" in said, "the capability that was taken away"
    assert machine.get("occupied") == 0, "opening it would have done the harm"


@namespaces
def test_an_ordinary_container_takes_the_chips_from_all_others_but_the_host(machine: Standin) -> None:
    with apart("open", machine) as said:
        assert said == "done"
        assert machine.get("occupied") == 4
        with apart("open", machine) as other:
            assert "dcmi_init: cannot begin: libdcmi says -8020" in other
        assert len(open_dcmi(machine).chips()) == 4
    with apart("open", machine) as said:
        assert said == "done", "they are free when its processes are gone"


@namespaces
def test_an_ordinary_container_sees_nobody_and_resets_nothing(machine: Standin) -> None:
    machine.process(0, os.getpid())
    with apart("list", machine) as said:
        assert said == "()"
    with apart("reset", machine) as said:
        assert said == "cannot reset the chip: libdcmi says -8255 (not supported)"
    assert Library(str(machine.library)).holders(Location(0, 0, 0)) != ()


def test_on_the_host_everything_is_seen(machine: Standin) -> None:
    check_host()
    assert len(open_dcmi(machine).chips()) == 4
    assert machine.get("occupied") == 0
    held = [Path("/proc/self/fd", link).resolve() for link in os.listdir("/proc/self/fd")]
    assert {path.name for path in held if path.parent == machine.devices} == {f"davinci{n}" for n in range(4)}


EVERYTHING, WITHOUT_ADMIN = "0000003fffffffff", "0000003fffdfffff"
OF_INIT = "         0          0 4294967295\n"


def proc(
    tmp_path: Path, ours: str, inits: str, capabilities: str = EVERYTHING, *, uid: int = 0, users: str = OF_INIT
) -> Path:
    for process, mounts in (("self", ours), ("1", inits)):
        (tmp_path / process).mkdir()
        (tmp_path / process / "mountinfo").write_text(
            "".join(f"{m} 1 0:2 / /x rw - ext4 x rw\n" for m in mounts.split())
        )
    identity = f"Name:\tcmgr\nUid:\t0\t{uid}\t0\t0\nCapInh:\t0\nCapEff:\t{capabilities}\n"
    (tmp_path / "self" / "status").write_text(identity)
    (tmp_path / "self" / "uid_map").write_text(users)
    return tmp_path


@pytest.mark.parametrize(
    ("ours", "inits", "capabilities"),
    [("22 23", "22 23 24", WITHOUT_ADMIN), ("30 31", "22 23", EVERYTHING), ("30 31", "22 23", "000001ffffffffff")],
)
def test_init_s_mounts_are_enough_and_so_are_all_capabilities(
    tmp_path: Path, ours: str, inits: str, capabilities: str
) -> None:
    check_host(proc(tmp_path, ours, inits, capabilities))


@pytest.mark.parametrize(("capabilities", "numbers"), [(WITHOUT_ADMIN, "21"), ("0000001fffdffffe", "0, 21, 37")])
def test_each_capability_that_lacks_is_named(tmp_path: Path, capabilities: str, numbers: str) -> None:
    with pytest.raises(DriverMissing, match=f"lacks the capabilities {numbers}, so it is a container") as refused:
        check_host(proc(tmp_path, "30 31", "22 23", capabilities))
    assert "nsenter --target 1 --mount" in refused.value.hint


@pytest.mark.parametrize(("uid", "users"), [(0, "0 100000 65536\n"), (1000, OF_INIT), (0, "0 1000 1\n")])
def test_all_capabilities_in_a_user_namespace_are_none(tmp_path: Path, uid: int, users: str) -> None:
    with pytest.raises(DriverMissing, match=r"is not root of the host's user namespace, so it is a container"):
        check_host(proc(tmp_path, "30 31", "22 23", uid=uid, users=users))


@pytest.mark.parametrize(("options", "sealed"), [("ro,nosuid", True), ("rw,nosuid", False)])
def test_a_memory_group_that_is_read_only_makes_a_container(tmp_path: Path, options: str, sealed: bool) -> None:
    proc(tmp_path, "30 31", "22 23")
    with (tmp_path / "self" / "mountinfo").open("a") as file:
        file.write(f"32 30 0:29 / /sys/fs/cgroup/memory {options} - cgroup cgroup rw,memory\n")
    if not sealed:
        check_host(tmp_path)
        return
    with pytest.raises(DriverMissing, match="has /sys/fs/cgroup/memory read-only, so it is a container"):
        check_host(tmp_path)


def test_where_nobody_can_say_the_library_is_left_to_say_it(tmp_path: Path) -> None:
    check_host(tmp_path)
