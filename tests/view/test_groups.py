"""Groups as persons and programs are told of them: what they wait for, what is not whole, what cannot be meant so."""

from dataclasses import replace

import pytest

from cmgr.errors import CmgrError, NotThere
from cmgr.model.values.handling.policy import OnIsolate, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, StopContainer
from cmgr.sentences.sentence import CHINESE, in_language, sentence
from cmgr.service.door.orders.groups import GroupOrders
from cmgr.service.door.routes import Request
from cmgr.view import group_shapes
from cmgr.view.groups import groups
from cmgr.view.status import Own, status
from cmgr.view.text import texts, together
from cmgr.view.text.render import Face
from cmgr.view.troubles import troubles
from tests.model.builders import SEPARATE, Cmgr, container, key
from tests.model.fleet_builders import TP, Fleet
from tests.model.together.test_groups import halted, running, tp


def row(cmgr: Cmgr) -> group_shapes.Group:
    (only,) = groups(cmgr.node)
    return only


def told(cmgr: Cmgr) -> list[str]:
    return [t.words for t in troubles(cmgr.node) if t.kind == "group"]


def orders(cmgr: Cmgr) -> GroupOrders:
    def give(order: facts.Ordered) -> None:
        cmgr.tell(order)

    return GroupOrders(lambda: cmgr.node, give, lambda request: f"uid {request.uid}")


def ask(do: str, **args: object) -> Request:
    return Request(f"group-{do}", args, uid=7)


def test_a_restart_is_taken_back_by_the_line_that_is_shown_with_it() -> None:
    cmgr = tp()
    door = orders(cmgr)
    with pytest.raises(CmgrError, match="no ordered restart of group tp waits") as caught:
        door.cancel(ask("cancel", group="tp"))
    assert caught.value.hint == "cmgr group tp"
    door.restart(ask("restart", group="tp"))
    assert row(cmgr)["hint"] == "to take the restart back: cmgr group cancel tp"
    cmgr.answer(StopContainer)
    assert door.cancel(ask("cancel", group="tp", preview=True)) == {
        "does": [
            "the restart that uid 7 ordered is not made: who still runs, runs on",
            "starts kv, r0, r1 again, each as soon as it can be",
        ]
    }
    assert door.cancel(ask("cancel", group="tp")) == {
        "group": "tp",
        "waiting": ["kv", "r0", "r1"],
        "did": ["group tp: the restart is taken back", "started again as soon as they can be: kv, r0, r1"],
    }
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    with pytest.raises(NotThere):
        door.cancel(ask("cancel", group="other"))


def test_a_group_that_runs_is_no_trouble() -> None:
    cmgr = tp()
    assert (row(cmgr)["phase"], row(cmgr)["down"], row(cmgr)["reason"], told(cmgr)) == ("running", 0, "", [])


def test_a_round_says_who_is_down_and_what_it_waits_for() -> None:
    cmgr = tp()
    cmgr.fault(0)
    assert told(cmgr) == ["group tp is halting: 0 of 3 down: kv is stopping"]
    cmgr.answer(StopContainer)
    assert row(cmgr)["reason"].startswith("1 of 3 down: ")
    cmgr.run(StopContainer, ListContainers)
    assert row(cmgr)["reason"].startswith("3 of 3 down: r0 cannot be started: ring 0 is ")
    assert row(cmgr)["cause"] == "r0 stops for 80000005 (RestartNPU) on chip 0"
    assert row(cmgr)["hint"] == "", "the reset is under way: nobody should start a part of it"
    why = {c["name"]: c["reason"] for c in status(cmgr.node, Own("ready", "sim", ()), cmgr.now)["containers"]}
    assert "group tp waits: r0 cannot be started" in why["r1"]
    cmgr.run()
    assert (told(cmgr), [r["outcome"] for r in row(cmgr)["history"]]) == ([], ["recovered"])


def test_a_wait_that_only_a_person_ends_says_what_to_type() -> None:
    cmgr = tp()
    cmgr.fault(0, SEPARATE)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run()
    now = "to start what can be started now: cmgr group resume tp"
    assert row(cmgr)["hint"] == f"{now}; to take the restart back: cmgr group cancel tp"


def test_a_group_of_which_only_some_run_is_not_whole() -> None:
    cmgr = tp()
    cmgr.dies("r1", asked=True)
    assert told(cmgr) == ["group tp is not whole: r1 does not run"]
    assert row(cmgr)["hint"] == "to stop and start all its members: cmgr group restart tp"
    cmgr.dies("r0", asked=True)
    cmgr.dies("kv", asked=True)
    assert told(cmgr) == [], "a person has stopped all of it"


def test_a_group_of_which_some_are_not_known_here_is_not_whole() -> None:
    cmgr = Cmgr(*(container(f"r{n}", n, group="tp", group_size=4) for n in range(3)))
    assert told(cmgr) == ["group tp is not whole: 3 of 4 members are known here"]


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"enabled": False}, "b has a label that says hands off, so that the others wait for its end"),
        ({"strategy": Strategy.NEVER}, "b has the strategy never, so that the others wait for its end"),
        ({"auto_remove": True}, "b was started with --rm, so that the others wait for its end"),
        ({"group_size": 3}, "its members disagree how many they are: 2, 3"),
        ({"group": "other"}, "it has one member, and a group of one is none"),
    ],
)
def test_labels_that_cannot_be_meant_so_are_remarked(fields: dict[str, object], remark: str) -> None:
    b = replace(container("b", 4, group="tp"), **fields)  # type: ignore[arg-type]  # Of several types.
    cmgr = Cmgr(container("a", 0, group="tp", group_size=2), b)
    told = [each for each in groups(cmgr.node) if remark in each["remarks"]]
    assert told
    for each in told:
        assert f"remarks[{each['remarks'].index(remark)}]" in each["messages"]


def test_a_restart_by_order_says_what_it_stops() -> None:
    cmgr = tp()
    made = orders(cmgr).restart(ask("restart", group="tp", reason="new weights"))
    did = ["group tp: round 1 begins; stopped, and started together: kv, r0, r1"]
    assert made == {"group": "tp", "round": 1, "containers": ["kv", "r0", "r1"], "did": did}
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    assert row(cmgr)["history"][0]["cause"] == "ordered by uid 7: new weights"


def test_an_order_to_resume_says_who_is_left_behind() -> None:
    cmgr = halted(tp())
    assert orders(cmgr).resume(ask("resume", group="tp")) == {
        "group": "tp",
        "waiting": ["r0"],
        "did": ["group tp: what can be started is started", "started as soon as they can be: r0"],
    }


def test_an_order_to_resume_waits_until_all_members_are_down() -> None:
    cmgr = tp()
    cmgr.fault(0)
    with pytest.raises(CmgrError) as refused:
        orders(cmgr).resume(ask("resume", group="tp"))
    assert refused.value.message == ("cannot resume group tp: kv, r0, r1 are being stopped, and would be left behind")
    assert "order it again when all are down" in refused.value.hint
    cmgr.run(StopContainer, ListContainers)
    assert orders(cmgr).resume(ask("resume", group="tp")) == {
        "group": "tp",
        "waiting": ["r0"],
        "did": ["group tp: what can be started is started", "started as soon as they can be: r0"],
    }


def test_one_whose_stop_fails_does_not_keep_the_others_from_a_resume() -> None:
    cmgr = tp()
    cmgr.fault(0)
    while any(isinstance(c, StopContainer) for c in cmgr.pending):
        (stop, *_) = [c for c in cmgr.pending if isinstance(c, StopContainer)]
        cmgr.answer(StopContainer, error="permission denied" if stop.key == key("kv") else "")
    cmgr.run(ListContainers)
    orders(cmgr).resume(ask("resume", group="tp"))
    assert key("kv") in cmgr.node.groups["tp"].out


def test_a_preview_says_who_is_stopped_and_started_and_gives_no_order() -> None:
    cmgr = tp()
    cmgr.dies("kv", asked=True)
    before = cmgr.node
    assert orders(cmgr).restart(ask("restart", group="tp", preview=True)) == {
        "does": ["stops r0, r1", "is down already: kv", "starts kv, r0, r1 when all can be started"]
    }
    assert cmgr.node == before
    cmgr = halted(tp())
    before = cmgr.node
    assert orders(cmgr).resume(ask("resume", group="tp", preview=True)) == {
        "does": ["starts kv, r1 without waiting for the rest", "starts r0 as soon as it can be"]
    }
    assert cmgr.node == before


@pytest.mark.parametrize(
    ("do", "args", "error"),
    [
        ("restart", {"group": "x"}, "cannot restart group 'x': there is no such group"),
        ("resume", {}, "cannot resume group: group must be a name"),
        ("resume", {"group": "tp"}, "cannot resume group tp: none of its members is held"),
        ("restart", {"group": "tp", "reason": "two\nlines"}, "cannot restart group: reason must be one line"),
    ],
)
def test_an_order_that_cannot_be_is_refused(do: str, args: dict[str, object], error: str) -> None:
    known = orders(tp())
    with pytest.raises(CmgrError) as caught:
        (known.restart if do == "restart" else known.resume)(ask(do, **args))
    assert str(caught.value).startswith(error)
    assert isinstance(caught.value, NotThere) is ("'x'" in error)


def test_in_maintenance_no_group_is_restarted() -> None:
    cmgr = tp()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a"))
    with pytest.raises(CmgrError, match="cannot restart group tp: maintenance until"):
        orders(cmgr).restart(ask("restart", group="tp"))


def test_the_command_shows_each_group_and_one_with_its_members() -> None:
    cmgr = halted(tp())
    page = texts.Page(Face(cmgr.now), 200)
    assert together.groups({"groups": []}, page)[0].startswith("there are no groups")
    (head, line) = together.groups({"groups": groups(cmgr.node)}, page)
    assert head.split() == ["GROUP", "PHASE", "ROUND", "RUNNING", "WHY"]
    assert line.split()[:6] == ["tp", "halting", "1", "0", "of", "3"]
    text = "\n".join(together.group(row(cmgr), page))
    assert text.startswith("group tp is halting: round 1, r0 stops for 80000005 (RestartNPU) on chip 0\n3 of 3 down: ")
    assert "r1" in text
    chinese = page._replace(face=Face(cmgr.now, language=CHINESE))
    (head, line) = together.groups({"groups": groups(cmgr.node)}, chinese)
    assert head.split() == ["组", "阶段", "轮次", "运行", "原因"]
    assert line.split()[:4] == ["tp", "正在停止", "1", "0/3"]
    assert together.group(row(cmgr), chinese)[0].startswith("组 tp：正在停止；第 1 轮，")


def test_the_only_member_here_of_a_group_that_has_others_elsewhere_is_no_group_of_one() -> None:
    assert row(Cmgr(container("r0", 0, group="tp", group_size=4)))["remarks"] == []


def test_the_round_for_an_isolated_chip_says_so() -> None:
    cmgr = tp()
    stops = replace(cmgr.policy, isolation=replace(cmgr.policy.isolation, on_isolate=OnIsolate.STOP))
    cmgr.tell(facts.Reconfigured(stops, cmgr.catalog))
    cmgr.fault(0, SEPARATE)
    assert row(cmgr)["cause"].startswith("r0 stops, for chip 0 is isolated: ")


def test_the_cause_of_a_round_and_what_an_appliance_waits_for_are_told_with_their_messages() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.sees(replace(b.truth[key("r1")], auto_remove=True))
    a.fault(0)
    a.run()
    b.hears()
    b.run()
    (group,) = groups(b.node)
    told = group["fleet"]
    assert told is not None
    cause = told["messages"]["cause"]
    assert (sentence(told["cause"], cause), cause["id"]) == (a.node.groups[TP].cause, "group.stops-for")
    (waits,) = [each for each in told["appliances"] if each["name"] == "b"]
    assert waits["reason"] == "r1 runs, and a stop would remove it (--rm)"
    assert in_language(sentence(waits["reason"], waits["messages"]["reason"]), CHINESE) != waits["reason"]
