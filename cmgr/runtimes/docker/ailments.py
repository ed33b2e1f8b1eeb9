"""Which of Docker's errors at a start are its own or the machine's, and not the container's.

Such trouble is mostly over by itself: the container is tried as long as it takes, and none of its tries is spent.
A text that is not here counts as the container's.
"""

import re
from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    r"no space left on device": "ENOSPC of dockerd, containerd or runc (moby 12195, 38356)",
    r"failed to initialize logging driver": "moby container/container.go: a log server is away (moby 44511, 43108)",
    r"error gathering device information": "moby oci/devices_linux.go: a device node is late",
    r"error while mounting volume": "moby volume/mounts/mounts.go: the volume's driver is away",
    r"failed to mount local volume": "moby volume/local/local_unix.go: an NFS server is away",
    r"error while creating mount source path": "moby volume/mounts/mounts.go: a mount of the host is stale",
    r"bind source path does not exist": "moby volume/mounts/validate.go: a mount of the host is late",
    r"mounting .* to rootfs at": "runc libcontainer/rootfs_linux.go: the same where dockerd does not look",
    r"network \S+ not found": "moby libnetwork/error.go: a network is being recreated",
    r"attaching to network failed": "moby daemon/container_operations.go: an overlay network's managers are away",
    r"\(iptables failed:": "moby libnetwork/drivers/bridge: a firewall was loaded again under dockerd",
}
"""Parts of such errors, and the place that each comes from."""

_SAYS = re.compile("|".join(TEXTS), re.IGNORECASE)


def is_dockers(message: str) -> bool:
    """Return whether Docker, which says this of a start, speaks of itself or of the machine."""
    return _SAYS.search(message) is not None
