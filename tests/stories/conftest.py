"""Stories are told to services as processes, as tests of the whole system are."""

from tests.system.conftest import containers, folder, install, on_containerd, on_docker, tasks

__all__ = ["containers", "folder", "install", "on_containerd", "on_docker", "tasks"]
