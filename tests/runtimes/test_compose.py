"""The labels of docker compose: what is read of them, and what happens to those that cannot be read."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.runtimes import compose

MADE = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = {compose.PROJECT: "llm", compose.SERVICE: "web"}


def read(**more: str) -> Container:
    labels = PLACE | {f"com.docker.compose.{name.replace('_number', '-number')}": text for name, text in more.items()}
    return compose.placed(Container(ContainerKey("docker", "", "1"), "web"), labels, MADE)


def test_the_place_of_a_container_is_read() -> None:
    found = read(container_number="2", depends_on="db:service_healthy:false,init:service_completed_successfully:true")
    needs = (Need("db", Condition.HEALTHY), Need("init", Condition.DONE, restart=True))
    assert found.composed == Composed("llm", "web", 2, needs, MADE)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("db", Need("db", Condition.STARTED)),
        ("db:service_started", Need("db", Condition.STARTED)),
        ("db:service_started:true:false", Need("db", Condition.STARTED, restart=True)),
        ("db:service_started:false:true", Need("db", Condition.STARTED)),
        ("db:service_healthy", Need("db", Condition.HEALTHY)),
    ],
)
def test_every_versions_form_of_a_need_is_read(text: str, need: Need) -> None:
    composed = read(depends_on=text).composed
    assert composed is not None
    assert composed.needs == (need,)


def test_nerdctl_gives_no_number_and_compose_1_no_needs() -> None:
    assert read().composed == Composed("llm", "web", 0, (), MADE)
    assert read(depends_on="").composed == Composed("llm", "web", 0, (), MADE)


def test_what_was_made_by_hand_or_for_one_command_is_in_no_project() -> None:
    assert compose.placed(read(), {}, MADE).composed == read().composed, "nothing is taken away"
    assert read(oneoff="True").composed is None
    assert read(oneoff="False").composed is not None


@pytest.mark.parametrize(
    "text",
    ["db:service_unhealthy", "db:", ":service_started", "db;web", "db,", ",".join(["db"] * 65), "$(reboot)", "d b"],
)
def test_needs_that_cannot_be_read_are_a_warning_and_none_is_believed(text: str) -> None:
    found = read(depends_on=f"init,{text}" if text != "db," else text)
    assert found.composed is not None
    assert found.composed.needs == ()
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("cannot read label com.docker.compose.depends_on=")


@pytest.mark.parametrize(
    "more", [{"service": ""}, {"service": "../etc"}, {"project": "a b"}, {"container_number": "-1"}]
)
def test_a_place_that_cannot_be_read_is_a_warning_and_none(more: dict[str, str]) -> None:
    found = read(**more)
    assert found.composed is None
    assert len(found.warnings) == 1


@given(
    st.dictionaries(st.sampled_from([compose.PROJECT, compose.SERVICE, compose.NUMBER, compose.DEPENDS_ON]), st.text())
)
def test_no_text_makes_reading_fail(labels: dict[str, str]) -> None:
    assert len(compose.placed(read(), labels, None).warnings) <= 4
