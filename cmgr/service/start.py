"""The service's start: to be told of faults first, and only then to load all the rest, which takes longer.

Where another process drives the chips, all the rest is loaded while that one begins.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cmgr.config.settings import Config
from cmgr.service.listening import Listening, listen

if TYPE_CHECKING:
    from cmgr.service.reloading import Reload
    from cmgr.view import shapes

    Serve = Callable[[Config, Listening, ExitStack, Reload, Callable[[], shapes.Check]], None]

SWITCH_SECONDS = 0.0005
"""A thread that waits for its turn has it after so long. As Python has it, 0.005, a stop that could go out waits for
the end of the step that ordered it, and root's question can wait for seconds beside those of others."""


def run(config: Config, reload: "Reload", look: "Callable[[], shapes.Check]") -> int:
    """Serve until SIGTERM or SIGINT, on this thread, which must be the main one. Return the exit code.

    SIGHUP calls `reload` for a new configuration; one that is refused changes nothing. `look` is what `cmgr check`
    does. Raises `CmgrError` when the service cannot start.
    """
    # Before the first file or directory is made.
    os.umask(0o027)
    sys.setswitchinterval(SWITCH_SECONDS)
    with ExitStack() as stack:
        heard = listen(config, stack, meanwhile=_rest)
        _rest()(config, heard, stack, reload, look)
    return 0


def _rest() -> "Serve":
    from cmgr.service.daemon import serve

    return serve
