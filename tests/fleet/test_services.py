"""Three services and three nodes of etcd, all of them real processes: they are killed, cut off and made to forget.

The containers are pretended, so that each service knows how often it has started and stopped them.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cmgr.model.values.messages.commands import NoteKind
from cmgr.service.door.client import get
from tests.fleet.services import MEMBERS, TP, Appliance, services
from tests.support.daemons.etcd import Cluster
from tests.support.relay import Relay
from tests.support.service import NOW
from tests.support.waiting import eventually

pytestmark = pytest.mark.etcd


@pytest.fixture
def relays(etcds: Cluster) -> Iterator[dict[str, Relay]]:
    """A way of its own to the engine for each appliance, by its name."""
    made = {name: Relay(node.client) for name, node in zip("abc", etcds.nodes, strict=True)}
    yield made
    for relay in made.values():
        relay.close()


@pytest.fixture
def three(etcds: Cluster, relays: dict[str, Relay], tmp_path: Path) -> Iterator[list[Appliance]]:
    with services(tmp_path, "abc", lambda name: (relays[name].endpoint,), Appliance) as found:
        yield found


def all_run(appliances: list[Appliance], round_: int) -> None:
    for each in appliances:
        eventually(lambda each=each: each.is_whole(round_), f"all of {each.name} runs after round {round_}")  # type: ignore[misc]


def told(each: Appliance, *kinds: NoteKind) -> list[str]:
    return [note.text for note in each.notes() if note.kind in kinds]


def test_a_fault_on_one_stops_and_starts_all_and_the_command_says_who_is_where(three: list[Appliance]) -> None:
    a, b, c = three
    assert "6 of 6" not in a.cmgr("group", TP).err
    a.inject(0, NOW)
    all_run(three, 1)
    for each in (b, c):
        assert [t for t in told(each, NoteKind.ACTION) if t.startswith("start")] == ["start r0", "start r1"]
        assert not [t for t in told(each, NoteKind.ACTION) if t.startswith("reset")]
    shown = a.cmgr("group", TP)
    assert "on all appliances: running, round 1" in shown.out
    assert [line.split()[:2] for line in shown.out.splitlines() if line.startswith(("a ", "b ", "c "))] == [
        ["a", "running"], ["b", "running"], ["c", "running"],
    ]  # fmt: skip
    assert a.cmgr("status").code == 0
    assert "start x" not in told(b, NoteKind.ACTION)


def test_while_one_is_away_from_the_engine_the_round_waits_and_its_person_may_go_on_alone(
    three: list[Appliance], relays: dict[str, Relay]
) -> None:
    a, b, c = three
    relays["a"].cut()
    eventually(lambda: "engine is away" in " ".join(told(a, NoteKind.WARNING)), "a knows that the engine is away")
    a.inject(0, NOW)
    eventually(lambda: a.ring()["phase"] == "healthy" and not a.members(), "the ring of a was reset")
    assert (b.members(), c.members()) == (list(MEMBERS), list(MEMBERS))
    shown = a.cmgr("group", TP).out
    assert f"cmgr group resume {TP} --alone" in shown
    assert a.cmgr("group", "resume", TP, "--alone").code == 0
    eventually(lambda: a.members() == list(MEMBERS), "the members of a run")
    relays["a"].heal()
    a.cmgr("group", "restart", TP, "--reason", "together again")
    all_run(three, 1)
    assert f"group {TP}: appliance a is ready" in told(b, NoteKind.HOLD)


def test_the_others_go_on_without_one_that_is_gone(three: list[Appliance]) -> None:
    a, b, c = three
    c.kill9()
    a.inject(0, NOW)
    eventually(lambda: "--without c" in str(a.group()["hint"]), "what to type is said")
    refused = a.cmgr("group", "resume", TP, "--without", "d")
    assert (refused.code, "'d' is none of its other appliances" in refused.err) == (1, True)
    assert a.cmgr("group", "resume", TP, "--without", "c").code == 0
    all_run([a, b], 1)
    c.start()
    eventually(lambda: "left out" in str(c.group()["reason"]), "c finds itself out")
    assert c.cmgr("group", "restart", TP).code == 0
    all_run(three, 2)


def test_each_shows_the_whole_fleet_and_says_what_is_wrong_where(three: list[Appliance], etcds: Cluster) -> None:
    a, b, c = three
    well = "all is well: 3 appliances, and the engine answers"
    eventually(lambda: a.cmgr("fleet", "status").out.startswith(well), "a sees all of them well")
    assert a.cmgr("isolate", "9", "--reason", "it is loud").code == 0
    eventually(lambda: "cmgr release 9" in str(seen(c, "a")["wrong"]), "c is told what to type on a")
    b.kill9()
    eventually(lambda: seen(a, "b")["state"] == "away", "b is not seen any more")
    shown: Any = get(a.socket, "fleet?nodes=true")
    assert [(node["why"], node["full"]) for node in shown["engine"]["nodes"]] == [("", False)]
    assert shown["engine"]["heard"] >= shown["engine"]["since"]
    for node in etcds.nodes:
        node.kill()
    eventually(lambda: seen(a, "c")["state"] == "unknown", "nobody tells a of c any more")
    checked = c.cmgr("status", "--check")
    assert (checked.code, "the fleet's engine does not answer" in checked.out) == (4, True)
    status: Any = get(c.socket, "status")
    assert status["service"]["state"] == "degraded"


def seen(by: Appliance, name: str) -> Any:
    """Return what one of them is shown of another."""
    told: Any = get(by.socket, "fleet")
    return next(each for each in told["appliances"] if each["name"] == name)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_killed_in_a_round_all_run_again(three: list[Appliance], etcds: Cluster, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a test's dice, not a secret
    for number in range(1, 4):
        three[dice.randrange(3)].inject(0, NOW)
        victim = three[dice.randrange(3)]
        wanted = dice.randrange(8)
        before = len(victim.notes())
        eventually(lambda: len(victim.notes()) >= before + wanted or victim.is_whole(number), "it is in the round")  # noqa: B023
        victim.kill9()
        node = dice.choice(etcds.nodes)
        node.kill()
        victim.start()
        etcds.start()
        all_run(three, number)


def test_an_engine_that_forgets_everything_is_written_again_and_nobody_is_stopped(
    three: list[Appliance], etcds: Cluster
) -> None:
    three[0].inject(0, NOW)
    all_run(three, 1)
    before = [told(each, NoteKind.ACTION) for each in three]
    etcds.wipe()
    all_run(three, 1)
    assert [told(each, NoteKind.ACTION) for each in three] == before
    three[1].inject(4, NOW)
    all_run(three, 2)


def test_without_a_quorum_everybody_stops_and_all_start_when_it_is_back(three: list[Appliance], etcds: Cluster) -> None:
    a, b, c = three
    for node in etcds.nodes[1:]:
        node.kill()
    a.inject(0, NOW)
    eventually(lambda: not a.members(), "the first stop waits for nobody")
    assert (b.members(), c.members()) == (list(MEMBERS), list(MEMBERS))
    etcds.start()
    all_run(three, 1)
