"""A machine's files that tell who keeps GPUs open, and of which version their driver is."""

from pathlib import Path

from tests.fakes.nvml.standin import Standin


def process(root: Path, pid: int, name: str, cgroup: str, *files: str) -> None:
    """Add a process that has these files open; without any the first GPU's."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    for number, file in enumerate(files or ("/dev/nvidia0",), 3):
        (folder / "fd" / str(number)).symlink_to(file)
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cgroup").write_text(f"{cgroup}\n")


def modeset(root: Path, word: str) -> None:
    """Say whether the kernel keeps GPUs open for a display."""
    path = root / "sys/module/nvidia_drm/parameters/modeset"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{word}\n")


def module(root: Path, version: str) -> None:
    """Say which driver's module is loaded."""
    path = root / "sys/module/nvidia/version"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{version}\n")


def exports(root: Path, pid: int, number: int, exporter: str) -> None:
    """Say who has exported the memory (dma-buf) that this descriptor is of, as the kernel does."""
    path = root / f"proc/{pid}/fdinfo/{number}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"pos:\t0\nflags:\t02\nsize:\t4096\ncount:\t2\nexp_name:\t{exporter}\n")


def versioned(machine: Standin, version: str) -> Path:
    """Let the library's file have its version in its name, as packages have it, and return the link to it."""
    machine.library.rename(machine.library.with_name(f"libnvidia-ml.so.{version}"))
    machine.library.symlink_to(f"libnvidia-ml.so.{version}")
    return machine.library


def update(link: Path, version: str) -> None:
    """Replace the library, as a package manager does: the old file is gone."""
    old = link.resolve()
    link.with_name(f"libnvidia-ml.so.{version}").write_bytes(old.read_bytes())
    link.unlink()
    link.symlink_to(f"libnvidia-ml.so.{version}")
    old.unlink()
