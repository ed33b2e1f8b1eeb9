"""`cmgr run` that dies, or is told to end, at one point of what it does: `python -m tests.crash.crashing PLAN run …`.

The service is the real one. Everything that it opens is wrapped from outside: the store's save, and the calls into the
driver, the runtimes and the fleet's engine. Each commit and each call, before and after, is a point with a name; points
count from the moment on at which a ring enters an episode. Every point that is passed stands in a file, as do the
world's deeds.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cmgr import drivers, fleet
from cmgr.drivers.sim.driver import SimDriver
from cmgr.fleet.etcd import EtcdFleet
from cmgr.model.values.fleet import starts_here
from cmgr.model.values.messages.commands import Action, Note
from cmgr.model.values.messages.reboot_facts import Boot
from cmgr.model.values.node import Node
from cmgr.model.values.services.groups import GroupPhase
from cmgr.ports import ChipDriver, Dividing, Runtime
from cmgr.runtimes.sim.runtime import SimRuntime
from cmgr.runtimes.sim.world import Life
from cmgr.service import daemon
from cmgr.service.parts import tellers
from cmgr.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where this life ends. `at`: the name of a point, or how many are passed; nothing: nowhere.

    `trace`, `witness`: files that grow from life to life. `copies`: a folder that gets the database and the simulated
    world as they are after each commit. `rounds`: a file that has `at` and `how` as JSON instead: points count anew
    from where each round of a group begins here, and the file is read then. `boot`: the word for the machine's boot.
    """

    trace: str
    witness: str
    at: str | int | None = None
    how: int = signal.SIGKILL
    copies: str = ""
    rounds: str = ""
    boot: str = ""


def program(plan: Plan) -> Sequence[str]:
    """Return what runs the service like that, for `Service.launch`."""
    return ("-m", __name__, json.dumps(asdict(plan)), "run")


class Points:
    """The points of one life. Any thread."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._trace = _appended(plan.trace)
        self._witness = _appended(plan.witness)
        self._counts: dict[str, int] = {}
        self._passed = 0
        self._kept = 0
        self._armed = False
        self._names: dict[str, str] = {}
        self._end = plan.at, plan.how
        self.reading = ""
        """The next question to the engine, by what is known of the group over appliances; a test has one such group."""

    def look(self, node: Node) -> None:
        """Points count from an episode on. Containers are called by what comes before a dash in their name."""
        self._names.update({key.id: c.name.partition("-")[0] for key, c in node.containers.items()})
        for group in node.fleet_groups.values():
            looks = starts_here(group) and group.looked != group.held
            self.reading = "last look" if looks else f"read while {group.phase}"
        if self._plan.rounds:
            self._begin(node)
        self._armed = self._armed or any(ring.in_episode for ring in node.rings.values())

    def _begin(self, node: Node) -> None:
        """Let the points count anew where a round has begun."""
        with self._lock:
            if not self._armed and _in_round(node):
                self._armed, self._passed, self._counts = True, 0, {}
                path = Path(self._plan.rounds)
                told = json.loads(path.read_text()) if path.exists() else {}
                self._end = told.get("at"), told.get("how", 0)

    def rest(self, node: Node) -> None:
        """Points do not count between rounds, where it is rounds that lives end in."""
        if self._plan.rounds and not _in_round(node):
            self._armed = False

    def name(self, id_: str) -> str:
        return self._names.get(id_, id_)

    def at(self, what: str) -> None:
        """Pass this point, or end here."""
        with self._lock:
            if not self._armed:
                return
            self._passed += 1
            self._counts[what] = self._counts.get(what, 0) + 1
            point = f"{what} #{self._counts[what]}"
            os.write(self._trace, f"{point}\n".encode())
            at, how = self._end
            if at in (point, self._passed):
                _end(how)

    @contextmanager
    def saw(self, **what: object) -> Iterator[None]:
        """Note what the world does meanwhile, with the time. Nobody dies between the two."""
        with self._lock:
            yield
            self._write(what)

    def keep(self, database: Path) -> None:
        """Copy the database, the simulated world, and what was seen of it, if the plan wants that.

        No order of the last commit has left yet, so that all of it is of one moment.
        """
        if not self._plan.copies or not self._armed:
            return
        with self._lock:
            self._kept += 1
            to = Path(self._plan.copies) / f"{self._kept:04}"
            (to / "state").mkdir(parents=True)
            beside = [*database.parent.parent.glob("world*"), Path(self._plan.witness)]
            _copy(database.parent.glob(database.name + "*"), to / "state")
            _copy([path for path in beside if path.suffix != ".new"], to)

    def catch_up(self, running: Mapping[str, bool]) -> None:
        """Note what the world did in the moment in which the last life was killed from outside, before it was noted."""
        if self._plan.rounds:
            lines = Path(self._plan.witness).read_text().splitlines()
            last = {told["name"]: told["action"] == "start" for told in map(json.loads, lines) if "name" in told}
            for name, runs in running.items():
                if last.get(name, True) != runs:
                    self.sees(name=name, action="start" if runs else "die")

    def sees(self, **what: object) -> None:
        """Note what the world is about to do."""
        with self._lock:
            self._write(what)

    def _write(self, what: Mapping[str, object]) -> None:
        told = {"at": time.time(), "steady": time.monotonic(), **what}
        os.write(self._witness, (json.dumps(told) + "\n").encode())


def _end(how: int) -> None:
    if how == signal.SIGSTOP:
        # Sent to the process, it may come to another thread first, and this one goes on for a moment, and lets others.
        signal.pthread_kill(threading.get_ident(), how)
    else:
        os.kill(os.getpid(), how)


def _in_round(node: Node) -> bool:
    here = any(ring.in_episode for ring in node.rings.values()) or any(g.in_round for g in node.groups.values())
    return here or any(group.phase is not GroupPhase.RUNNING for group in node.fleet_groups.values())


def _copy(paths: Iterable[Path], to: Path) -> None:
    # Not by this process: its locks on the database go when it closes any descriptor of that file.
    # https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
    subprocess.run(["cp", "--", *paths, to], check=True)


def _appended(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def wrap_store(store: SqliteStore, points: Points, plan: Plan) -> SqliteStore:
    """Make each commit of a save two points, and copy what is on disk after it."""
    inner, commits = store.save, list[int]()

    def about_to(statement: str) -> None:
        if statement == "COMMIT":
            commits.append(len(commits))
            points.at("before a commit")

    def save(node: Node, actions: Sequence[Action], notes: Sequence[Note]) -> None:
        points.look(node)
        before = len(commits)
        inner(node, actions, notes)
        if len(commits) > before:
            points.keep(store.path)
            points.at("after a commit")
        points.rest(node)

    points.look(store.load())
    store.connection.set_trace_callback(about_to)
    _put(store, "save", save)
    return store


def wrap_runtime(runtime: Runtime, points: Points) -> Runtime:
    """Make each call two points."""

    def container(verb: str) -> Callable[..., str]:
        return lambda key, *_: f"{verb} {points.name(key.id)}"

    for operation, verb in (("stop", "stop"), ("start", "start"), ("set_restart_policy", "policy of")):
        _wrap(runtime, operation, container(verb), points)
    _wrap(runtime, "list", lambda: f"list {runtime.name}", points)
    if isinstance(runtime, SimRuntime):
        _watch(runtime, points)
    if runtime.name == "containerd":
        # Its class is not asked for: where it is not used, each life would load gRPC.
        start_of = lambda _, key, *__: f"the task of {points.name(key.id)}, which is made, is started"  # noqa: E731
        _wrap(runtime._starter, "_order", start_of, points)  # type: ignore[attr-defined]
    return runtime


def _watch(runtime: SimRuntime, points: Points) -> None:
    """A pretended container that starts or ends is seen by a witness, and is a point while nobody knows of it yet."""
    inner: Callable[[Life], Life] = runtime._put
    lives: dict[str, Life] = dict(runtime._lives)
    points.catch_up({life.like.name: life.running for life in lives.values()})

    def put(life: Life) -> Life:
        before = lives.get(life.id)
        lives[life.id] = life
        if before is not None and (before.run, before.running) == (life.run, life.running):
            return inner(life)
        with points.saw(name=life.like.name, action="start" if life.running else "die"):
            done = inner(life)
        points.at(f"in {life.like.name.partition('-')[0]}, which {'runs' if life.running else 'has ended'}")
        return done

    _put(runtime, "_put", put)


def wrap_driver(driver: ChipDriver, points: Points) -> ChipDriver:
    """Make each reset, reading and making of shares two points. A witness sees a reset before it is ordered."""
    reset = driver.reset

    def seen(chips: Sequence[int], *more: Any) -> None:
        points.sees(action="reset", chips=list(chips))
        reset(chips, *more)  # type: ignore[arg-type]  # As it was called.

    _put(driver, "reset", seen)
    _wrap(driver, "reset", lambda *_: "reset", points)
    _wrap(driver, "read", lambda *_: "read", points)
    if isinstance(driver, Dividing):
        make = driver.make_shares

        def made(*given: Any) -> None:
            with points.saw(action="make"):
                make(*given)

        _put(driver, "make_shares", made)
        _wrap(driver, "make_shares", lambda *_: "making shares", points)
    if isinstance(driver, SimDriver):
        inner = driver._record

        def record(*given: Any) -> None:
            inner(*given)
            points.at("in a reset that was taken")

        _put(driver, "_record", record)
    return driver


def wrap_fleet(made: EtcdFleet, points: Points) -> EtcdFleet:
    """Make each question to the engine and each write there two points."""
    _wrap(made, "read", lambda *_: points.reading, points)
    _wrap(made, "write", lambda _, document, *__: f"write of {document.phase}", points)
    return made


def _wrap(thing: object, operation: str, what: Callable[..., str], points: Points) -> None:
    inner = getattr(thing, operation)

    def wrapped(*given: Any, **named: Any) -> Any:
        said = what(*given)
        points.at(f"before {said}")
        try:
            return inner(*given, **named)
        finally:
            points.at(f"after {said}")

    _put(thing, operation, wrapped)


def _put(thing: object, name: str, value: object) -> None:
    # On the one object, so that it stays what it is to everybody who asks for its abilities.
    setattr(thing, name, value)


def install(plan: Plan) -> None:
    """Have the service open wrapped things."""
    points = Points(plan)
    opening: Mapping[tuple[object, str], Callable[..., Any]] = {
        (daemon, "open_store"): lambda made: wrap_store(made, points, plan),
        (tellers, "open_runtimes"): lambda made: tuple(wrap_runtime(runtime, points) for runtime in made),
        (tellers, "open_systemd"): lambda made: wrap_runtime(made, points),
    }
    for (module, name), wrap in opening.items():
        _put(module, name, _then(getattr(module, name), wrap))
    if plan.boot:
        _put(daemon, "this_boot", lambda: Boot(plan.boot))
    _put(drivers, "open_driver", _then(drivers.open_driver, lambda made: wrap_driver(made, points)))
    _put(fleet, "open_fleet", _then(fleet.open_fleet, lambda made: wrap_fleet(made, points)))


def _then(first: Callable[..., Any], then: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *given, **named: then(first(*given, **named))


def main() -> int:
    from cmgr.__main__ import main as run

    install(Plan(**json.loads(sys.argv[1])))
    sys.argv = ["cmgr", *sys.argv[2:]]
    return run()


if __name__ == "__main__":
    sys.exit(main())
