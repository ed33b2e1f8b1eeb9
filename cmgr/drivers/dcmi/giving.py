"""How a container is given Ascend NPUs by CDI."""

from collections.abc import Sequence
from pathlib import Path

from cmgr.model.values.chips import Chip
from cmgr.vendor import Edits, Giving, edits

_MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
"""Device files that every container with NPUs needs."""

_DRIVER = (
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
)
"""The driver's files, as Ascend's own instructions for `docker run` mount them."""


def devices(chips: Sequence[Chip], root: Path = Path("/")) -> Edits:
    """Return the edits. A chip keeps its own number in the container: the driver is not known to bear another one.

    `root`: where the host's files are looked for; what is not installed is left out.
    """
    nodes = [f"/dev/davinci{chip.asked_as}" for chip in chips]
    nodes += [node for node in _MANAGERS if (root / node[1:]).exists()]
    mounts = [path for path in _DRIVER if (root / path[1:]).exists()]
    return edits(nodes, mounts)


def variable(chips: Sequence[Chip]) -> str:
    return f"ASCEND_VISIBLE_DEVICES={','.join(str(chip.asked_as) for chip in chips)}"


GIVING = Giving("huawei.com/npu", devices, variable, ("ascend-docker-runtime",))
