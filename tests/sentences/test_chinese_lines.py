"""Whatever a person reads on the command line where the locale is Chinese has no English sentence in it."""

import re
from collections.abc import Iterator

import pytest

from tests.support.service import Service, service_of_one

ENGLISH = re.compile(r"[a-z]{2,}(?: [a-z']{2,}){2}|^(?:cmgr: |hint: )?cannot\b|^hint:", re.MULTILINE)
"""Three words in a row, or how cmgr's own refusals begin."""

COMMAND = re.compile(r"\b(?:cmgr|systemctl|chmod|usermod|groupadd|kubectl) [^\s\u2e80-\uffef][^\u2e80-\uffef\n]*")
"""A command is typed as it is in every language; in Chinese it ends where Chinese goes on."""

LINES = (
    "alarms",
    "alarms --test",
    "chips",
    "chips 77",
    "chips --available --count 99",
    "downtime",
    "downtime soon",
    "events --chip zz",
    "events --container zz",
    "explain 80E24E00",
    "explain zzz",
    "faults",
    "faults --since soon",
    "fleet",
    "fleet nowhere",
    "group",
    "group resume nobody",
    "history",
    "history --all",
    "history 1",
    "history 99",
    "inject 99 80E24E00",
    "isolate 3",
    "maintenance off --for 1h",
    "reset 3 --dry-run",
    "show 4",
    "show 99",
    "show episode one",
    "slot",
    "slot remove nobody",
    "status",
    "status nobody",
    "test 1 --dry-run",
    "web --end",
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    yield from service_of_one()


def test_no_sentence_is_english_where_the_locale_is_chinese(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.cmgr("isolate", "0", "--reason", "风扇")
    service.cmgr("inject", "4", "80E24E00")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    bundle = str(service.socket.parent / "b.tar.gz")
    wrong = []
    for line in (*LINES, *[f"bundle {bundle}"] * 2):
        told = service.cmgr(*line.split())
        shown = COMMAND.sub("", told.out + told.err)
        assert shown.strip(), line
        wrong += [(line, each) for each in shown.splitlines() if ENGLISH.search(each)]
    assert wrong == []
