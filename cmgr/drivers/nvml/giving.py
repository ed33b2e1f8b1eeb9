"""How a container is given NVIDIA's GPUs by CDI."""

from collections.abc import Sequence
from pathlib import Path

from cmgr.drivers.nvml.notation import NOTATION
from cmgr.model.values.chips import Chip
from cmgr.vendor import Edits, Giving, edits

_COMMON = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
"""Device files that every container with GPUs needs."""

_LIBRARIES = (
    *("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"),
    *("libnvidia-opencl.so.1", "libcudadebugger.so.1"),
)
"""Those of the driver that programs for computing load."""

_PLACES = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64")


def devices(chips: Sequence[Chip], root: Path = Path("/")) -> Edits:
    """Return the edits: device files, the driver's libraries for computing, and nvidia-smi.

    `root`: where the host's files are looked for; what is not installed is left out.
    """
    nodes = [f"{NOTATION.file}{chip.logical}" for chip in chips]
    nodes += [node for node in _COMMON if (root / node[1:]).exists()]
    files = [f"/{place}/{name}" for place in _PLACES for name in _LIBRARIES if (root / place / name).exists()]
    files += [path for path in ("/usr/bin/nvidia-smi",) if (root / path[1:]).exists()]
    return edits(nodes, files)


def variable(chips: Sequence[Chip]) -> str:
    # The serial of a GPU is its UUID, which stays the same when indices do not.
    return f"NVIDIA_VISIBLE_DEVICES={','.join(chip.serial or str(chip.id) for chip in chips)}"


GIVING = Giving("nvidia.com/gpu", devices, variable, ("nvidia-container-runtime",))
