"""Whose request is next: nobody waits behind all that another has asked, and root behind nobody."""

import math

from cmgr.service.door.http.turns import ROOT, Turns

ANN, BOB, EVE = 1000, 1001, 1002


def turns(*asked: int, threads: int = 4, kept: int = 1, head_start: float = 0.0) -> Turns[int]:
    """Return what waits, by whose it is; the item is the user, too."""
    made = Turns[int](threads, kept, head_start)
    for whose in asked:
        made.put(whose, whose)
    return made


def taken(from_: Turns[int], count: int) -> list[int | None]:
    return [from_.take() for _ in range(count)]


def test_one_of_each_is_begun_before_a_second_of_anybody() -> None:
    assert taken(turns(EVE, EVE, EVE, ANN, BOB, threads=8), 5) == [EVE, ANN, BOB, EVE, EVE]


def test_who_has_less_under_way_comes_first_whatever_he_has_asked_before() -> None:
    waiting = turns(EVE, EVE, threads=8)
    assert taken(waiting, 2) == [EVE, EVE]
    for whose in (EVE, ANN, ANN):
        waiting.put(whose, whose)
    assert taken(waiting, 2) == [ANN, ANN]
    waiting.done(EVE)
    waiting.done(EVE)
    assert waiting.take() == EVE


def test_one_user_s_long_questions_leave_threads_to_others_and_all_together_one_to_root() -> None:
    waiting = turns(EVE, EVE, EVE, EVE, ANN, BOB)
    assert taken(waiting, 3) == [EVE, ANN, BOB]
    waiting.put(ROOT, ROOT)
    assert waiting.take() == ROOT, "and not Eve, though she came first"
    waiting.done(ANN)
    assert waiting.take() == EVE
    waiting.done(BOB)
    waiting.put(ANN, ANN)
    assert waiting.take() == ANN, "Eve has half of the threads already"


def test_while_root_is_being_answered_nobody_else_s_is_begun() -> None:
    waiting = turns(EVE, ROOT, EVE, ANN, ROOT, head_start=math.inf)
    assert taken(waiting, 3) == [EVE, ROOT, ROOT], "and not Ann, of whom none is being answered"
    waiting.done(ROOT)
    waiting.put(ROOT, ROOT)
    assert waiting.take() == ROOT, "one of root's is being answered still"
    waiting.done(ROOT)
    waiting.done(ROOT)
    assert taken(waiting, 2) == [ANN, EVE]


def test_what_root_waits_long_for_keeps_nobody_waiting() -> None:
    waiting = turns(ROOT, EVE, ANN, head_start=0.01)
    assert taken(waiting, 3) == [ROOT, EVE, ANN], "though nothing of root's is done, and nobody says anything"
    waiting.put(ROOT, ROOT)
    assert waiting.take() == ROOT
    waiting.put(BOB, BOB)
    assert waiting.take() == BOB, "nor do those of root's that come while it waits"


def test_where_nobody_is_root_no_thread_is_kept() -> None:
    assert taken(turns(ANN, EVE, threads=2, kept=0), 2) == [ANN, EVE]


def test_what_waits_is_given_out_before_the_end() -> None:
    waiting = turns(ANN, EVE)
    waiting.close()
    assert taken(waiting, 3) == [ANN, EVE, None]
