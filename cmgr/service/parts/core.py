"""The service as its parts know it."""

from collections.abc import Callable

from cmgr.config.settings import Config
from cmgr.frozen import dataclass
from cmgr.model.values.messages.facts import Fact
from cmgr.model.values.node import Node
from cmgr.ports import ChipDriver
from cmgr.service.log.setup import Log
from cmgr.service.timing.clock import SteadyClock
from cmgr.view.status import Own


@dataclass(frozen=True, slots=True)
class Core:
    """Any thread. `put` has a fact decided on, `node` returns what was decided last, `own` what the service knows of
    itself.
    """

    config: Config
    driver: ChipDriver
    clock: SteadyClock
    log: Log
    put: Callable[[Fact], None]
    node: Callable[[], Node]
    own: Callable[[], Own]
