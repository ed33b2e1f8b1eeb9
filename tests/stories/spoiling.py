"""A container whose command is taken away, and put back: what changes in its own files lasts beyond its life."""

import io
import tarfile
from contextlib import closing

from tests.system.containers import Containers


def spoil(containers: Containers, name: str) -> None:
    """Take its command away, while it runs."""
    with closing(containers.dockerd.client()) as client:
        made = client.exec_create(name, ["busybox", "rm", "/bin/sh"])
        client.exec_start(made["Id"])


def mend(containers: Containers, name: str) -> None:
    packed, link = io.BytesIO(), tarfile.TarInfo("sh")
    link.type, link.linkname = tarfile.SYMTYPE, "busybox"
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(link)
    with closing(containers.dockerd.client()) as client:
        client.put_archive(name, "/bin", packed.getvalue())
