"""`cmgr status -o nagios`: one line and one code, as the plugins of Nagios and its kin answer."""

import pytest

from cmgr.model.values.node import Node
from cmgr.view.text import texts
from tests.cli.conftest import Home
from tests.cli.scenes import in_maintenance, in_need, recovering, told, waiting_for_a_window
from tests.support.picture import isolated, machine


@pytest.mark.parametrize(
    ("node", "code", "begins", "figures"),
    [
        (machine(), 0, "CMGR OK - all is well: 4 chips healthy, ", "chips=4 healthy=4;;;0;4 containers="),
        (isolated(machine(), 2), 1, "CMGR WARNING - not well: ", "chips=4 healthy=3;;;0;4 containers="),
        (waiting_for_a_window(), 1, "CMGR WARNING - not well: ", "healthy=3;;;0;4"),
        (in_need(), 2, "CMGR CRITICAL - not well: ", "running=0;;;0;2 troubles="),
        (recovering(), 2, "CMGR CRITICAL - not well: ", "troubles="),
        (in_maintenance(), 2, "CMGR CRITICAL - in maintenance, not well: ", "troubles="),
    ],
)
def test_the_code_is_that_of_the_gravest_trouble(node: Node, code: int, begins: str, figures: str) -> None:
    line, found = texts.nagios(told(node))
    words, _, behind = line.partition(" | ")
    assert (found, words.startswith(begins), figures in behind) == (code, True, True), line
    assert "|" not in words + behind


@pytest.mark.usefixtures("service")
def test_a_plugin_ends_with_that_code_and_says_nothing_else(home: Home) -> None:
    done = home.here("status", "-o", "nagios")
    assert (done.code, done.err, done.out.count("\n")) == (2, "", 1)
    assert done.out.startswith("CMGR CRITICAL - not well: container a is down; ring 0 ")


@pytest.mark.usefixtures("service")
def test_a_plugin_speaks_english_whatever_the_locale(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert home.here("status", "-o", "nagios").out.startswith("CMGR CRITICAL - not well: container a is down; ring 0 ")


def test_where_nobody_can_tell_the_code_is_3(home: Home) -> None:
    home.configure("strategy = 7")
    done = home.cmgr("status", "-o", "nagios", "--config", str(home.config))
    assert (done.code, done.err, done.out.count("\n")) == (3, "", 1)
    assert done.out.startswith("CMGR UNKNOWN - cannot ")


@pytest.mark.usefixtures("database")
def test_a_service_that_does_not_run_is_critical(home: Home) -> None:
    done = home.here("status", "--output", "nagios")
    assert (done.code, done.err) == (2, "")
    assert done.out.startswith("CMGR CRITICAL - not well: ")
