"""Small file systems in memory that can be full, or read-only."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

from tests.support.waiting import PATIENCE


class CannotMount(Exception):
    """Why there can be no small disk here."""


class Disk:
    """A file system of its own at `path`, from its making until `close`."""

    def __init__(self, path: Path, size: str = "16m") -> None:
        if os.geteuid() != 0 or shutil.which("mount") is None:
            raise CannotMount("only root can mount, and with the program mount")
        self.path = path
        path.mkdir()
        self._ballast = path / "ballast"
        done = self._mount("-t", "tmpfs", "-o", f"size={size},mode=0750", "none", str(path))
        if done.returncode:
            path.rmdir()
            raise CannotMount(done.stderr.strip())

    def _mount(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["mount", *words], capture_output=True, text=True, check=False, timeout=PATIENCE)

    def fill(self) -> None:
        """Leave no room for a single byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (2**20, 4096, 1):
                while _written(file.fileno(), size):
                    pass

    def free(self) -> None:
        self._ballast.unlink()

    def read_only(self, only: bool) -> None:
        """Refuse changes, or take them again. Nobody may have a file open to write."""
        done = self._mount("-o", f"remount,{'ro' if only else 'rw'}", str(self.path))
        assert done.returncode == 0, done.stderr

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=False, stderr=subprocess.DEVNULL, timeout=PATIENCE)


def _written(file: int, size: int) -> bool:
    try:
        return os.write(file, b"\0" * size) > 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
