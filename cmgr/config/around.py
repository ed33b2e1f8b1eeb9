"""Settings of what surrounds a recovery: alarms, hooks and diagnostic bundles."""

from datetime import timedelta
from typing import Annotated

from cmgr.config.receivers import Receiver
from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Alarms:
    timeout: Annotated[timedelta, Meta("How long a receiver may take over one request.", within=("100ms", "5m"))] = (
        timedelta(seconds=5)
    )
    deaf_after: Annotated[
        timedelta,
        Meta("How long a driver or runtime must have been unreachable before that is an alarm.", within=("0s", "1h")),
    ] = timedelta(seconds=30)
    down_after: Annotated[
        timedelta,
        Meta(
            "How long a container that ought to run is down, or a group not whole, before that is an alarm.",
            within=("0s", "24h"),
        ),
    ] = timedelta(seconds=60)
    receivers: Annotated[tuple[Receiver, ...], Meta("The receivers of alarms.")] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    dir: Annotated[
        str,
        Meta(
            "The directory of the commands that are run at steps of a recovery; empty: none.",
            form=Form.PATH,
            empty=True,
        ),
    ] = "/etc/cmgr/hooks.d"
    timeout: Annotated[
        timedelta, Meta("How long a hook may take before it is killed and counts as failed.", within=("100ms", "1h"))
    ] = timedelta(seconds=60)
    before_stop_timeout: Annotated[
        timedelta,
        Meta("The same for before_stop: the containers of a faulty chip run on meanwhile.", within=("100ms", "10m")),
    ] = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Bundles:
    keep: Annotated[
        int, Meta("How many bundles are kept in state_dir/bundles, the newest; 0: none is saved.", within=(0, 1000))
    ] = 20
    max_mb: Annotated[int, Meta("How many megabytes they take at most together.", within=(1, 100000))] = 200
    log_lines: Annotated[
        int, Meta("How many lines of each container's output are in it, the last ones.", within=(0, 100000))
    ] = 200
