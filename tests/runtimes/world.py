"""A runtime with containers that people deal with, too: what the contract suite is run in."""

from typing import Protocol

from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.ports import Runtime


class World(Protocol):
    """A runtime, and what people do to its containers without cmgr."""

    always: str
    """A restart policy that starts a container with the daemon."""

    blames: bool
    """Whether the runtime can tell a kill that came from outside from one that somebody asked it for."""

    blames_again: bool
    """The same, of a container that somebody has stopped and started again."""

    outlives: bool
    """Whether containers run on while the daemon is away."""

    @property
    def runtime(self) -> Runtime: ...

    def create(
        self,
        name: str,
        *,
        chips: str = "0",
        policy: str = NO_RESTART,
        ignores_term: bool = False,
        auto_remove: bool = False,
        labels: bool = False,
    ) -> ContainerKey:
        """Create a container and start it. With `labels`: strategy ringRecover, order 5, a grace of 33 s, disabled."""

    def start(self, key: ContainerKey) -> None: ...

    def stop(self, key: ContainerKey) -> None: ...

    def pause(self, key: ContainerKey) -> None: ...

    def resume(self, key: ContainerKey) -> None: ...

    def die(self, key: ContainerKey) -> None:
        """Let its process be killed, not through the runtime: code 137."""

    def remove(self, key: ContainerKey) -> None: ...

    def restart_daemon(self) -> None: ...
