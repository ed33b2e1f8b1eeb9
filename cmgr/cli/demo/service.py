"""A service of the demo's own: a real `cmgr run`, on simulated chips, in a directory of its own."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from cmgr import again
from cmgr.errors import CmgrError, ServiceDown
from cmgr.sentences.sentence import parts, say
from cmgr.service.door.client import status

POLL = 0.05
READY = timedelta(seconds=20)
CONTAINERS: Mapping[str, tuple[int, ...]] = {
    "cmgr-demo-chat": (0, 1),
    "cmgr-demo-code": (2, 3),
    "cmgr-demo-search": (4, 5),
}
"""The containers of the demo and their chips. Rings are chips 0-3 and 4-7."""

STRATEGY = "ringRecover"


class Service:
    """Started as a child, and never left behind: call `stop`."""

    def __init__(self, directory: Path, runtime: str, docker_socket: str) -> None:
        self.socket = directory / "cmgr.sock"
        self.config = directory / "cmgr.toml"
        self.door = directory / "door.sock"
        self._log = directory / "cmgr.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.config.touch(mode=0o600)
        self.config.write_text("\n".join(_settings(directory, runtime, docker_socket)) + "\n")

    def start(self) -> None:
        """Start the service and wait until it is ready. Raises `CmgrError`."""
        # Settings of this machine are not the demo's.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CMGR_")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # This very program.
                [*again.program(), "run", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the demo, which ends the service in order.
            )
        self.wait(self._ready, READY, say("demo.not-ready", length=READY))

    def kill(self) -> None:
        """End the service as a crash or the kernel would."""
        assert self._process is not None, "the service was started"
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> None:
        """End the service in order, if it runs."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def wait(self, condition: Callable[[], bool], length: timedelta, late: str) -> None:
        """Return when the condition holds. Raises `CmgrError`, which says `late` when it does not in time, or that the
        service ended.
        """
        until = time.monotonic() + length.total_seconds()
        while not condition():
            code = self._process.poll() if self._process is not None else None
            if code is not None:
                raise self._over(say("demo.ended", code=code))
            if time.monotonic() > until:
                raise self._over(late)
            time.sleep(POLL)

    def _ready(self) -> bool:
        try:
            told = status(self.socket)
        except ServiceDown:
            return False
        # After a crash what is held counts as well: it is there, if not running yet.
        return told["service"]["state"] == "ready" and len(told["containers"]) == len(CONTAINERS)

    def _over(self, why: str) -> CmgrError:
        log = self._log.read_text(errors="replace").splitlines()[-8:]
        ends = say("demo.log-ends", lines=["", *(f"  {line}" for line in log)]) if log else ""
        return CmgrError(say("demo.cannot", why=parts([why, ends])))


def _settings(directory: Path, runtime: str, docker_socket: str) -> Iterator[str]:
    """Yield the configuration file.

    The strategy is `never` and the demo's containers carry labels of their own: should anything else on this machine
    ask for chips, it is left alone.
    """
    yield f"strategy = {json.dumps('never' if runtime == 'docker' else STRATEGY)}"
    yield 'driver = "sim"'
    yield f"runtimes = [{json.dumps(runtime)}]"
    yield f"state_dir = {json.dumps(str(directory / 'state'))}"
    yield f"socket = {json.dumps(str(directory / 'cmgr.sock'))}"
    yield f"docker.socket = {json.dumps(docker_socket)}"
    yield f"web.door = {json.dumps(str(directory / 'door.sock'))}"
    yield 'metrics.listen = ""'
    # A reset that the crash cut short counts as one that failed; nobody wants to watch the usual wait after that.
    yield 'reset.backoff = "2s"'
    yield 'retry.settle = "1s"'
    yield "[sim]"
    yield "chips = 8"
    yield "ring = 4"
    yield "measured = true"
    yield f"world = {json.dumps(str(directory / 'chips.json'))}"
    if runtime == "sim":
        for name, chips in CONTAINERS.items():
            yield "[[sim.containers]]"
            yield f"name = {json.dumps(name)}"
            yield f"chips = {list(chips)}"
