"""A nvidia-smi for the stand-in beside it: what it refuses, and the words and exit statuses that the real one has."""

import ctypes
import pathlib
import sys

HELD = pathlib.Path(__file__).with_name("held")
"""As long as this file is there, somebody keeps every GPU open."""

LIBRARY = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libnvidia-ml.so.1")))

WORDS = {
    2: (255, "The following GPUs could not be reset:\n  GPU {bus}: its NVLink peers have to be reset with it:{peers}"),
    3: (3, "Resetting GPU {bus} is not supported."),
    15: (15, "Unable to determine the device handle for GPU0: {bus}: Unknown Error"),
    19: (255, "The following GPUs could not be reset:\n  GPU {bus}: In use by another client\n\n"
              "1 device is currently being used by one or more other processes"),
}  # fmt: skip


def main(arguments: list[str]) -> int:
    if LIBRARY.standin_open() != 0:
        sys.stdout.write("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
        return 9
    buses = arguments[arguments.index("-i") + 1].split(",")
    gpus = [LIBRARY.standin_find(bus.encode()) for bus in buses]
    if -1 in gpus:
        sys.stdout.write("No devices were found\n")
        return 6
    if "--gpu-reset" in arguments:
        return reset(gpus, buses)
    option, value = arguments[0], int(arguments[1])
    name, unit = {"-pm": (b"persistent", 1), "-pl": (b"power_limit", 1000), "-c": (b"compute_mode", 1)}[option]
    for gpu in gpus:
        LIBRARY.standin_set(gpu, name, unit * value)
    return 0


def reset(gpus: list[int], buses: list[str]) -> int:
    wanted = ctypes.c_uint64(sum(1 << gpu for gpu in gpus))
    answer = 19 if HELD.exists() else LIBRARY.standin_reset(wanted)
    if answer:
        status, words = WORDS[answer]
        peers = ctypes.create_string_buffer(1024)
        LIBRARY.standin_peers(wanted, peers, len(peers))
        sys.stdout.write(words.format(bus=buses[0], peers=peers.value.decode()) + "\n")
        return status
    for bus in buses:
        sys.stdout.write(f"GPU {bus} was successfully reset.\n")
    sys.stdout.write("All done.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
