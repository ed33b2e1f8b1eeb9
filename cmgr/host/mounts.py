"""Whether a process is in the host's mount namespace, which is init's."""

from pathlib import Path


def in_the_host(process: int | str = "self", proc: Path = Path("/proc")) -> bool:
    """Return that; True where nobody can say. A mount has its number in one namespace only.

    The links in /proc/PID/ns would say it, but not to everybody.
    """
    try:
        its, inits = (_mounts(proc / str(each) / "mountinfo") for each in (process, 1))
    except OSError:
        return True
    return not its.isdisjoint(inits)


def _mounts(path: Path) -> set[str]:
    return {line.partition(" ")[0] for line in path.read_text(errors="replace").splitlines()}
