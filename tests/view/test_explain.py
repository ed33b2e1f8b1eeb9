"""How fault codes and times are explained."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import ConfigError
from cmgr.model.values.faults import Handling, Level
from cmgr.model.values.handling.calendar import Window
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, IsolationPolicy, OnIsolate, Policy, Strategy
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import CHINESE, in_language
from cmgr.view import status as view
from cmgr.view.troubles import pre_isolated_words
from cmgr.words import span
from tests.support.picture import CODE

CATALOG = Catalog({CODE: Entry(Handling.RestartNPU, "built-in table ascend", "hardware fault")})


def does(code: str, policy: Policy, catalog: Catalog = CATALOG) -> str:
    return "\n".join(view.explain(code, Node(policy, catalog))["does"])


def test_a_code_is_explained_in_any_spelling() -> None:
    told = view.explain("0x80e24e00", Node(Policy(), CATALOG))
    assert {k: told[k] for k in ("code", "level", "origin", "known", "meaning")} == {
        "code": "80E24E00",
        "level": "RestartNPU",
        "origin": "built-in table ascend",
        "known": True,
        "meaning": "hardware fault",
    }


@pytest.mark.parametrize("code", ["79", "xid 79", "Xid 79"])
def test_the_makers_own_name_of_a_code_and_its_advice_are_told(code: str) -> None:
    told = view.explain(code, Node(Policy(), load_catalog(Config())))
    assert {k: told[k] for k in ("code", "level", "meaning", "advice")} == {
        "code": "Xid 79",
        "level": "SeparateNPU",
        "meaning": "the GPU does not answer on PCIe any more",
        "advice": "NVIDIA says RESTART_BM: restart the machine",
    }
    assert "isolates the chip: it is never reset, and cmgr starts nothing on it" in told["does"]


def test_what_is_done_follows_the_strategy() -> None:
    assert "stops no container (strategy never)" in does(CODE, Policy())
    assert "stops the containers on the faulty chip at once" in does(CODE, Policy(Strategy.SINGLE))
    assert "stops the containers on any chip of its ring at once" in does(CODE, Policy(Strategy.RING))
    assert "recorded and not done" in does(CODE, Policy(Strategy.RING, observe=True))


def test_what_is_done_follows_the_policy_of_the_level() -> None:
    late = replace(DEFAULT_LEVELS[Level.RestartNPU], stop_after=timedelta(seconds=5), reset_after=timedelta(minutes=3))
    told = does(CODE, Policy(Strategy.RING, levels={**DEFAULT_LEVELS, Level.RestartNPU: late}))
    assert "after the fault has lasted 5 s" in told
    assert "when the fault has lasted 3 min and nobody uses it" in told
    assert "when 3 resets in 6 h did not cure it" in told
    kept = replace(DEFAULT_LEVELS[Level.RestartNPU], reset=False, stop=False)
    assert "nothing is reset" in does(CODE, Policy(levels={**DEFAULT_LEVELS, Level.RestartNPU: kept}))


def test_a_window_is_explained_with_when_it_is_open() -> None:
    window = Window("Sun 02:00-04:00", ())
    windowed = replace(DEFAULT_LEVELS[Level.RestartNPU], window=(window,))
    told = does(CODE, Policy(levels={**DEFAULT_LEVELS, Level.RestartNPU: windowed}))
    assert "waits for its window: Sun 02:00-04:00 (levels.RestartNPU.window)" in told
    assert "window:" not in does(CODE, Policy())
    idle = replace(DEFAULT_LEVELS[Level.RestartNPU], stop=False)
    policy = Policy(
        levels={**DEFAULT_LEVELS, Level.RestartNPU: idle}, reset=replace(Policy().reset, window_hours=(window,))
    )
    assert "waits for its window: Sun 02:00-04:00 (reset.window_hours)" in does(CODE, policy)


def test_isolation_is_explained_with_what_ends_it() -> None:
    catalog = Catalog({CODE: Entry(Handling.SeparateNPU, "x")})
    assert "leaves its containers running" in does(CODE, Policy(), catalog)
    stops = Policy(isolation=IsolationPolicy(OnIsolate.STOP, timedelta(minutes=10)))
    assert "stops its containers" in does(CODE, stops, catalog)
    assert "for 10 min, or by cmgr release CHIP" in does(CODE, stops, catalog)


def test_a_code_in_no_table_is_explained_by_severity() -> None:
    told = view.explain("0x1", Node(Policy(), CATALOG))
    assert (told["code"], told["level"], told["known"]) == ("00000001", None, False)
    assert "severity minor or less, as NotHandleFault: it is recorded" in does("1", Policy())
    assert "severity major, critical or not told, as SeparateNPU: isolates the chip" in does("1", Policy())


def test_a_code_in_no_table_has_the_level_that_the_configuration_gives_it() -> None:
    catalog = Catalog(unknown=Level.RestartNPU)
    assert view.explain("1", Node(Policy(), catalog))["level"] == "RestartNPU"


@pytest.mark.parametrize("text", ["", "0", "xyz", "1234567890", "80E24E00; rm"])
def test_what_is_no_code_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a fault code"):
        view.explain(text, Node(Policy(), CATALOG))


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(milliseconds=-3), "0 s"),
        (timedelta(), "0 s"),
        (timedelta(milliseconds=450), "450 ms"),
        (timedelta(seconds=60), "60 s"),
        (timedelta(minutes=2, seconds=5), "2 min 5 s"),
        (timedelta(hours=6), "6 h"),
        (timedelta(days=3, hours=1, minutes=9), "3 d 1 h"),
    ],
)
def test_a_span_is_told_in_its_largest_units(length: timedelta, text: str) -> None:
    assert span(length) == text


def test_a_reported_code_in_no_table_is_only_shown_whatever_unknown_codes_of_the_driver_get() -> None:
    told = view.explain("220001001", Node())
    assert (told["level"], told["fault_class"], told["known"]) == ("NotHandleFault", "reported", False)
    assert told["does"] == ["it is recorded and shown; nothing is stopped and nothing is reset"]


def test_a_trouble_says_what_its_code_means_in_the_language_that_is_asked_for() -> None:
    node = Node(Policy(), load_catalog(Config()))
    code = next(code for code, entry in node.catalog.entries.items() if entry.meaning and entry.chinese.meaning)
    verdict, words = node.catalog.judge(code, None), pre_isolated_words(node, code)
    assert words.startswith(f"{verdict.meaning}; ")
    assert in_language(words, CHINESE).startswith(f"{verdict.chinese.meaning}；")
