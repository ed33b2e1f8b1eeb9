"""The real service is killed before and after every commit and every command of an episode, and goes on.

CMGR_CRASH_EVERY=1 tries every point in every world, as `make reliability` does; without it each world has a sample.
"""

import signal
from functools import partial

import pytest

from tests.crash.conftest import Clocks, Field
from tests.crash.matrix import doubles, singles, tell
from tests.crash.trial import Trial
from tests.crash.units import Units
from tests.crash.worlds import (
    GROUP,
    PARTS,
    RING,
    SHARES,
    SINGLE,
    UNITS,
    Ascend,
    Containerds,
    Docker,
    Drilled,
    Layout,
    Nvidia,
    Pretended,
    Simulated,
    Windowed,
)
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.nvml.fixtures import Make as MakeGpus
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import Dockerd
from tests.support.daemons.systemd import Systemd
from tests.support.figures import Figures

pytestmark = pytest.mark.timeout(7200)

LAYOUTS = pytest.mark.parametrize("layout", [SINGLE, RING], ids=lambda layout: layout.name)


@LAYOUTS
def test_killed_anywhere_on_a_simulated_machine_nothing_is_lost(field: Field, figures: Figures, layout: Layout) -> None:
    matrix = field(layout, Pretended)
    points = matrix.points()
    tell(figures, f"simulator, {layout.name}", matrix.run(singles(points)))
    tell(figures, f"simulator, {layout.name}, and once more", matrix.run(doubles(points, 20, seed=layout.ring)))


def test_killed_anywhere_in_the_round_of_a_group_nothing_is_lost(field: Field, figures: Figures) -> None:
    matrix = field(GROUP, Pretended)
    tell(figures, "simulator, a group over two rings", matrix.run(singles(matrix.points())))


def test_killed_anywhere_while_a_fault_waits_for_its_window_nothing_is_lost(
    field: Field, figures: Figures, clocks: Clocks
) -> None:
    matrix = field(RING, Pretended, lambda layout, place: Windowed(clocks(place), layout, place))
    tell(figures, "simulator, a fault that waits for its window", matrix.run(singles(matrix.points())))


def test_killed_anywhere_in_a_drill_nothing_is_lost_and_it_is_held_once(
    field: Field, figures: Figures, clocks: Clocks
) -> None:
    matrix = field(RING, Pretended, lambda layout, place: Drilled(clocks(place), layout, place))
    tell(figures, "simulator, a drill", matrix.run(singles(matrix.points())))


def test_killed_anywhere_while_the_first_reset_fails_nothing_is_lost(field: Field, figures: Figures) -> None:
    matrix = field(RING, Pretended, partial(Simulated, failing=1))
    tell(figures, "simulator, a ring whose first reset fails", matrix.run(singles(matrix.points())))


def test_killed_anywhere_while_a_reset_takes_shares_they_are_made_again_before_any_start(
    field: Field, figures: Figures
) -> None:
    matrix = field(SHARES, Pretended)
    tell(figures, "simulator, a chip that is divided", matrix.run(singles(matrix.points())))


def test_killed_anywhere_while_a_reset_takes_vnpus_they_are_made_again_before_any_start(
    field: Field, figures: Figures, ascend: Make
) -> None:
    matrix = field(SHARES, Pretended, partial(Ascend, ascend))
    tell(figures, "libdcmi's stand-in, vNPUs", matrix.run(singles(matrix.points())))


def test_told_to_end_anywhere_it_hands_over(field: Field, figures: Figures) -> None:
    matrix = field(RING, Pretended, make=partial(Trial, how=signal.SIGTERM))
    points = [point for point in matrix.points() if not point.startswith("before a commit")]
    tell(figures, "simulator, ring", matrix.run(singles(points)), "told to end (SIGTERM)")


@pytest.mark.docker
def test_told_to_end_anywhere_with_docker_it_hands_over(field: Field, figures: Figures, dockerd: Dockerd) -> None:
    matrix = field(RING, partial(Docker, dockerd), make=partial(Trial, how=signal.SIGTERM))
    points = [point for point in matrix.points() if not point.startswith("before a commit")]
    tell(figures, "Docker, ring", matrix.run(singles(points)), "told to end (SIGTERM)")


@pytest.mark.docker
@LAYOUTS
def test_killed_anywhere_with_docker_nothing_is_lost(
    field: Field, figures: Figures, dockerd: Dockerd, layout: Layout
) -> None:
    matrix = field(layout, partial(Docker, dockerd))
    points = matrix.points()
    tell(figures, f"Docker, {layout.name}", matrix.run(singles(points)))
    tell(figures, f"Docker, {layout.name}, and once more", matrix.run(doubles(points, 4, seed=layout.ring)))


@pytest.mark.docker
def test_killed_anywhere_while_units_are_stopped_in_the_place_of_their_containers_nothing_is_lost(
    field: Field, figures: Figures, dockerd: Dockerd, systemd: Systemd
) -> None:
    matrix = field(UNITS, partial(Units, dockerd, systemd))
    tell(figures, "systemd and Docker, units", matrix.run(singles(matrix.points())))


@pytest.mark.containerd
@LAYOUTS
def test_killed_anywhere_with_containerd_nothing_is_lost(
    field: Field, figures: Figures, containerd: Containerd, layout: Layout
) -> None:
    matrix = field(layout, partial(Containerds, containerd))
    tell(figures, f"containerd, {layout.name}", matrix.run(singles(matrix.points())))


@LAYOUTS
def test_killed_anywhere_on_ascend_chips_nothing_is_lost(
    field: Field, figures: Figures, ascend: Make, layout: Layout
) -> None:
    matrix = field(layout, Pretended, partial(Ascend, ascend))
    tell(figures, f"libdcmi's stand-in, {layout.name}", matrix.run(singles(matrix.points())))


@pytest.mark.docker
def test_killed_anywhere_on_ascend_chips_with_docker_nothing_is_lost(
    field: Field, figures: Figures, dockerd: Dockerd, ascend: Make
) -> None:
    matrix = field(RING, partial(Docker, dockerd), partial(Ascend, ascend))
    tell(figures, "libdcmi's stand-in and Docker, ring", matrix.run(singles(matrix.points())))


@LAYOUTS
def test_killed_anywhere_on_nvidia_gpus_nothing_is_lost(
    field: Field, figures: Figures, nvidia: MakeGpus, layout: Layout
) -> None:
    matrix = field(layout, Pretended, partial(Nvidia, nvidia))
    tell(figures, f"libnvidia-ml's stand-in, {layout.name}", matrix.run(singles(matrix.points())))


@pytest.mark.docker
def test_killed_anywhere_on_nvidia_gpus_with_docker_nothing_is_lost(
    field: Field, figures: Figures, dockerd: Dockerd, nvidia: MakeGpus
) -> None:
    matrix = field(RING, partial(Docker, dockerd), partial(Nvidia, nvidia))
    tell(figures, "libnvidia-ml's stand-in and Docker, ring", matrix.run(singles(matrix.points())))


@pytest.mark.docker
def test_killed_anywhere_while_a_reset_takes_parts_of_mig_with_docker_they_are_made_again_before_any_start(
    field: Field, figures: Figures, dockerd: Dockerd, nvidia: MakeGpus
) -> None:
    matrix = field(PARTS, partial(Docker, dockerd), partial(Nvidia, nvidia))
    tell(figures, "libnvidia-ml's stand-in and Docker, MIG", matrix.run(singles(matrix.points())))
