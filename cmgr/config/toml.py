"""TOML that may be anything, parsed."""

import tomllib
from typing import Any

from cmgr.errors import ConfigError


def parse(text: str, path: str) -> dict[str, Any]:
    """Return the file's tables. Raises `ConfigError`, naming the line."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"cannot read {path}: it nests too deeply") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of too many digits gives another.
        raise ConfigError(f"cannot read {path}: it is not valid TOML: {error}") from None
