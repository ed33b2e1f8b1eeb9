"""Tickets and sessions: how long they last, how often they work, and for whom."""

import pytest

from cmgr.config.roles import Role
from cmgr.errors import NotIn, TooMany
from cmgr.service.door.sessions import IDLE_SECONDS, MOST, ORDERS, SESSION_SECONDS, TICKET_SECONDS, Sessions

ALICE, BOB = 1000, 1001


class World:
    """A clock, and who may use cmgr."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.operators, self.readers = {ALICE, BOB}, set[int]()
        self.sessions = Sessions(self.role_of, lambda: self.now)

    def role_of(self, uid: int) -> Role:
        return Role.OPERATE if uid in self.operators else Role.LOOK if uid in self.readers else Role.NONE

    def entered(self, uid: int = ALICE) -> str:
        return self.sessions.enter(self.sessions.ticket(uid, Role.OPERATE))[0]


@pytest.fixture
def world() -> World:
    return World()


def test_a_ticket_opens_a_session_of_its_person(world: World) -> None:
    secret = world.entered(BOB)
    assert world.sessions.seen(secret).uid == BOB
    assert world.sessions.ordering(secret).uid == BOB


def test_a_ticket_works_once(world: World) -> None:
    ticket = world.sessions.ticket(ALICE, Role.OPERATE)
    world.sessions.enter(ticket)
    with pytest.raises(NotIn, match="used already"):
        world.sessions.enter(ticket)


def test_an_old_ticket_opens_nothing(world: World) -> None:
    ticket = world.sessions.ticket(ALICE, Role.OPERATE)
    world.now += TICKET_SECONDS
    with pytest.raises(NotIn):
        world.sessions.enter(ticket)


def test_neither_a_ticket_nor_what_was_made_up_is_a_session(world: World) -> None:
    for text in (world.sessions.ticket(ALICE, Role.OPERATE), "none", "", "\ud800", "x" * 10_000):
        with pytest.raises(NotIn):
            world.sessions.ordering(text)


def test_secrets_are_long_and_none_is_given_twice(world: World) -> None:
    given = [world.entered() for _ in range(5)] + [world.sessions.ticket(ALICE, Role.OPERATE) for _ in range(5)]
    assert len(set(given)) == 10
    assert all(len(text) >= 43 for text in given), "32 bytes"


def test_wrong_tickets_keep_nobody_out_who_has_a_right_one(world: World) -> None:
    good = world.sessions.ticket(ALICE, Role.OPERATE)
    for _ in range(1000):
        with pytest.raises(NotIn):
            world.sessions.enter("wrong")
    assert world.sessions.enter(good)[1].uid == ALICE


def test_a_session_ends_after_twelve_hours_of_use(world: World) -> None:
    secret = world.entered()
    begun = world.now
    while world.now < begun + SESSION_SECONDS - IDLE_SECONDS / 2:
        world.sessions.seen(secret)
        world.now += IDLE_SECONDS / 2
    world.sessions.seen(secret)
    world.now = begun + SESSION_SECONDS
    with pytest.raises(NotIn, match="over"):
        world.sessions.seen(secret)


def test_a_session_that_nobody_uses_ends(world: World) -> None:
    secret = world.entered()
    world.now += IDLE_SECONDS
    with pytest.raises(NotIn):
        world.sessions.ordering(secret)


def test_whoever_left_the_group_orders_nothing_and_looks_no_more(world: World) -> None:
    secret, looking = world.entered(BOB), world.entered(BOB)
    world.operators.discard(BOB)
    with pytest.raises(NotIn, match="group cmgr"):
        world.sessions.seen(looking)
    with pytest.raises(NotIn, match="group cmgr"):
        world.sessions.ordering(secret)
    with pytest.raises(NotIn):
        world.sessions.seen(secret)


def test_whoever_left_the_group_does_not_get_in_with_an_earlier_ticket(world: World) -> None:
    ticket = world.sessions.ticket(BOB, Role.OPERATE)
    world.operators.discard(BOB)
    with pytest.raises(NotIn):
        world.sessions.enter(ticket)


def test_a_session_orders_so_often_within_a_minute(world: World) -> None:
    secret, other = world.entered(), world.entered(BOB)
    for _ in range(ORDERS):
        world.sessions.ordering(secret)
    with pytest.raises(TooMany):
        world.sessions.ordering(secret)
    world.sessions.ordering(other)
    world.now += 61
    world.sessions.ordering(secret)


def test_of_too_many_sessions_and_tickets_the_oldest_goes(world: World) -> None:
    secrets = [world.entered() for _ in range(MOST + 1)]
    with pytest.raises(NotIn):
        world.sessions.seen(secrets[0])
    world.sessions.seen(secrets[1])
    tickets = [world.sessions.ticket(ALICE, Role.OPERATE) for _ in range(MOST + 1)]
    world.sessions.enter(tickets[1])
    with pytest.raises(NotIn):
        world.sessions.enter(tickets[0])


def test_leaving_ends_a_session_and_end_all(world: World) -> None:
    one, two, ticket = world.entered(), world.entered(BOB), world.sessions.ticket(ALICE, Role.OPERATE)
    world.sessions.leave(one)
    with pytest.raises(NotIn):
        world.sessions.seen(one)
    assert world.sessions.end() == 1
    for text in (two, ticket):
        with pytest.raises(NotIn):
            world.sessions.seen(text)
    with pytest.raises(NotIn):
        world.sessions.enter(ticket)


def test_a_session_never_has_more_than_its_ticket_nor_than_its_person_has_now(world: World) -> None:
    reading = world.sessions.enter(world.sessions.ticket(ALICE, Role.LOOK))[0]
    assert world.sessions.ordering(reading).role is Role.LOOK, "she has become an operator since: a new ticket tells"
    secret = world.entered(BOB)
    assert world.sessions.seen(secret).role is Role.OPERATE
    world.operators.discard(BOB)
    world.readers.add(BOB)
    assert world.sessions.ordering(secret).role is Role.LOOK
    assert world.sessions.seen(secret).role is Role.LOOK
    assert world.sessions.enter(world.sessions.ticket(BOB, Role.OPERATE))[1].role is Role.LOOK
