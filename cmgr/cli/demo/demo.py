"""The command that shows the whole cycle before one's eyes, in a world of its own."""

import shutil
import signal
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from cmgr.cli import source
from cmgr.cli.options import Common, Configured, option
from cmgr.cli.text import out
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import chained, say

if TYPE_CHECKING:
    from cmgr.config.settings import Config

LISTEN = "127.0.0.1:9478"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Containers(StrEnum):
    AUTO = "auto"
    DOCKER = "docker"
    SIM = "sim"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions(Configured):
    runtime: Containers = option("--runtime", "Real containers, simulated ones, or what works here.", Containers.AUTO)
    web: bool = option("--web", "Watch it on a page: prints a link, and chips fault until Ctrl-C.", False)
    listen: str = option("--listen ADDRESS", "Where that page is served.", LISTEN)
    keep: bool = option("--keep", "Keep the database and the log, and say where.", False)


def demo(options: DemoOptions) -> None:
    """Show a whole recovery on simulated chips.

    With real containers when a Docker daemon answers, else with simulated ones. Takes less than a minute, touches no
    real chip and no container but its own, and leaves nothing behind.
    """
    import tempfile

    from cmgr.cli.demo.service import Service
    from cmgr.cli.demo.story import Story

    config = source.configuration(Common(config=options.config))
    with ExitStack() as stack:
        # However the demo ends, its own things go first.
        for number in SIGNALS:
            stack.callback(signal.signal, number, signal.getsignal(number))
        for number in SIGNALS[1:]:
            signal.signal(number, _end)
        directory = Path(tempfile.mkdtemp(prefix="cmgr-demo-"))
        stack.callback(_leave, directory, keep=options.keep)
        real = options.runtime is not Containers.SIM and _made_real(config, stack, options.runtime)
        service = Service(directory, "docker" if real else "sim", config.docker.socket)
        stack.callback(service.stop)
        if options.web:
            from cmgr.cli.demo.page import Watched

            watched = Watched(service, options.listen)
            stack.callback(watched.stop)
            stack.callback(_undisturbed)
            watched.tell()
        stack.callback(_undisturbed)
        Story(service).tell()


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _undisturbed() -> None:
    """Let no second Ctrl-C stop the cleaning up."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _leave(directory: Path, *, keep: bool) -> None:
    if keep:
        kept = out.spoken(say("demo.kept", directory=str(directory)))
        out.lines(["", kept, f"  cmgr history --state-dir {directory / 'state'}"])
    else:
        shutil.rmtree(directory, ignore_errors=True)


def _made_real(config: "Config", stack: ExitStack, wish: Containers) -> bool:
    """Make the demo's containers in Docker, and return whether that could be done. Raises when Docker was asked for."""
    from cmgr.cli.demo import docker as demo_docker
    from cmgr.cli.demo.service import CONTAINERS, STRATEGY

    try:
        demo_docker.make(config, CONTAINERS, STRATEGY, stack)
    except CmgrError as error:
        if wish is Containers.DOCKER:
            raise
        out.told([say("demo.simulated", why=chained(error))])
        return False
    return True
