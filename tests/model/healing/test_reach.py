"""Containers that run and have lost their chips: by their device rules, and by the processes that the driver lists."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, StartContainer, StopContainer
from cmgr.model.values.messages.health_facts import RulesRead
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Container, Heal
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.model.wanted import serves
from cmgr.view.containers import containers
from cmgr.view.troubles import troubles
from tests.model.builders import Cmgr, container, key
from tests.model.healing.ailing import NEVER

TOLD = (TroubleKind.REACH, TroubleKind.IDLE, TroubleKind.AILING, TroubleKind.GIVEN_UP)


class Chips(Cmgr):
    """A machine whose driver lists the processes of containers, and of no others."""

    def __init__(
        self,
        *containers: Container,
        there: Iterable[tuple[str, int]] = (),
        runtimes: tuple[str, ...] = ("docker",),
    ) -> None:
        self.there = {*there}
        super().__init__(*containers, policy=NEVER, runtimes=runtimes)

    def _report(self, chip: ChipId) -> ChipReport:
        on = tuple(Process(7, "python3", container=name) for name, number in sorted(self.there) if number == chip)
        return replace(super()._report(chip), processes=on)

    def look(self, minutes: float = 0) -> None:
        """Let so much time pass, and have the chips read."""
        self.wait(minutes * 60)
        self.tell(facts.Resync())
        self.run()

    def rules(self, *chips: int, name: str = "web", run: str = "") -> None:
        """Have it told which chips the container can open."""
        self.tell(RulesRead(key(name), run or self.booked(name).run, frozenset(map(ChipId, chips))))

    def told(self) -> list[Trouble]:
        return [trouble for trouble in troubles(self.node) if trouble.kind in TOLD]

    def kinds(self) -> list[TroubleKind]:
        return [trouble.kind for trouble in self.told()]


def web(*, heal: bool = False, health: str = "", chips: tuple[int, ...] = (0,)) -> Chips:
    there = [("web", chip) for chip in chips]
    cmgr = Chips(container("web", *chips, heal=Heal() if heal else None, health=health), there=there)
    cmgr.look()
    cmgr.log.clear()
    return cmgr


def test_one_that_can_open_its_chip_no_more_and_has_it_open_is_told_and_left_alone() -> None:
    cmgr = web(heal=True)
    cmgr.rules(0)
    assert (cmgr.kinds(), cmgr.log) == ([], [])
    cmgr.rules()
    cmgr.rules()
    (told,) = cmgr.told()
    assert (told.kind, told.chips, told.containers) == (TroubleKind.REACH, (ChipId(0),), ("web",))
    assert told.text == "container web can open chip 0 no more"
    assert [row["lost"] for row in containers(cmgr.node)] == [[0]]
    assert cmgr.notes(NoteKind.WARNING) == [
        "web can open chip 0 no more: the device rules of its control group do not let it any more"
    ]
    cmgr.look(60)
    assert (cmgr.sent(StopContainer), serves(cmgr.booked("web"))) == ([], True)


def test_one_whose_process_is_gone_from_a_chip_that_it_is_denied_has_lost_it_and_is_healed() -> None:
    cmgr = web(heal=True)
    cmgr.rules(0)
    cmgr.rules()
    cmgr.there.clear()
    cmgr.look()
    assert cmgr.kinds() == [TroubleKind.AILING]
    assert cmgr.told()[0].text == "container web cannot reach its chips any more"
    cmgr.wait(11)
    assert [c.reason for c in cmgr.sent(StopContainer)] == ["it cannot reach its chips any more: restart 1 of 5"]
    assert len(cmgr.sent(StartContainer)) == 1
    assert (cmgr.kinds(), serves(cmgr.booked("web"))) == ([], True), "another life has its rules anew"


def test_while_a_process_of_it_works_on_one_of_its_chips_it_is_left_alone() -> None:
    cmgr = web(heal=True, chips=(0, 1))
    cmgr.rules(0, 1)
    cmgr.there = {("web", 1)}
    cmgr.rules()
    cmgr.look(30)
    assert (cmgr.kinds(), cmgr.sent(StopContainer)) == ([TroubleKind.REACH], [])
    cmgr.there.clear()
    cmgr.look()
    assert cmgr.kinds() == [TroubleKind.AILING]


def test_without_the_wish_to_be_healed_it_is_told_as_one_that_does_not_serve() -> None:
    cmgr = web(health=HEALTHY)
    cmgr.rules(0)
    cmgr.there.clear()
    cmgr.rules()
    assert cmgr.kinds() == [TroubleKind.REACH], "nobody has looked since"
    cmgr.look()
    (told,) = cmgr.told()
    assert told.kind is TroubleKind.IDLE
    assert told.why.startswith("it cannot reach chip 0 any more: it can open")
    assert "cmgr.heal=true" in told.hint
    assert told.why in str(containers(cmgr.node))
    cmgr.look(60)
    assert cmgr.sent(StopContainer) == []


def test_rules_that_are_back_are_told_and_all_is_well_again() -> None:
    cmgr = web()
    cmgr.rules(0)
    cmgr.there.clear()
    cmgr.rules()
    cmgr.look()
    cmgr.rules(0)
    assert (cmgr.kinds(), cmgr.notes(NoteKind.RESULT)) == ([], ["web reaches chip 0 again"])
    assert [row["lost"] for row in containers(cmgr.node)] == [[]]


def test_what_its_rules_have_never_let_it_open_says_nothing() -> None:
    cmgr = web(chips=(0, 1))
    cmgr.there.clear()
    cmgr.rules(0)
    cmgr.rules(0, 5)
    cmgr.look(30)
    assert (cmgr.kinds(), cmgr.notes(NoteKind.WARNING)) == ([], [])


def test_news_of_another_life_say_nothing_of_this_one() -> None:
    cmgr = web()
    cmgr.rules(0)
    cmgr.rules(run="life 0")
    assert cmgr.kinds() == []
    cmgr.rules()
    cmgr.starts("web", "life 2")
    assert (cmgr.kinds(), cmgr.booked("web").kept.reached) == ([], frozenset())


@pytest.mark.parametrize("way", ["blind", "stranger"])
def test_where_nobody_can_say_whose_processes_are_there_nobody_says_that_it_has_lost_its_chip(way: str) -> None:
    cmgr = web(heal=True)
    cmgr.rules(0)
    cmgr.rules()
    if way == "blind":
        cmgr.blind = {0}
        cmgr.there.clear()
    else:
        cmgr.there = {("", 0)}
    cmgr.look(30)
    assert (cmgr.kinds(), cmgr.sent(StopContainer)) == ([TroubleKind.REACH], [])


def test_another_life_of_cmgr_knows_what_it_has_lost() -> None:
    cmgr = web(heal=True)
    cmgr.rules(0)
    cmgr.begin()
    cmgr.rules()
    cmgr.begin()
    assert cmgr.kinds() == [TroubleKind.REACH], "before anything is listed"
    cmgr.there.clear()
    cmgr.run()
    assert cmgr.kinds() == [TroubleKind.AILING]


def test_one_that_serves_on_without_a_process_on_the_chip_is_told_and_left_alone() -> None:
    cmgr = web(heal=True, health=HEALTHY)
    for _ in range(3):
        cmgr.look(5)
    cmgr.there.clear()
    cmgr.look(1)
    assert cmgr.kinds() == [], "a look may come between two processes of it"
    cmgr.look(1)
    (told,) = cmgr.told()
    assert (told.kind, told.text) == (TroubleKind.REACH, "container web has left chip 0")
    assert [row["lost"] for row in containers(cmgr.node)] == [[0]]
    assert "web has no process on chip 0 any more, where it had one for as long as it served" in cmgr.notes()
    cmgr.look(60)
    assert cmgr.sent(StopContainer) == [], "perhaps it has nothing to do"
    cmgr.there = {("web", 0)}
    cmgr.look()
    assert cmgr.kinds() == []
    for _ in range(9):
        cmgr.look(5)
    cmgr.there.clear()
    cmgr.look(5)
    cmgr.look(5)
    assert cmgr.kinds() == [], "it has come back by itself: it lets go of its chip as it likes"


def test_one_that_served_without_a_process_or_for_a_short_while_with_one_lets_go_as_it_likes() -> None:
    cmgr = web(health=HEALTHY)
    cmgr.there.clear()
    for _ in range(9):
        cmgr.look(5)
    assert cmgr.kinds() == []
    cmgr = Chips(container("web", 0, health=HEALTHY))
    cmgr.look()
    cmgr.there = {("web", 0)}
    for _ in range(9):
        cmgr.look(5)
    cmgr.there.clear()
    cmgr.look(5)
    cmgr.look(5)
    assert cmgr.kinds() == []


@pytest.mark.parametrize("health", ["", "starting", UNHEALTHY])
def test_of_one_that_does_not_say_that_it_serves_its_processes_say_nothing(health: str) -> None:
    cmgr = web(health=health)
    for _ in range(9):
        cmgr.look(5)
    cmgr.there.clear()
    cmgr.look(5)
    cmgr.look(5)
    assert TroubleKind.REACH not in cmgr.kinds()


def test_where_a_unit_runs_it_that_is_restarted_in_its_place() -> None:
    inside = container("web", 0, heal=Heal(), unit="web.service", auto_remove=True)
    unit = container("web.service", runtime="systemd")
    cmgr = Chips(unit, inside, there=[("web", 0)], runtimes=("docker", "systemd"))
    cmgr.look()
    cmgr.rules(0)
    cmgr.rules()
    cmgr.there.clear()
    cmgr.look()
    assert TroubleKind.AILING in cmgr.kinds()
    del cmgr.truth[key("web")]  # Its unit will take it along.
    cmgr.wait(11)
    assert [(c.name, c.reason) for c in cmgr.sent(StopContainer)] == [
        ("web.service", "it cannot reach its chips any more: restart 1 of 5")
    ]


def test_the_clock_between_two_lives_may_go_back() -> None:
    cmgr = web(health=HEALTHY)
    cmgr.now -= timedelta(hours=1)
    cmgr.begin()
    cmgr.run()
    since = cmgr.booked("web").kept.steady[ChipId(0)]
    assert since is not None
    assert since <= cmgr.now
