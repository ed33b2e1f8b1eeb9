"""Which GPUs are reset together, as the manual of nvidia-smi says it."""

import pytest

from cmgr.drivers.nvml.library.calls import Link
from cmgr.drivers.nvml.library.topology import Wired, named_peers, rings
from cmgr.model.values.chips import ChipId
from tests.fakes.nvml.hosts import ADA, AMPERE, BLACKWELL, HOPPER, VOLTA

SWITCH = Link("0000:c1:00.0", is_switch=True)


def bus(chip: int) -> str:
    return f"0000:{chip:02x}:00.0"


def to(*chips: int) -> tuple[Link, ...]:
    return tuple(Link(bus(chip), is_switch=False) for chip in chips)


def machine(architecture: int, *links: tuple[Link, ...]) -> list[Wired]:
    return [Wired(ChipId(n), bus(n), architecture, of) for n, of in enumerate(links)]


@pytest.mark.parametrize(
    ("gpus", "managed", "expected"),
    [
        pytest.param(machine(ADA, (), ()), False, [0, 1], id="cards without NVLink: each alone"),
        pytest.param(machine(VOLTA, (), ()), False, [0, 1], id="old cards without NVLink: each alone"),
        pytest.param(machine(VOLTA, to(1), to(0), to(3), to(2)), False, [0, 0, 2, 2], id="before Ampere: those wired"),
        pytest.param(machine(VOLTA, to(2), to(2), to(0, 1)), False, [0, 0, 0], id="before Ampere: over another"),
        pytest.param(machine(VOLTA, to(1), ()), False, [0, 0], id="either end's word is enough"),
        pytest.param(machine(VOLTA, to(77), ()), False, [0, 1], id="a peer that is not there"),
        pytest.param(machine(VOLTA, (SWITCH,), (SWITCH,), ()), True, [0, 0, 2], id="before Ampere: over switches"),
        pytest.param(machine(AMPERE, to(1), to(0)), False, [0, 1], id="Ampere with a bridge: each alone"),
        pytest.param(machine(AMPERE, (SWITCH,), (SWITCH,)), True, [0, 1], id="HGX A100 with a Fabric Manager"),
        pytest.param(machine(AMPERE, (SWITCH,), (SWITCH,), ()), False, [0, 0, 2], id="HGX A100 without"),
        pytest.param(machine(HOPPER, (SWITCH,), (SWITCH,)), False, [0, 1], id="Hopper: each alone"),
        pytest.param(machine(BLACKWELL, (SWITCH,), (SWITCH,)), False, [0, 1], id="Blackwell: each alone"),
    ],
)
def test_gpus_are_reset_together(gpus: list[Wired], managed: bool, expected: list[int]) -> None:
    found = rings(reversed(gpus), fabric_managed=managed)
    assert [found[ChipId(n)] for n in range(len(gpus))] == expected


@pytest.mark.parametrize(
    ("said", "gpus", "peers"),
    [
        pytest.param("GPU 00000000:01:00.0", machine(AMPERE, to(1), to(0)), {1}, id="at a bridge"),
        pytest.param("0000:01:00.0 0000:02:00.0", machine(HOPPER, *[(SWITCH,)] * 3), {1, 2}, id="at switches"),
        pytest.param("0000:02:00.0 is lost", machine(AMPERE, to(1), to(0), ()), set(), id="no link leads to it"),
        pytest.param("0000:00:00.0: in use", machine(AMPERE, to(1), to(0)), set(), id="itself"),
        pytest.param("peers", machine(AMPERE, to(1), to(0)), set(), id="no bus id"),
        pytest.param("00000001:01:00.0", machine(AMPERE, to(1), to(0)), set(), id="another domain"),
    ],
)  # fmt: skip
def test_gpus_that_a_refusal_names_are_peers_where_a_link_leads_to_them(
    said: str, gpus: list[Wired], peers: set[int]
) -> None:
    assert named_peers(said, gpus[:1], gpus) == peers
