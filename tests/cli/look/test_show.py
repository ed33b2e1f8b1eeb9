"""`cmgr show`: one thing whole, found by its number or its name; where two fit both are named."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

from cmgr.model.values.node import Node
from tests.cli.conftest import Home, answers
from tests.cli.scenes import twins
from tests.support.door import door
from tests.support.picture import key, machine, running


def shown(home: Home, node: Node, *words: str) -> tuple[int, str, str]:
    server = door(home.socket, answers(node, []))
    server.start()
    with closing(server):
        told = home.here("show", *words)
    return told.code, told.out, told.err


def with_container(name: str, *chips: int, group: str = "") -> Node:
    node = machine()
    return replace(node, containers={**node.containers, key(name): replace(running(name, *chips), group=group)})


@pytest.mark.usefixtures("service")
def test_a_number_is_a_chip_and_a_name_a_container(home: Home) -> None:
    assert home.here("show", "0").out.startswith("chip 0: faulty\nwhy: fault 80E24E00 (RestartNPU)\n")
    assert home.here("show", "a").out.startswith("container a: paused, since ")
    assert home.here("show", "chip", "2").out.startswith("chip 2: healthy\n")
    assert home.here("show", "b").out.startswith("container b: running, and serves, since ")


@pytest.mark.usefixtures("service")
def test_who_reads_chinese_has_it_in_chinese(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert home.here("show", "0").out.startswith("芯片 0：有故障\n原因：")
    assert home.here("show", "a").out.startswith("容器 a：已暂停，自 ")
    assert "处于恢复过程" in home.here("show", "a").out
    assert home.here("show", "b").out.startswith("容器 b：运行中，正在提供服务，自 ")
    assert json.loads(home.here("show", "b", "-o", "json").out)["container"]["status"] == "running"


@pytest.mark.usefixtures("service")
def test_as_json_the_document_is_whole(home: Home) -> None:
    told = json.loads(home.here("show", "a", "-o", "json").out)
    assert told["container"]["name"] == "a"
    assert [chip["id"] for chip in told["chips"]] == [0, 1]
    assert {trouble["kind"] for trouble in told["troubles"]} == {"episode", "down"}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (with_container("3", 3), ("cmgr show chip 3", "cmgr show container 3")),
        (with_container("other", 3, group="a"), ("cmgr show container a", "cmgr show group a")),
        (twins(), ("cmgr show container blue/web", "cmgr show container green/web")),
    ],
)
def test_where_two_fit_both_are_named_and_nothing_is_shown(home: Home, node: Node, words: tuple[str, ...]) -> None:
    name = words[0].split()[-1].rpartition("/")[2]
    code, out, err = shown(home, node, name)
    assert (code, out) == (2, "")
    assert all(each in " ".join(err.split()) for each in words)


def test_the_kind_says_which_is_meant(home: Home) -> None:
    assert shown(home, with_container("3", 3), "container", "3")[1].startswith("container 3: running")
    assert shown(home, with_container("3", 3), "chip", "3")[1].startswith("chip 3: healthy")
    assert shown(home, twins(), "green/web")[1].startswith("container green/web: failed")


def test_the_beginning_of_an_id_is_enough_where_nothing_has_that_name(home: Home) -> None:
    assert shown(home, with_container("chat-of-llama", 3), "chat-of")[1].startswith("container chat-of-llama: running")


@pytest.mark.usefixtures("database")
def test_without_the_service_the_database_says_what_was_done(home: Home) -> None:
    told = home.here("show", "a")
    assert (told.code, told.err) == (0, "cmgr: from the database: the service is not running\n")
    assert "a is down" in told.out
    assert "chip 0 has fault 80E24E00 (RestartNPU)" in home.here("show", "0").out
    assert home.here("show", "episode", "1").out.startswith("episode 1 of ring 0: recovered")


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("9", "cannot show chip 9: there is none"),
        ("nobody", "cannot show container nobody: cmgr has nothing to do with"),
    ],
)
def test_what_there_is_not_is_an_error_with_a_hint(home: Home, name: str, why: str) -> None:
    told = home.here("show", name)
    assert (told.code, told.out) == (1, "")
    assert f"cmgr: {why}" in told.err
    assert "hint: cmgr " in told.err


@pytest.mark.parametrize(
    "words", [(), ("chip", "a"), ("episode", "last"), ("thing", "a"), ("chip", "1", "2"), ("chip", "-1")]
)
@pytest.mark.usefixtures("service")
def test_what_cannot_be_meant_is_wrong_usage(home: Home, words: tuple[str, ...]) -> None:
    told = home.here("show", *words)
    assert (told.code, told.out) == (2, "")
    assert "Usage: cmgr show" in told.err
