"""No document grows faster than the machine that it shows, nor does the cost of a decision on one container's news."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from functools import partial

import pytest

from cmgr.model.reduce import next_deadline, reduce
from cmgr.model.values.messages.facts import ContainerSeen, Event
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import CHINESE, ENGLISH, translated
from cmgr.view import status as view
from cmgr.view.groups import groups
from cmgr.view.text import render, texts
from tests.cli.scenes import NOW, SERVICE
from tests.support.picture import key
from tests.view.crowd import anew, crowd, lines

SIZES = (64, 512, 4096)
"""Containers."""

SLACK = 1.3
"""Sorting costs a little more for each."""


def news(node: Node) -> object:
    changed = replace(node.containers[key("well-0")], health="healthy")
    return reduce(node, Event(NOW, ContainerSeen(changed)))


def status(node: Node) -> object:
    return view.status(node, SERVICE, NOW)


def text(language: str, node: Node) -> object:
    page = texts.Page(render.Face(NOW, UTC, language))
    return texts.picture(translated(view.status(node, SERVICE, NOW), language), page)


@pytest.fixture(scope="module")
def machines() -> list[Node]:
    return [crowd(size) for size in SIZES]


@pytest.mark.parametrize(
    "ask",
    [
        status,
        partial(text, ENGLISH),
        partial(text, CHINESE),
        lambda node: view.health(node, SERVICE),
        view.chips,
        view.containers,
        view.faults,
        groups,
        news,
        lambda node: next_deadline(node, NOW),
    ],
    ids=["status", "text", "chinese", "health", "chips", "containers", "faults", "groups", "news", "deadline"],
)
def test_it_grows_as_what_there_is(machines: list[Node], ask: Callable[[Node], object]) -> None:
    ask(anew(machines[0]))  # Now all is compiled that is compiled at its first use.
    small, middle, large = (lines(partial(ask, anew(node))) for node in machines)
    assert middle <= small * SIZES[1] / SIZES[0] * SLACK
    assert large <= middle * SIZES[2] / SIZES[1] * SLACK


def test_what_was_just_told_costs_nothing_while_the_books_are_the_same(machines: list[Node]) -> None:
    node = anew(machines[0])
    first, again = (lines(partial(status, node)) for _ in range(2))
    assert again < first / 2
