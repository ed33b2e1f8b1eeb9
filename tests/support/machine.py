"""The machine that figures were measured on, in words, and what was measured."""

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cmgr import __version__


def described(more: Mapping[str, str]) -> dict[str, str]:
    """Return what figures depend on, `more` included."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": platform.python_version(),
        **more,
        "cmgr": __version__,
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def commit() -> str:
    """Return the commit that the tree is of; where it is of none, as unpacked from an archive, nothing."""
    asked = ("git", "rev-parse", "--short=8", "HEAD")
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
