"""The findings of `cmgr check` are in the language of the person who types it; a program has English, and messages."""

import json

import pytest

from tests.cli.conftest import Home


def test_whoever_reads_chinese_is_told_in_chinese_what_was_found(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.configure("observe = true")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "observe = true：不做任何动作" in home.here("check").out
    told = json.loads(home.here("check", "--json").out)["findings"]
    (found,) = (each for each in told if each["what"] == "strategy")
    assert (found["text"], found["messages"]["text"]["id"]) == ("observe = true: nothing is done", "check.observes")
