"""Containers that do nothing any more though nothing is told of their chips."""

from datetime import timedelta

from cmgr.model.values.messages import health_facts
from cmgr.model.values.messages.commands import NoteKind, StartContainer, StopContainer
from cmgr.model.values.services.containers import HEALTHY, Heal
from cmgr.model.values.services.healing import Hang
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import Cmgr, container, key
from tests.model.healing.ailing import NEVER

TEN = timedelta(minutes=10)
WORDS = "nothing has changed for 10 min: processor 0 %"


def running(*, heal: Heal | None = None, health: str = "") -> Cmgr:
    return Cmgr(container("web", 0, hang=TEN, heal=heal, health=health), policy=NEVER)


def hangs(cmgr: Cmgr, *names: str) -> None:
    found = (Hang(key(name), cmgr.booked(name).run, cmgr.now - TEN, WORDS) for name in names)
    cmgr.tell(health_facts.HangsSeen(tuple(found)))


def told(cmgr: Cmgr) -> list[TroubleKind]:
    return [t.kind for t in troubles(cmgr.node) if t.kind in (TroubleKind.HANGING, TroubleKind.AILING)]


def test_one_that_hangs_is_told_once_and_left_alone() -> None:
    cmgr = running()
    hangs(cmgr, "web")
    hangs(cmgr, "web")
    assert cmgr.notes(NoteKind.WARNING) == [f"web hangs: {WORDS}"]
    assert told(cmgr) == [TroubleKind.HANGING]
    cmgr.wait(600)
    assert not cmgr.sent(StopContainer)
    hangs(cmgr)
    assert told(cmgr) == []


def test_one_that_hangs_and_wishes_to_be_healed_is_restarted() -> None:
    cmgr = running(heal=Heal())
    hangs(cmgr, "web")
    assert told(cmgr) == [TroubleKind.AILING]
    cmgr.wait(9)
    assert not cmgr.sent(StopContainer)
    cmgr.wait(2)
    assert [c.reason for c in cmgr.sent(StopContainer)] == ["it hangs: restart 1 of 5"]
    assert len(cmgr.sent(StartContainer)) == 1
    assert cmgr.booked("web").running
    assert told(cmgr) == [], "another life does not hang"


def test_one_that_goes_on_during_the_wait_is_left_alone() -> None:
    cmgr = running(heal=Heal())
    hangs(cmgr, "web")
    cmgr.wait(5)
    hangs(cmgr)
    cmgr.wait(60)
    assert not cmgr.sent(StopContainer)
    assert told(cmgr) == []


def test_one_whose_own_check_says_that_it_is_well_does_not_hang() -> None:
    cmgr = running(heal=Heal(), health=HEALTHY)
    hangs(cmgr, "web")
    cmgr.wait(60)
    assert (told(cmgr), cmgr.notes(NoteKind.WARNING), cmgr.sent(StopContainer)) == ([], [], [])


def test_where_a_unit_runs_it_that_is_restarted_in_its_place() -> None:
    inside = container("web", 0, hang=TEN, heal=Heal(), unit="web.service", auto_remove=True)
    unit = container("web.service", runtime="systemd")
    cmgr = Cmgr(unit, inside, policy=NEVER, runtimes=("docker", "systemd"))
    hangs(cmgr, "web")
    assert told(cmgr) == [TroubleKind.AILING], "one row tells of it"
    cmgr.wait(9)
    assert not cmgr.sent(StopContainer)
    del cmgr.truth[key("web")]  # Its unit will take it along.
    cmgr.wait(2)
    assert [(c.name, c.reason) for c in cmgr.sent(StopContainer)] == [("web.service", "it hangs: restart 1 of 5")]
    assert [c.name for c in cmgr.sent(StartContainer)] == ["web.service"]
    assert (cmgr.held(), told(cmgr)) == ([], [])


def test_where_a_unit_runs_it_and_nobody_wishes_it_healed_it_is_told_once() -> None:
    inside = container("web", 0, hang=TEN, unit="web.service")
    cmgr = Cmgr(container("web.service", runtime="systemd"), inside, policy=NEVER, runtimes=("docker", "systemd"))
    hangs(cmgr, "web")
    cmgr.wait(60)
    assert (told(cmgr), cmgr.sent(StopContainer)) == ([TroubleKind.HANGING], [])


def test_news_of_an_earlier_life_say_nothing_of_this_one() -> None:
    cmgr = running(heal=Heal())
    cmgr.tell(health_facts.HangsSeen((Hang(key("web"), "life 0", cmgr.now - TEN, WORDS),)))
    cmgr.wait(60)
    assert (told(cmgr), cmgr.sent(StopContainer)) == ([], [])
