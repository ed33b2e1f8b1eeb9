"""How a setting is declared: once, as a dataclass field whose type is `Annotated` with a `Meta`."""

from dataclasses import dataclass
from enum import Enum, auto


class Form(Enum):
    """What a text must look like."""

    TEXT = auto()
    PATH = auto()
    SOCKET = auto()
    ADDRESS = auto()
    CODE = auto()
    MODULE = auto()
    URL = auto()


@dataclass(frozen=True, slots=True)
class Meta:
    """What the documentation and the checks know of a setting.

    `within`: the least and the greatest value, durations as text. `choices`: the words that a text, or each text of
    a list, may be. `empty`: the text may be empty, as it always may where its default is.
    """

    sentence: str
    within: tuple[int, int] | tuple[str, str] | None = None
    choices: tuple[str, ...] = ()
    form: Form = Form.TEXT
    empty: bool = False
