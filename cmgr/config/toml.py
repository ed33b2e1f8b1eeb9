"""TOML that may be anything, parsed."""

import re
import tomllib
from typing import Any

from cmgr.errors import ConfigError

_MOST_DOTS = 100


def parse(text: str, path: str) -> dict[str, Any]:
    """Return the file's tables. Raises `ConfigError`, naming the line."""
    # The library takes a time that grows with the square of these: hours for a file that is not even large.
    if any(part.count(".") > _MOST_DOTS for part in re.split(r"[=,\n\[\]{}]", text)):
        raise ConfigError(f"cannot read {path}: a key has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"cannot read {path}: it nests too deeply") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of too many digits gives another.
        twice = "; put the setting below the head that is there already" if "Cannot declare" in str(error) else ""
        raise ConfigError(f"cannot read {path}: it is not valid TOML: {error}{twice}") from None
