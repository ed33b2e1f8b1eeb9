"""The one thing that every way of telling a receiver is given, and how it says that the receiver wants time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cmgr.config.receivers import Receiver
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass

if TYPE_CHECKING:
    from cmgr.host.host import Host
    from cmgr.service.notices.alarms import Alarm


class Rejected(CmgrError):
    """The receiver will never take this message."""


class TooFast(CmgrError):
    """The receiver takes nothing before so many seconds have passed."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = min(seconds, 3600.0)


@dataclass(frozen=True, slots=True)
class Channel:
    """A receiver, this machine's name, how many seconds a message may take, and where programs run."""

    receiver: Receiver
    machine: str
    seconds: float
    host: "Host"


class Way(Protocol):
    """How receivers of some format are told."""

    def send(self, channel: Channel, alarms: "Sequence[Alarm]", lost: int) -> str:
        """Tell it of these alarms, in one message, and that so many before them were lost.

        Returns its answer in words. Raises `Rejected`, `TooFast`, and `CmgrError`, `OSError` or `ValueError` when
        another try may go better. Blocks, but not much longer than the channel's seconds.
        """
