"""The settings of the driver that has a program of anybody's speak for the chips."""

from datetime import timedelta
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    program: Annotated[
        str,
        Meta("The program that speaks for the chips, with its whole path; root alone may write it.", form=Form.PATH),
    ] = ""
    call_timeout: Annotated[
        timedelta, Meta("How long the program may take over an answer before it is killed.", within=("100ms", "4s"))
    ] = timedelta(seconds=4)
    reset_timeout: Annotated[
        timedelta, Meta("How long the program may take over a reset before cmgr goes on.", within=("1s", "1h"))
    ] = timedelta(minutes=3)
