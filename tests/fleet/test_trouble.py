"""A fleet whose engine, lines or rights are in trouble: that is said, and it goes on after."""

from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from cmgr.errors import FleetError
from cmgr.fleet.gateway import Access
from cmgr.model.values.messages.documents import Document, Outcome
from tests.fleet.world import QUICK, SLOW, Make, appliances, document, down, reborn, refused, written
from tests.support.daemons.etcd import Cluster, Options
from tests.support.relay import Relay, Way
from tests.support.waiting import PATIENCE, eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


# The engine.


def test_an_engine_that_goes_and_comes_is_told_once_each(own: Cluster) -> None:
    with appliances(own.endpoints) as make:
        one = make().begin().up()
        revision = written(one, 1, 0)
        own.nodes[0].kill()
        down(one, "Connection refused")
        refused(one, "Connection refused|not registered")
        own.start()
        one.up(2)
        assert written(one, 2, revision) > revision
        assert len(one.downs()) == 1


def test_an_engine_that_is_not_there_at_first_is_found_later(own: Cluster) -> None:
    own.nodes[0].kill()
    with appliances(own.endpoints) as make:
        one = make().begin()
        down(one, "Connection refused")
        own.start()
        one.up()
        written(one, 1, 0)


def test_an_engine_that_forgot_everything_is_known_by_another_word(own: Cluster) -> None:
    with appliances(own.endpoints) as make:
        a, b = make("a").begin().up(), make("b").begin().up()
        written(a, 7, 0)
        for one in (a, b):
            one.sees("tp4", document(7))
        before = a.born()
        own.wipe()
        for one in (a, b):
            eventually(partial(reborn, one, before))
            one.sees("tp4", None)
        assert a.born() == b.born()
        # All that a knew of the engine that is gone counts no more, though revisions begin anew.
        written(a, 7, 0)
        b.sees("tp4", document(7))


def test_an_engine_that_was_restored_from_before_is_written_to_again(own: Cluster) -> None:
    with appliances(own.endpoints) as make:
        a, b = make("a").begin().up(), make("b").begin().up()
        first = written(a, 1, 0)
        old = own.snapshot()
        later = make("a").begin().up()  # Another life, of which the snapshot knows nothing.
        revision = written(later, 2, first)
        b.sees("tp4", document(2))
        ups = later.ups(), b.ups()
        own.restore(old)
        eventually(lambda: later.ups() > ups[0] and b.ups() > ups[1])
        assert b.sees("tp4", document(1)).revision == first
        with pytest.raises(FleetError):
            a.fleet.write("tp4", document(9), first)  # The former life is in the snapshot; ours has come after it.
        assert later.fleet.write("tp4", document(3), revision).outcome is Outcome.STALE
        written(later, 3, later.fleet.read("tp4").revision)
        b.sees("tp4", document(3))


def test_an_engine_restored_from_before_us_takes_us_in_again(own: Cluster) -> None:
    old = own.snapshot()
    with appliances(own.endpoints) as make:
        one = make().begin().up()
        written(one, 1, 0)
        one.sees("tp4", document(1))  # A watch that breaks sooner never tells it, nor that it is gone.
        own.restore(old)
        one.up(2)
        one.sees("tp4", None)
        written(one, 2, 0)


def test_what_was_read_of_an_engine_before_it_was_restored_hides_nothing_of_it(own: Cluster, other: Cluster) -> None:
    relay = Relay(own.nodes[0].client)
    with closing(relay), appliances((relay.endpoint,)) as make:
        one = make(pace=replace(QUICK, answer=PATIENCE)).begin().up()
        first = written(one, 1, 0)
        one.sees("tp4", document(1))
        other.restore(own.snapshot())
        assert one.fleet.write("tp4", Document(2), first).outcome is Outcome.DONE
        one.sees("tp4", None)
        for number in range(4):
            own.ctl("put", "/stranger", f"{number}")  # Later revisions than any of the other's.
        with relay.caught(b"POST /v3/kv/range"):  # Of the reading of everything: there is no tp4.
            relay.target = other.nodes[0].client
            own.nodes[0].kill()
            one.up(2).sees("tp4", document(1))
        written(one, 2, first)
        one.sees("tp4", document(2))


def test_the_birth_that_a_stranger_took_away_is_made_anew_by_one(make: Make, etcd: Cluster) -> None:
    ones = [make(name, at="/reborn").begin().up() for name in "abc"]
    before = ones[0].born()
    etcd.ctl("del", "/reborn/born")
    for one in ones:
        eventually(partial(reborn, one, before))
    assert len({one.born() for one in ones}) == 1
    written(ones[0], 1, 0)


def test_a_full_engine_says_so_is_read_on_and_takes_writes_when_there_is_room() -> None:
    cluster = Cluster(1, Options(quota=2 * 2**20))
    try:
        cluster.start()
        with appliances(cluster.endpoints) as make:
            one = make().begin().up()
            revision = written(one, 1, 0)
            value = "x" * 90_000
            while cluster.ctl("put", "/stranger", value, check=False).returncode == 0:
                pass
            # Found by looking: nothing is to be written.
            eventually(lambda: "space exceeded" in one.fleet.refusal()[0], "it is known that the engine is full")
            with pytest.raises(FleetError, match="space exceeded") as caught:
                one.fleet.write("tp4", document(2), revision)
            assert one.fleet.refusal() == (caught.value.message, caught.value.hint)
            assert "alarm disarm" in caught.value.hint
            assert one.fleet.read("tp4").document == document(1)
            assert one.downs() == []
            cluster.ctl("compact", str(one.fleet.read("tp4").revision + 1))
            cluster.ctl("del", "/stranger")
            current = cluster.ctl("get", "x", "--write-out=json").stdout
            assert "revision" in current
            cluster.ctl("compact", current.partition('"revision":')[2].split(",")[0])
            cluster.ctl("defrag")
            cluster.ctl("alarm", "disarm")
            eventually(lambda: one.fleet.refusal() == ("", ""), "it is known that there is room")
            written(one, 2, revision)
    finally:
        cluster.close()


# Lines.


def test_a_change_that_a_broken_watch_missed_and_that_is_compacted_is_seen_all_the_same(
    make: Make, relay: Relay, etcd: Cluster
) -> None:
    a = make("a").begin().up()
    b = make("b", access=Access((relay.endpoint,)), pace=SLOW).begin().up()
    revision = written(a, 1, 0)
    b.sees("tp4", document(1))
    relay.cut()
    down(b, "cannot")
    for round_ in range(2, 6):
        revision = written(a, round_, revision)
    etcd.ctl("compact", str(revision))
    relay.heal()
    b.sees("tp4", document(5))


def test_a_watch_that_is_deaf_alone_is_noticed(make: Make, relay: Relay) -> None:
    a = make("a").begin().up()
    b = make("b", access=Access((relay.endpoint,))).begin().up()
    relay.deafen(b"POST /v3/watch")
    for round_ in range(1, 4):
        written(a, round_, a.fleet.read("tp4").revision)
    b.sees("tp4", document(3))
    b.up(2)
    assert b.downs() == []


@pytest.mark.parametrize("way", [Way.HOLD, Way.DROP, Way.CUT])
@pytest.mark.parametrize("there", [True, False], ids=["requests", "answers"])
def test_whatever_becomes_of_what_goes_one_way_it_is_noticed_and_over_when_it_ends(
    make: Make, relay: Relay, way: Way, there: bool
) -> None:
    a = make("a").begin().up()
    b = make("b", access=Access((relay.endpoint,))).begin().up()
    if there:
        relay.there = way
    else:
        relay.back = way
    down(b, "cannot")
    written(a, 1, 0)
    relay.heal()
    relay.cut(away=False)
    b.sees("tp4", document(1))
    written(b, 2, b.fleet.read("tp4").revision)
    a.sees("tp4", document(2))


def test_a_write_whose_answer_is_lost_is_open_and_the_next_reading_says(make: Make, relay: Relay) -> None:
    a = make("a").begin().up()
    b = make("b", access=Access((relay.endpoint,)), pace=SLOW).begin().up()
    relay.back = Way.CUT
    assert b.fleet.write("tp4", document(4), 0).outcome is Outcome.UNKNOWN
    relay.heal()
    assert b.fleet.read("tp4") == a.sees("tp4", document(4))
    b.up(2)
    assert b.fleet.write("tp4", document(4), 0).outcome is Outcome.DONE


def test_lines_that_are_slow_delay_and_change_nothing(make: Make, relay: Relay) -> None:
    relay.delay = 0.05
    a = make("a").begin().up()
    b = make("b", access=Access((relay.endpoint,))).begin().up()
    revision = 0
    for round_ in range(1, 5):
        revision = written((a, b)[round_ % 2], round_, revision)
    assert a.sees("tp4", document(4)) == b.sees("tp4", document(4))


# Nodes of the engine.


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_the_leader_goes_and_every_appliance_sees_the_next_write(etcds: Cluster, how: str) -> None:
    with appliances(etcds.endpoints) as make:
        a, b = make("a").begin().up(), make("b").begin().up()
        revision = written(a, 1, 0)
        leader = etcds.leader()
        if how == "killed":
            leader.kill()
        else:
            leader.freeze()
        written(a, 2, revision)
        b.sees("tp4", document(2))
        leader.thaw()


def test_without_a_quorum_nothing_is_written_and_with_it_everything_goes_on(etcds: Cluster) -> None:
    with appliances(etcds.endpoints) as make:
        a, b = make("a").begin().up(), make("b").begin().up()
        revision = written(a, 1, 0)
        for node in etcds.nodes[1:]:
            node.freeze()
        down(a, "cannot")
        down(b, "cannot")
        assert a.fleet.write("tp4", document(99), 0).outcome is Outcome.UNKNOWN
        for node in etcds.nodes[1:]:
            node.thaw()
        a.up(2)
        b.up(2)
        written(b, 2, revision)
        a.sees("tp4", document(2))


def test_an_appliance_with_one_node_to_ask_of_three_is_away_with_it_alone(etcds: Cluster) -> None:
    with appliances(etcds.endpoints) as make:
        a, b = make("a").begin().up(), make("b", access=Access(etcds.endpoints[:1])).begin().up()
        etcds.nodes[0].kill()
        down(b, "Connection refused")
        written(a, 1, 0)
        etcds.start()
        b.sees("tp4", document(1))
