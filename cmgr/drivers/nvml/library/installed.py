"""Whether the driver's files are those of the module that is loaded: an update of its packages replaces them alone.

The running module serves on, as does a library that is loaded already. Programs that start are refused (NVML's answer
and nvidia-smi's status 18) until the module is loaded anew (nvidia-container-toolkit#394, nvidia-docker#584).
"""

import os
import re
from pathlib import Path

from cmgr.drivers.nvml.library.abi import LIBRARY
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

_VERSION = "sys/module/nvidia/version"

_NAMED = re.compile(re.escape(LIBRARY.removesuffix("1")) + r"(\d+(?:\.\d+)+)")
"""The library's own file, to which the name that programs open is a link: NVIDIA's packages of all distributions."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The library's file as it is now, and its version and that of the module that is loaded, empty: nobody can say."""

    file: str
    library: str
    module: str

    @property
    def mismatch(self) -> str:
        """Return in words that they are not of one version; nothing when they are, or nobody can say."""
        if not self.library or not self.module or self.library == self.module:
            return ""
        return say("driver.mismatch", module=self.module, library=self.library)


def installed(path: str, root: Path = Path("/")) -> Installed:
    """Return what is in the place of the library that was opened at this path."""
    try:
        file = Path(path).with_name(LIBRARY).resolve(strict=True)
    except (OSError, RuntimeError):
        # Taken away, for ever or while it is replaced; else it has a name of its own, which says nothing.
        return Installed(path, "" if os.path.exists(path) else "none", module_version(root))
    named = _NAMED.fullmatch(file.name)
    return Installed(str(file), named[1] if named else "", module_version(root))


def release_of(version: str) -> int:
    """Return the release that a driver's version is of, such as 580; 0 where nobody can say."""
    digits = version.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def module_version(root: Path = Path("/")) -> str:
    """Return the version of the driver's module that is loaded, such as 580.65.06; nothing where nobody can say."""
    try:
        return (root / _VERSION).read_text(errors="replace").strip()
    except OSError:
        return ""
