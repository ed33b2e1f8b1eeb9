"""The settings of NVIDIA's container toolkit on this machine, as far as they say how containers ask for GPUs."""

import tomllib
from functools import lru_cache
from pathlib import Path

CONFIG = Path("/etc/nvidia-container-runtime/config.toml")

_MOST = 1 << 20


def swarm_resources() -> tuple[str, ...]:
    """Return the variables by which Docker's swarm hands out GPUs: `swarm-resource`; none where that is not set.

    Where one of them is set in a container, NVIDIA_VISIBLE_DEVICES does not count: the toolkit, internal/config/image.
    The file is read when it has changed. Does not raise: a file that cannot be read sets nothing, as for the toolkit.
    """
    try:
        state = CONFIG.stat()
    except OSError:
        return ()
    return _named(CONFIG, state.st_mtime_ns, state.st_ino, state.st_size)


@lru_cache(maxsize=4)
def _named(path: Path, _changed: int, _inode: int, size: int) -> tuple[str, ...]:
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8")) if size <= _MOST else {}
    except (OSError, ValueError):
        return ()
    names = read.get("swarm-resource", "")
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else ()
