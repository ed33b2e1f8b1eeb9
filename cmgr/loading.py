"""Loading libraries into the service: when perhaps no file can be opened, and without what it never needs of them."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import NoReturn


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
