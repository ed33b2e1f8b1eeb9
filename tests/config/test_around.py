"""The settings of alarms, hooks and bundles."""

from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.around import EVENTS, Receiver
from cmgr.config.load import load
from tests.config.support import from_text, mistakes, written


def test_receivers_of_alarms_are_tables_with_a_format_events_and_a_token_each(file: Path) -> None:
    config = from_text(
        file,
        '[alarms]\ntimeout = "2s"\n[[alarms.receivers]]\nurl = "http://127.0.0.1:9093"\nformat = "alertmanager"\n'
        '[[alarms.receivers]]\nurl = "https://[::1]:8443/hook?a=b"\nevents = ["isolated", "deaf"]\n'
        'token_file = "/etc/cmgr/token"\n',
    )
    assert config.alarms.timeout == timedelta(seconds=2)
    assert config.alarms.receivers == (
        Receiver("http://127.0.0.1:9093", "alertmanager", EVENTS),
        Receiver("https://[::1]:8443/hook?a=b", "json", ("isolated", "deaf"), "/etc/cmgr/token"),
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "alarms.example",
        "ftp://alarms.example/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://who:secret@alarms.example/",
        "http://alarms.example:0/",
        "http://alarms.example:99999/",
        "http://alarms.example/#part",
        "http://alarms.example/with blank",
        "http://alarms.example/\u00e4",
        "http://[::1",
    ],
)
def test_what_is_no_address_to_send_to_is_a_mistake(file: Path, url: str) -> None:
    (said,) = mistakes(written(file, f'[[alarms.receivers]]\nurl = "{url}"\n'))
    assert said.startswith("alarms.receivers[1].url = ")
    assert "must be an address such as" in said


def test_unknown_events_and_formats_are_mistakes(file: Path) -> None:
    text = '[[alarms.receivers]]\nurl = "http://a/"\nformat = "xml"\nevents = ["detected", "all"]\n'
    found = mistakes(written(file, text))
    assert [said.partition(" = ")[0] for said in found] == ["alarms.receivers[1].format", "alarms.receivers[1].events"]


def test_a_back_off_longer_than_its_longest_is_a_mistake(file: Path) -> None:
    (said,) = mistakes(written(file, '[alarms]\nbackoff = "2m"\nbackoff_max = "1m"\n'))
    assert said == "alarms.backoff: must not be longer than alarms.backoff_max"


def test_hooks_can_be_switched_off_and_bundles_too(file: Path) -> None:
    config = from_text(file, '[hooks]\ndir = ""\n[bundles]\nkeep = 0\n')
    assert (config.hooks.dir, config.bundles.keep) == ("", 0)


def test_what_hooks_are_told_in_their_environment_configures_nothing() -> None:
    told = {"CMGR_HOOK": "before_stop", "CMGR_HOOK_EPISODE": "17", "CMGR_HOOK_CHIPS": "0 1"}
    assert load(None, environ=told).hooks == load(None, environ={}).hooks
    (said,) = mistakes(None, {"CMGR_HOOKED": "x"})
    assert said.startswith("CMGR_HOOKED (environment): there is no such setting")
