"""The log: journald, a file, the terminal."""

import os

from cmgr.loading import without_asyncio


def _load() -> None:
    """Load loguru without the target that it begins with: to make one takes longer than to load the rest of the log."""
    before = os.environ.get("LOGURU_AUTOINIT")
    os.environ["LOGURU_AUTOINIT"] = "0"
    try:
        with without_asyncio():
            import loguru  # noqa: F401
    finally:
        # Hooks get this environment.
        del os.environ["LOGURU_AUTOINIT"]
        if before is not None:
            os.environ["LOGURU_AUTOINIT"] = before


_load()
