"""JSON that may be anything, parsed."""

import json
from collections import Counter
from typing import Any

from cmgr.errors import ConfigError


def parse(text: str, path: str) -> tuple[Any, tuple[str, ...]]:
    """Return the document, and the keys that stand more than once in one object. Raises `ConfigError`.

    Of such a key the document has the last value; that the others would be lost without a word is a mistake.
    """
    repeated: list[str] = []

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return made

    if not text.strip():
        raise ConfigError(f"cannot read {path}: it is empty")
    try:
        return json.loads(text, object_pairs_hook=object_of), tuple(repeated)
    except RecursionError:
        raise ConfigError(f"cannot read {path}: it nests too deeply") from None
    except ValueError as error:
        raise ConfigError(f"cannot read {path}: it is not valid JSON: {error}") from None
