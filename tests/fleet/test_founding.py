"""`cmgr fleet setup` and `join`: three machines, each with its own /etc, become a fleet with real nodes of etcd.

A machine is a namespace of mounts and processes. Its `systemctl` starts etcd as Debian's unit does, with the variables
of /etc/default/etcd; `show` answers as that of systemd 252 does for Debian's unit.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.cli.founding.token import token_of
from tests.support.daemons.etcd import plain
from tests.support.waiting import PATIENCE, eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]

CMGR = str(Path(sys.executable).with_name("cmgr"))
ADDRESSES = {"a": "127.84.0.1", "b": "127.84.0.2", "c": "127.84.0.3"}
MEMBERS = [f"{name}={address}" for name, address in ADDRESSES.items()]
REST = ("ca.key", "ca.pem", "ca.srl", "root-password")
SYSTEMCTL = """#!/bin/sh
echo "$@" >>/var/lib/systemctl.log
case "$*" in
show*) echo "/etc/default/etcd (ignore_errors=yes)" ;;
restart*)
    [ -e /var/lib/etcd.pid ] && kill -9 "$(cat /var/lib/etcd.pid)"
    set -a; . /etc/default/etcd; set +a
    setsid etcd --logger=zap >>/var/lib/etcd.log 2>&1 &
    echo $! >/var/lib/etcd.pid ;;
esac
"""
INSIDE = """
mount --bind "$FOLDER/etc" /etc && mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/etcd && echo ready >"$FOLDER/ready"
exec sleep infinity
"""


class Machine:
    """One with files of its own, on which commands are typed."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        (self.folder / "bin").mkdir(parents=True)
        self._etc()
        (self.folder / "bin" / "systemctl").write_text(SYSTEMCTL)
        (self.folder / "bin" / "systemctl").chmod(0o755)
        apart = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
        self._process = subprocess.Popen([*apart, "sh", "-ec", INSIDE], env={**plain(), "FOLDER": str(self.folder)})
        eventually((self.folder / "ready").exists, why="its mounts are there")

    def _etc(self) -> None:
        etc = self.folder / "etc"
        for folder in ("etcd", "cmgr", "default"):
            (etc / folder).mkdir(parents=True)
        for name in ("passwd", "group", "ssl", "nsswitch.conf", "ld.so.cache", "hosts"):
            if (there := Path("/etc") / name).exists():
                (shutil.copytree if there.is_dir() else shutil.copy)(there, etc / name)
        (etc / "default" / "etcd").write_text("## etcd(1) daemon options\n# ETCD_NAME=hostname\n")
        (etc / "machine-id").write_text(f"{os.urandom(16).hex()}\n")
        (etc / "cmgr" / "cmgr.toml").write_text('strategy = "ringRecover"\ndriver = "sim"\nruntimes = ["sim"]\n')
        (etc / "cmgr" / "cmgr.toml").chmod(0o640)

    def typed(self, *words: str) -> "subprocess.Popen[str]":
        first = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0]
        into = ("nsenter", f"--target={first}", "--mount", "--pid")
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        # How far tests go is said by variables of such names, which set nothing of cmgr's.
        around = {name: value for name, value in plain().items() if not name.startswith("CMGR_")}
        return subprocess.Popen(
            [*into, *words], env={**around, "PATH": path}, stdout=-1, stderr=-1, stdin=subprocess.DEVNULL, text=True
        )

    def killed(self, process: "subprocess.Popen[str]") -> None:
        """Kill the program that nsenter runs."""
        (number,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(number), signal.SIGKILL)
        process.communicate(timeout=PATIENCE)

    def cmgr(self, *words: str) -> tuple[int, str, str]:
        return self.ended(CMGR, *words)

    def ended(self, *words: str) -> tuple[int, str, str]:
        process = self.typed(*words)
        said, failed = process.communicate(timeout=PATIENCE)
        return process.returncode, said, failed

    def file(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[dict[str, Machine]]:
    made: dict[str, Machine] = {}
    try:
        for name in ADDRESSES:
            made[name] = Machine(tmp_path, name)
        yield made
    finally:
        for machine in made.values():
            machine.close()


def checked(machine: Machine) -> list[tuple[str, str]]:
    told = json.loads(machine.cmgr("check", "--json")[1])["findings"]
    return [(f["what"], f["state"]) for f in told if f["what"].startswith(("fleet", "etcd"))]


def test_three_machines_become_a_fleet_though_the_setup_is_killed_on_the_way(machines: dict[str, Machine]) -> None:
    line = (CMGR, "fleet", "setup", *MEMBERS, "--here", "a", "--yes")
    first = machines["a"].typed(*line)
    tokens = {name: machines["a"].file(f"/etc/etcd/{name}.join") for name in "bc"}
    eventually(lambda: all(token.exists() for token in tokens.values()), why="it made the tokens of the others")
    authority = machines["a"].file("/etc/etcd/ca.pem").read_text()
    machines["a"].killed(first)

    second = machines["a"].typed(*line)
    for name in "bc":
        (machines[name].folder / "etc" / f"{name}.join").write_bytes(tokens[name].read_bytes())
        machines[name].file(f"/etc/{name}.join").chmod(0o600)
        # As where a join was killed on its way.
        with machines[name].file("/etc/default/etcd").open("a") as file:
            file.write(token_of(tokens[name].read_text(), name).variables)
        code, said, failed = machines[name].cmgr("fleet", "join", f"/etc/{name}.join")
        assert (code, failed) == (0, ""), said
        assert f"This machine is {name} of the fleet." in said
        assert not machines[name].file(f"/etc/{name}.join").exists(), "it is for one use"
    said, failed = second.communicate(timeout=PATIENCE)
    assert (second.returncode, failed) == (0, ""), said
    assert "The fleet is made." in said
    assert machines["a"].file("/etc/etcd/ca.pem").read_text() == authority

    for name, machine in machines.items():
        assert checked(machine) == [("fleet prefix", "ok"), ("fleet name", "ok"), *[("etcd", "ok")] * 3], name
    kept = [path.name for path in machines["a"].file("/etc/etcd").iterdir()]
    assert sorted(kept) == sorted([*(f"{m}.{end}" for m in "abc" for end in ("key", "pem")), "b.join", "c.join", *REST])
    assert not [path for machine in "bc" for path in machines[machine].file("/etc/etcd").glob("ca.key")]
    again, _, failed = machines["b"].cmgr("fleet", "setup", *MEMBERS, "--here", "b", "--yes")
    assert again == 1
    assert "cannot add [fleet] to /etc/cmgr/cmgr.toml: it is there already" in failed
    machines["b"].file("/etc/cmgr/cmgr.toml").write_text('strategy = "ringRecover"\n')
    again, _, failed = machines["b"].cmgr("fleet", "setup", *MEMBERS, "--here", "b", "--yes")
    assert again == 1
    assert "somebody has done that here already (/etc/default/etcd has settings)" in failed


def test_what_is_shown_has_every_file_and_command_and_no_secret(machines: dict[str, Machine]) -> None:
    code, said, _ = machines["a"].cmgr("fleet", "setup", *MEMBERS, "--here", "a", "--print")
    assert code == 0
    assert not any(machines["a"].file("/etc/etcd").iterdir()), "nothing was done"
    for words in ("openssl req -x509", "ETCD_NAME=a", "systemctl restart --no-block etcd", 'name = "a"', "auth enable"):
        assert words in said
    assert "# writes /etc/cmgr/etcd-password (mode 600)" in said
    assert not re.search(r"^ +[A-Za-z0-9_-]{32}$", said, re.MULTILINE), "a password is 32 letters"


def test_two_that_are_given_an_etcd_get_users_in_it(machines: dict[str, Machine]) -> None:
    machine, at = machines["a"], "http://127.0.0.1:23790"
    peers = "http://127.0.0.1:23800"
    etcd = machine.typed(
        "etcd", "--data-dir=/var/lib/etcd/one", f"--listen-client-urls={at}", f"--advertise-client-urls={at}",
        f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
    )  # fmt: skip
    try:
        eventually(lambda: not machine.ended("etcdctl", f"--endpoints={at}", "get", "x")[0], why="it answers")
        code, said, failed = machine.cmgr("fleet", "setup", "a", "b", "--here", "a", "--engine", at, "--yes")
        assert (code, failed) == (0, ""), said
        machines["b"].file("/etc/b.join").write_text(machine.file("/etc/etcd/b.join").read_text())
        machines["b"].file("/etc/b.join").chmod(0o600)
        assert machines["b"].cmgr("fleet", "join", "/etc/b.join")[0] == 0
        assert ("fleet name", "ok") in checked(machines["b"])
        assert not machines["b"].file("/etc/default/etcd").read_text().count("\nETCD_"), "it has no etcd of its own"
    finally:
        machine.killed(etcd)


def test_every_mistake_is_said_at_once(machines: dict[str, Machine]) -> None:
    code, _, failed = machines["a"].cmgr("fleet", "setup", "A=10.0.0.1", "b", "c=10.0.0.300", "d=10.0.0.1")
    assert code == 1
    for words in (
        "A=10.0.0.1: a name has lower-case letters",
        "b: its address is missing: b=10.0.0.1",
        "c=10.0.0.300: 10.0.0.300 is no address",
        "10.0.0.1: two have this address",
        "cmgr fleet setup a=10.0.0.1 b=10.0.0.2",
    ):
        assert words in failed
    machines["a"].file("/etc/cut.join").write_text('{"name": "a"')
    machines["a"].file("/etc/cut.join").chmod(0o600)
    code, _, failed = machines["a"].cmgr("fleet", "join", "/etc/cut.join")
    assert code == 1
    assert "it is no token of cmgr fleet setup, or only a part of one" in failed
