"""How containers ask for NVIDIA's GPUs."""

import re

from cmgr.drivers.nvml.toolkit import swarm_resources
from cmgr.vendor import Notation

_UUID = r"[0-9a-fA-F][0-9a-fA-F-]{3,63}"

NOTATION = Notation(
    variable="NVIDIA_VISIBLE_DEVICES",
    instead=swarm_resources,
    # Images of CUDA have the variable with "all". Runtimes are called nvidia, nvidia-cdi, nvidia-container-runtime.cdi,
    # hooks nvidia-container-runtime-hook and nvidia-container-toolkit: NVIDIA's container toolkit, internal/config.
    given_by=re.compile(r"nvidia(?:[.-].*)?"),
    # The letters of uuids may be of either case: libnvidia-container, src/cli/common.c, strcasecmp.
    items=(
        re.compile(rf"(GPU-{_UUID})", re.IGNORECASE),
        # Parts: by index ("0:1"), by the uuid of the GPU, or by a uuid of its own, which does not say the GPU.
        re.compile(r"([0-9]{1,4}:[0-9]{1,4})"),
        re.compile(rf"MIG-(GPU-{_UUID})/[0-9]{{1,4}}/[0-9]{{1,4}}", re.IGNORECASE),
        re.compile(rf"(MIG-{_UUID})", re.IGNORECASE),
        # CDI names of the strategy type-index.
        re.compile(r"gpu([0-9]{1,4})"),
        re.compile(r"mig([0-9]{1,4}:[0-9]{1,4})"),
    ),
    # NVIDIA's container toolkit, internal/config/image: these, the images of old CUDA, and the list of volumes.
    none=frozenset({"none", "void"}),
    all_if=("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"),
    mounts=re.compile(r"/var/run/nvidia-container-devices/+(?!imex/)(.+?)/*"),
    node=re.compile(r"/dev/nvidia([0-9]{1,4})"),
    # N of /dev/nvidiaN is the minor number, which usually is the GPU's number, but not always.
    file="/dev/nvidia",
    majors=frozenset({"nvidia", "nvidia-frontend"}),
    cdi=frozenset({"nvidia.com", "runtime.nvidia.com", "management.nvidia.com"}),
    cdi_others=frozenset({"imex-channel"}),  # The container toolkit, pkg/nvcdi/lib-imex.go.
    # moby daemon/devices_nvidia_linux.go. Where only their count is asked for it hands out the first ones.
    requests=frozenset({"nvidia", "nvidia.cdi", "nvidia.runtime-hook"}),
    capabilities=frozenset({"gpu", "nvidia", "compute", "compat32", "graphics", "utility", "video", "display"}),
)
