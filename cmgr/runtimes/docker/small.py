"""The library that Docker's SDK calls through, loaded small: for a process that keeps it for good."""

import sys
import warnings

_GUESSERS = ("chardet", "charset_normalizer")


def load() -> None:
    """Load requests, before the SDK does, without the library that guesses character sets: it takes 3 MB.

    requests takes UTF-8 where it has none, which is what Docker speaks. Any thread; safe to repeat.
    """
    absent = [name for name in _GUESSERS if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it for what cannot be imported.
    try:
        warnings.filterwarnings("ignore", message="Unable to find acceptable character detection dependency")
        import requests  # noqa: F401
    finally:
        for name in absent:
            sys.modules.pop(name, None)
