"""The promises of the port `Fleet`, kept by etcd: documents, revisions, and who may write."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cmgr.errors import FleetError
from cmgr.model.values.messages.documents import NOTHING, Document, Outcome, Written
from cmgr.model.values.messages.fleet_facts import FleetUp, GroupSeen
from tests.fleet.world import Make, document, show
from tests.support.daemons.etcd import Cluster
from tests.support.waiting import eventually

pytestmark = pytest.mark.etcd


def test_a_document_that_was_written_is_read_and_told_to_all(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    written = a.fleet.write("tp4", document(3), 0)
    assert written.outcome is Outcome.DONE
    assert b.fleet.read("tp4") == b.sees("tp4", document(3))
    assert a.sees("tp4", document(3)).revision == written.revision


def test_a_group_without_a_document_is_read_as_nothing(make: Make) -> None:
    assert make().begin().up().fleet.read("tp4") == NOTHING


def test_only_the_one_who_has_seen_the_newest_writes(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    first = a.fleet.write("tp4", document(1), 0)
    second = b.fleet.write("tp4", document(2), first.revision)
    assert second.outcome is Outcome.DONE
    assert a.fleet.write("tp4", document(3), first.revision) == Written(Outcome.STALE)
    assert a.fleet.write("tp4", document(3), 0) == Written(Outcome.STALE)
    assert a.fleet.read("tp4").document == document(2)


def test_a_write_that_is_repeated_is_done_once_and_says_so(make: Make) -> None:
    a = make().begin().up()
    first = a.fleet.write("tp4", document(1), 0)
    assert a.fleet.write("tp4", document(1), 0) == first


def test_of_many_who_write_at_once_one_wins_each_round(make: Make) -> None:
    ones = [make(name).begin().up() for name in "abcd"]
    with ThreadPoolExecutor(len(ones)) as pool:
        for round_ in range(1, 6):
            revision = ones[0].fleet.read("tp4").revision
            sent = [
                pool.submit(one.fleet.write, "tp4", document(round_, a=f"by {one.fleet.name}"), revision)
                for one in ones
            ]
            outcomes = [each.result() for each in sent]
            assert sorted(w.outcome.value for w in outcomes) == ["done", "stale", "stale", "stale"]
            done = next(w for w in outcomes if w.outcome is Outcome.DONE)
            assert ones[0].fleet.read("tp4").revision == done.revision


def test_a_document_without_members_is_deleted(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    first = a.fleet.write("tp4", document(1), 0)
    b.sees("tp4", document(1))
    assert a.fleet.write("tp4", Document(2), first.revision).outcome is Outcome.DONE
    assert a.fleet.read("tp4") == NOTHING
    b.sees("tp4", None)


def test_nobody_writes_before_it_is_registered(make: Make) -> None:
    with pytest.raises(FleetError, match="not registered"):
        make().fleet.write("tp4", document(), 0)


def test_what_was_there_before_is_told_right_after_the_engine_is_up(make: Make) -> None:
    make("a").begin().up().fleet.write("tp4", document(), 0)
    b = make("b").begin()
    b.sees("tp4", document())
    assert isinstance(b.told[0], FleetUp)
    assert isinstance(b.told[1], GroupSeen)


def test_all_appliances_know_the_engine_by_the_same_word(make: Make) -> None:
    assert make("a").begin().up().born() == make("b").begin().up().born()


def test_of_one_document_the_changes_are_told_in_their_order(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    revision = 0
    for round_ in range(1, 30):
        revision = a.fleet.write("tp4", document(round_), revision).revision
    b.sees("tp4", document(29))
    revisions = [seen.revision for seen in b.seen("tp4")]
    assert revisions == sorted(revisions)


def test_everything_is_told_anew_now_and_then(make: Make) -> None:
    a = make().begin().up()
    a.fleet.write("tp4", document(), 0)
    eventually(lambda: len(a.seen("tp4")) > 3)
    assert {seen.revision for seen in a.seen("tp4")} == {a.fleet.read("tp4").revision}


def test_a_text_that_is_no_document_is_told_as_one_that_cannot_be_read(make: Make, etcd: Cluster) -> None:
    a = make(at="/odd").begin().up()
    etcd.ctl("put", "/odd/groups/tp4", '{"v": 1')
    etcd.ctl("put", "/odd/groups/../x", "none of ours")
    etcd.ctl("put", "/odd/groups/UPPER and space", "none of ours")
    eventually(lambda: a.seen("tp4"))
    seen = a.fleet.read("tp4")
    assert seen.document is None
    assert "it is no JSON" in seen.error
    assert a.fleet.write("tp4", document(), seen.revision).outcome is Outcome.DONE
    assert {fact.group for fact in a.told if isinstance(fact, GroupSeen)} == {"tp4"}


def test_one_fleet_sees_nothing_of_another(make: Make) -> None:
    a, b = make("a", at="/hall-1").begin().up(), make("a", at="/hall-10").begin().up()
    a.fleet.write("tp4", document(1), 0)
    a.sees("tp4", document(1))
    assert b.fleet.read("tp4") == NOTHING
    assert b.seen("tp4") == []


def test_closing_is_safe_to_repeat_and_nothing_is_told_after(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    a.fleet.close()
    a.fleet.close()
    count = len(a.told)
    b.fleet.write("tp4", document(), 0)
    b.sees("tp4", document())
    assert len(a.told) == count


def test_one_that_was_never_begun_is_closed(make: Make) -> None:
    make().fleet.close()


def test_an_appliance_that_shows_itself_is_seen_by_the_others(make: Make) -> None:
    a, b = make("a").begin().up(), make("b").begin().up()
    show(a)
    show(b)

    def seen() -> bool:
        return [each.presence is not None for each in b.fleet.appliances()] == [True, True]

    eventually(seen)
    assert [(each.name, each.here, each.life) for each in b.fleet.appliances()] == [("a", False, 1), ("b", True, 1)]
