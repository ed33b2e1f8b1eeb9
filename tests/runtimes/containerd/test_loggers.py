"""Loggers that a failed start leaves are found with what the shipped unit lets the service do."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cmgr
from cmgr.runtimes.containerd import io
from tests.support.waiting import PATIENCE

UNIT = Path(cmgr.__file__).parents[1] / "packaging/cmgr.service"
OF_THE_LOG = {"CONTAINER_ID": "web", "CONTAINER_NAMESPACE": "cmgr-test-loggers"}

END = f"from cmgr.runtimes.containerd import io; io.end_loggers({OF_THE_LOG['CONTAINER_NAMESPACE']!r}, 'web')"

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, and setpriv"),
]


def bounded() -> list[str]:
    """Return what runs a command with no more capabilities than the unit leaves."""
    names = re.findall(r"CAP_(\w+)", re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", UNIT.read_text())[-1])
    assert names
    left = ",".join(f"+{name.lower()}" for name in names)
    return ["setpriv", f"--bounding-set=-all,{left}", "--inh-caps=-all"]


def test_a_logger_is_ended_under_the_units_bounding_set() -> None:
    logger = subprocess.Popen(["sleep", "600"], env={**os.environ, **OF_THE_LOG})
    try:
        subprocess.run([*bounded(), sys.executable, "-c", END], check=True, timeout=PATIENCE)
        assert logger.wait(PATIENCE) in (-signal.SIGTERM, -signal.SIGKILL)
    finally:
        logger.kill()
        logger.wait()


def test_what_only_says_so_in_another_namespace_is_left_alone() -> None:
    other = subprocess.Popen(["sleep", "600"], env={**os.environ, **OF_THE_LOG, "CONTAINER_NAMESPACE": "other"})
    try:
        io.end_loggers(OF_THE_LOG["CONTAINER_NAMESPACE"], "web")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
