"""The machine that figures were measured on, in words."""

import os
import platform
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
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
