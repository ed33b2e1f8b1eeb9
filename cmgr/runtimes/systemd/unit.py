"""systemd's description of a unit (its properties on D-Bus) turned into a `Container`. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cmgr.config.settings import Unit
from cmgr.frozen import dataclass
from cmgr.model.values.chips import BY_ID
from cmgr.model.values.handling.questions import OWN_MACHINE
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.services.containers import UNHEALTHY, Container, ContainerKey, Exit
from cmgr.runtimes.labels import LONGEST_GRACE

NAME = SYSTEMD

DOWN = ("inactive", "failed", "maintenance")
"""A process of the unit may live all the same (`left`): one that no kill ends, or that is not to be killed."""

_TAKES = ("ConsistsOf", "BoundBy", "RequiredBy", "PropagatesStopTo")
"""So systemd calls the units that it stops with one: those that have PartOf=, BindsTo= or Requires= on it, say."""

_OWN_DOING = ("oom-kill", "watchdog", "core-dump", "protocol", "resources")
"""Results that nobody who stops a unit brings about (systemd.service(5), `$SERVICE_RESULT`)."""

_RESTARTING = "auto-restart"
"""So begin the words for a unit that waits for its next restart."""

_KILLED = (2, 3)
"""CLD_KILLED and CLD_DUMPED of waitid(2): the status is a signal."""


@dataclass(frozen=True, slots=True)
class Described:
    """A unit. `loaded`: systemd's word for whether there is such a unit. `result`: how its last life went.

    `began`: when that life did, in microseconds of the monotonic clock; 0 when systemd knows of none. `ordered`: that
    life is ending, by a job: somebody's stop of this unit, or of one that it goes with. `settled`: it runs, and no job
    ends or begins a life of it. `left`: in words, that systemd has given it up, and its main process lives: on its
    chips, and of no use.
    """

    container: Container
    loaded: str
    result: str
    began: int
    ordered: bool
    settled: bool
    left: str = ""

    @property
    def gone(self) -> bool:
        """Return whether there is no such unit any more; one whose file was removed may run on."""
        return self.loaded == "not-found" and not self.container.running


def key(unit: str) -> ContainerKey:
    return ContainerKey(NAME, "", unit)


def described(name: str, told: Mapping[str, Any], wish: Unit, left: int = 0) -> Described:
    """Read what systemd answered of the unit; `wish` is what the configuration says of it.

    `left`: its main process, where that lives though systemd says that the unit is down.
    """
    active, restarting = told.get("ActiveState"), str(told.get("SubState", "")).startswith(_RESTARTING)
    words = f"systemd calls it {active}, and its process {left} lives" if left else ""
    running = active not in DOWN or bool(left)
    run = "".join(f"{byte:02x}" for byte in told.get("InvocationID", b""))
    result = str(told.get("Result", "success"))
    container = Container(
        key=key(name),
        name=name,
        claims=frozenset(f"{BY_ID}{chip}" for chip in wish.chips),
        running=running,
        run=run,
        exit=None if running or not run else _exit(told, result),
        grace=_grace(told.get("TimeoutStopUSec")),
        strategy=wish.strategy,
        order=wish.order,
        restarting=restarting,
        boots=told.get("UnitFileState") == "enabled",
        network=OWN_MACHINE,
        starting=active == "activating" and not restarting,
        revived=bool(told.get("NRestarts")),
        takes=frozenset(unit for way in _TAKES for unit in told.get(way, ()) if unit.endswith(".service")),
        health=UNHEALTHY if left else "",
        warnings=(words,) if left else (),
    )
    job = bool(told.get("Job", (0,))[0])
    # A start that takes too long fails with its job.
    ordered = active == "deactivating" and result == "success" and job
    settled = running and not job and active != "deactivating"
    return Described(container, str(told.get("LoadState", "")), result, _began(told), ordered, settled, words)


def _began(told: Mapping[str, Any]) -> int:
    return int(told.get("InactiveExitTimestampMonotonic", 0))


def _exit(told: Mapping[str, Any], result: str) -> Exit | None:
    at = told.get("InactiveEnterTimestamp") or told.get("StateChangeTimestamp") or 0
    if not at:
        return None
    asked = _asked(told, result)
    left = told.get("ActiveExitTimestamp", 0) if asked else 0
    return Exit(_code(told, result), _moment(at), asked, told=_moment(left) if left else None)


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def _asked(told: Mapping[str, Any], result: str) -> bool | None:
    """Return whether somebody had told systemd to end this life; None where nothing says.

    It is told where systemd went first: it follows where a process ends by itself, or by a signal of others.
    """
    times = ("ActiveEnter", "ActiveExit", "ExecMainExit")
    up, left, ended = (int(told.get(f"{time}TimestampMonotonic", 0)) for time in times)
    in_time = result != "timeout"
    if result in _OWN_DOING or (not in_time and up < _began(told)):
        return False
    return True if in_time and 0 < _began(told) <= left < ended else None


def _code(told: Mapping[str, Any], result: str) -> int:
    status = int(told.get("ExecMainStatus", 0))
    code = status + 128 if told.get("ExecMainCode") in _KILLED else status
    # A unit can fail without its main process: a command before it, or a limit of starts. Of what ends well systemd
    # counts some signals, too, whoever sent them.
    return code if result == "success" else code or 1


def _grace(microseconds: object) -> timedelta:
    """Return how long systemd waits between the stop signal and the kill; its "infinity" is the largest number."""
    if not isinstance(microseconds, int) or microseconds >= LONGEST_GRACE / timedelta(microseconds=1):
        return LONGEST_GRACE
    return timedelta(microseconds=microseconds)
