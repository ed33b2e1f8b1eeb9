"""How containers ask for NVIDIA's GPUs."""

import re

from cmgr.vendor import Notation

_UUID = r"[0-9a-fA-F][0-9a-fA-F-]{3,63}"

NOTATION = Notation(
    variable="NVIDIA_VISIBLE_DEVICES",
    # Images of CUDA have the variable with "all". Runtimes are called nvidia, nvidia-cdi, nvidia-container-runtime.cdi,
    # hooks nvidia-container-runtime-hook and nvidia-container-toolkit: NVIDIA's container toolkit, internal/config.
    given_by=re.compile(r"nvidia(?:[.-].*)?"),
    items=(
        re.compile(rf"(GPU-{_UUID})"),
        # Parts: by index ("0:1"), by the uuid of the GPU, or by a uuid of its own, which does not say the GPU.
        re.compile(r"([0-9]{1,4}):[0-9]{1,4}"),
        re.compile(rf"MIG-(GPU-{_UUID})/[0-9]{{1,4}}/[0-9]{{1,4}}"),
        re.compile(rf"(MIG-{_UUID})"),
    ),
    node=re.compile(r"/dev/nvidia([0-9]{1,4})"),
    majors=frozenset({"nvidia", "nvidia-frontend"}),
    cdi="nvidia.com",
    # Docker hands out the first chips where only their count is asked for: moby daemon/nvidia_linux.go, countToDevices.
    requests=frozenset({"nvidia"}),
    capabilities=frozenset({"gpu", "nvidia"}),
)
