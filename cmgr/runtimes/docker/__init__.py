"""Containers of Docker."""

import sys
import warnings

_GUESSERS = ("chardet", "charset_normalizer")


def _load() -> None:
    """Load requests without the library that guesses character sets: it takes 3 MB, and Docker speaks UTF-8.

    requests takes UTF-8 where it has none.
    """
    absent = [name for name in _GUESSERS if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it for what cannot be imported.
    try:
        warnings.filterwarnings("ignore", message="Unable to find acceptable character detection dependency")
        import requests  # noqa: F401
    finally:
        for name in absent:
            del sys.modules[name]


_load()
