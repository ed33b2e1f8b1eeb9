"""The program as a process: what it loads, how it ends, and what it writes when nobody reads."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cmgr import __version__
from tests.cli.conftest import Home

HEAVY = ("sqlalchemy", "docker", "requests", "apscheduler", "loguru", "rich", "grpc", "prometheus_client")

LOADED = """
import os, sys
from cmgr.__main__ import main
def ended(code):
    print(code, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
os._exit = ended
sys.argv = ["cmgr", *sys.argv[1:]]
if (code := main()) is not None:
    ended(code)
"""


def loaded(words: Sequence[str]) -> set[str]:
    """Return the packages that a command loads, after it ended well."""
    ended = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    code, *names = ended.stderr.splitlines()[-1].split()
    assert code == "0"
    return set(names)


def test_version_loads_next_to_nothing() -> None:
    assert loaded(["version"]).isdisjoint({*HEAVY, "typer", "argparse", "json", "sqlite3"})


READY = """
import os, sys
from cmgr.service.systemd import Notifier
def tell(self, *words):
    if "READY=1" in words:
        names = tuple(sys.modules)
        print(*{".".join(name.split(".")[:depth]) for name in names for depth in (1, 2)})
        sys.stdout.flush()
        os._exit(0)
Notifier.tell = tell
from cmgr.__main__ import main
sys.argv = ["cmgr", *sys.argv[1:]]
main()
"""


def loaded_when_ready(home: Home, runtime: str, *words: str) -> set[str]:
    """Return the packages, and the packages and modules in them, that `cmgr run` has loaded when it is ready."""
    home.config.write_text(home.config.read_text().replace('["sim"]', f'["{runtime}"]'))
    command = [sys.executable, "-c", READY, "run", "--config", str(home.config), *words]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_service_is_ready_without_what_it_never_needs(home: Home) -> None:
    home.configure(f'docker.socket = "{home.folder}/nobody.sock"')
    names = loaded_when_ready(home, "docker")
    assert {"loguru", "cmgr.service"} <= names
    never = {"typer", "sqlalchemy", "grpc", "prometheus_client", "docker", "requests", "starlette", "uvicorn"}
    assert names.isdisjoint(never | {"apscheduler", "email", "hashlib", "ssl", "statistics", "tarfile"})


def test_the_service_has_typer_where_its_options_need_it(home: Home) -> None:
    assert {"typer"} <= loaded_when_ready(home, "sim", "--strategy", "never")


@pytest.mark.usefixtures("service")
def test_status_loads_nothing_heavy_when_the_service_answers(home: Home) -> None:
    names = loaded(["status", "--config", str(home.config)])
    assert names.isdisjoint({*HEAVY, "typer", "sqlite3", "tempfile"})
    assert names.isdisjoint({"dataclasses", "inspect", "pathlib", "shutil", "difflib", "threading"})


def test_containers_of_docker_are_described_without_its_sdk() -> None:
    line = "import sys, cmgr.runtimes.docker.adopt, cmgr.runtimes.docker.cdi; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout.split()
    assert {"docker", "requests"}.isdisjoint(names)


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("words", [(), ("--check",), ("--json",), ("-o", "json"), ("--json", "--check")])
def test_status_says_without_typer_what_it_says_with_it(home: Home, words: tuple[str, ...]) -> None:
    asked = ("status", "--config", str(home.config), *words)
    whole = ("--output", "json" if {"json", "--json"} & set(words) else "table")
    assert "typer" in loaded([*asked[:3], *whole])
    assert home.cmgr(*asked) == home.cmgr(*asked, *whole)


@pytest.mark.usefixtures("service")
def test_a_command_loads_no_other_command(home: Home) -> None:
    line = "import sys; from cmgr.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", line, "status", "--config", str(home.config)]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()
    assert "cmgr.cli.show" in names
    others = {f"cmgr.cli.{name}" for name in ("act", "orders", "past", "bundle", "migrate", "check.check", "demo.demo")}
    assert others.isdisjoint(names)


@pytest.mark.usefixtures("database")
def test_status_loads_nothing_heavy_when_the_database_answers(home: Home) -> None:
    names = loaded(["status", "--config", str(home.config)])
    assert "sqlite3" in names
    assert names.isdisjoint(HEAVY)


def test_the_exit_code_of_the_process_is_the_commands(home: Home) -> None:
    config = ("--config", str(home.config))
    assert home.program("version").out == f"cmgr {__version__}\n"
    assert home.program("explain", "80E24E00", *config).code == 0
    assert home.program("history", *config).code == 1
    assert home.program("nonsense").code == 2
    assert home.program("inject", "1", "80E24E00", *config).code == 3


@pytest.mark.usefixtures("service")
def test_status_check_ends_the_process_with_4(home: Home) -> None:
    assert home.program("status", "--check", "--config", str(home.config)).code == 4


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("--help",)])
def test_a_reader_that_has_left_is_no_error_to_speak_of(home: Home, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nowhere:
        options = () if words == ("--help",) else ("--config", str(home.config))
        ended = subprocess.run(
            [sys.executable, "-m", "cmgr", *words, *options],
            stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr
    assert "cannot" not in ended.stderr


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("chips",)])
def test_a_full_disk_below_the_output_is_told_as_that(home: Home, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "cmgr", *words, "--config", str(home.config)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr == "cmgr: cannot write the result: No space left on device\n"


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_harm_nothing(home: Home, closed: str) -> None:
    command = [sys.executable, "-m", "cmgr", "status", "--config", str(home.config)]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *command], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)


INTERRUPTED = """
import os, signal, sys
from cmgr.cli import main, source
def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("it goes on")
source.read = interrupted
sys.exit(main(["status"]))
"""


def test_ctrl_c_is_quiet() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGINT, "", "")


BROKEN = """
import sys
from cmgr.cli import main, source
def broken(*_):
    raise ZeroDivisionError("by zero")
source.read = broken
sys.exit(main(["status"]))
"""


def test_a_bug_is_told_without_a_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("cmgr: cannot go on: ZeroDivisionError: by zero\nhint: this is a bug in cmgr")
    assert "Traceback" not in ended.stderr


def test_developers_see_the_traceback_of_a_bug() -> None:
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", BROKEN], capture_output=True, text=True, check=False)
    assert "Traceback" in ended.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(shell: str) -> None:
    program = "import sys; from cmgr.cli import main; sys.exit(main())"
    environment = {**os.environ, "_CMGR_COMPLETE": f"source_{shell}"}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert ended.returncode == 0
    assert "cmgr" in ended.stdout
    assert "_CMGR_COMPLETE" in ended.stdout


@pytest.mark.usefixtures("service")
def test_output_is_plain_where_nobody_looks_at_a_terminal(home: Home) -> None:
    assert "\x1b" not in home.program("status", "--config", str(home.config)).out


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_the_headline_is_coloured_on_a_terminal_unless_that_is_unwanted(
    home: Home, variables: dict[str, str], coloured: bool
) -> None:
    master, terminal = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "cmgr", "status", "--config", str(home.config)],
        stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm", **variables}, check=True,
    )  # fmt: skip
    shown = os.read(master, 65536)
    os.close(terminal)
    os.close(master)
    assert shown.startswith(b"\x1b[1;31mnot well: " if coloured else b"not well: ")
    assert (b"\x1b" in shown) is coloured


def test_the_module_runs_as_a_program() -> None:
    assert Path(sys.executable).exists()
    ended = subprocess.run([sys.executable, "-m", "cmgr", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"cmgr {__version__}\n"
