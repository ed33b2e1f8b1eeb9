"""Reading documents that a runtime gives: of any shape, so that what is odd counts as absent and never as an error."""

import re
import signal
from collections.abc import Mapping

Json = Mapping[str, object]


def mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def text(whole: Json, name: str) -> str:
    value = whole.get(name)
    return _writable(value) if isinstance(value, str) else ""


def texts(value: object) -> Mapping[str, str]:
    """Return the entries whose key and value are texts."""
    whole = value if isinstance(value, Mapping) else {}
    return {_writable(k): _writable(v) for k, v in whole.items() if isinstance(k, str) and isinstance(v, str)}


def _writable(value: str) -> str:
    """Return the text without the halves of characters that JSON can have and no database takes."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


MOST_OUTPUT = 256 * 1024
"""So many bytes of a container's output are handed on for a diagnosis, the last ones."""


def ended(output: bytes) -> str:
    """Return the end of what a container wrote, from the beginning of a line on, as text."""
    if len(output) > MOST_OUTPUT:
        output = output[-MOST_OUTPUT:].partition(b"\n")[2]
    return output.decode(errors="replace")


def signal_number(name: str) -> int:
    """Return the number of a stop signal as an image or a person writes it; SIGTERM where that is none."""
    word = name.strip().upper()
    word = word if word.startswith("SIG") else f"SIG{word}"
    number = int(signal.SIGTERM)
    if plain := re.fullmatch(r"SIG([0-9]{1,2})", word):
        number = int(plain[1])
    elif late := re.fullmatch(r"SIGRTM(IN\+|AX-)([0-9]{1,2})", word):
        number = signal.SIGRTMIN + int(late[2]) if late[1] == "IN+" else signal.SIGRTMAX - int(late[2])
    elif word in signal.Signals.__members__:
        number = int(signal.Signals[word])
    return number if 0 < number <= signal.SIGRTMAX else int(signal.SIGTERM)
