"""A program for `nvml.mig_tool`, for the stand-in beside it: makes as many parts of each GPU as it had."""

import ctypes
import pathlib
import sys

LIBRARY = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libnvidia-ml.so.1")))


def main(buses: list[str]) -> str | None:
    LIBRARY.standin_open()
    for bus in buses:
        gpu = LIBRARY.standin_find(bus.encode())
        if LIBRARY.standin_get(gpu, b"no_parts"):
            return "no MIG configuration for this GPU"
        LIBRARY.standin_set(gpu, b"instances", LIBRARY.standin_get(gpu, b"parts"))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
