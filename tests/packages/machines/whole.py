"""A machine of its own, emulated by qemu: its own kernel, systemd as PID 1, a disk, no network.

It is slow, and shows what a container cannot: init's own mount namespace, its capabilities, and a /sys that is written.
"""

import base64
import json
import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.packages.machines.kernel import QEMU, debians, do, needed
from tests.packages.machines.machine import PATH, Done, Machine
from tests.support.daemons.daemon import CannotRun
from tests.support.waiting import eventually

KERNEL = "linux-image-cloud-amd64"

MODULES = ("virtio_pci", "virtio_blk", "ext4")

FIRST = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev /root
/bin/busybox mount -t devtmpfs dev /dev
for module in {modules}; do /bin/busybox insmod /$module; done
/bin/busybox mount -t ext4 /dev/vda /root
exec /bin/busybox switch_root /root /sbin/init
"""

READY = b"ready\n"

AGENT = """#!/bin/sh
exec </dev/ttyS1 >/dev/ttyS1
stty raw -echo
echo ready
while read -r line; do
    printf %s "$line" | base64 -d >/run/agent.command
    sh /run/agent.command >/run/agent.out 2>/run/agent.err </dev/null
    printf '%s %s- %s-\\n' $? "$(base64 -w0 /run/agent.out)" "$(base64 -w0 /run/agent.err)"
done
"""

ASK = """
sleep 1;
my $line = IO::Socket::UNIX->new("/run/cmgr/cmgr.sock") or exit 1;
print $line "GET $ARGV[0] HTTP/1.1\\r\\nHost: cmgr\\r\\nConnection: close\\r\\n\\r\\n";
local $/;
my ($head, $body) = split /\\r\\n\\r\\n/, <$line>, 2;
print $body;
"""

SLOW = """[Service]
TimeoutStartSec=infinity
WatchdogSec=10min
"""
"""An emulated processor is so slow that the service needs more than 90 s to begin beside other work of its host."""

UNIT = """[Service]
ExecStart=/bin/sh /var/cache/agent
[Install]
WantedBy=multi-user.target
"""


class WholeMachine(Machine):
    """Boots from a disk that has what is in `root`; what it changes there is gone afterwards."""

    def __init__(self, root: Path, folder: Path, *parameters: str) -> None:
        """With these parameters of the kernel. Raises `CannotRun`."""
        needed()
        super().__init__("whole", root, {})
        self._folder = folder
        self._parameters = ("console=ttyS0", "quiet", "panic=1", "systemd.mask=serial-getty@ttyS0.service", *parameters)
        self._furnish()
        self._line: socket.socket | None = None

    def boot(self) -> None:
        """Boot, and wait until systemd has started everything. Raises `CannotRun`."""
        kernel, first = debians(KERNEL, self._folder, MODULES, FIRST)
        disk, line, said = self._folder / "disk", self._folder / "line", self._folder / "console"
        do("mke2fs", "-q", "-t", "ext4", "-d", str(self.root), str(disk), "3G")
        words = [
            QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1500", "-nographic", "-no-reboot",
            "-nic", "none", "-monitor", "none", "-kernel", str(kernel), "-initrd", str(first),
            "-drive", f"file={disk},format=raw,if=virtio",
            "-append", " ".join(self._parameters),
            "-serial", f"file:{said}", "-serial", f"unix:{line},server=on,wait=off",
        ]  # fmt: skip
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        try:
            eventually(line.exists, why="qemu has begun")
            self._line = socket.socket(socket.AF_UNIX)
            self._line.connect(str(line))
            self._line.settimeout(600)
            # Bytes that are sent before its agent listens come back as an echo.
            while not self._answer().endswith(READY):
                pass
            up = ("running\n", "degraded\n")
            eventually(lambda: self.run("systemctl", "is-system-running", "--wait").out in up, why="all is started")
        except (AssertionError, OSError) as exc:
            self.close()
            raise CannotRun(f"no machine boots in {QEMU}: {said.read_text(errors='replace')[-600:]}") from exc

    def _furnish(self) -> None:
        (self.root / "var/cache/agent").write_text(AGENT)
        units = self.root / "etc/systemd/system"
        (units / "agent.service").write_text(UNIT)
        (units / "cmgr.service.d").mkdir()
        (units / "cmgr.service.d/slow.conf").write_text(SLOW)
        (units / "multi-user.target.wants").mkdir(parents=True, exist_ok=True)
        (units / "multi-user.target.wants/agent.service").symlink_to("../agent.service")

    def run(self, *command: str, user: str = "", within: float = 600) -> Done:
        assert self._line is not None
        assert not user
        clean = f"exec env -i PATH={PATH} LC_ALL=C.UTF-8 timeout {within:g} {shlex.join(command)}"
        # Beyond the time that the machine itself gives it.
        self._line.settimeout(within + 60)
        self._line.sendall(base64.b64encode(clean.encode()) + b"\n")
        code, out, err = self._answer().split()
        return Done(int(code), *(base64.b64decode(each[:-1]).decode() for each in (out, err)))

    def asked(self, document: str) -> dict[str, Any]:
        """Return a document of the service's, or nothing while it does not answer.

        By perl, which each Debian has, and once a second at most. Commands of cmgr take seconds here, and one after the
        other they leave so little of the processors that systemd answers the service too late, which is a trouble.
        """
        told: dict[str, Any] = json.loads(self.run("perl", "-MIO::Socket::UNIX", "-e", ASK, document).out or "{}")
        return told

    def status(self) -> dict[str, Any]:
        return self.asked("/v1/status")

    def _answer(self) -> bytes:
        """Return the next line that the machine says."""
        assert self._line is not None
        said = b""
        while not said.endswith(b"\n"):
            some = self._line.recv(1 << 16)
            assert some, "the machine has ended"
            said += some
        return said

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._line = self._process = None
