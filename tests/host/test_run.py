"""One program, really run, in both ways: what it gets, what is kept of it, and that nothing of it stays."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.host.act import Act, Ended
from cmgr.host.host import Host
from cmgr.host.output import OUTPUT
from tests.support.waiting import eventually

LONG = 30.0
NEVER = threading.Event()

Run = Callable[..., Ended]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "program"


@pytest.fixture
def ended(host: Host, program: Path) -> Run:
    """Run a text as a program, for so long, with these variables."""

    def run(text: str, seconds: float = LONG, *words: str, **variables: str) -> Ended:
        program.write_text(text)
        program.chmod(0o755)
        environment = {"PATH": os.environ["PATH"], **variables}
        return host.run(Act(program.parent.name, (str(program), *words), environment, seconds), NEVER)

    return run


def test_its_exit_code_and_both_its_outputs_are_kept(ended: Run) -> None:
    told = ended("#!/bin/sh\necho out; echo err >&2; exit 3\n")
    assert (told.code, told.why, told.output, told.well, told.found) == (3, "", "out\nerr", False, False)
    assert ended("#!/bin/sh\n").well


def test_it_runs_in_the_root_directory_without_input_and_with_nothing_but_its_environment(ended: Run) -> None:
    told = ended("#!/bin/sh\npwd; wc -c; env | sort\n", HOOK="before_stop", SAYS="%n $PATH \\ 'x' \"y\"")
    left = {"PWD": "/", "_": "/usr/bin/env", "OLDPWD": "/"}
    variables = dict(line.split("=", 1) for line in told.output.splitlines()[2:])
    assert told.output.split()[:2] == ["/", "0"]
    wanted = {"PATH": os.environ["PATH"], "HOOK": "before_stop", "SAYS": "%n $PATH \\ 'x' \"y\""}
    assert {name: value for name, value in variables.items() if left.get(name) != value} == wanted


def test_its_words_are_taken_as_they_are(ended: Run) -> None:
    words = ("$PATH", "${HOME}", "%n", "a b", "", "\\x41")
    told = ended('#!/bin/sh\nprintf "%s|" "$@"\n', LONG, *words)
    assert told.output == "|".join(words) + "|"


def test_what_a_variable_says_is_never_a_command(ended: Run, tmp_path: Path) -> None:
    evil = f"$(touch {tmp_path}/a) `touch {tmp_path}/b`; touch {tmp_path}/c"
    told = ended('#!/bin/sh\nprintf "%s" "$CMGR_HOOK_CONTAINERS"\n', CMGR_HOOK_CONTAINERS=evil)
    assert told.output == evil
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program"]


def test_it_is_killed_with_all_it_has_started_when_somebody_wants_that(host: Host, program: Path) -> None:
    program.write_text(f"#!/bin/sh\ntrap '' TERM\n{BREATHES.format(program.parent)} &\nwait\n")
    program.chmod(0o755)
    begun = host.begin(Act(program.parent.name, (str(program),), {"PATH": os.environ["PATH"]}, LONG))
    eventually((program.parent / "breath").exists)
    assert begun.kill().code in (None, -signal.SIGKILL)
    stands_still(program.parent)


def test_it_is_killed_with_all_it_has_started_when_its_time_is_up(ended: Run, tmp_path: Path) -> None:
    told = ended(f"#!/bin/sh\ntrap '' TERM\n{BREATHES.format(tmp_path)} &\necho said\nwait\n", seconds=2)
    assert told.code is None
    assert told.why.startswith("was killed after")
    assert told.output == "said"
    stands_still(tmp_path)


def test_what_it_leaves_ends_with_it_and_is_not_waited_for(ended: Run, tmp_path: Path) -> None:
    assert ended(f"#!/bin/sh\n{BREATHES.format(tmp_path)} &\n{UNTIL_BREATH.format(tmp_path)}\n").well
    stands_still(tmp_path)


BREATHES = "(while :; do echo x >>{0}/breath; sleep 0.01; done)"
UNTIL_BREATH = "until test -e {0}/breath; do sleep 0.01; done"


def stands_still(folder: Path) -> None:
    """Wait until nobody breathes there any more: numbers of processes may be those of another namespace."""
    seen: list[int] = []

    def same() -> bool:
        seen.append((folder / "breath").stat().st_size)
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    eventually(same, why="what it has started is dead")


def test_its_output_is_bounded_to_its_end(ended: Run) -> None:
    told = ended("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' 'x'\necho the end\n")
    assert told.well
    assert told.output.startswith("… x")
    assert told.output.endswith("xthe end")
    assert len(told.output) <= OUTPUT + 2


def test_one_that_writes_for_ever_is_killed_all_the_same(ended: Run) -> None:
    told = ended("#!/bin/sh\nexec yes\n", seconds=2)
    assert told.why.startswith("was killed after")
    assert told.output.endswith("y")


def test_one_that_closes_its_output_is_waited_for(ended: Run) -> None:
    told = ended("#!/bin/sh\nexec >&- 2>&-\nsleep 0.3\nexit 7\n")
    assert told.code == 7


def test_a_signal_that_ends_it_is_told(ended: Run) -> None:
    assert ended("#!/bin/sh\nkill -KILL $$\n").code == -9


@pytest.mark.parametrize("text", ["no first line that says how", "#!/nowhere/interpreter\n", ""])
def test_what_cannot_be_run_says_why(ended: Run, text: str) -> None:
    told = ended(text)
    assert told.code is None
    assert told.why.startswith("cannot be run: ")


def test_many_of_one_name_run_one_after_the_other(ended: Run) -> None:
    assert [ended(f"#!/bin/sh\nexit {code}\n").code for code in (0, 1, 0, 2, 0, 3, 0, 4)] == [0, 1, 0, 2, 0, 3, 0, 4]


def test_a_name_may_be_long_and_have_any_letters(host: Host) -> None:
    for name in ("default/web server", "x" * 300, "-", "ü'\"\\"):
        assert host.run(Act(name, ("/bin/true",), {}, LONG), NEVER).well
