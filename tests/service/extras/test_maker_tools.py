"""Programs of chips' makers, really run: what is kept of each, and that none costs more than its share."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cmgr.host.host import Host
from cmgr.service.extras import maker_tools
from cmgr.vendor import Support, Tool
from tests.support.waiting import PATIENCE, eventually

HOST = Host("", "a test")

APART = ("unshare", "--mount", "--propagation", "private")
CAN = os.geteuid() == 0 and subprocess.run([*APART, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "told").mkdir()
    return tmp_path / "told"


def tool(folder: Path, text: str, name: str = "tool") -> Tool:
    path = folder.parent / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Tool(name, (str(path), "report", "-d", "3"))


def kept(folder: Path, *tools: Tool, seconds: float = PATIENCE) -> dict[str, bytes]:
    """Return all that is told, by name."""
    parts = maker_tools.told(HOST, Support(tools=tools), folder, seconds)
    return {p.name: p.content if isinstance(p.content, bytes) else p.content.encode() for p in parts}


def test_the_output_and_the_files_that_it_leaves_are_kept(folder: Path) -> None:
    told = kept(
        folder, tool(folder, 'echo "$@"; echo err >&2; mkdir -p a/b; printf "\\0\\377" >a/b/black.bin; pwd >a/where')
    )
    assert told == {
        "tool/output.txt": b"report -d 3\nerr\n",
        "tool/a/b/black.bin": b"\0\xff",
        "tool/a/where": f"{folder}/tool\n".encode(),
    }


def test_one_that_fails_says_so_and_one_that_is_not_there_says_nothing(folder: Path) -> None:
    told = kept(folder, tool(folder, "echo no; exit 3"), Tool("other", ("/nowhere/msnpureport",)))
    assert list(told) == ["tool/output.txt"]
    assert told["tool/output.txt"].decode().splitlines() == [
        "no", "", f"(cmgr: {folder.parent}/tool report -d 3: ended with 3)",
    ]  # fmt: skip


def test_one_that_others_could_have_written_is_not_run(folder: Path) -> None:
    weak = tool(folder, "echo run")
    Path(weak.words[0]).chmod(0o777)
    told = kept(folder, weak)["tool/output.txt"].decode()
    assert "can be written by" in told or "write" in told
    assert "run\n" not in told.replace("cmgr run", "")


@pytest.mark.skipif(not CAN, reason="only root can make a mount namespace")
def test_none_is_run_in_a_sandbox_where_a_driver_takes_it_for_a_container(folder: Path) -> None:
    script = f"import sys, pathlib; from {__name__} import kept, tool; folder = pathlib.Path(sys.argv[1]); "
    script += "print(kept(folder, tool(folder, 'echo it ran')))"
    ended = subprocess.run([*APART, sys.executable, "-c", script, str(folder)], capture_output=True, check=True)
    assert b"was not run in the service's sandbox" in ended.stdout
    assert b"it ran" not in ended.stdout


def test_one_that_hangs_costs_its_own_output_and_a_bounded_time(folder: Path) -> None:
    hangs = tool(folder, f"echo begun; touch {folder.parent}/begun; trap '' TERM; sleep 1000")
    told = kept(folder, hangs, tool(folder, "echo well", "other"), seconds=3)
    assert told["other/output.txt"] == b"well\n"
    assert told["tool/output.txt"].startswith(b"begun\n")
    assert b"was cut short" in told["tool/output.txt"] or b"was killed" in told["tool/output.txt"]


def test_one_that_would_begin_when_the_time_is_up_is_not_run(folder: Path) -> None:
    cut = threading.Event()
    cut.set()
    maker_tools.run(HOST, tool(folder, "echo run"), folder / "tool", PATIENCE, cut)
    assert "there was no time left" in (folder / "tool/output.txt").read_text()


@pytest.mark.parametrize(
    "flood", ["exec yes", "while :; do head -c 20000000 /dev/zero >f$i; i=x$i; done", "exec cat /dev/zero >one"]
)
def test_a_flood_is_ended_and_only_so_much_of_it_is_kept(folder: Path, flood: str) -> None:
    told = kept(folder, tool(folder, flood))
    assert b"(cmgr: " in told["tool/output.txt"]
    assert sum(map(len, told.values())) <= maker_tools.MOST_OF_ALL + 100_000
    assert max(map(len, told.values())) <= maker_tools.MOST_OF_ONE


def test_of_many_files_some_are_kept_and_the_others_named(folder: Path) -> None:
    told = kept(folder, tool(folder, "for i in $(seq 600); do echo $i >$i; done"))
    assert len(told) <= 502
    assert "tool/600: no room, or no file" in told["missing.txt"].decode() or b"no room" in told["missing.txt"]


def test_links_and_pipes_are_not_followed(folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_text("hunter2")
    told = kept(folder, tool(folder, f"ln -s {secret} link; mkfifo pipe; ln {secret} hard; echo done"))
    assert set(told) == {"tool/output.txt", "tool/hard"}


def test_files_are_found_by_patterns_and_the_end_of_long_ones_is_kept(tmp_path: Path) -> None:
    (tmp_path / "npu/slog").mkdir(parents=True)
    (tmp_path / "npu/slog/a.log").write_bytes(b"x" * (5 << 20) + b"the end")
    (tmp_path / "tools_ERR.log").write_text("one")
    (tmp_path / "tools_ERR.log.bak").write_text("two")
    os.mkfifo(tmp_path / "npu/pipe")
    parts = list(maker_tools.files((f"{tmp_path}/tools_*.log*", f"{tmp_path}/npu/**", f"{tmp_path}/none")))
    told = {part.name.rpartition("/")[2]: part.content for part in parts}
    assert set(told) == {"a.log", "tools_ERR.log", "tools_ERR.log.bak"}
    assert len(told["a.log"]) == maker_tools.MOST_OF_ONE
    assert bytes(told["a.log"][-7:]) == b"the end"  # type: ignore[arg-type]
    assert all(part.name.startswith(str(tmp_path).lstrip("/")) for part in parts)


def test_secrets_that_are_known_as_such_are_taken_out(folder: Path) -> None:
    told = kept(folder, tool(folder, 'echo "user=me password=hunter2"; echo "Authorization: Bearer hunter2 x" >conf'))
    assert told["tool/output.txt"] == b"user=me password=(redacted)\n"
    assert told["tool/conf"] == b"Authorization: (redacted)\n"


def test_nothing_of_one_that_was_cut_short_stays(folder: Path) -> None:
    breathes = tool(folder, "(while :; do echo x >>breath; sleep 0.02; done) & wait")
    cut = threading.Event()
    running = threading.Thread(target=maker_tools.run, args=(HOST, breathes, folder / "tool", PATIENCE, cut))
    running.start()
    eventually((folder / "tool/breath").exists)
    cut.set()
    running.join(PATIENCE)
    sizes = {(folder / "tool/breath").stat().st_size}
    eventually(lambda: sizes == {(folder / "tool/breath").stat().st_size})
    assert "was cut short" in (folder / "tool/output.txt").read_text()
