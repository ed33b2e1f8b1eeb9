"""This very program once more, in a process of its own."""

import sys


def program() -> list[str]:
    """Return the command that runs `cmgr`, as this process was called: in a package that is not as out of it."""
    own = sys.modules["__main__"]
    if (getattr(own, "__file__", None) or "").endswith(("/cmgr", "cmgr/__main__.py")):
        return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]]
    return [sys.executable, "-m", "cmgr"]
