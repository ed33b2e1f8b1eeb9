"""Which engine it is that answers at Docker's socket, and where it has its books."""

import os

from cmgr.model.values.services.origins import Origin
from cmgr.runtimes.docker.inspect import NAME
from cmgr.runtimes.documents import Json, text


def origin_of(info: Json) -> Origin:
    """Return what Docker's `info` says of that.

    The path of the data root alone tells no disk from the empty directory on which it is to be mounted, and Docker's ID
    was that of /etc/docker/key.json before 23.0. So the directory's own number counts, and its file system's.
    """
    root = text(info, "DockerRootDir")
    podman = is_podman(info)  # Its ID is another one with each answer.
    word = " ".join(("podman" if podman else text(info, "ID"), root, _place(root)))
    return Origin(NAME, word, "graph root" if podman else "data root", root, boots=not podman)


def is_podman(info: Json) -> bool:
    """Return whether podman answers: it says what its builder is (its `handlers.Info`), and Docker has none."""
    return "BuildahVersion" in info


def _place(root: str) -> str:
    try:
        return f"{os.statvfs(root).f_fsid:x}.{os.stat(root).st_ino}"
    except (OSError, ValueError):
        return ""
