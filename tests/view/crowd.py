"""A machine with many chips and containers of all kinds, and what it costs to ask something of it.

A cost is a number of lines or calls, as the interpreter tells of them: no clock is asked, and a slow machine changes
nothing.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

from cmgr.model.reduce import reduce
from cmgr.model.values.chips import UNCLEAR, Chip, ChipId, ChipReport, Process, RingId, Share
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.facts import Event, Tick
from cmgr.model.values.node import SYSTEMD, Node, RuntimeState
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Heal, Kept
from cmgr.model.values.services.healing import Hang, Healing
from tests.cli.scenes import NOW
from tests.model.builders import altered
from tests.support.picture import T0, faulty, hold, in_episode, isolated, key

HELD = (HoldState.DOWN, HoldState.FAILED, HoldState.STOPPING)


def of_each_kind(chip: ChipId) -> Iterator[Container]:
    """Yield containers on one chip, sixteen of all kinds; those of a ring have a project and a group together."""
    ring, unit = chip // 8, f"u{chip}.service"

    def made(called: str, **fields: Any) -> Container:
        name = f"{called}-{chip}"
        known = Container(
            key(name), name, frozenset({str(chip)}), running=True, run="1", kept=Kept(since=T0, wanted=True)
        )
        return altered(known, **{"chips": frozenset({chip}), **fields})

    yield made("well")
    yield made("twin", name="same")
    yield made("ended", running=False, exit=Exit(1, T0))
    yield made("ill", health="unhealthy", heal=Heal())
    yield made("unread", unread="it hangs")
    # Of one that can be on any chip each ring tells by itself.
    yield made("unclear", claims=frozenset({UNCLEAR}), chips=frozenset()) if ring == 0 else made("other")
    yield made("grouped", group=f"g{ring}")
    yield made("member", group=f"g{ring}", running=False)
    needs = (Need("b", Condition.STARTED),)
    yield made("first", composed=Composed(f"p{ring}", "b"))
    yield made("second", composed=Composed(f"p{ring}", "a", needs=needs))
    yield made("of-unit", unit=unit)
    yield made("shared", claims=frozenset({f"share-{chip}"}))
    its = {"covers": frozenset({str(chip)}), "vouches": frozenset({key(f"of-unit-{chip}")})}
    yield made("unit", key=ContainerKey(SYSTEMD, "", unit), name=unit, **its)
    for state in HELD:
        yield made(f"held-{state}", running=state is HoldState.STOPPING)


def crowd(containers: int) -> Node:
    """Return a machine with so many, an eighth as many chips, and as much of everything else that is told of."""
    chips = [ChipId(n) for n in range(containers // 8)]
    known = {c.key: c for chip in chips for c in [*of_each_kind(chip)][chip % 2 :: 2]}
    held = [hold(f"held-{state}-{chip}", state, chip) for chip in chips for state in HELD]
    held = [each for each in held if each.key in known]
    share = {chip: Share("1", "half", aliases=frozenset({f"share-{chip}"})) for chip in chips}
    rings = [tuple(chips[at : at + 8]) for at in range(0, len(chips), 8)]
    node = Node(
        policy=Policy(strategy=Strategy.RING),
        chips={c: Chip(c, RingId(c // 8 * 8), c, shares=(share[c],), counted=True) for c in chips},
        rings={RingId(ring[0]): Ring(RingId(ring[0]), ring, read=T0) for ring in rings},
        containers=known,
        holds={each.key: each for each in held},
        healings={k: Healing(k, since=T0, life="1") for k, c in known.items() if c.heal is not None},
        hangs={k: Hang(k, "1", T0, "idle") for k, c in known.items() if c.name.startswith("well")},
        reports={c: ChipReport(c, processes=(Process(c, "x", container=f"well-{c}"),), blind=c < 8) for c in chips},
        runtimes={name: RuntimeState(name, listed=T0) for name in ("docker", SYSTEMD)},
    )
    for ring in rings:
        node = isolated(in_episode(faulty(node, ring[0]), ring[0]), ring[1])
    return reduce(node, Event(NOW, Tick()))[0]


def anew(node: Node) -> Node:
    """Return a node of which nothing is known by heart."""
    return replace(node, containers={**node.containers}, holds={**node.holds}, rings={**node.rings})


def lines(ask: Callable[[], object]) -> int:
    """Return how many lines are run for that, each as often as it is: also loops are seen that call nothing."""
    count = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        ask()
    finally:
        sys.settrace(before)
    return count


def steps(ask: Callable[[], object]) -> int:
    """Return how many calls that makes, those of C included, also when it raises. That is sooner counted than lines."""
    count = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return count
