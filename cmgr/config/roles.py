"""The settings of roles: who may do what on the service's socket, beside root, the service's user and group cmgr."""

from enum import IntEnum
from typing import Annotated

from cmgr.declare import Meta
from cmgr.frozen import dataclass

ANYBODY = -1
UID = Meta("The number of the user; -1: any user, of the group.", within=(ANYBODY, 4294967294), example="985")
GROUP = Meta("The name of the group; empty: of any group. With uid both must fit.")


class Role(IntEnum):
    """The rights that somebody has. Each may do what those before it may."""

    NONE = 0
    LOOK = 1
    REPORT = 2
    """Report faults, as a source of reports is allowed to."""

    OPERATE = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """Users who have a role. A source of reports has the role report by that."""

    role: Annotated[
        str, Meta("Their role: look, or operate (everything).", choices=("look", "operate"), example='"look"')
    ]
    uid: Annotated[int, UID] = ANYBODY
    group: Annotated[str, GROUP] = ""
