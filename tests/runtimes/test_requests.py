"""How containers ask for chips in the world: by docker run, compose, kubelets and orchestrators.

Each form has the place that says what it means; what is told here is what that place says, or `?` where nobody can
know which chips it means. None is made from cmgr's own patterns.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from cmgr.runtimes.docker.inspect import described

LNC = "libnvidia-container, src/cli/common.c"
IMAGE = "NVIDIA's container toolkit, internal/config/image/cuda_image.go"
IMAGES = "NVIDIA's container toolkit, internal/config/image/cuda_image_test.go"
CDI = "NVIDIA's container toolkit, cdi-support.md of its manual"
NVCDI = "NVIDIA's container toolkit, pkg/nvcdi"
JIT = "NVIDIA's container toolkit, internal/modifier/cdi.go"
MANUAL = "NVIDIA's container toolkit, docker-specialized.md of its manual"
MIG = "NVIDIA, MIG User Guide: device names in containers"
PLUGIN = "NVIDIA/k8s-device-plugin, internal/plugin/server_test.go"
MOBY = "moby, daemon/devices_nvidia_linux.go"
SETS = "moby, daemon/devices.go, handleDevice"
COMPOSE = "Docker, Run Docker Compose services with GPU access"
ADR = "Ascend Docker Runtime, Usage on the Docker Client, table 1"
VNPU = "Ascend Docker Runtime, Mounting vNPUs, table 1"
VLLM = "vLLM Ascend, Installation: docker run"

UUID = "GPU-fef8089b-4820-abfc-e83e-94318197576e"
PART = "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"

Form = dict[str, Any]


def env(*lines: str, runtime: str = "nvidia") -> Form:
    return {"Config": {"Env": list(lines)}, "HostConfig": {"Runtime": runtime}}


def nvidia(devices: str) -> Form:
    return env(f"NVIDIA_VISIBLE_DEVICES={devices}")


def ascend(devices: str, *options: str) -> Form:
    return env(f"ASCEND_VISIBLE_DEVICES={devices}", *options, runtime="ascend")


def gpus(*ids: str, count: int = 0, sets: Iterable[list[str]] = (["gpu"],), driver: str = "") -> Form:
    request = {"Driver": driver, "Count": count, "DeviceIDs": list(ids) or None, "Capabilities": list(sets)}
    return {"Config": {}, "HostConfig": {"DeviceRequests": [request], "Runtime": "runc"}}


def cdi(*names: str) -> Form:
    return gpus(*names, driver="cdi", sets=())


def noted(names: str) -> Form:
    return {"HostConfig": {"Annotations": {"cdi.k8s.io/nvidia-device-plugin_uuid": names}}}


def mounted(item: str) -> Form:
    place = f"/var/run/nvidia-container-devices/{item}"
    return {"Mounts": [{"Type": "bind", "Source": "/dev/null", "Destination": place}]}


def file(*paths: str) -> Form:
    return {"HostConfig": {"Devices": [{"PathOnHost": path, "PathInContainer": path} for path in paths]}}


FORMS: list[tuple[Form, str, str]] = [
    (nvidia("0"), "0", MANUAL),
    (nvidia("0,1,2"), "0 1 2", MANUAL),
    (nvidia("GPU-fef8089b"), "GPU-fef8089b", MANUAL),
    (nvidia("0,GPU-fef8089b"), "0 GPU-fef8089b", MANUAL),
    (nvidia("all"), "all", MANUAL),
    (nvidia("none"), "", MANUAL),
    (nvidia("void"), "", MANUAL),
    (nvidia(""), "", MANUAL),
    (env(), "", MANUAL),
    (env("NVIDIA_VISIBLE_DEVICES=all", runtime="runc"), "", MANUAL),
    (env("NVIDIA_VISIBLE_DEVICES=all", runtime="nvidia-cdi"), "all", CDI),
    (env("NVIDIA_VISIBLE_DEVICES=all", runtime="nvidia-legacy"), "all", CDI),
    # As libnvidia-container compares them.
    (nvidia(UUID), UUID, LNC),
    (nvidia(UUID.upper()), UUID, LNC),
    (nvidia(UUID.lower()), UUID, LNC),
    (nvidia("gpu-FEF8089B-4820-abfc-e83e-94318197576e"), UUID, LNC),
    (nvidia("00000000:3B:00.0"), "0000:3b:00.0", LNC),
    (nvidia("0000:3b:00.0"), "0000:3b:00.0", LNC),
    (nvidia("0:3b:0.0"), "0000:3b:00.0", LNC),
    (nvidia("0:3B:0"), "0000:3b:00.0", LNC),
    (nvidia("0000:3b:00"), "0000:3b:00.0", LNC),
    (nvidia("0x0000:3b:00.0"), "0000:3b:00.0", LNC),
    (nvidia("00000008:01:00.0"), "0008:01:00.0", LNC),
    (nvidia("10000:1:0.0"), "10000:01:00.0", LNC),
    (nvidia("007"), "7", LNC),
    (nvidia("0,,1,"), "0 1", LNC),
    (nvidia("ALL"), "all", LNC),
    (nvidia("0:1"), "0:1", LNC),
    (nvidia(PART), PART, LNC),
    (nvidia(PART.upper()), PART, LNC),
    (nvidia(PART.lower()), PART, LNC),
    (nvidia(f"MIG-{UUID}/1/0"), UUID, MIG),
    (nvidia(f"mig-{UUID.upper()}/13/0"), UUID, LNC),
    (nvidia(f"{PART},{UUID}"), f"{PART} {UUID}", MIG),
    (nvidia("0:0,1:3"), "0:0 1:3", MIG),
    # As the toolkit's runtime and hook read variables.
    (nvidia(" 0 , 1 "), "0 1", IMAGE),
    (nvidia("  "), "", IMAGE),
    (nvidia(","), "", IMAGE),
    (nvidia("0,void"), "", IMAGE),
    (nvidia("none,1"), "", IMAGE),
    (env("CUDA_VERSION=8.0"), "all", IMAGES),
    (env("CUDA_VERSION=8.0", "NVIDIA_VISIBLE_DEVICES="), "", IMAGES),
    (env("CUDA_VERSION=8.0", "NVIDIA_VISIBLE_DEVICES=void"), "", IMAGES),
    (env("CUDA_VERSION=8.0", "NVIDIA_VISIBLE_DEVICES=none"), "", IMAGES),
    (env("CUDA_VERSION=8.0", "NVIDIA_VISIBLE_DEVICES=GPU-12345"), "GPU-12345", IMAGES),
    (env("CUDA_VERSION=12.4", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"), "", IMAGES),
    (env("CUDA_VERSION=8.0", runtime="runc"), "", IMAGES),
    (nvidia("GPU-12345,GPU-67890"), "GPU-12345 GPU-67890", IMAGES),
    (nvidia("MIG-12345"), "MIG-12345", IMAGES),
    # CDI names in the variable.
    (nvidia("nvidia.com/gpu=0"), "0", CDI),
    (nvidia("nvidia.com/gpu=all"), "all", CDI),
    (nvidia("nvidia.com/gpu=0,nvidia.com/gpu=1"), "0 1", CDI),
    (nvidia(f"nvidia.com/gpu={UUID}"), UUID, CDI),
    (nvidia("nvidia.com/gpu=1:0"), "1:0", CDI),
    (nvidia(f"nvidia.com/gpu={PART}"), PART, CDI),
    (nvidia("runtime.nvidia.com/gpu=2"), "2", JIT),
    (nvidia("runtime.nvidia.com/gpu=all"), "all", JIT),
    (nvidia("management.nvidia.com/gpu=all"), "all", NVCDI),
    (nvidia("nvidia.com/imex-channel=0"), "", NVCDI),
    (nvidia("example.com/class=device"), "", JIT),
    (nvidia("nvidia.com/gpu=0,example.com/class=device"), "0", JIT),
    (nvidia("nvidia.com/gpu=spare"), "?", JIT),
    # The toolkit hands these on to others, and nobody else knows them.
    (nvidia("mygpu"), "?", IMAGE),
    (nvidia("0,mygpu"), "0 ?", IMAGE),
    (nvidia("0-3"), "0 1 2 3", "a mistake that a reader means well: no container starts so"),
    # Device requests.
    (gpus(count=-1), "all", MOBY),
    (gpus(count=2), "0 1", MOBY),
    (gpus(count=0), "", MOBY),
    (gpus("0"), "0", MOBY),
    (gpus("2", "3"), "2 3", MANUAL),
    (gpus(UUID), UUID, MANUAL),
    (gpus(UUID.upper()), UUID, LNC),
    (gpus("0:0"), "0:0", MIG),
    (gpus(PART), PART, MIG),
    (gpus("all"), "all", MOBY),
    (gpus("nvidia.com/gpu=1"), "1", MOBY),
    (gpus("0000:3b:00.0"), "0000:3b:00.0", LNC),
    (gpus(count=-1, driver="nvidia"), "all", COMPOSE),
    (gpus(count=1, driver="nvidia"), "0", COMPOSE),
    (gpus("0", "3", driver="nvidia"), "0 3", COMPOSE),
    (gpus(count=-1, driver="nvidia.cdi"), "all", MOBY),
    (gpus("1", driver="nvidia.runtime-hook"), "1", MOBY),
    (gpus("mygpu", driver="nvidia"), "?", MOBY),
    (gpus(count=10**9), "?", MOBY),
    # One whole set of the capabilities that are asked for has to be the driver's.
    (gpus(count=-1, sets=[["gpu", "nvidia", "compute", "utility"]]), "all", SETS),
    (gpus(count=-1, sets=[["compute", "utility"]]), "all", SETS),
    (gpus(count=1, sets=[["nvidia"]]), "0", SETS),
    (gpus(count=1, sets=[["video"]]), "0", SETS),
    (gpus(count=1, sets=[["amd", "gpu"], ["gpu", "display"]]), "0", SETS),
    (gpus(count=1, sets=[["gpu", "amd"]]), "", SETS),
    (gpus(count=1, sets=[["tpu"]]), "", SETS),
    (gpus(count=1, sets=[]), "", SETS),
    (gpus(count=-1, driver="amd"), "", SETS),
    # CDI, by Docker, by annotations, and by mounts.
    (cdi("nvidia.com/gpu=0"), "0", CDI),
    (cdi("nvidia.com/gpu=all"), "all", CDI),
    (cdi("nvidia.com/gpu=gpu3"), "3", NVCDI),
    (cdi("nvidia.com/gpu=mig2:1"), "2:1", NVCDI),
    (cdi("nvidia.com/gpu=0", "example.com/nic=4"), "0", CDI),
    (cdi("nvidia.com/imex-channel=0"), "", NVCDI),
    (cdi("nvidia.com/gpu"), "?", CDI),
    (noted("nvidia.com/gpu=0,nvidia.com/gpu=1"), "0 1", PLUGIN),
    (noted(f"nvidia.com/gpu={UUID}"), UUID, PLUGIN),
    (noted("nvidia.com/imex-channel=0"), "", PLUGIN),
    (mounted("0"), "0", IMAGE),
    (mounted("all"), "all", IMAGE),
    (mounted(UUID), UUID, IMAGE),
    (mounted(f"MIG-{UUID}/1/0"), UUID, IMAGE),
    (mounted("cdi/nvidia.com/gpu/3"), "3", IMAGE),
    (mounted("cdi/nvidia.com/gpu=3"), "3", IMAGE),
    (mounted("cdi/example.com/nic/4"), "", IMAGE),
    (mounted("imex/0"), "", IMAGE),
    (mounted("mygpu"), "?", IMAGE),
    # Device files.
    (file("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"), "/dev/nvidia0", "NVIDIA, kernel-open/nvidia/nv.c"),
    (file("/dev/nvidia-caps/nvidia-cap1"), "", MIG),
    (file("/dev/davinci0", "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"), "0", VLLM),
    (file("/dev/davinci6", "/dev/davinci7"), "6 7", VLLM),
    (file("/dev/vdavinci100"), "/dev/vdavinci100", VNPU),
    # Ascend.
    (ascend("0"), "0", ADR),
    (ascend("1,3"), "1 3", ADR),
    (ascend("0-2"), "0 1 2", ADR),
    (ascend("0-2,4"), "0 1 2 4", ADR),
    (ascend("Ascend910-0,Ascend910-1"), "0 1", ADR),
    (ascend("Ascend310P-7"), "7", ADR),
    (ascend("void"), "", ADR),
    (ascend(""), "", ADR),
    (ascend("0", "ASCEND_RUNTIME_OPTIONS=NODRV"), "0", ADR),
    (ascend("100", "ASCEND_RUNTIME_OPTIONS=VIRTUAL"), "/dev/vdavinci100", VNPU),
    (ascend("101,103", "ASCEND_RUNTIME_OPTIONS=NODRV,VIRTUAL"), "/dev/vdavinci101 /dev/vdavinci103", VNPU),
    (ascend("100-101", "ASCEND_RUNTIME_OPTIONS=VIRTUAL"), "/dev/vdavinci100 /dev/vdavinci101", VNPU),
    (ascend("Ascend910-101", "ASCEND_RUNTIME_OPTIONS=VIRTUAL"), "/dev/vdavinci101", VNPU),
    (ascend("0", "ASCEND_VNPU_SPECS=vir04"), "0", VNPU),
    (ascend("davinci0"), "?", ADR),
]


@pytest.mark.parametrize(("form", "chips", "source"), FORMS)
def test_it_asks_for(form: Form, chips: str, source: str) -> None:
    read = described({"Id": "a", "State": {}, **form}, {}).container
    assert read.claims == frozenset(chips.split()), source
    assert bool(read.warnings) == ("?" in chips.split()), "what cannot be read is told"


def test_the_forms_are_many_and_each_of_another_text() -> None:
    assert len({str(form) for form, _, source in FORMS if source}) == len(FORMS) >= 96
