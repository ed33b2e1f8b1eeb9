"""Stories are told to services as processes, as tests of the whole system are."""

from tests.system.conftest import containers, folder, install, on_containerd, on_docker, tasks
from tests.system.dcmi.conftest import ascend, furnish, workshop

__all__ = ["ascend", "containers", "folder", "furnish", "install", "on_containerd", "on_docker", "tasks", "workshop"]
