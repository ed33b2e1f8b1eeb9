"""Facts about a reboot of the machine."""

from datetime import timedelta

from cmgr.frozen import dataclass
from cmgr.model.values.messages.commands import CommandId


@dataclass(frozen=True, slots=True)
class Boot:
    """The boot of the machine: the kernel's word for it, and how long ago it was when this life of cmgr began.

    That is by a clock that nobody can set. `id` empty: nobody knows.
    """

    id: str = ""
    age: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class RebootScheduled:
    """Answers `ScheduleReboot`. `error` empty: it is as ordered. `refused`: nothing was done, and it can be later."""

    command: CommandId
    error: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class RebootCancelOrdered:
    """A person does not want the reboot that is announced. `done`: it does not come any more (`shutdown -c`)."""

    who: str
    done: bool = False
