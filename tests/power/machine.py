"""A machine whose power can be cut: user-mode Linux, on this system's files read-only and a disk of its own.

A cut is SIGKILL of all of it: what the machine had handed to its disk is there at the next boot, what it had in memory
is not.
"""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from itertools import count
from pathlib import Path

from tests.support.daemons.daemon import CannotRun
from tests.support.waiting import PATIENCE, eventually

KERNEL = "linux.uml"
INIT = Path(__file__).with_name("init.sh")


_REGISTERS_PANIC = "put_fp_registers"
"""Where Linux before 6.13 dies in user mode with its first program: it restores fewer registers than AMX has."""


class UnfitProcessor(CannotRun):
    """This processor has registers of which this user-mode Linux does not know. No setup of the machine helps."""


class Machine:
    """Boots from one disk as often as it is told to. Commands run one after the other, as root."""

    def __init__(self, folder: Path) -> None:
        """Make its disks. Raises `CannotRun`."""
        for program in (KERNEL, "mke2fs", "dockerd", "docker"):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can read all of this system's files")
        self.share = folder / "share"
        self._folder = folder
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.share.mkdir()
        for name, size in (("disk", 1 << 30), ("chips", 1 << 24)):
            with (folder / name).open("wb") as disk:
                disk.truncate(size)
            subprocess.run(["mke2fs", "-q", "-t", "ext4", "-F", str(folder / name)], check=True, timeout=PATIENCE)

    def boot(self) -> None:
        """Switch it on, and wait until it takes commands. Raises `CannotRun`, and `UnfitProcessor` of that."""
        up = self.share / "up"
        up.unlink(missing_ok=True)
        words = [
            KERNEL, "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            f"ubd0={self._folder / 'disk'}", f"ubd1={self._folder / 'chips'}",
            "con=null", "con0=fd:0,fd:1", f"init={INIT}", f"share={self.share}",
        ]  # fmt: skip
        with (self._folder / "console").open("ab") as console:
            process = self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=console,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self._folder)},
            )
        with suppress(AssertionError):
            eventually(lambda: up.exists() or process.poll() is not None, why="it is up")
        if not up.exists():
            self.cut()
            said = self.console()
            if _REGISTERS_PANIC in said:
                raise UnfitProcessor("user-mode Linux of this release does not know this processor's AMX registers")
            raise CannotRun(f"user-mode Linux does not boot here: {said[-600:]}")

    def console(self) -> str:
        """Return what its lives have said so far."""
        return (self._folder / "console").read_text(errors="replace")

    def run(self, command: str) -> tuple[int, str]:
        """Run a shell's command, and return its code and what it said."""
        number = next(self._numbers)
        (self.share / f"command.{number}").write_text(command)
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n".encode())
        self._process.stdin.flush()
        code = self.share / f"code.{number}"
        eventually(lambda: code.exists() and code.read_text().strip(), why=f"{command} has ended", times=5)
        return int(code.read_text()), (self.share / f"out.{number}").read_text(errors="replace")

    def do(self, command: str) -> str:
        """Run a command that must succeed, and return what it said."""
        code, said = self.run(command)
        assert code == 0, f"{command}: {code}: {said[-2000:]}"
        return said

    def cut(self) -> None:
        """Cut its power."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None

    def close(self) -> None:
        """Switch it off, and remove its disks."""
        self.cut()
        for name in ("disk", "chips"):
            (self._folder / name).unlink(missing_ok=True)
