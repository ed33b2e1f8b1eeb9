"""Which library this driver wants, and where the packages of NVIDIA's driver put it."""

from cmgr.drivers.libraries import Wanted
from cmgr.drivers.nvml.library.abi import LIBRARY

WANTED = Wanted(
    LIBRARY,
    "nvml.library",
    "the NVIDIA driver (its package libnvidia-ml1 or libnvidia-compute)",
    (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        # A driver that runs in a container, as the GPU Operator's does.
        "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
        "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
        "/run/nvidia/driver/usr/lib64",
    ),
)
