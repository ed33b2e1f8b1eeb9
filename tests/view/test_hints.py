"""Hints: what a person can do is there as a sentence and as orders, and both say the same."""

import re
import shlex
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import FaultCode, Handling, Isolation
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.node import Node, Restraint, RuntimeState
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.standing import Maintenance
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.hints import Order, order
from cmgr.sentences.sentence import CHINESE, in_language
from cmgr.view import shapes
from cmgr.view import status as view
from cmgr.view.advice import runtime_hint
from cmgr.view.groups import groups
from cmgr.view.status import Own
from cmgr.view.text.reading import to_type
from tests.support.door import table
from tests.support.picture import T0, faulty, held, hold, in_episode, isolated, key, machine

KINDS: dict[str, type | tuple[type, ...]] = {
    "integer": int, "string": str, "boolean": bool, "number": (int, float),
}  # fmt: skip


@pytest.mark.parametrize(
    ("meant", "typed"),
    [
        (order("release", chip=3), "cmgr release 3"),
        (order("reset", chip=3, stop=True), "cmgr reset 3 --stop"),
        (order("reset", chip=3, stop=False), "cmgr reset 3"),
        (order("resume", all=True), "cmgr resume --all"),
        (order("resume", container="blue/my web"), "cmgr resume 'blue/my web'"),
        (order("forget", runtime="docker"), "cmgr forget --runtime docker"),
        (order("forget", chip=3), "cmgr forget --chip 3"),
        (order("maintenance", on=False), "cmgr maintenance off"),
        (order("maintenance", on=True), "cmgr maintenance on"),
        (order("group-resume", group="tp", without="b,c"), "cmgr group resume tp --without b,c"),
        (order("slot-assign", slot="one", chips="4,5", stop=True), "cmgr slot assign one 4,5 --stop"),
        (order("acknowledge", trouble="damage-database"), "cmgr acknowledge damage-database"),
    ],
)
def test_an_order_is_typed_as_the_command_line_takes_it(meant: Order, typed: str) -> None:
    assert str(meant) == typed


def of_machine() -> Node:
    code = FaultCode("memory-uncorrected")
    happened = MachineFault(code, "DIMM3", "memory", Handling.PreSeparateNPU, T0, T0, mark="1")
    return replace(machine(), machine_faults={happened.key: happened})


def lost() -> Node:
    trouble = Trouble(TroubleKind.LOST, "docker/web", "web is lost", "it is gone", "see to it", stays=True)
    return replace(machine(), troubles={trouble.key: trouble})


def waits() -> Node:
    node = faulty(in_episode(machine(), 0), 1)
    ring = replace(node.rings[RingId(0)], blocked=T0)
    return replace(node, rings={**node.rings, ring.id: ring})


def failed() -> Node:
    return held(machine(), replace(hold("a", HoldState.FAILED, 0, 1), attempt=Attempt(tries=3, error="no")))


def stopping() -> Node:
    return held(machine(), hold("a", HoldState.STOPPING, 0, 1))


def of_group() -> Node:
    members = {
        n: replace(
            machine().containers[key(n)],
            group="tp",
            running=n == "a",
            kept=replace(machine().containers[key(n)].kept, wanted=True),
        )
        for n in "ab"
    }
    return replace(machine(), containers={key(n): c for n, c in members.items()})


NODES = {
    "isolated": isolated(machine(), 1),
    "held for that": held(isolated(machine(), 1), hold("a", HoldState.DOWN, 0, 1)),
    "failed": failed(),
    "stopping": stopping(),
    "waits": waits(),
    "maintenance": replace(in_episode(machine(), 0), maintenance=Maintenance(T0, None, "me")),
    "kept back": replace(machine(), restraint=Restraint(since=T0, reason="too many", kept={RingId(0): T0})),
    "runtime": replace(machine(), runtimes={"docker": RuntimeState("docker", why_down="refused")}),
    "of the machine": of_machine(),
    "lost": lost(),
    "group": of_group(),
}


def hinted(node: Node) -> list[tuple[str, list[shapes.Order]]]:
    """Return every hint of a status, and of the groups, with its orders."""
    told = view.status(node, Own("ready", "sim", ()), T0 + timedelta(hours=1))
    rows = (
        *told["troubles"], *told["warnings"], *told["rings"], *told["containers"], *told["down"], *told["chips"],
        *told["runtimes"], *groups(node),
    )  # fmt: skip
    return [(row["hint"], row["orders"]) for row in rows if row["hint"] or row["orders"]]


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_each_order_of_a_hint_stands_in_its_sentence_and_is_one_that_the_service_takes(node: Node) -> None:
    orders = [(hint, each) for hint, told in hinted(node) for each in told]
    assert orders
    routes = {route.do: {arg.name: arg.kind for arg in route.args or ()} for route in table()}
    for hint, told in orders:
        assert str(Order(told["do"], told["args"])) in hint
        kinds = routes[told["do"]]
        assert all(isinstance(value, KINDS[kinds[name]]) for name, value in told["args"].items())


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_each_hint_is_said_in_chinese_too_with_the_same_commands(node: Node) -> None:
    for hint, told in hinted(node):
        chinese = in_language(hint, CHINESE)
        assert re.search("[\u4e00-\u9fff]", chinese) or hint.startswith("cmgr "), hint
        assert all(str(Order(each["do"], each["args"])) in chinese for each in told)


def test_an_order_has_the_name_as_it_is_and_its_sentence_has_it_for_a_shell() -> None:
    where = [ContainerKey("containerd", space, "c1") for space in ("blue sky", "green")]
    promise = replace(hold("a", HoldState.FAILED, 0), attempt=Attempt(tries=3))
    holds = {k: replace(promise, key=k, name="web") for k in where}
    told = view.containers(replace(machine(), containers={}, holds=holds))
    assert (told[0]["hint"], told[0]["orders"]) == (
        "fix the cause, then type: cmgr resume 'blue sky/web'",
        [{"do": "resume", "args": {"container": "blue sky/web"}}],
    )
    assert shlex.split(told[0]["called"]) == ["blue sky/web"]


def wide() -> Node:
    """Chips 1 and 12 are isolated, and a container waits for 12."""
    node = machine()
    twelve = replace(node.chips[ChipId(1)], id=ChipId(12), ring=RingId(0))
    found = {n: Isolation(n, T0, "operator", "work", None) for n in (ChipId(1), ChipId(12))}
    node = replace(node, chips={**node.chips, ChipId(12): twelve}, isolations=found)
    return held(node, hold("a", HoldState.DOWN, 12))


def test_a_release_that_a_container_says_is_not_said_again_of_its_chip_but_of_no_other() -> None:
    lines = to_type(view.status(wide(), Own("ready", "sim", ()), T0))
    assert lines == [
        "a: when the work on chip 12 is done, type: cmgr release 12",
        "chip 1: when the work on chip 1 is done, type: cmgr release 1",
    ]


def test_the_end_of_maintenance_is_said_once() -> None:
    node = replace(held(machine(), hold("a", HoldState.DOWN, 0, 1)), maintenance=Maintenance(T0, None, "me"))
    lines = to_type(view.status(node, Own("ready", "sim", ()), T0))
    assert [line for line in lines if "cmgr maintenance off" in line] == ["maintenance: cmgr maintenance off"]


def test_what_a_service_tells_that_was_not_restarted_after_an_update_is_read_without_orders() -> None:
    told = view.status(wide(), Own("ready", "sim", ()), T0)
    for row in (*told["containers"], *told["chips"]):
        del row["orders"]  # type: ignore[misc]
    assert "chip 1: when the work on chip 1 is done, type: cmgr release 1" in to_type(told)


def test_one_that_only_a_setting_makes_idle_is_told_that() -> None:
    node = replace(held(machine(), hold("a", HoldState.DOWN, 0, 1)), policy=Policy(observe=True))
    assert "a: set observe = false, then type: cmgr reload" in to_type(view.status(node, Own("ready", "sim", ()), T0))


def test_what_stays_ends_its_hint_with_how_it_is_taken_notice_of() -> None:
    (row,) = view.status(lost(), Own("ready", "sim", ()), T0)["troubles"]
    assert (row["hint"], row["orders"]) == (
        "see to it; when it is seen to: cmgr acknowledge lost-docker-web",
        [{"do": "acknowledge", "args": {"trouble": "lost-docker-web"}}],
    )


@pytest.mark.parametrize(
    ("runtime", "look"),
    [("docker", "systemctl status docker; "), ("systemd", "systemctl is-system-running, and systemd.bus")],
)
def test_a_runtime_that_does_not_answer_is_looked_at_as_what_it_is(runtime: str, look: str) -> None:
    assert str(runtime_hint(machine(), runtime)).startswith(look)
