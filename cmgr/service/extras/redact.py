"""Taking secrets out of what is given away for a diagnosis. Pure.

Known secrets go: values in a container's environment, and what stands behind a name that says so. The lines of a
container's log, and a secret under a harmless name, cannot be known.
"""

import re
from collections.abc import Mapping

from cmgr.vendor import notations

GONE = "(redacted)"

# `--max-tokens` and `--tokenizer`, which every model server has, are no secrets.
_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|token(?![a-z])|(api|access|private)[_-]?key|credential|authorization", re.IGNORECASE
)

_ENVIRONMENT = ("env", "environment")
_ARGUMENTS = ("args", "cmd", "command", "entrypoint")

_OURS = tuple(name for notation in notations() for name in notation.variables)
"""Variables that say which chips a container uses: no secrets, and what a diagnosis is about."""


def redacted(value: object, name: str = "") -> object:
    """Return a JSON value without its secrets; `name` is the key that it stands under."""
    if isinstance(value, Mapping):
        return {str(key): redacted(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        texts = [item for item in value if isinstance(item, str)]
        if name.lower() in _ENVIRONMENT:
            return [_variable(item) if isinstance(item, str) else GONE for item in value]
        if name.lower() in _ARGUMENTS and len(texts) == len(value):
            return _arguments(texts)
        return [redacted(item, name) for item in value]
    return GONE if isinstance(value, str) and value and _SECRET.search(name) else value


def _variable(text: str) -> str:
    name, equals, value = text.partition("=")
    return text if name in _OURS or not value else f"{name}{equals}{GONE}"


def _arguments(words: list[str]) -> list[str]:
    told = []
    hide = False
    for word in words:
        name, equals, value = word.partition("=")
        flag = name.startswith("-")
        secret = bool(_SECRET.search(name)) and (flag or bool(equals))
        told.append(GONE if hide and not flag else f"{name}={GONE}" if secret and value else word)
        hide = secret and flag and not equals
    return told


_NAME = re.compile(_SECRET.pattern.encode(), re.IGNORECASE)
_PAIR = re.compile(
    rf"([\w.-]*(?:{_SECRET.pattern})[\w.-]*[\"']?\s*[=:]\s*)(?:(?:Bearer|Basic)\s+)?\S+".encode(), re.IGNORECASE
)


def redacted_text(text: bytes) -> bytes:
    """Return lines of any text, or what is none, without what stands behind a name that says that it is secret."""
    # Line by line: a search through all of it would keep other threads from running.
    lines = text.splitlines(keepends=True)
    return b"".join(_PAIR.sub(rb"\1" + GONE.encode(), line) if _NAME.search(line) else line for line in lines)
