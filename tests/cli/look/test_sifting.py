"""Some of many: names, chips, groups and outcomes narrow what is shown, and names alone are for scripts."""

import json
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.service.door.routes import Request
from cmgr.store import open_store
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text import sift
from tests.cli.conftest import Home, answers
from tests.cli.scenes import NOW, recovering
from tests.support.door import door
from tests.support.picture import decided, faulty, held, hold, isolated, key, machine, running


def crowd() -> Node:
    """Chip 2 is isolated with b waiting for it; c and d on chip 3 are a group."""
    node = machine()
    more = {key(name): replace(running(name, 3), group="tp2") for name in ("c", "d")}
    node = replace(node, containers={**node.containers, **more})
    return decided(isolated(held(node, hold("b", HoldState.DOWN, 2)), 2))


def shown(home: Home, *words: str, node: Node | None = None) -> tuple[int, str, str]:
    server = door(home.socket, answers(node or crowd(), list[Request]()))
    server.start()
    with closing(server):
        told = home.here(*words)
    return told.code, told.out, told.err


def names(home: Home, *words: str) -> list[str]:
    return shown(home, *words, "-o", "name")[1].split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["a", "b", "c", "d"]),
        (("a",), ["a"]),
        (("a", "c"), ["a", "c"]),
        (("--group", "tp2"), ["c", "d"]),
        (("--chip", "0-2"), ["a", "b"]),
        (("--unhealthy",), ["b"]),
        (("--chip", "3", "--unhealthy"), []),
    ],
)
def test_the_status_is_narrowed_to_what_is_asked_for(home: Home, words: tuple[str, ...], found: list[str]) -> None:
    assert names(home, "status", *words) == found


def test_the_first_line_and_check_stay_those_of_the_whole_machine(home: Home) -> None:
    code, out, _ = shown(home, "status", "a", "--check")
    assert out.startswith("not well: container b is down")
    assert "\n3 of 4 chips healthy, 3 of 4 containers running\n" in out
    assert code == 4
    rows = [line.split()[0] for line in out.partition("CONTAINER")[2].splitlines()[1:] if line]
    assert rows == ["a"]


def test_a_container_is_shown_with_its_chips_and_a_chip_with_its_ring() -> None:
    told = view.status(crowd(), Own("ready", "sim", ()), NOW)
    some = sift.status(told, sift.Wish(names=("b",)))
    assert [chip["id"] for chip in some["chips"]] == [2]
    assert [ring["id"] for ring in some["rings"]] == [2]
    assert some["troubles"] == told["troubles"]
    assert [row["name"] for row in some["down"]] == ["b"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("status", "nobody"), "cannot show nobody: there is none"),
        (("status", "--group", "none", "--chip", "0,9"), "cannot show chip 9, group none: there is none"),
        (("chips", "2,8-9"), "cannot show chip 8-9: there is none"),
    ],
)
def test_what_there_is_not_is_an_error(home: Home, words: tuple[str, ...], why: str) -> None:
    code, out, err = shown(home, *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"cmgr: {why}\nhint: cmgr ")


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--chip", "a-b"),
        ("chips", "3-1"),
        ("status", "--watch", "-o", "name"),
        ("status", "--watch", "a"),
        ("chips", "2", "--available"),
        ("history", "1", "--chip", "2"),
        ("history", "--all", "--outcome", "failed"),
        ("history", "--since", "soon"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(home: Home, words: tuple[str, ...]) -> None:
    code, out, err = shown(home, *words)
    assert (code, out) == (2, "")
    assert f"Usage: cmgr {words[0]}" in err


def test_chips_and_faults_are_narrowed_too(home: Home) -> None:
    assert names(home, "chips", "1-2") == ["1", "2"]
    assert names(home, "chips", "--unhealthy") == ["2"]
    two = faulty(faulty(machine(), 0), 3)
    assert json.loads(shown(home, "faults", "3", "-o", "json", node=two)[1])["faults"][0]["chip"] == 3
    assert shown(home, "faults", "-o", "name", node=two)[1].split() == ["80E24E00"]


def test_without_heads_there_are_rows_alone(home: Home) -> None:
    whole = shown(home, "chips")[1].splitlines()
    assert shown(home, "chips", "--no-headers")[1].splitlines() == whole[1:]


def test_containers_stand_in_the_order_that_is_asked_for(home: Home) -> None:
    def rows(*words: str) -> list[str]:
        table = shown(home, "status", "--no-headers", *words)[1].splitlines()
        return [line.split()[0] for line in table if line[:3].rstrip() in ("a", "b", "c", "d")]

    assert rows() == ["b", "a", "c", "d"]
    assert rows("--sort", "name") == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["2", "1"]),
        (("--chip", "0"), ["1"]),
        (("--chip", "3"), ["2"]),
        (("--container", "a"), ["1"]),
        (("--outcome", "recovered"), ["1"]),
        (("--outcome", "under-way"), ["2"]),
        (("--outcome", "failed"), []),
        (("--sort", "began"), ["1", "2"]),
    ],
)
def test_the_history_is_narrowed_to_what_is_asked_for(home: Home, words: tuple[str, ...], found: list[str]) -> None:
    assert home.here("history", *words, "-o", "name").out.split() == found


@pytest.mark.usefixtures("database")
def test_lines_are_narrowed_too(home: Home) -> None:
    told: Any = json.loads(home.here("history", "--all", "--container", "a", "-o", "json").out)
    assert [note["text"] for note in told["notes"]] == ["stop a: chip 0 of ring 0 is faulty", "a is down"]
    assert home.here("history", "--container", "nobody").code == 1
    assert home.here("history", "--group", "nobody").code == 1


@pytest.mark.usefixtures("database")
def test_what_was_done_to_one_that_was_made_anew_or_is_gone_is_found_by_its_name(home: Home) -> None:
    lives = (("f00", "a"), ("bad", "gone"))
    notes = [Note(NOW, NoteKind.ACTION, f"stop {id_}", container=key(id_), name=name) for id_, name in lives]
    with closing(open_store(home.database)) as store:
        store.save(recovering(), (), notes)

    def texts(*words: str) -> list[str]:
        told: Any = json.loads(home.here(*words, "-o", "json").out)
        return [note["text"] for note in told["notes"]]

    assert texts("history", "--all", "--container", "a")[-1] == "stop f00"
    assert texts("history", "--all", "--container", "gone") == ["stop bad"]
    assert texts("show", "a") == ["stop a: chip 0 of ring 0 is faulty", "a is down", "stop f00"]
