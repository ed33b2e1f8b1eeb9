"""A directory that stands for the root of a machine, with what the kernel of a server shows of it."""

import os
import shutil
from pathlib import Path

from tests.fakes.workshop import trusted_folder

BOOT = "6f1c0c1e-3c0b-4f5e-9d0a-0a5f1d2b3c4d"

MOUNTS = "\n".join(
    [
        "22 1 253:1 / / ro,relatime shared:1 - ext4 /dev/vda1 rw,discard",
        "23 22 0:21 / /proc rw - proc proc rw",
        "30 22 259:2 / /data rw,relatime shared:9 - xfs /dev/nvme0n1p1 rw,attr2",
        "31 22 7:1 / /snap ro - squashfs /dev/loop1 ro",
        "",
    ]
)
"""The root file system is read-only in this service's eyes only."""


class Tree:
    """A machine in which nothing is wrong: two memory modules, an NVMe disk, an array, a fan, and a kernel log."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._log: int | None = None
        self.programs: Path | None = None
        self.put("proc/sys/kernel/random/boot_id", BOOT)
        self.put("proc/self/mountinfo", MOUNTS)
        self.put("etc/fstab", "# a comment\n/dev/vda1 / ext4 defaults 0 1\nbroken line\n")
        for module in ("dimm0", "dimm1"):
            self.memory(module)
        self.put("sys/class/nvme/nvme0/state", "live")
        self.put("sys/block/sda/device/state", "running")
        self.put("sys/block/sda/size", "1000")
        self.array()
        self.put("sys/class/hwmon/hwmon0/name", "coretemp")
        self.put("sys/class/hwmon/hwmon0/temp1_label", "Package id 0")
        self.heat(45_000)
        self.put("sys/class/hwmon/hwmon1/name", "chassis")
        self.put("sys/class/hwmon/hwmon1/fan1_fault", "0")

    def put(self, path: str, text: str) -> Path:
        """Let this file have this text."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        return file

    def take(self, path: str) -> None:
        """Take this file, or directory, away."""
        place = self.root / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()

    def memory(self, module: str, corrected: int = 0, uncorrected: int = 0, *, unplaced: int = 0) -> None:
        """Let this memory module have so many errors, and its controller `unplaced` ones more, not corrected."""
        mc = "sys/devices/system/edac/mc/mc0"
        self.put(f"{mc}/{module}/dimm_label", f"CPU0_{module.upper()}")
        self.put(f"{mc}/{module}/dimm_ce_count", str(corrected))
        self.put(f"{mc}/{module}/dimm_ue_count", str(uncorrected))
        for kind, more in (("ce", 0), ("ue", unplaced)):
            counts = [int(path.read_text()) for path in (self.root / mc).glob(f"dimm*/dimm_{kind}_count")]
            self.put(f"{mc}/{kind}_count", str(sum(counts) + more))

    def array(self, state: str = "clean", *, missing: int = 0, level: str = "raid1", disks: int = 2) -> None:
        """Let md0 be in this state."""
        told = {"array_state": state, "level": level, "raid_disks": disks, "degraded": missing, "sync_action": "idle"}
        for name, value in told.items():
            self.put(f"sys/block/md0/md/{name}", str(value))

    def heat(self, now: int, *, critical: int = 100_000, alarm: int = 0) -> None:
        """Let the processor have this temperature, in thousandths of a degree."""
        for name, value in (("input", now), ("crit", critical), ("crit_alarm", alarm)):
            self.put(f"sys/class/hwmon/hwmon0/temp1_{name}", str(value))

    def log(self, text: str, *, number: int = 1, seconds: float = 0.0) -> None:
        """Write a line into the kernel's log: a pipe, of which a read has whole records, as of /dev/kmsg."""
        path = self.root / "dev/kmsg"
        if self._log is None:
            path.parent.mkdir(exist_ok=True)
            os.mkfifo(path)
            self._log = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(self._log, f"4,{number},{int(seconds * 1e6)},-;{text}\n SUBSYSTEM=pci\n".encode())

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
        if self.programs is not None:
            shutil.rmtree(self.programs)

    def program(self, name: str) -> "Program":
        """Give the machine a stand-in for a program that asks for its parts."""
        if self.programs is None:
            self.programs = trusted_folder()
        return Program(self.programs / name)


_SCRIPT = """#!/bin/sh
here="${0%/*}"
if [ -e "$here/hangs" ]; then sleep 1000 & wait; fi
if [ -e "$here/dies" ]; then kill -9 $$; fi
for each in "$here"/answer-*; do
    words="${each##*/answer-}"
    case "$*" in *"$(echo "$words" | tr _ ' ')"*) cat "$each"; exit "$(cat "$here/status")";; esac
done
echo "nobody has told me what to say" >&2
exit 1
"""


class Program:
    """A stand-in that answers what it was told, hangs, dies, or says nonsense."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(mode=0o755, exist_ok=True, parents=True)
        path.write_text(_SCRIPT)
        path.chmod(0o755)
        self.ends(0)

    def answers(self, words: str, text: str) -> None:
        """Let it say this when it is asked with these words among others."""
        self.path.with_name(f"answer-{words.replace(' ', '_')}").write_text(text)

    def ends(self, status: int) -> None:
        self.path.with_name("status").write_text(str(status))

    def hangs(self, *, on: bool = True) -> None:
        self._mark("hangs", on)

    def dies(self, *, on: bool = True) -> None:
        self._mark("dies", on)

    def _mark(self, name: str, on: bool) -> None:
        file = self.path.with_name(name)
        if on:
            file.touch()
        else:
            file.unlink()
