"""The scenes that are shown: one machine in several states, its past, and how it is told."""

from dataclasses import replace
from datetime import UTC, timedelta

from cmgr.config.week import window
from cmgr.model.scope import handled_faults, shut
from cmgr.model.values.chips import ChipId, ChipReport, Process, RingId
from cmgr.model.values.faults import Isolation, Level
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Opening
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, Policy, Strategy, window_name
from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, ContainerKey, Kept
from cmgr.model.values.standing import Maintenance
from cmgr.view import shapes
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text.render import Face
from cmgr.view.text.texts import Page
from cmgr.words import stamp
from tests.support.picture import T0, decided, faulty, held, hold, in_episode, isolated, key, machine

NOW = T0 + timedelta(minutes=2, seconds=12)
PAGE = Page(Face(NOW, UTC))

SERVICE = Own("ready", "sim", ("docker",), "0.1.0", 4711, T0 - timedelta(days=3))
STOPPED = Own("stopped", "sim", ("docker",))


def recovering() -> Node:
    """Ring 0 is in an episode: its container is down, and somebody's process holds chip 1."""
    node = in_episode(held(faulty(machine(), 0), hold("a", HoldState.DOWN, 0, 1)), 0)
    busy = ChipReport(ChipId(1), processes=(Process(4242, "python3", 1 << 30),))
    return decided(replace(node, reports={**node.reports, ChipId(1): busy}))


def in_need() -> Node:
    """Chip 2 is isolated with b waiting for it, a was given up, and the runtime is down."""
    node = isolated(held(machine(), hold("b", HoldState.DOWN, 2)), 2)
    given_up = replace(hold("a", HoldState.FAILED, 0, 1), attempt=Attempt(tries=5, error="no such image: llm:7b"))
    down = {"docker": RuntimeState("docker", why_down="connection refused")}
    return decided(replace(held(node, given_up), runtimes=down))


def in_maintenance() -> Node:
    """A person works on the machine until in two hours; b is held, and chip 3 was taken out of use by the same hand."""
    node = held(machine(), hold("b", HoldState.DOWN, 2))
    mine = Isolation(ChipId(3), T0, "operator", "its fan is loud")
    until = NOW + timedelta(hours=2)
    return decided(replace(
        node, isolations={mine.chip: mine}, maintenance=Maintenance(T0, until, "uid 0 (root)"),
        rings={**node.rings, RingId(0): replace(
            in_episode(node, 0).rings[RingId(0)], reason=f"maintenance until {stamp(until)}: it would recover",
            deadline=until,
        )},
    ))  # fmt: skip


def waiting_for_a_window() -> Node:
    """Ring 0 waits for Saturday, and maintenance begins by itself before."""
    saturday = NOW + timedelta(days=3)
    openings = (
        Opening(window_name(Level.RestartNPU), open=False, until=saturday, wall=saturday),
        Opening(MAINTENANCE_WINDOWS, open=False, until=saturday - timedelta(days=1), wall=saturday - timedelta(days=1)),
    )
    windowed = replace(DEFAULT_LEVELS[Level.RestartNPU], window=(window("Sat 02:00-04:00"),))
    policy = Policy(Strategy.RING, levels={**DEFAULT_LEVELS, Level.RestartNPU: windowed})
    node = replace(faulty(machine(), 0), policy=policy, calendar={opening.name: opening for opening in openings})
    ring = node.rings[RingId(0)]
    obstacle = shut(node, ring, handled_faults(node, ring), NOW)
    assert obstacle is not None
    ring = replace(ring, reason=obstacle.why, deadline=obstacle.until)
    return replace(node, rings={**node.rings, ring.id: ring})


def slow() -> Node:
    """Everything takes too long: the stop of a, the reset of ring 0, the start on ring 2."""
    stops = replace(hold("a", HoldState.STOPPING, 0, 1), reason="episode 7: a fault of chips 0-1")
    node = in_episode(in_episode(held(machine(), stops), 0), 2, Phase.RESUMING)
    began = replace(node.rings[RingId(0)], began=T0 - timedelta(minutes=10), reason="process 7 is on chip 1")
    return replace(node, rings={**node.rings, RingId(0): began})


def twins() -> Node:
    """Two containers of one name in two namespaces of containerd, held both, and one that has an odd name."""
    node = machine()
    for namespace, name in (("blue", "web"), ("green", "web"), ("blue", "a b; c")):
        id_ = ContainerKey("containerd", namespace, f"{namespace}-{name}")
        container = Container(id_, name, kept=Kept(chips=frozenset({ChipId(3)}), since=T0))
        promise = Hold(
            id_, name, container.kept.chips, 1, T0, HoldState.FAILED, "1", attempt=Attempt(tries=5, error="no")
        )
        node = replace(
            node, containers={**node.containers, id_: container}, holds={**node.holds, id_: promise},
            runtimes={**node.runtimes, "containerd": RuntimeState("containerd", listed=T0)},
        )  # fmt: skip
    return node


def told(node: Node, own: Own = SERVICE, *, observe: bool = False) -> shapes.Status:
    """Return the status as the service would."""
    policy = replace(node.policy, strategy=Strategy.RING, observe=observe)
    return view.status(replace(node, policy=policy), own, NOW)


def note(after: float, kind: NoteKind, text: str, episode: int = 1, *, container: str = "", outcome: str = "") -> Note:
    ring = RingId(0) if episode == 1 else RingId(2)
    named = key(container) if container else None
    return Note(
        T0 + timedelta(seconds=after), kind, text, ring, episode, container=named, name=container, outcome=outcome
    )


NOTES = (
    note(0, NoteKind.OPENED, "chip 0 has fault 80E24E00 (RestartNPU)"),
    note(0.004, NoteKind.ACTION, "stop a: chip 0 of ring 0 is faulty", container="a"),
    note(2, NoteKind.RESULT, "a is down", container="a"),
    note(65, NoteKind.PHASE, "resetting: nobody uses chips 0-1, and the fault is still there"),
    note(120, NoteKind.CLOSED, "all containers run again", outcome="recovered"),
    note(122, NoteKind.OPENED, "chip 3 has fault 80E24E00 (RestartNPU)", 2),
)
