"""A command line that cannot be understood is refused with a hint, and nothing is done."""

import pytest

from tests.cli.conftest import Home


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("status", "--nonsense"),
        ("status", "-o", "xml"),
        ("chips", "--count", "2"),
        ("chips", "--available", "--count", "0"),
        ("faults", "--since", "yesterday"),
        ("faults", "--since", "99999d99999d"),
        ("history", "one"),
        ("explain",),
        ("explain", "xyz"),
        ("inject", "3"),
        ("inject", "-1", "80E24E00"),
        ("inject", "3", "xyz"),
        ("inject", "3", "80E24E00", "--clear", "--once"),
        ("demo", "--runtime", "podman"),
        ("isolate", "3"),
        ("reset", "all"),
        ("maintenance",),
        ("maintenance", "perhaps"),
        ("maintenance", "off", "--for", "2h"),
        ("maintenance", "on", "--for", "long"),
        ("status", "--watch", "--check"),
        ("history", "1", "--all"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_hint(home: Home, words: tuple[str, ...]) -> None:
    told = home.cmgr(*words)
    assert (told.code, told.out) == (2, "")
    assert "--help" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("reset", "x"), "CHIP: 'x' is not a whole number"),
        (("history", "one"), "EPISODE: 'one' is not a whole number"),
        (("maintenance",), "on|off is missing"),
        (("inject", "3"), "CODE is missing"),
        (("isolate", "3"), "--reason is missing"),
        (("maintenance", "perhaps"), "on|off: 'perhaps' is not one of 'on', 'off'"),
        (("status", "-o", "xml"), "--output: 'xml' is not one of 'table', 'json'"),
        (("chips", "--available", "--count", "0"), "--count: 0 is less than 1"),
        (("resume",), "give a CONTAINER or --all"),
        (("reload", "twice"), "not expected here: twice"),
        (("status", "--nonsense"), "there is no option --nonsense"),
        (("explain", "0"), "'0' is not a fault code: 1 to 8 hexadecimal digits, not all 0, such as 80E24E00"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_plain_words(home: Home, words: tuple[str, ...], said: str) -> None:
    told = home.cmgr(*words)
    assert told.err == f"cmgr: cannot understand the command line: {said}\nhint: cmgr {words[0]} --help\n"


def test_an_option_without_its_value_is_told(home: Home) -> None:
    told = home.cmgr("isolate", "3", "--reason").err
    assert told.startswith("cmgr: cannot understand the command line: --reason needs a value\n")


def test_a_command_that_is_not_there_is_told_with_what_may_be_meant(home: Home) -> None:
    told = home.cmgr("statsu")
    assert told.err.startswith("cmgr: cannot understand the command line: there is no command 'statsu'. Did you mean")
    assert told.err.endswith("\nhint: cmgr --help\n")


@pytest.mark.parametrize(
    ("command", "usage"),
    [("inject", "[OPTIONS] CHIP CODE"), ("history", "[OPTIONS] [EPISODE]"), ("maintenance", "[OPTIONS] on|off")],
)
def test_usage_names_what_is_needed_as_manual_pages_do(home: Home, command: str, usage: str) -> None:
    assert home.cmgr(command, "--help").out.splitlines()[0] == f"Usage: cmgr {command} {usage}"


def test_no_command_is_described_in_half_a_sentence(home: Home) -> None:
    shown = home.cmgr("--help").out
    assert "Have the configuration and fault tables read again." in shown
    assert "..." not in shown.partition("Commands:")[2]
