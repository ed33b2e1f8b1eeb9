"""Whose a name in the fleet is: one machine's, in its newest life, however the others insist."""

import pytest

from tests.fleet.world import SLOW, Make, document, down, refused, written
from tests.support.daemons.etcd import Cluster

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


# Names.


def test_a_former_life_writes_nothing_any_more_and_does_not_fight(make: Make) -> None:
    former = make("a", machine="m").begin().up()
    later = make("a", machine="m").begin().up()
    refused(former, "register again|not registered")
    assert "a later life of this machine has this name" in down(former, "later life")
    assert "machine-id" in former.downs()[-1]
    written(later, 1, 0)
    assert later.ups() == 1


def test_a_former_life_that_slept_through_it_writes_nothing_either(make: Make) -> None:
    former = make("a", machine="m", pace=SLOW).begin().up()
    make("a", machine="m").begin().up()
    refused(former, "register again|not registered")


def test_another_machine_of_our_name_is_refused_until_a_person_decides(make: Make, etcd: Cluster) -> None:
    first = make("a", machine="one", at="/names").begin().up()
    second = make("a", machine="two", at="/names").begin()
    why = down(second, "another machine has this name")
    assert "etcdctl del /names/appliances/a" in why
    assert "fleet.name" in why
    refused(second, "not registered")
    written(first, 1, 0)
    first.fleet.close()
    etcd.ctl("del", "/names/appliances/a")
    second.up()
    second.sees("tp4", document(1))


def test_a_name_that_was_taken_away_while_we_live_is_taken_again_when_free(make: Make, etcd: Cluster) -> None:
    one = make("a", at="/taken").begin().up()
    etcd.ctl("del", "/taken/appliances/a")
    one.up(2)
    written(one, 1, 0)


def test_an_entry_that_cannot_be_read_is_not_written_over(make: Make, etcd: Cluster) -> None:
    etcd.ctl("put", "/odd-names/appliances/a", "who is this?")
    one = make("a", at="/odd-names").begin()
    assert "etcdctl del /odd-names/appliances/a" in down(one, "cannot read who has this name")
    etcd.ctl("del", "/odd-names/appliances/a")
    one.up()
