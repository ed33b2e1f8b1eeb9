"""A machine's files that tell who keeps GPUs open."""

from pathlib import Path


def process(root: Path, pid: int, name: str, cgroup: str, file: str = "/dev/nvidia0") -> None:
    """Add a process that has the file open."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "fd" / "3").symlink_to(file)
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cgroup").write_text(f"{cgroup}\n")


def modeset(root: Path, word: str) -> None:
    """Say whether the kernel keeps GPUs open for a display."""
    path = root / "sys/module/nvidia_drm/parameters/modeset"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{word}\n")
