"""The variable by which Docker's swarm hands out GPUs, as the container toolkit's own file names it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cmgr.drivers.nvml import toolkit
from cmgr.runtimes import claims

MIG = "MIG-11111111-2222-3333-4444-555555555555"


def claimed(*environment: str, programs: Sequence[str] = ("nvidia-container-runtime",)) -> set[str]:
    return set(claims.from_environment(environment, programs=programs).chips)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setattr(toolkit, "CONFIG", path)  # Its place is the toolkit's own, which a test must not write to.
    return path


def test_without_the_setting_only_the_usual_variable_counts(config: Path) -> None:
    assert claimed("NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=1") == {"0"}
    config.write_text('#swarm-resource = "DOCKER_RESOURCE_GPU"\n[nvidia-container-runtime]\nmode = "auto"\n')
    assert claimed("NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=1") == {"0"}


def test_a_variable_that_the_setting_names_counts_instead_where_it_is_set(config: Path) -> None:
    config.write_text('swarm-resource = "DOCKER_RESOURCE_GPU, DOCKER_RESOURCE_MIG"\n')
    assert claimed("NVIDIA_VISIBLE_DEVICES=all", "DOCKER_RESOURCE_GPU=1,2") == {"1", "2"}
    assert claimed("NVIDIA_VISIBLE_DEVICES=all", "DOCKER_RESOURCE_GPU=1", f"DOCKER_RESOURCE_MIG={MIG}") == {"1", MIG}
    assert claimed("NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=") == set()
    assert claimed("DOCKER_RESOURCE_GPU=1", programs=("runc",)) == set()
    # The file may change while cmgr runs.
    config.write_text('swarm-resource = "OTHER_NAME"\n')
    assert claimed("NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=1", "OTHER_NAME=3") == {"3"}


@pytest.mark.parametrize("text", ["swarm-resource = [1]", "swarm-resource = ", "\x00", "swarm-resource = ''"])
def test_a_file_that_says_nothing_of_use_changes_nothing(config: Path, text: str) -> None:
    config.write_text(text)
    assert claimed("NVIDIA_VISIBLE_DEVICES=0", "DOCKER_RESOURCE_GPU=1") == {"0"}
