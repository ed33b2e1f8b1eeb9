"""The identity of a process: its name and the container that it runs in, from /proc."""

import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, Process
from cmgr.sentences.sentence import say

_ID = re.compile(r"(?:^|[/:-])(?:docker-|cri-containerd-|nerdctl-|libpod-)?([0-9a-f]{64})(?:\.scope)?(?=/|$)")
"""A container's id in a path of the kernel's control groups, as each runtime writes it."""

_INSTANCE = re.compile(r"(?:^|/)(lxc)(?:\.payload\.|/)([^/]+)|/(machine)-([^/]+)\.scope(?=/|$)")
"""An instance of LXC and Incus (lxc.container.conf(5), `lxc.cgroup.dir`), or of systemd-machined, in such a path."""


_POD = re.compile(r"^[^:]*:[^:]*:/kubepods(?:\.slice)?/", re.MULTILINE)
"""The control groups of a kubelet's pods on this machine, by either of its two drivers (its `cgroupRoot` is "/")."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process on a chip, as the driver numbers it. `memory` in bytes; `share`: the one that it is on, if told."""

    pid: int
    memory: int
    share: str = ""


def containers_of(cgroups: str) -> tuple[str, ...]:
    """Return the ids of the containers that this content of /proc/PID/cgroup tells of, the outermost first.

    Runtimes run in containers, too (Docker in Docker, kind, k3d). An instance of LXC, Incus or systemd-machined is
    `lxc:NAME` or `machine:NAME`, which is the id of no container.
    """
    paths = [line.split(":", 2)[-1] for line in cgroups.splitlines()]
    return next(filter(None, map(_chain, paths)), ()) or next(((name,) for path in paths if (name := _named(path))), ())


def _chain(path: str) -> tuple[str, ...]:
    found = [*_ID.finditer(path), *_INSTANCE.finditer(path)]
    return tuple(":".join(filter(None, each.groups())) for each in sorted(found, key=re.Match.start))


def outermost(path: str) -> str:
    """Return the id of the container whose control group this path is, or is within; nothing outside of any.

    Whoever is given a control group names those in it as he likes, as users do in the slices that are theirs.
    """
    if path.startswith("/user.slice/"):
        return ""
    found = _ID.search(path)
    return found[1] if found else _named(path)


def _named(path: str) -> str:
    """Return the id that a person gave a container of containerd, whose cgroup is /NAMESPACE/ID below the root."""
    parts = path.strip("/").split("/")
    if len(parts) == 2 and not any("." in part for part in parts) and parts[0] not in ("docker", "user", "init"):
        return parts[1]
    return ""


_UNIT = re.compile(r"^[^:]*:[^:]*:/system\.slice/(?:[^/]+\.slice/)*([^/]+\.service)(?:/|$)", re.MULTILINE)
"""A service of systemd in a line of /proc/PID/cgroup, and so not one of a user's session."""


def unit_of(pid: int, proc: Path = Path("/proc")) -> str:
    """Return the service of systemd that this process is of; nothing where it is of none, or nobody can say."""
    found = _UNIT.search(_read(proc / str(pid) / "cgroup"))
    return found[1] if found else ""


def owner_of(pid: int, proc: Path = Path("/proc")) -> str | None:
    """Return the container that this process is of, else its service of systemd; nothing where it is of neither.

    None: it has ended. Of containers within one another the outermost: nobody in it can say that he is another one.
    """
    cgroups = _read(proc / str(pid) / "cgroup")
    if not cgroups:
        return None
    paths = [line.split(":", 2)[-1].removesuffix(" (deleted)") for line in cgroups.splitlines()]
    return next(filter(None, map(outermost, paths)), "") or unit_of(pid, proc)


class Owners:
    """Whose the processes on chips are, also once they have ended: the last list of each chip is kept. Any thread."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._lock = threading.Lock()
        self._seen: dict[ChipId, dict[int, str]] = {}

    def listed(self, chip: ChipId, pids: Iterable[int]) -> None:
        """Note which processes the driver has listed on a chip."""
        seen = {pid: owner for pid in pids if (owner := owner_of(pid, self._proc)) is not None}
        with self._lock:
            self._seen[chip] = seen

    def of(self, chip: ChipId, pid: int) -> str:
        """Return it as `owner_of` does; nothing, too, of one that has ended and was never listed."""
        owner = owner_of(pid, self._proc)
        with self._lock:
            return self._seen.get(chip, {}).get(pid, "") if owner is None else owner


def process_of(holder: Holder, proc: Path = Path("/proc")) -> Process:
    """Return the process with all that /proc tells of it. A process that is not ours to see has no name."""
    directory = proc / str(holder.pid)
    name, cgroups = _read(directory / "comm"), _read(directory / "cgroup")
    *around, container = containers_of(cgroups) or ("",)
    gone, owner = not name and not directory.exists(), "kubelet" if _POD.search(cgroups) else ""
    return Process(
        holder.pid, name.strip(), holder.memory, container, holder.share, around=tuple(around), gone=gone, owner=owner
    )


def opened(root: Path = Path("/")) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each process with its descriptors, and what each is of."""
    for descriptors in sorted(root.glob("proc/[0-9]*/fd")):
        try:
            found = {file.name: file.readlink().as_posix() for file in descriptors.iterdir()}
        except OSError:
            continue  # It has ended, or is nobody's business.
        yield int(descriptors.parent.name), found


def in_words(process: Process) -> str:
    """Return the process as a reason names it."""
    if process.gone:
        return say("driver.process-gone", pid=process.pid)
    inside = say("driver.in-container", container=short(process.container)) if process.container else ""
    share = say("driver.on-share", share=process.share) if process.share else ""
    return say("driver.process", pid=process.pid, facts=[process.name or say("driver.no-name"), inside, share])


def short(container: str) -> str:
    """Return as much of a container's id as people say."""
    return container if ":" in container else container[:12]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
