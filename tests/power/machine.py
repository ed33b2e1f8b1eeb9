"""A machine whose power can be cut: qemu emulates it, on this system's files read-only and a disk of its own.

A cut is SIGKILL of all of it: what the machine had handed to its disk is there at the next boot, what it had in memory
is not. No acceleration is asked for, so that it runs on every processor, also where this machine is a guest itself.
"""

import os
import signal
import subprocess
from contextlib import suppress
from itertools import count
from pathlib import Path

from tests.packages.machines.kernel import QEMU, debians, do, needed
from tests.support.daemons.daemon import CannotRun
from tests.support.waiting import PATIENCE, eventually

KERNEL = "linux-image-amd64"
"""The one for virtual machines has no 9p, by which the machine sees this system's files."""

MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "9pnet_virtio", "9p")

INIT = Path(__file__).with_name("init.sh")

FIRST = """#!/bin/busybox sh
/bin/busybox mkdir -p /root
for module in {modules}; do /bin/busybox insmod /$module; done
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /root
/bin/busybox mount -t devtmpfs dev /root/dev
exec /bin/busybox switch_root /root INIT </root/dev/console >/root/dev/console 2>&1
""".replace("INIT", str(INIT))

PARAMETERS = "console=ttyS0 quiet panic=1 apparmor=0"
"""With AppArmor, Docker would want a profile, and there is nobody who could load one."""


class Machine:
    """Boots from one disk as often as it is told to. Commands run one after the other, as root."""

    def __init__(self, folder: Path) -> None:
        """Make its disks. Raises `CannotRun`."""
        needed("dockerd", "docker")
        if os.geteuid() != 0:
            raise CannotRun("only root can read all of this system's files")
        self.share = folder / "share"
        self._folder = folder
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.share.mkdir()
        self._kernel = debians(KERNEL, folder, MODULES, FIRST)
        for name, size in (("disk", 1 << 30), ("chips", 1 << 24)):
            with (folder / name).open("wb") as disk:
                disk.truncate(size)
            do("mke2fs", "-q", "-t", "ext4", "-F", str(folder / name))

    def _words(self) -> list[str]:
        kernel, first = self._kernel
        files = "local,security_model=none,multidevs=remap"
        return [
            QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1500", "-no-reboot",
            "-display", "none", "-nic", "none", "-monitor", "none", "-serial", "stdio",
            "-kernel", str(kernel), "-initrd", str(first),
            "-append", PARAMETERS,
            "-drive", f"file={self._folder / 'disk'},format=raw,if=virtio",
            "-drive", f"file={self._folder / 'chips'},format=raw,if=virtio",
            "-fsdev", f"{files},id=root,path=/,readonly=on", "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-fsdev", f"{files},id=share,path={self.share}", "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
        ]  # fmt: skip

    def boot(self) -> None:
        """Switch it on, and wait until it takes commands. Raises `CannotRun`."""
        up = self.share / "up"
        up.unlink(missing_ok=True)
        with (self._folder / "console").open("ab") as console:
            process = self._process = subprocess.Popen(
                self._words(), stdin=subprocess.PIPE, stdout=console, stderr=console, start_new_session=True
            )
        with suppress(AssertionError):
            eventually(lambda: up.exists() or process.poll() is not None, why="it is up", times=5)
        if not up.exists():
            self.cut()
            raise CannotRun(f"no machine boots in {QEMU}: {self.console()[-600:]}")

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
        eventually(lambda: code.exists() and code.read_text().strip(), why=f"{command} has ended", times=10)
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
