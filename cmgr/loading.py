"""Loading libraries while the service runs, when perhaps no file can be opened."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def whole() -> Iterator[None]:
    """Import within: what could not be loaded can be loaded later. Any thread.

    Python forgets a package that broke off, and keeps the modules of it that were loaded by then. It loads another
    package the next time, which does not have them ("module 'urllib3' has no attribute …"), for as long as it lives.
    """
    try:
        yield
    except (ImportError, OSError):
        while left := [name for name in tuple(sys.modules) if _is_left(name)]:
            for name in left:
                sys.modules.pop(name, None)
        raise


def _is_left(name: str) -> bool:
    package = name.rpartition(".")[0]
    return bool(package) and package not in sys.modules
