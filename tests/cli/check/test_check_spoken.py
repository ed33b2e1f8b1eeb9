"""The findings of `cmgr check` are in the language of the person who types it; a program has English, and messages."""

import json
import re

import pytest

from tests.cli.check.test_check_table import THEIRS
from tests.cli.conftest import Home
from tests.fakes.tool.standin import Speaker


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


def test_whoever_reads_chinese_is_told_in_chinese_what_was_found(home: Home) -> None:
    home.configure("observe = true")
    assert "observe = true：不做任何动作" in home.here("check").out
    told = json.loads(home.here("check", "--json").out)["findings"]
    (found,) = (each for each in told if each["what"] == "strategy")
    assert (found["text"], found["messages"]["text"]["id"]) == ("observe = true: nothing is done", "check.observes")


def test_so_is_what_stands_around_recoveries(home: Home) -> None:
    hooks, token = home.folder / "hooks.d", home.folder / "token"
    (hooks / "after-episode").mkdir(parents=True)
    token.write_text("very-secret")
    token.chmod(0o600)
    receiver = f'[[alarms.receivers]]\nurl = "http://alarms.example/x"\ntoken_file = "{token}"'
    home.configure(f'hooks.dir = "{hooks}"', receiver)
    told = home.here("check").out
    assert "令牌未加密就发往 http://alarms.example\n" in told
    assert "提示：使用 https\n" in told
    assert "提示：钩子有 before_stop、" in told
    assert re.search(r"^正常  指标 +已关闭$", told, re.MULTILINE)


def test_so_is_what_was_looked_at(home: Home) -> None:
    home.configure('alarms.receivers = [{format = "teams", url = "https://alarms.example/x"}]')
    told = home.here("check").out
    subjects = [line.split()[1] for line in told.splitlines() if line.startswith(("正常", "警告", "错误"))]
    assert {"配置", "策略", "驱动", "环", "容器运行时", "告警", "数据库", "目录", "用户组"} <= {*subjects}
    assert [subject for subject in subjects if subject.isascii()] == []
    found = {each["what"]: each for each in json.loads(home.here("check", "--json").out)["findings"]}
    assert found["alarms teams"]["messages"]["what"] == {"id": "check.alarms", "args": {"format": "teams"}}


def test_so_is_what_a_tried_program_lacks(home: Home) -> None:
    told = home.cmgr("check", "--tool", str(Speaker().program))
    assert told.code == 0
    assert "standin 的 4 个芯片，分为 2 个环\n" in told.out
    assert "提示：在空闲的机器上：cmgr reset\n" in told.out


def test_so_is_how_a_makers_table_differs(home: Home) -> None:
    path = home.folder / "faultCode.json"
    path.write_text(json.dumps(THEIRS))
    told = home.here("check", "--table", str(path)).out.splitlines()
    assert told[0].split() == ["故障码", "这里", "那里", "含义"]
    assert "80ABCDEF  不在任何表中  SeparateNPU" in told
    assert "80E24E00  RestartNPU    SeparateNPU  低功耗管理LPM心跳丢失" in told
    assert told[-1] == "1 个故障码级别不同，1 个不在这里的任何表中，1 个相同"
    differences = json.loads(home.here("check", "--table", str(path), "--json").out)["differences"]
    assert [each["here"] for each in differences] == ["in no table", "RestartNPU"]


def test_setup_shows_what_it_sees_in_chinese(home: Home) -> None:
    told = home.here("setup", "--yes", "--dry-run")
    assert told.code == 0, told.err
    assert "sim 看到 " in told.out
