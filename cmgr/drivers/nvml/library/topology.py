"""Which NVIDIA GPUs are reset together. Pure functions.

The rules are section "rings" of docs/nvml.md; they are those of the manual of nvidia-smi.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.calls import Link
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId

_BUS = re.compile(r"\b([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")
"""A bus id as nvidia-smi writes it, in small letters."""


@dataclass(frozen=True, slots=True)
class Wired:
    """A GPU with the other ends of its NVLinks."""

    chip: ChipId
    bus: str
    architecture: int
    links: tuple[Link, ...] = ()


def rings(gpus: Iterable[Wired], *, fabric_managed: bool) -> Mapping[ChipId, RingId]:
    """Return each GPU's ring.

    `fabric_managed`: the Fabric Manager runs, which lets one GPU of an HGX A100 be reset alone.
    """
    gpus = sorted(gpus, key=lambda gpu: gpu.chip)
    at = {gpu.bus: gpu.chip for gpu in gpus}
    ring = {gpu.chip: RingId(gpu.chip) for gpu in gpus}
    switched: ChipId | None = None
    for gpu in gpus:
        if not _needs_mates(gpu, fabric_managed=fabric_managed):
            continue
        for link in gpu.links:
            if link.is_switch:
                switched = gpu.chip if switched is None else switched
                ring = _joined(ring, ring[gpu.chip], ring[switched])
            elif link.bus in at:
                ring = _joined(ring, ring[gpu.chip], ring[at[link.bus]])
    return ring


def joined(rings: Mapping[ChipId, RingId], together: Iterable[Sequence[ChipId]]) -> Mapping[ChipId, RingId]:
    """Return the rings with those made one whose GPUs are reset together, as far as they are there."""
    for chips in together:
        there = [chip for chip in chips if chip in rings]
        for chip in there[1:]:
            rings = _joined(rings, rings[there[0]], rings[chip])
    return rings


def named_peers(said: str, ring: Collection[Wired], gpus: Iterable[Wired]) -> frozenset[ChipId]:
    """Return the GPUs outside of this ring which these words of nvidia-smi name, and which NVLinks connect with it."""
    named = {f"{domain[-4:]}:{rest}" for domain, rest in _BUS.findall(said.lower())}
    ends = {link.bus for gpu in ring for link in gpu.links}
    switched = any(map(is_switched, ring))
    near = (gpu for gpu in gpus if gpu not in ring and (gpu.bus in ends or (switched and is_switched(gpu))))
    return frozenset(gpu.chip for gpu in near if gpu.bus in named)


def needs_fabric_manager(gpu: Wired) -> bool:
    """Return whether the Fabric Manager decides if this GPU can be reset alone."""
    return gpu.architecture == abi.AMPERE and is_switched(gpu)


def is_switched(gpu: Wired) -> bool:
    """Return whether it has NVLinks to switches, which a Fabric Manager has to bring up."""
    return any(link.is_switch for link in gpu.links)


def _needs_mates(gpu: Wired, *, fabric_managed: bool) -> bool:
    return gpu.architecture < abi.AMPERE or (needs_fabric_manager(gpu) and not fabric_managed)


def _joined(ring: Mapping[ChipId, RingId], one: RingId, other: RingId) -> dict[ChipId, RingId]:
    low, high = sorted((one, other))
    return {chip: low if of == high else of for chip, of in ring.items()}
