"""The wishes of labels, and what happens to those that cannot be read."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.containers import Heal
from cmgr.model.values.policy import Strategy
from cmgr.runtimes.labels import LONGEST_GRACE, Wishes, wishes


def test_no_labels_wish_for_nothing() -> None:
    assert wishes({}) == Wishes()
    assert wishes({"com.example": "cmgr.order=3"}) == Wishes()


def test_every_label_is_read() -> None:
    labels = {"cmgr.strategy": "singleRecover", "cmgr.stop-timeout": " 30 ", "cmgr.order": "-2", "cmgr.enable": "False"}
    assert wishes(labels) == Wishes(Strategy.SINGLE, timedelta(seconds=30), -2, enabled=False)


def test_the_wish_to_be_healed_is_read_with_its_limit_and_wait() -> None:
    assert wishes({"cmgr.heal": "TRUE"}).heal == Heal()
    both = {"cmgr.heal": "true", "cmgr.heal-limit": "3", "cmgr.heal-backoff": " 30 "}
    assert wishes(both).heal == Heal(3, timedelta(seconds=30))
    assert wishes({**both, "cmgr.heal": "false"}) == Wishes()
    once = wishes(both, auto_remove=True)
    assert (once.heal, once.warnings) == (None, ("label cmgr.heal has no use: the container is removed when it ends",))
    assert wishes({**both, "cmgr.heal-limit": "many"}).heal == Heal(None, timedelta(seconds=30))


def test_an_endless_grace_is_cut() -> None:
    assert wishes({"cmgr.stop-timeout": "999999999"}).grace == LONGEST_GRACE
    assert wishes({"cmgr.stop-timeout": "0"}).grace == timedelta()


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("cmgr.strategy", "always"),
        ("cmgr.strategy", ""),
        ("cmgr.stop-timeout", "30s"),
        ("cmgr.stop-timeout", "-1"),
        ("cmgr.stop-timeout", "9" * 40),
        ("cmgr.order", "first"),
        ("cmgr.order", "1.5"),
        ("cmgr.order", "9" * 5000),
        ("cmgr.enable", "0"),
        ("cmgr.enable", "$(reboot)"),
        ("cmgr.heal", "yes"),
        ("cmgr.heal-limit", "0"),
        ("cmgr.heal-limit", "-1"),
        ("cmgr.heal-backoff", "0"),
        ("cmgr.heal-backoff", "10s"),
    ],
)
def test_a_bad_value_is_a_warning_and_the_default_holds(label: str, value: str) -> None:
    wished = wishes({label: value})
    assert wished == Wishes(warnings=wished.warnings)
    assert len(wished.warnings) == 1
    assert label in wished.warnings[0]
    assert len(wished.warnings[0]) < 200


def test_a_label_of_ours_that_is_not_known_is_a_warning() -> None:
    (warning,) = wishes({"cmgr.enabled": "false"}).warnings
    assert "'cmgr.enabled' is not known" in warning
    assert "cmgr.enable" in warning


@given(
    st.dictionaries(
        st.sampled_from(["cmgr.strategy", "cmgr.stop-timeout", "cmgr.order", "cmgr.heal", "cmgr.heal-limit", "cmgr.x"]),
        st.text(),
    )
)
def test_no_value_makes_reading_fail(labels: dict[str, str]) -> None:
    assert len(wishes(labels).warnings) <= len(labels)
