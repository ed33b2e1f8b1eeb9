"""Loading libraries into the service: when perhaps no file can be opened, and without what it never needs of them."""

import gc
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from cmgr import frozen


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


def settled() -> None:
    """Say that all is loaded: no fault waits for the compiler from now on, nor for the collector."""
    frozen.finish()
    # Objects that live now live to the end: the collector need not look at them again and again.
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], 10)  # Python's own, which `__main__` put off.


@contextmanager
def without_asyncio() -> Iterator[None]:
    """Import within what loads asyncio for the sake of others who use it: loguru, and APScheduler.

    The service has no coroutine, and asyncio with all that it loads takes 1.5 MB for good. Whatever is asked of it but
    what those two ask when they are loaded has the real one loaded.
    """
    if "asyncio" in sys.modules:
        yield
        return
    stand_in = sys.modules["asyncio"] = _Asyncio("asyncio")
    try:
        yield
    finally:
        if sys.modules.get("asyncio") is stand_in:
            del sys.modules["asyncio"]


class _Asyncio(ModuleType):
    iscoroutinefunction = staticmethod(inspect.iscoroutinefunction)

    @staticmethod
    def get_running_loop() -> NoReturn:
        raise RuntimeError("no running event loop")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # Python itself looks whether it is a package.
            raise AttributeError(name)
        if sys.modules.get("asyncio") is self:
            del sys.modules["asyncio"]
        return getattr(import_module("asyncio"), name)
