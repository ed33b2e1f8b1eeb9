"""A command line that cannot be understood is refused with a hint, and nothing is done."""

import pytest

from cmgr.model.values.handling.catalog import FORMS
from tests.cli.conftest import Home


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("status", "--nonsense"),
        ("status", "-o", "xml"),
        ("version", "more"),
        ("chips", "--count", "2"),
        ("chips", "--available", "--count", "0"),
        ("faults", "--since", "yesterday"),
        ("faults", "--since", "99999d99999d"),
        ("history", "one"),
        ("explain",),
        ("explain", "xyz"),
        ("inject", "3"),
        ("inject", "-1", "80E24E00"),
        ("inject", "the-machine", "fan-failed"),
        ("inject", "3", "80E24E00", "--part", "DIMM3"),
        ("inject", "3", "xyz"),
        ("inject", "3", "80E24E00", "--clear", "--once"),
        ("drill", "3", "--real", "--for", "soon"),
        ("demo", "--runtime", "podman"),
        ("isolate", "3"),
        ("reset", "all"),
        ("maintenance",),
        ("maintenance", "perhaps"),
        ("maintenance", "off", "--for", "2h"),
        ("maintenance", "on", "--for", "long"),
        ("status", "--watch", "--check"),
        ("status", "-o", "nagios", "--check"),
        ("status", "--watch", "-o", "nagios"),
        ("history", "1", "--all"),
        ("history", "-o", "svg"),
        ("history", "--all", "-o", "svg"),
        ("group", "resume", "training", "--alone", "--without", "b"),
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
        (("maintenance", "off", "--for", "2h"), "--for goes with on"),
        (("resume",), "give CONTAINER or --all"),
        (("explain", "0"), f"'0' is not a fault code: {FORMS}; cmgr show NAME explains a container"),
    ],
)
def test_what_typer_cannot_know_is_told_as_it_tells_of_mistakes(home: Home, words: tuple[str, ...], said: str) -> None:
    told = home.cmgr(*words).err
    assert told.startswith(f"Usage: cmgr {words[0]} ")
    assert told.endswith(f": {said}\n")


def test_a_setting_that_a_flag_cannot_give_is_a_wrong_command_line(home: Home) -> None:
    told = home.cmgr("run", "--strategy", "nope")
    assert (told.code, told.out) == (2, "")
    assert 'strategy = "nope" (flag): must be never, singleRecover or ringRecover' in told.err


@pytest.mark.parametrize("words", [("status", "-o"), ("status", "--check", "--socket"), ("chips", "--config")])
def test_an_option_without_its_value_is_refused(home: Home, words: tuple[str, ...]) -> None:
    told = home.cmgr(*words)
    assert (told.code, told.out, told.err) == (2, "", f"Error: Option '{words[-1]}' requires an argument.\n")


def test_without_a_command_its_help_is_shown(home: Home) -> None:
    told = home.cmgr()
    assert (told.code, told.err.rstrip()) == (2, home.cmgr("--help").out.rstrip())


def test_no_command_is_described_in_half_a_sentence(home: Home) -> None:
    shown = home.cmgr("--help").out.partition("\nLook:\n")[2]
    assert "Have the configuration and fault tables read again." in shown
    assert "..." not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "没有命令 'nonsense'"),
        (("statu",), "没有命令 'statu'；您要的是不是 'status'、'setup'？"),
        (("ps",), "没有命令 'ps'。在这里是：cmgr status"),
        (("status", "--sor", "name"), "没有选项 --sor；相近的有 --json、--socket、--sort"),
        (("status", "--nonsense"), "没有选项 --nonsense"),
        (("history", "--limit", "0"), "'--limit' 必须是不小于 1 的数字"),
        (("history", "one"), "'[EPISODE]' 必须是数字"),
        (("history", "1", "--all"), "--all 和 EPISODE 不能同时使用"),
        (("status", "--sort", "x"), "'--sort' 必须是 name、status、since、chips 之一"),
        (("isolate", "3"), "缺少 '--reason'"),
        (("maintenance", "off", "--for", "2h"), "--for 要与 on 一起使用"),
        (("version", "more"), "无法理解：Got unexpected extra argument(s) (more)"),
    ],
)
def test_whoever_reads_chinese_is_told_in_chinese_what_is_wrong_with_a_line(
    home: Home, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    told = home.cmgr(*words)
    command = "cmgr" if words[0] in ("nonsense", "statu", "ps") else f"cmgr {words[0]}"
    assert (told.code, told.out) == (2, "")
    usage, tip, blank, *error = told.err.splitlines()
    assert usage.startswith(f"用法：{command} [OPTIONS]")
    assert (tip, blank, error) == (f"帮助：{command} --help", "", [f"错误：{said}"])


def test_so_is_an_option_that_lacks_its_value(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert home.cmgr("status", "-o").err == "错误：选项 -o 后面要有值\n"
