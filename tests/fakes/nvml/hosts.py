"""Machines as docs/nvml.md tells of them."""

from dataclasses import replace

from tests.fakes.nvml.standin import FakeGpu, FakeLink

VOLTA, TURING, AMPERE, ADA, HOPPER, BLACKWELL = 5, 6, 7, 8, 9, 10

COUNTERS = {4: 0, 82: 38, 83: 123_000, 94: 0, 144: 0, 145: 0, 186: 92_000, 230: 0}
"""The fields of a GPU that is well."""

OLD_COUNTERS = {4: 0, 29: 0, 30: 0, 31: 0, 83: 123_000, 94: 0}


def _gpus(count: int, name: str, architecture: int, *, together: bool = False, links: bool = False) -> list[FakeGpu]:
    fields = COUNTERS if architecture >= AMPERE else OLD_COUNTERS
    wired = (FakeLink(),) if links else ()
    return [FakeGpu(0x3B + n, n, 0 if together else n, name, architecture, wired, dict(fields)) for n in range(count)]


def host_a100(gpus: int = 8, *, together: bool = True) -> tuple[FakeGpu, ...]:
    """HGX A100: NVSwitches, and without a Fabric Manager all are reset together."""
    return tuple(_gpus(gpus, "NVIDIA A100-SXM4-80GB", AMPERE, together=together, links=True))


def host_bridged(gpus: int = 2) -> tuple[FakeGpu, ...]:
    """A100 cards at an NVLink bridge, which nvidia-smi wants to reset together: the manual can be read so."""
    links = {n: tuple(FakeLink(peer) for peer in range(gpus) if peer != n) for n in range(gpus)}
    made = _gpus(gpus, "NVIDIA A100 80GB PCIe", AMPERE, together=True)
    return tuple(replace(gpu, links=links[n]) for n, gpu in enumerate(made))


def host_h100(gpus: int = 8) -> tuple[FakeGpu, ...]:
    return tuple(_gpus(gpus, "NVIDIA H100 80GB HBM3", HOPPER, links=True))


def host_l40(gpus: int = 2) -> tuple[FakeGpu, ...]:
    """Cards on PCIe, without NVLink."""
    return tuple(_gpus(gpus, "NVIDIA L40S", ADA))


def host_b200(gpus: int = 8) -> tuple[FakeGpu, ...]:
    return tuple(_gpus(gpus, "NVIDIA B200", BLACKWELL, links=True))


def host_v100(gpus: int = 4, ring: int = 0) -> tuple[FakeGpu, ...]:
    """Each wired to the next of its ring, or of all: these are reset together. Minor numbers that are no indices."""
    made, ring = [], ring or gpus
    for n in range(gpus):
        links = tuple(FakeLink(peer) for peer in (n - 1, n + 1) if 0 <= peer < gpus and peer // ring == n // ring)
        name = "Tesla V100-SXM2-32GB"
        made.append(FakeGpu(0x3B + n, gpus - 1 - n, n // ring, name, VOLTA, links, dict(OLD_COUNTERS)))
    return tuple(made)
