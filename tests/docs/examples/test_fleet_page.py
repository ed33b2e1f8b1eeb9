"""docs/fleet.md sets etcd up as it says: its commands are run, with addresses of loopback for those of the machines."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Home, home
from tests.support.daemons.daemon import Daemon
from tests.support.daemons.etcd import plain
from tests.support.programs import program
from tests.support.waiting import eventually

__all__ = ["home"]

pytestmark = [pytest.mark.etcd, pytest.mark.alone]

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"
ADDRESSES = {"10.0.0.1": "127.83.0.1", "10.0.0.2": "127.83.0.2", "10.0.0.3": "127.83.0.3"}
NAMES = dict(zip(ADDRESSES, "abc", strict=True))


def block(language: str, number: int, folder: Path) -> str:
    """Return a block of the page, for this machine: its files in `folder`, its addresses on loopback."""
    text = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
    for address, here in ADDRESSES.items():
        text = text.replace(address, here)
    for path in ("/etc/etcd", "/etc/cmgr", "/var/lib/etcd"):
        text = text.replace(path, str(folder / path.strip("/").replace("/", "-")))
    return str(text)


class Machine(Daemon):
    """The etcd of one machine, set up by the page's variables."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder / f"machine-{variables['ETCD_NAME']}"
        self.folder.mkdir()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program("etcd"), "--logger=zap"],
                env={**plain(), **variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Path]:
    """The etcd of each machine, as steps 2 and 3 have them."""
    shell(block("sh", 0, tmp_path))
    written = block("ini", 0, tmp_path)
    started = []
    for address, name in NAMES.items():
        own = written.replace(f"/a.{'pem'}", f"/{name}.pem").replace("/a.key", f"/{name}.key")
        variables = dict(line.split("=", 1) for line in own.splitlines())
        variables["ETCD_NAME"], variables["ETCD_DATA_DIR"] = name, str(tmp_path / f"data-{name}")
        for variable, value in variables.items():
            if variable.endswith("_URLS"):
                variables[variable] = value.replace(ADDRESSES["10.0.0.1"], ADDRESSES[address])
        started.append(Machine(tmp_path, variables))
    yield tmp_path
    for machine in started:
        machine.close()


def shell(text: str) -> str:
    done = subprocess.run(["sh", "-eu", "-c", text], capture_output=True, text=True, check=False, env=plain())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_sets_up_three_machines_that_check_finds_well(machines: Path, home: Home) -> None:
    users = block("sh", 1, machines)
    connect = users.splitlines()[0]
    eventually(
        lambda: subprocess.run(["sh", "-c", f"{connect}\netcdctl get x"], env=plain(), check=False).returncode == 0
    )
    shell(users)
    as_a = f"{connect}\netcdctl --user=a:the-password-of-a"
    shell(f"{as_a} put /cmgr/groups/tp4 x && {as_a.splitlines()[1]} del /cmgr/groups/tp4")
    for key in ("/cmgr/appliances/b", "/cmgr/alive/b", "/other"):
        words = ["sh", "-c", f"{as_a} put {key} x"]
        assert (
            "permission denied"
            in subprocess.run(words, capture_output=True, text=True, env=plain(), check=False).stderr
        )
    folder = machines / "etc-cmgr"
    folder.mkdir()
    for name in NAMES.values():
        (folder / "etcd-password").write_text(f"the-password-of-{name}\n")
        (folder / "etcd-password").chmod(0o600)
        settings = block("toml", 0, machines).replace('"a"', f'"{name}"')
        home.configure('strategy = "ringRecover"', settings)
        told = json.loads(home.here("check", "--json").out)["findings"]
        found = [(f["what"], f["state"]) for f in told if f["what"].startswith(("fleet", "etcd"))]
        assert found == [("fleet prefix", "ok"), ("fleet name", "ok"), *[("etcd", "ok")] * 3], told
    assert os.stat(machines / "etc-etcd" / "ca.key").st_mode & 0o077 == 0, "openssl keeps keys to itself"


def test_the_page_brings_a_full_etcd_back(machines: Path) -> None:
    users = block("sh", 1, machines)
    connect = users.splitlines()[0]
    mend = re.findall(r"```\n(etcdctl compact.*?)```", PAGE.read_text(), re.DOTALL)[0]
    eventually(
        lambda: subprocess.run(["sh", "-c", f"{connect}\netcdctl get x"], env=plain(), check=False).returncode == 0
    )
    shell(f"{connect}\n{mend}")


def test_its_certificates_are_good_to_the_newest_python_too(tmp_path: Path) -> None:
    """As Python 3.13 looks at them: the authority says what its key is for, and what it signed names it."""
    shell(block("sh", 0, tmp_path))
    folder = next(tmp_path.glob("**/ca.pem")).parent
    for name in NAMES.values():
        strict = ["-x509_strict", "-purpose", "sslserver", "-CAfile", str(folder / "ca.pem")]
        shell(shlex.join([program("openssl"), "verify", *strict, str(folder / f"{name}.pem")]))
