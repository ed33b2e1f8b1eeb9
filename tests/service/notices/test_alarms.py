"""Alarms, found in what the model decides: the machine of the model's own tests, and no thread."""

from dataclasses import replace
from datetime import timedelta

from cmgr.config.around import Alarms as Settings
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy, RetryPolicy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, StartContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import OF_A_SERVICE_DOWN, Trouble, TroubleKind
from cmgr.service.notices.alarms import Alarm, Alarms
from cmgr.service.notices.objects import alerts, event
from cmgr.view.troubles import once, troubles
from tests.model.builders import RESET, RING, SEPARATE, SINGLE, Cmgr, container, key
from tests.model.faults.test_pre_isolation import LINK, SHIPPED
from tests.model.healing.ailing import ailing
from tests.model.healing.test_heal_limits import unhealthy_for_ever

LONG = timedelta(seconds=30)


class Watched:
    """A cmgr of the model, whose alarms are heard after everything that happens."""

    def __init__(self, cmgr: Cmgr, deaf_after: timedelta = LONG, down_after: timedelta = timedelta(days=1)) -> None:
        self.cmgr = cmgr
        self.told: list[Alarm] = []
        self.alarms = Alarms(Settings(deaf_after=deaf_after, down_after=down_after), self.told.append)
        self.own: tuple[Trouble, ...] = ()
        self._heard = 0
        self.look()

    def look(self) -> list[Alarm]:
        """Let alarms see what has happened since, and return what they tell of it."""
        before = len(self.told)
        for command in self.cmgr.log[self._heard :]:
            if isinstance(command, Note):
                self.alarms.note(command)
        self._heard = len(self.cmgr.log)
        self.alarms.look(self.cmgr.node, self.own, self.cmgr.now)
        return self.told[before:]

    def events(self) -> list[tuple[str, bool]]:
        return [(alarm.event, alarm.over) for alarm in self.told]


def test_a_recovery_is_told_from_its_beginning_to_its_end() -> None:
    watched = Watched(Cmgr(container("a", 0), container("b", 2)))
    watched.cmgr.fault(1)
    (detected,) = watched.look()
    assert (detected.event, detected.id, detected.ring, detected.chips) == ("detected", "episode-1", 0, (0, 1, 2, 3))
    assert detected.summary == f"chips 0-3: {RESET} (RestartNPU) on chip 1"
    assert (detected.codes, detected.containers, detected.again) == ((RESET,), ("a", "b"), False)
    watched.cmgr.run_until(Phase.VERIFYING)
    stopped, reset = watched.look()
    assert (stopped.event, stopped.summary) == ("stopped", "draining → waiting: every stop was answered")
    assert (reset.event, reset.summary) == ("reset", "resetting → verifying: the driver took the reset")
    watched.cmgr.wait(1)
    (recovered,) = watched.look()
    assert (recovered.event, recovered.over, recovered.outcome) == ("recovered", True, "recovered")
    assert recovered.summary.startswith("episode 1 is over: recovered after")
    assert (recovered.codes, recovered.containers) == ((RESET,), ("a", "b")), "what it was about is still told"
    assert {alarm.id for alarm in watched.told} == {"episode-1"}
    assert watched.look() == []


def test_all_of_it_at_once_is_told_in_order() -> None:
    watched = Watched(Cmgr(container("a", 0)))
    watched.cmgr.fault(1)
    watched.look()
    watched.cmgr.wait(5)
    watched.look()
    assert watched.events() == [("detected", False), ("stopped", False), ("reset", False), ("recovered", True)]


def test_links_that_die_one_after_the_other_are_told_of_together() -> None:
    watched = Watched(Cmgr(catalog=SHIPPED))
    watched.cmgr.fault(0, LINK)
    watched.cmgr.wait(3)
    for chip in range(1, 8):
        watched.cmgr.fault(chip, LINK)
    watched.cmgr.wait(18)
    assert watched.look() == [], "the first is known, and the others are on their way"
    watched.cmgr.wait(5)
    (told,) = watched.look()
    assert told.chips == tuple(range(8))
    assert told.summary.startswith(f"network fault {LINK} on chips 0-7")
    watched.cmgr.wait(60)
    assert watched.look() == []


def test_where_nothing_was_stopped_no_stop_is_told() -> None:
    watched = Watched(Cmgr())
    watched.cmgr.fault(1)
    watched.look()
    watched.cmgr.wait(5)
    watched.look()
    assert watched.events() == [("detected", False), ("reset", False), ("recovered", True)]


def test_a_reset_that_did_not_cure_is_told_too() -> None:
    watched = Watched(Cmgr(container("a", 0)))
    watched.cmgr.cures = False
    watched.cmgr.fault(1)
    watched.look()
    watched.cmgr.run()
    watched.look()
    last = watched.told[-1]
    assert (last.event, last.over) == ("reset", False)
    assert "reset 1 of this episode did not cure" in last.summary


def test_an_episode_that_ends_in_isolation_gave_up_and_the_chip_stands_until_it_is_released() -> None:
    watched = Watched(Cmgr(container("a", 1)))
    watched.cmgr.cures = False
    watched.cmgr.fault(1)
    watched.look()
    watched.cmgr.wait(3600)
    watched.look()
    ends = [alarm for alarm in watched.told if alarm.over]
    assert [(alarm.event, alarm.outcome) for alarm in ends] == [("gave_up", "isolated")]
    isolated = next(alarm for alarm in watched.told if alarm.event == "isolated")
    assert (isolated.id, isolated.chips, isolated.codes) == ("isolated-chip-1", (1,), (RESET,))
    assert isolated.summary.startswith("chip 1 is isolated: ")
    watched.cmgr.clears(1)
    watched.cmgr.tell(facts.ReleaseOrdered(ChipId(1), "uid 0"))
    watched.look()
    over = [alarm for alarm in watched.told if alarm.event == "isolated" and alarm.over]
    assert [alarm.id for alarm in over] == ["isolated-chip-1"]
    assert over[0].summary.startswith("over: chip 1 is isolated")


def test_a_code_that_isolates_opens_no_episode() -> None:
    watched = Watched(Cmgr(container("a", 1)))
    watched.cmgr.fault(1, SEPARATE)
    assert [(alarm.event, alarm.kind) for alarm in watched.look()] == [("isolated", "isolated")]


def test_a_container_that_is_given_up_is_told_until_it_runs_again() -> None:
    watched = Watched(Cmgr(container("a", 0), policy=replace(RING, retry=RetryPolicy(starts=1))))
    watched.cmgr.fault(1)
    watched.cmgr.run_until(Phase.RESUMING)
    watched.cmgr.answer(StartContainer, error="no such image")
    watched.cmgr.run()
    watched.look()
    given_up = next(alarm for alarm in watched.told if alarm.kind is TroubleKind.FAILED)
    assert (given_up.event, given_up.over, given_up.containers) == ("gave_up", False, ("a",))
    assert given_up.summary == "container a failed: start failed once: no such image"
    watched.cmgr.tell(facts.ResumeOrdered(next(iter(watched.cmgr.node.holds)), "uid 0"))
    watched.cmgr.run()
    assert [(alarm.id, alarm.over) for alarm in watched.look()] == [(given_up.id, True)]


def test_a_runtime_that_stays_out_of_hearing_is_told_and_one_that_comes_back_soon_is_not() -> None:
    watched = Watched(Cmgr(container("a", 0)))
    watched.cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    assert watched.look() == []
    watched.cmgr.now += LONG / 2
    assert watched.look() == []
    watched.cmgr.now += LONG / 2
    (deaf,) = watched.look()
    assert (deaf.event, deaf.id, deaf.summary) == (
        "deaf",
        "runtime-docker",
        "cannot reach docker: connection refused",
    )
    assert deaf.at - deaf.since >= LONG
    watched.cmgr.tell(facts.RuntimeUp("docker"))
    watched.cmgr.run()
    assert [(alarm.id, alarm.over) for alarm in watched.look()] == [("runtime-docker", True)]
    watched.cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    watched.look()
    watched.cmgr.now += LONG / 2
    watched.cmgr.tell(facts.RuntimeUp("docker"))
    watched.cmgr.run()
    assert watched.look() == []


def test_a_group_that_is_down_for_long_is_told_until_it_runs_again_and_a_short_round_is_not() -> None:
    mates = container("a", 0, group="tp"), container("b", 5, group="tp")
    watched = Watched(Cmgr(*mates), down_after=timedelta(minutes=5))
    watched.cmgr.fault(0)
    watched.look()
    watched.cmgr.wait(200)
    watched.look()
    assert "group" not in {alarm.event for alarm in watched.told}, "its round was over in time"
    watched.cmgr.fault(0, SEPARATE)
    watched.cmgr.tell(facts.GroupRestartOrdered("tp", "uid 0"))
    watched.cmgr.run()
    watched.look()
    watched.cmgr.now += timedelta(minutes=5)
    (group,) = [alarm for alarm in watched.look() if alarm.event == "group"]
    assert (group.id, group.over, group.containers) == ("group-tp", False, ("a", "b"))
    assert group.summary.startswith("group tp is halting: 2 of 2 down: ")
    (alert,) = alerts([group], "host-1", watched.cmgr.now)
    labels = {"alertname": "CmgrGroupNotRunning", "severity": "warning", "source": "cmgr", "host": "host-1"}
    assert alert["labels"] == {**labels, "id": "group-tp"}
    watched.cmgr.faults[0].clear()
    watched.cmgr.clears(0, SEPARATE)
    watched.cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    watched.cmgr.run()
    watched.cmgr.wait(60)
    assert [alarm.over for alarm in watched.look() if alarm.event == "group"] == [True]


def test_a_driver_that_is_unwell_and_a_chip_that_is_silent_are_told() -> None:
    watched = Watched(Cmgr(), deaf_after=timedelta())
    watched.own = (Trouble(TroubleKind.DRIVER, "dcmi", "driver dcmi is not well", "faults are polled"),)
    watched.cmgr.silent = {6}
    watched.cmgr.tell(facts.Resync())
    watched.cmgr.run()
    told = {alarm.id: alarm.summary for alarm in watched.look()}
    assert told == {
        "driver-dcmi": "driver dcmi is not well: faults are polled",
        "silent-ring-4": "ring 4 does not answer: chip 6: timed out",
    }


def test_chips_that_boot_are_not_deaf() -> None:
    watched = Watched(Cmgr(container("a", 0)), deaf_after=timedelta())
    watched.cmgr.fault(1)
    watched.cmgr.run_until(Phase.VERIFYING)
    watched.cmgr.silent = {0}
    watched.cmgr.wait(20)
    watched.look()
    assert watched.cmgr.phase() is Phase.VERIFYING
    assert "deaf" not in {alarm.event for alarm in watched.told}


def test_what_a_new_life_of_cmgr_finds_is_told_again_and_says_so() -> None:
    watched = Watched(Cmgr(container("a", 0), container("b", 5)))
    watched.cmgr.fault(5, SEPARATE)
    watched.cmgr.fault(1)
    watched.cmgr.run_until(Phase.WAITING)
    watched.cmgr.begin()
    reborn = Watched(watched.cmgr)
    assert {(alarm.event, alarm.again) for alarm in reborn.told} >= {("detected", True), ("isolated", True)}
    assert {alarm.id for alarm in reborn.told} == {"episode-1", "isolated-chip-5"}
    reborn.cmgr.wait(5)
    reborn.look()
    assert (reborn.told[-1].event, reborn.told[-1].id) == ("recovered", "episode-1")


def test_rings_that_are_kept_back_are_told_until_a_person_lets_them_begin() -> None:
    limits = replace(RING.limits, rings_at_once=1)
    watched = Watched(Cmgr(container("a", 0), container("b", 4), policy=replace(RING, limits=limits)))
    watched.cmgr.fault(0)
    watched.cmgr.fault(4)
    (told,) = [alarm for alarm in watched.look() if alarm.kind is TroubleKind.KEPT_BACK]
    assert (told.event, told.id, told.over, told.chips) == ("trouble", "kept-back", False, (4, 5, 6, 7))
    assert told.summary.startswith("1 ring kept back: 1 ring is in an episode")
    watched.cmgr.tell(facts.ResumeAllOrdered("uid 0"))
    assert [a.over for a in watched.look() if a.kind is TroubleKind.KEPT_BACK] == [True]


def test_a_whole_ring_that_is_stopped_for_a_reset_that_waited_too_long_is_told_until_the_episode_is_over() -> None:
    watched = Watched(Cmgr(container("a", 0), container("mate", 1), policy=SINGLE))
    watched.cmgr.fault(0)
    watched.cmgr.wait(599)
    assert [a.event for a in watched.look() if a.kind is TroubleKind.WIDENED] == []
    watched.cmgr.now += timedelta(seconds=2)
    watched.cmgr.tell(facts.Tick())
    (told,) = [alarm for alarm in watched.look() if alarm.kind is TroubleKind.WIDENED]
    assert (told.event, told.over, told.containers) == ("trouble", False, ("a", "mate"))
    assert told.summary.startswith("the whole ring 0 is stopped: its reset waited too long")
    watched.cmgr.run()
    assert [a.over for a in watched.look() if a.kind is TroubleKind.WIDENED] == [True]


def test_a_trouble_that_stays_is_told_until_it_is_acknowledged() -> None:
    watched = Watched(Cmgr())
    met = Trouble(TroubleKind.DAMAGE, "database", "the database was damaged", "a page is bad", stays=True)
    watched.cmgr.tell(facts.TroubleMet(met))
    (told,) = watched.look()
    assert (told.event, told.id, told.summary) == (
        "trouble",
        "damage-database",
        "the database was damaged: a page is bad",
    )
    assert alerts([told], "host-1", watched.cmgr.now)[0]["labels"] == {
        "alertname": "CmgrDatabaseDamaged",
        "severity": "critical",
        "source": "cmgr",
        "host": "host-1",
        "id": "damage-database",
    }
    watched.cmgr.begin()
    assert watched.look() == [], "another life of cmgr ends nothing"
    watched.cmgr.tell(facts.AcknowledgeOrdered((told.id,), "uid 0"))
    assert [(alarm.id, alarm.over) for alarm in watched.look()] == [("damage-database", True)]
    assert "uid 0 has acknowledged: the database was damaged: a page is bad" in watched.cmgr.notes()


def test_one_who_only_observes_says_so() -> None:
    watched = Watched(Cmgr(container("a", 0), policy=replace(RING, observe=True)))
    watched.cmgr.fault(1)
    watched.look()
    watched.cmgr.run()
    watched.cmgr.clears(1)
    watched.cmgr.wait(30)
    watched.look()
    assert watched.told[0].observe
    assert (watched.told[-1].event, watched.told[-1].outcome) == ("recovered", "observed")


def test_the_object_and_the_alert_say_the_same() -> None:
    watched = Watched(Cmgr(container("a", 0), policy=replace(Policy(), strategy=RING.strategy)))
    watched.cmgr.fault(1)
    (detected,) = watched.look()
    told = event(detected, "host-1")
    assert (told["status"], told["chips"], told["codes"], told["containers"]) == (
        "firing",
        [0, 1, 2, 3],
        [RESET],
        ["a"],
    )
    (alert,) = alerts([detected], "host-1", watched.cmgr.now)
    labels = {"alertname": "CmgrEpisode", "severity": "warning", "source": "cmgr", "host": "host-1"}
    assert alert["labels"] == {**labels, "id": "episode-1", "ring": "0", "episode": "1"}
    assert alert["startsAt"] == told["since"]


def test_a_container_that_ought_to_run_is_told_when_it_has_been_down_for_long_and_when_it_runs_again() -> None:
    watched = Watched(Cmgr(container("a", 0), policy=Policy()), down_after=timedelta(seconds=60))
    watched.cmgr.dies("a", 3)
    watched.cmgr.wait(59)
    assert watched.look() == []
    watched.cmgr.wait(2)
    (down,) = watched.look()
    assert (down.event, down.over, down.containers, down.chips) == ("down", False, ("a",), (0,))
    assert down.summary == "container a is down: it exited by itself with code 3; cmgr does not hold it"
    watched.cmgr.starts_by_hand("a")
    (up,) = watched.look()
    assert (up.event, up.over, up.id) == ("up", True, down.id)


def test_the_end_of_a_down_container_that_is_forgotten_is_no_up() -> None:
    watched = Watched(Cmgr(container("a", 0), policy=Policy()), down_after=timedelta())
    watched.cmgr.dies("a")
    (down,) = watched.look()
    watched.cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    (end,) = watched.look()
    assert (end.event, end.over, end.id) == ("down", True, down.id)


def test_of_a_container_in_need_one_alarm_stands_whatever_becomes_of_it() -> None:
    policy = replace(RING, retry=RetryPolicy(starts=1))
    watched = Watched(Cmgr(container("a", 0), policy=policy), down_after=timedelta())
    watched.cmgr.fault(1)
    watched.cmgr.run_until(Phase.RESUMING)
    watched.look()
    watched.cmgr.answer(StartContainer, error="no such image")
    watched.cmgr.run()
    watched.look()

    def of_a() -> list[tuple[str, str, bool]]:
        return [(a.event, a.id, a.over) for a in watched.told if a.kind in OF_A_SERVICE_DOWN]

    told = [("down", "down-docker-a", False), ("gave_up", "down-docker-a", False)]
    assert of_a() == told, "it is not over when it gets worse, and filed under one id"
    said = next(alarm.summary for alarm in watched.told if alarm.event == "gave_up")
    assert said == "container a failed: start failed once: no such image"
    watched.cmgr.tell(facts.ResumeOrdered(key("a"), "uid 0"))
    assert watched.look() == [], "it is tried, and does not serve yet"
    watched.cmgr.answer(StartContainer, error="no such image")
    watched.cmgr.run()
    watched.look()
    assert of_a() == [*told, told[1]], "it was given up once more"
    watched.cmgr.tell(facts.ResumeOrdered(key("a"), "uid 0"))
    watched.cmgr.run()
    watched.look()
    assert of_a() == [*told, told[1], ("up", "down-docker-a", True)]


def test_as_many_alarms_stand_as_troubles_are_shown() -> None:
    policy = replace(RING, retry=RetryPolicy(starts=1))
    watched = Watched(Cmgr(container("a", 0), policy=policy), down_after=timedelta())
    watched.cmgr.fault(1)
    watched.cmgr.run_until(Phase.RESUMING)
    watched.cmgr.answer(StartContainer, error="no such image")
    watched.cmgr.run()
    watched.look()
    over = {alarm.id for alarm in watched.told if alarm.over}
    standing = list(dict.fromkeys(alarm.id for alarm in watched.told if alarm.id not in over))
    assert standing == [trouble.id for trouble in once(troubles(watched.cmgr.node)) if trouble.kind.event]


def test_of_another_severity_it_is_another_alarm_that_begins_before_the_first_is_over() -> None:
    watched = Watched(ailing(), down_after=timedelta())
    unhealthy_for_ever(watched.cmgr)
    (given_up,) = (alarm for alarm in watched.look() if alarm.kind is TroubleKind.GIVEN_UP)
    watched.cmgr.dies("web")
    told = [(alarm.kind, alarm.over) for alarm in watched.look()]
    assert told == [(TroubleKind.FAILED, False), (TroubleKind.GIVEN_UP, True)]
    assert (given_up.kind.severity, watched.told[-2].kind.severity) == ("warning", "critical")
