"""Programs as children: what ends with cmgr, and what does not."""

import math
import os
import threading
from pathlib import Path

import pytest

from cmgr.host.act import Act, CannotBegin
from cmgr.host.host import Host
from cmgr.host.output import OUTPUT, Memory
from tests.host.programs import LIFE, LONG, NEVER, Life, Program
from tests.support.waiting import eventually


def test_it_is_cut_short_when_cmgr_ends(children: Host) -> None:
    cut = threading.Event()
    threading.Timer(0.2, cut.set).start()
    told = children.run(Act("sleeps", ("/bin/sleep", "300"), {}, LONG), cut)
    assert told.code is None
    assert told.why.startswith("was killed because cmgr ends after")


def test_none_has_a_root_of_its_own(children: Host, tmp_path: Path) -> None:
    with pytest.raises(CannotBegin, match="cannot be run: only systemd, which has not begun cmgr, gives it"):
        children.begin(Act("rooted", ("/bin/true",), {}, LONG, str(tmp_path)))


def test_one_that_leaves_its_group_with_the_pipe_open_is_not_waited_for(children: Host) -> None:
    text = "setsid sh -c 'echo $$; exec sleep 300' &\nread x < /dev/null\nsleep 0.3\n"
    told = children.run(Act("leaves", ("/bin/sh", "-c", text), {"PATH": os.environ["PATH"]}, LONG), NEVER)
    assert told.well
    os.kill(int(told.output), 9)


def test_what_outlives_cmgr_is_not_killed_and_loses_nobody_whom_it_writes_to(tmp_path: Path) -> None:
    program = Program(tmp_path, then=f"until test -e {tmp_path}/end; do echo more; done; touch {tmp_path}/over")
    life = Life([*LIFE, "-"], program)
    program.until_begun()
    life.kill()
    program.let()
    (tmp_path / "end").touch()
    eventually((tmp_path / "over").exists, why="it has ended by itself")


def test_nor_is_it_killed_at_a_time(children: Host, tmp_path: Path) -> None:
    program = Program(tmp_path)
    begun = children.begin(program.act(None))
    assert begun.wait(0.1, NEVER) is None
    program.let()
    told = begun.wait(math.inf, NEVER)
    assert told is not None
    assert (told.code, told.output) == (0, "begun\ndone")


def test_of_what_is_written_into_memory_only_the_end_takes_place() -> None:
    memory = Memory(os.memfd_create("test"))
    for number in range(64):
        os.write(memory.file, bytes([ord("a") + number % 26]) * (1 << 16))
        memory.trim()
    assert os.fstat(memory.file).st_blocks * 512 < 4 * (1 << 16)
    assert memory.text() == "… " + "l" * OUTPUT
    memory.close()
