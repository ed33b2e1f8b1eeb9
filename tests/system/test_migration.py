"""The way over from the reference and back, step by step as docs/migration.md has it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.made.migration import NAME, blocks
from tests.support.service import Service
from tests.support.waiting import PATIENCE
from tests.system.conftest import Install

REFERENCE = {"container-manager.service", "container-manager.timer"}
STATUS = """#!/bin/sh
echo "| Container Status           : running |"
"""


class Appliance:
    """A machine with the reference on it, as the page's commands find it. Its systemctl starts the real service."""

    def __init__(self, service: Service) -> None:
        self.root = service.folder
        self.service = service
        service.config = self.root / "etc/cmgr/cmgr.toml"
        self.units = set(REFERENCE)
        self.ran: list[str] = []
        for folder in ("etc/cmgr", "etc/systemd/system", "bin"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/systemd/system" / NAME).write_text(blocks("ini")[0])
        self.service.config.touch(mode=0o640)  # The package's own.
        (self.root / "bin/container-manager").write_text(STATUS)
        (self.root / "bin/container-manager").chmod(0o755)
        (self.root / "bin/cmgr").symlink_to(Path(sys.executable).with_name("cmgr"))
        self.settings = {
            "CMGR_CONFIG": str(service.config),
            "CMGR_DRIVER": "sim",
            "CMGR_RUNTIMES": "sim",
            "CMGR_STATE_DIR": str(self.root / "state"),
            "CMGR_SOCKET": str(service.socket),
            "CMGR_LOG_FILE": str(self.root / "cmgr.log"),
        }

    def run(self, line: str) -> str:
        """Run a line of the page, in this machine's /etc, and return what it said."""
        self.ran.append(line)
        words = line.split()
        if words[0] == "systemctl":
            self._systemctl(words[1:])
            return ""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        without_ours = {name: value for name, value in os.environ.items() if not name.startswith("CMGR_")}
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line.replace("/etc/", f"{self.root}/etc/")],
            capture_output=True, text=True, check=False, timeout=PATIENCE,
            env={**without_ours, **self.settings, "PATH": path},
        )  # fmt: skip
        assert ended.returncode == 0, f"{line}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def _systemctl(self, words: list[str]) -> None:
        match [word for word in words if word != "--no-reload"]:
            case ["disable", "--now", "cmgr"]:
                self.service.terminate()
            case ["enable", "--now", "cmgr"]:
                assert not self.units, "both would reset chips"
                self.service.start(self.settings)
            case ["restart", "cmgr"]:
                self.service.terminate()
                self.service.start(self.settings)
            case ["disable", "--now", *units] if set(units) <= REFERENCE:
                self.units -= set(units)
            case ["enable", "--now", *units] if set(units) <= REFERENCE:
                assert not self.service.running(), "both would reset chips"
                self.units |= set(units)
            case _:
                raise AssertionError(f"systemctl {' '.join(words)}")


@pytest.fixture
def appliance(install: Install) -> Appliance:
    return Appliance(install({}))


def test_the_way_over_and_back_works_as_written(appliance: Appliance) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    said = {line: appliance.run(line) for line in lines}
    assert len(said) >= 12
    first, second = (line for line in said if line.startswith("cmgr migrate"))
    assert 'strategy = "singleRecover"' in said[first]
    assert "observe = true" not in said[first]
    assert "cmgr.toml is written" in said[second]
    assert "observe: nothing is done" in said["cmgr status"]
    assert said["cmgr status --check"].startswith("all is well")
    assert appliance.units == REFERENCE
    assert not appliance.service.running()
    assert 'strategy = "singleRecover"' in appliance.service.config.read_text()
    assert "observe = false" in appliance.service.config.read_text()
