"""Sentences between programs: each is told as its text, and beside all of them, by text, are the messages of these."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from cmgr.sentences import sentence

MOST, DEEPEST = 1000, 12
"""So many messages count of what another program tells, and so deep in it texts are looked for."""


def messages(told: object) -> dict[str, sentence.Message]:
    """Return the messages of all sentences in this JSON, by their texts."""
    return {str(each): sentence.message(each) for each in _sentences(told)}


def restored(told: Any, said: object, *, of_stranger: bool = False) -> Any:
    """Return the JSON of another program with the sentences of which it says the messages.

    `of_stranger`: no order in them is one here, where a page would show a button for it.
    """
    if not isinstance(said, dict):
        return told
    known = {text: sentence.heard(text, each) for text, each in islice(said.items(), MOST)}
    return _with({k: sentence.without_orders(v) for k, v in known.items()} if of_stranger else known, told, DEEPEST)


def _sentences(told: object) -> Iterator[sentence.Sentence]:
    if isinstance(told, sentence.Sentence):
        yield told
    elif isinstance(told, Mapping | list):
        for each in told.values() if isinstance(told, Mapping) else told:
            yield from _sentences(each)


def _with(known: Mapping[str, object], told: Any, left: int) -> Any:
    if isinstance(told, str):
        return known.get(told, told)
    if left and isinstance(told, dict):
        return {name: _with(known, each, left - 1) for name, each in told.items()}
    return [_with(known, each, left - 1) for each in told] if left and isinstance(told, list) else told
