"""How a setting is declared: once, as a dataclass field whose type is `Annotated` with a `Meta`."""

from enum import Enum, auto

from cmgr.frozen import dataclass


class Form(Enum):
    """The form that a text must have."""

    TEXT = auto()
    PATH = auto()
    SOCKET = auto()
    ADDRESS = auto()
    CODE = auto()
    MODULE = auto()
    URL = auto()
    RECEIVER = auto()
    MAIL = auto()
    ZONE = auto()
    BEGINS = auto()
    UNIT = auto()
    APPLIANCE = auto()
    QUESTION = auto()


@dataclass(frozen=True, slots=True)
class Meta:
    """A setting as the documentation and the checks know it.

    `within`: the least and the greatest value, durations as text. `choices`: the words that a text, or each text of
    a list, may be. `empty`: the text may be empty, as it always may where its default is. `around`: what is in this
    group of settings stands in the table around it, as if there were no group. `example`: what the shipped file shows
    in the place of a default that is of no use by itself.
    """

    sentence: str
    within: tuple[int, int] | tuple[str, str] | None = None
    choices: tuple[str, ...] = ()
    form: Form = Form.TEXT
    empty: bool = False
    around: bool = False
    example: str = ""
