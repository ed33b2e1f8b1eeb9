"""A nvidia-smi for the stand-in beside it: what it refuses, and the words and exit statuses that the real one has."""

import ctypes
import fcntl
import os
import pathlib
import signal
import stat
import sys

HERE = pathlib.Path(__file__).parent

HELD, DIES = HERE / "held", HERE / "dies"
"""As long as these files are there, somebody keeps every GPU open, and it is killed in the middle of a reset."""

OTHERS, RESCAN = HERE / "smi.lock", HERE / "sys/bus/pci/rescan"

LIBRARY = ctypes.CDLL(str(HERE / "libnvidia-ml.so.1"))

COULD_NOT = (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")

WORDS = {
    2: (255, "The following GPUs could not be reset:\n  GPU {bus}: its NVLink peers have to be reset with it:{peers}"),
    3: (3, "Resetting GPU {bus} is not supported."),
    15: (15, "Unable to determine the device handle for GPU0: {bus}: Unknown Error"),
    19: (255, "The following GPUs could not be reset:\n  GPU {bus}: In use by another client\n\n"
              "1 device is currently being used by one or more other processes"),
}  # fmt: skip


def main(arguments: list[str]) -> int:
    if LIBRARY.standin_open() != 0:
        return say(*COULD_NOT, "")
    buses = arguments[arguments.index("-i") + 1].split(",")
    gpus = [LIBRARY.standin_find(bus.encode()) for bus in buses]
    if -1 in gpus:
        sys.stdout.write("No devices were found\n")
        return 6
    if "--gpu-reset" in arguments:
        return reset(gpus, buses)
    option, value = arguments[0], int(arguments[1])
    words = {"-pm": b"persistent", "-pl": b"power_limit", "-c": b"compute_mode", "-am": b"accounting_mode"}
    name, unit = words[option], 1000 if option == "-pl" else 1
    for gpu in gpus:
        LIBRARY.standin_set(gpu, name, unit * value)
    return 0


def reset(gpus: list[int], buses: list[str]) -> int:
    """Do what the driver wants from user space: removal, a rescan of PCI, and the device files of what has come back.

    The driver has no call that resets a GPU: it removes one that is drained and idle from PCI (open-gpu-kernel-modules
    595.45.04, nv.c:2191-2220, client_resource.c:4709). The rest is nvidia-modprobe's (a9556df, modprobe-utils:
    pci_rescan, mknod_helper). That it looks first whether it may write there is a guess, and that it opens other GPUs
    only before it has its own reset: the kernel counts who is on each GPU for itself (gpu_rmapi.c:61-107).
    """
    with OTHERS.open("w") as others:
        try:
            fcntl.flock(others, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Another nvidia-smi is a client, too (its manual).
            rescan = os.open(RESCAN, os.O_WRONLY)
        except BlockingIOError:
            return say(*WORDS[19], buses[0])
        except OSError as error:
            return say(
                255, f"The following GPUs could not be reset:\n  GPU {{bus}}: {RESCAN}: {error.strerror}", buses[0]
            )
        wanted = ctypes.c_uint64(sum(1 << gpu for gpu in gpus))
        fcntl.flock(others, fcntl.LOCK_UN)
        answer = 19 if HELD.exists() else LIBRARY.standin_reset(wanted)
        if answer:
            peers = ctypes.create_string_buffer(1024)
            LIBRARY.standin_peers(wanted, peers, len(peers))
            return say(*WORDS[answer], buses[0], peers.value.decode())
        if DIES.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(rescan, b"1")
        LIBRARY.standin_probe()
        for gpu in gpus:
            try:
                make_node(LIBRARY.standin_minor(gpu))
            except OSError:
                return say(*COULD_NOT, buses[0])
    for bus in buses:
        sys.stdout.write(f"GPU {bus} was successfully reset.\n")
    sys.stdout.write("All done.\n")
    return 0


def make_node(minor: int) -> None:
    """Make /dev/nvidiaN where it is missing, as root makes it; for somebody else a plain file stands for it."""
    path = HERE / "dev" / f"nvidia{minor}"
    if not path.exists():
        kind, number = (stat.S_IFCHR, os.makedev(195, minor)) if os.geteuid() == 0 else (stat.S_IFREG, 0)
        os.mknod(path, kind | 0o666, number)


def say(status: int, words: str, bus: str, peers: str = "") -> int:
    sys.stdout.write(words.format(bus=bus, peers=peers) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
