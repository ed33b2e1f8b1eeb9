"""All about one chip or one container."""

from dataclasses import replace
from datetime import UTC, timedelta

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.holds import HoldState
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container, Heal, Spare
from cmgr.runtimes import labels
from cmgr.view.one import about
from cmgr.view.text import sheet
from cmgr.view.text.render import Face
from cmgr.view.text.texts import Page
from tests.support.picture import T0, decided, faulty, held, hold, in_episode, isolated, key, machine

PAST = about.Past([], [], [])
PAGE = Page(Face(T0 + timedelta(minutes=2), UTC))


def test_every_label_that_decides_is_told_by_its_name() -> None:
    node = machine()
    wishes = replace(
        node.containers[key("a")], enabled=False, strategy=Strategy.SINGLE, unit="llm.service", group="tp4",
        group_size=4, order=5, before_stop=("save", "now"), spare=Spare.NEVER, min_chips=2, needs_network=True,
        heal=Heal(3), hang=timedelta(minutes=10), ready=question("tcp://:8000"), busy="/run/saving",
    )  # fmt: skip
    told = about.container(replace(node, containers={key("a"): wishes}), key("a"), PAST)["deciders"]
    by = {each["by"] for each in told}
    told_with_others = {labels.STOP_TIMEOUT, labels.GROUP_SIZE, labels.HEAL_LIMIT, labels.HEAL_BACKOFF}
    assert {label for label in by if label.startswith("cmgr.")} == labels.TAKEN.keys() - told_with_others


def test_without_a_label_the_setting_decides() -> None:
    (strategy, *_) = about.container(machine(), key("a"), PAST)["deciders"]
    assert strategy["by"] == "strategy"


def deciders(container: Container) -> dict[str, str]:
    node = machine() if container.running else held(machine(), hold("a", HoldState.DOWN, 0, 1))
    node = replace(node, containers={key("a"): container})
    return {each["by"]: each["does"] for each in about.container(node, key("a"), PAST)["deciders"]}


def test_one_that_is_asked_is_told_with_since_when_it_has_not_answered_and_what_is_done_about_that() -> None:
    asked = replace(
        machine().containers[key("a")],
        ready=question("tcp://:8000"),
        kept=replace(machine().containers[key("a")].kept, since=T0, answer=HEALTHY),
    )
    assert deciders(asked)["cmgr.ready"] == "it serves when it answers tcp://:8000"
    text = "it is not set: when it does not answer that is shown, and nobody restarts it"
    assert deciders(asked)["cmgr.heal"] == text
    starts = deciders(replace(asked, kept=replace(asked.kept, answer=STARTING), heal=Heal(2)))
    assert starts["cmgr.ready"].endswith("; it has until 2026-03-01T03:10:00.000Z for that after its start")
    assert starts["cmgr.heal"].endswith("within 1 h; once, where it does not answer after a start of cmgr's")
    mute = replace(asked, kept=replace(asked.kept, answer=UNHEALTHY, mute=T0 + timedelta(minutes=1)))
    assert deciders(mute)["cmgr.ready"].endswith("; it has not since 2026-03-01T03:01:00.000Z")
    assert deciders(replace(mute, running=False))["cmgr.ready"] == "it serves when it answers tcp://:8000"


def test_what_is_wrong_elsewhere_concerns_nobody_here() -> None:
    node = isolated(machine(), 3)
    assert about.container(node, key("a"), PAST)["troubles"] == []
    assert about.chip(node, ChipId(0), PAST)["troubles"] == []
    assert [t["kind"] for t in about.chip(node, ChipId(3), PAST)["troubles"]] == ["isolated"]


def test_a_paused_container_is_told_with_what_it_waits_for_and_once() -> None:
    node = decided(in_episode(held(faulty(machine(), 0), hold("a", HoldState.DOWN, 0, 1)), 0))
    lines = sheet.container(about.container(node, key("a"), PAST), PAGE)
    assert lines[0] == "container a: paused, since 03:00:00, 2 min ago"
    assert lines[1].startswith("why: ring 0 is in an episode")
    assert len(lines) == len({line for line in lines if line}) + lines.count("")


def test_a_chip_is_told_with_its_ring_and_those_who_use_it() -> None:
    text = "\n".join(sheet.chip(about.chip(machine(), ChipId(0), PAST), PAGE))
    assert text.startswith("chip 0: healthy\n\nmodel  X\nring   0, chips 0-1\n")
    assert "a          running" in text
