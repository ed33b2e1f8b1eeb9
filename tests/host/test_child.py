"""One command, really run: what it gets, what is kept of it, and that nothing of it stays."""

import os
import threading
from pathlib import Path

import pytest

from cmgr.host.child import OUTPUT, Ended, run
from tests.support.daemons.daemon import is_dead
from tests.support.waiting import eventually

LONG = 30.0


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    return tmp_path / "hook"


def ended(hook: Path, text: str, seconds: float = LONG, **variables: str) -> Ended:
    hook.write_text(text)
    hook.chmod(0o755)
    return run(hook, {"PATH": os.environ["PATH"], **variables}, seconds, threading.Event())


def test_its_exit_code_and_both_its_outputs_are_kept(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\necho out; echo err >&2; exit 3\n")
    assert (told.code, told.why, told.output, told.well) == (3, "", "out\nerr", False)
    assert ended(hook, "#!/bin/sh\n").well


def test_it_runs_in_the_root_directory_without_input_and_with_nothing_but_its_environment(
    hook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", "x")
    told = ended(hook, "#!/bin/sh\npwd; wc -c; env | grep -c SECRET; echo $CMGR_HOOK\n", CMGR_HOOK="before_stop")
    assert told.output.split() == ["/", "0", "0", "before_stop"]


def test_what_a_variable_says_is_never_a_command(hook: Path, tmp_path: Path) -> None:
    evil = f"$(touch {tmp_path}/a) `touch {tmp_path}/b`; touch {tmp_path}/c"
    told = ended(hook, '#!/bin/sh\nprintf "%s" "$CMGR_HOOK_CONTAINERS"\n', CMGR_HOOK_CONTAINERS=evil)
    assert told.output == evil
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hook"]


def test_it_is_killed_with_all_it_has_started_when_its_time_is_up(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\ntrap '' TERM\nsleep 300 &\necho $! $$\nwait\n", seconds=2)
    assert told.code is None
    assert told.why.startswith("was killed after")
    pids = [int(pid) for pid in told.output.split()]
    assert len(pids) == 2
    for pid in pids:
        eventually(lambda pid=pid: is_dead(pid), why=f"{pid} is dead")  # type: ignore[misc]


def test_what_it_leaves_in_its_group_ends_with_it_and_is_not_waited_for(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\nsleep 300 &\necho $!\n")
    assert told.well
    eventually(lambda: is_dead(int(told.output)), why="what it left is dead")


def test_one_that_leaves_its_group_with_the_pipe_open_is_not_waited_for(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\nsetsid sh -c 'echo $$; exec sleep 300' &\nread x < /dev/null\nsleep 0.3\n")
    assert told.well
    os.kill(int(told.output), 9)


def test_its_output_is_bounded_to_its_end(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' 'x'\necho the end\n")
    assert told.well
    assert told.output.startswith("… x")
    assert told.output.endswith("xthe end")
    assert len(told.output) <= OUTPUT + 2


def test_one_that_writes_for_ever_is_killed_all_the_same(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\nexec yes\n", seconds=2)
    assert told.why.startswith("was killed after")
    assert told.output.endswith("y")


def test_one_that_closes_its_output_is_waited_for(hook: Path) -> None:
    told = ended(hook, "#!/bin/sh\nexec >&- 2>&-\nsleep 0.3\nexit 7\n")
    assert told.code == 7


def test_a_signal_that_ends_it_is_told(hook: Path) -> None:
    assert ended(hook, "#!/bin/sh\nkill -KILL $$\n").code == -9


@pytest.mark.parametrize("text", ["no first line that says how", "#!/nowhere/interpreter\n", ""])
def test_what_cannot_be_run_says_why(hook: Path, text: str) -> None:
    told = ended(hook, text)
    assert told.code is None
    assert told.why.startswith("cannot be run: ")


def test_it_is_cut_short_when_cmgr_ends(hook: Path) -> None:
    cut = threading.Event()
    hook.write_text("#!/bin/sh\nexec sleep 300\n")
    hook.chmod(0o755)
    threading.Timer(0.2, cut.set).start()
    told = run(hook, {"PATH": os.environ["PATH"]}, LONG, cut)
    assert told.why.startswith("was killed because cmgr ends after")
