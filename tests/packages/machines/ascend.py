"""Ascend chips of an emulated program: `python -m tests.packages.machines.ascend LIBRARY …`.

After the library stands `create KIND`, `set SETTING VALUE …`, `process CHIP PID …`, `fault CHIP CODE` or `resets`.
No process of this machine can load the other architecture's stand-in for libdcmi.so. So this is emulated, too.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.fakes.dcmi.hosts import host_910b, host_950
from tests.fakes.dcmi.standin import Standin


def main(library: str, order: str, *words: str) -> None:
    machine = Standin(Path(library))
    if order == "create":
        machine.create({"one": host_910b, "two": host_950}[words[0]](8))
        machine.set("reset_ms", 50)
        machine.set("boot_ms", 100)
        # A container's process is on the chip for as long as it lives.
        machine.set("mortal", 1)
    elif order == "set":
        for setting, value in zip(words[::2], words[1::2], strict=True):
            machine.set(setting, int(value))
    elif order == "process":
        for chip, pid in zip(words[::2], words[1::2], strict=True):
            machine.process(int(chip), int(pid))
    elif order == "fault":
        machine.fault(int(words[0]), words[1])
    else:
        json.dump([asdict(reset) for reset in machine.resets], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
