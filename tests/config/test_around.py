"""The settings of alarms, hooks and bundles."""

from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.receivers import FORMATS, Receiver
from tests.config.support import from_text, mistakes, written

TOKEN = "/etc/cmgr/token"  # noqa: S105 - only a path


def test_receivers_of_alarms_are_tables_with_a_format_events_and_a_token_each(file: Path) -> None:
    config = from_text(
        file,
        '[alarms]\ntimeout = "2s"\n[[alarms.receivers]]\nurl = "http://127.0.0.1:9093"\nformat = "alertmanager"\n'
        '[[alarms.receivers]]\nurl = "https://[::1]:8443/hook?a=b"\nevents = ["isolated", "deaf"]\n'
        'token_file = "/etc/cmgr/token"\n',
    )
    assert config.alarms.timeout == timedelta(seconds=2)
    assert config.alarms.receivers == (
        Receiver("http://127.0.0.1:9093", format="alertmanager"),
        Receiver("https://[::1]:8443/hook?a=b", events=("isolated", "deaf"), token_file=TOKEN),
    )


@pytest.mark.parametrize(
    "url",
    [
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
        "smtps://mail.example/inbox",
        "udp://",
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


def test_hooks_can_be_switched_off_and_bundles_too(file: Path) -> None:
    config = from_text(file, '[hooks]\ndir = ""\n[bundles]\nkeep = 0\n')
    assert (config.hooks.dir, config.bundles.keep) == ("", 0)


def test_what_hooks_are_told_in_their_environment_configures_nothing() -> None:
    told = {"CMGR_HOOK": "before_stop", "CMGR_HOOK_EPISODE": "17", "CMGR_HOOK_CHIPS": "0 1"}
    assert load(None, environ=told).hooks == load(None, environ={}).hooks
    (said,) = mistakes(None, {"CMGR_HOOKED": "x"})
    assert said.startswith("CMGR_HOOKED (environment): there is no such setting")


FITTING = (
    'format = "json"\nurl = "https://a/"\ntoken_file = "/t"\nproxy = "http://p:3128"',
    'format = "wecom"\nurl_file = "/u"\nevery = "1m"',
    'format = "dingtalk"\nurl = "https://a/"\nsecret_file = "/s"',
    'format = "feishu"\nurl_file = "/u"\nsecret_file = "/s"\nca_file = "/c"',
    'format = "slack"\nurl_file = "/u"\nproxy = "http://p"',
    'format = "teams"\nurl_file = "/u"',
    'format = "mail"\nurl = "smtps://m"\nsender = "a@b"\nto = ["c@d", "e@f"]\nuser = "u"\nsecret_file = "/s"',
    'format = "mail"\nurl = "smtp+plain://m:25"\nsender = "a@b"\nto = ["c@d"]',
    'format = "syslog"\nurl = "tls://s:6514"\nca_file = "/c"',
    'format = "snmp"\nurl = "udp://s"\nsecret_file = "/s"',
    'format = "program"\nprogram = "/usr/local/bin/tell"',
)


def test_each_format_takes_what_it_needs(file: Path) -> None:
    config = from_text(file, "".join(f"[[alarms.receivers]]\n{each}\n" for each in FITTING))
    assert len(config.alarms.receivers) == len(FITTING)
    assert {receiver.format for receiver in config.alarms.receivers} == {*FORMATS} - {"alertmanager"}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('format = "wecom"', "[1]: format wecom needs either url or url_file"),
        ('url = "https://a/"\nurl_file = "/u"', "[1]: format json needs either url or url_file"),
        (
            'format = "syslog"\nurl = "https://a/"',
            "[1].url: format syslog needs an address that begins with udp://, tcp:// or tls://",
        ),
        ('url = "https://a/"\nto = ["a@b"]', "[1].to: format json does not take it"),
        ('url = "https://a/"\nevery = "1m"', "[1].every: format json does not take it"),
        ('format = "slack"\nurl = "https://a/"\nsecret_file = "/s"', "[1].secret_file: format slack does not take it"),
        ('format = "mail"\nurl = "smtp://a"\nto = ["a@b"]', "[1].sender: is missing; format mail needs it"),
        ('format = "program"\nurl = "https://a/"\nprogram = "/x"', "[1].url: format program does not take it"),
        ('format = "program"', "[1].program: is missing; format program needs it"),
        (
            'format = "mail"\nurl = "smtp://a"\nsender = "a@b"\nto = ["a@b"]\nuser = "u"',
            "[1]: user and secret_file: either both or none",
        ),
        (
            'format = "mail"\nurl = "smtp+plain://a"\nsender = "a@b"\nto = ["a@b"]\nuser = "u"\nsecret_file = "/s"',
            "[1].url: a password is sent over TLS alone: smtp:// or smtps://",
        ),
        ('url = "http://a/"\nproxy = "http://p"', "[1].proxy: only https goes through a proxy"),
        ('url = "https://a/"\nproxy = "https://p"', "[1].proxy: a proxy itself is reached by http://"),
    ],
)
def test_what_does_not_fit_together_is_a_mistake(file: Path, lines: str, says: str) -> None:
    assert mistakes(written(file, f"[[alarms.receivers]]\n{lines}\n")) == (f"alarms.receivers{says}",)


def test_all_that_does_not_fit_is_told_at_once(file: Path) -> None:
    found = mistakes(written(file, '[[alarms.receivers]]\nformat = "mail"\ntoken_file = "/t"\nproxy = "http://p"\n'))
    assert len(found) == 5


@pytest.mark.parametrize("to", ["", "duty", "a@b c", "<a@b>", "a@b\\r\\nBcc: c@d", "a@", "@b"])
def test_what_is_no_address_for_mail_is_a_mistake(file: Path, to: str) -> None:
    (said,) = mistakes(written(file, f'[[alarms.receivers]]\nurl = "smtp://a"\nsender = "a@b"\nto = ["{to}"]\n'))
    assert "must be a list, each one an address such as" in said
