"""Each word of a document that a text shows has its word in the catalog: else a Chinese text is half in English."""

from enum import StrEnum
from typing import get_args

import pytest

from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.groups import GroupPhase
from cmgr.model.values.services.outages import OutageCause
from cmgr.sentences.sentence import LANGUAGES, catalog
from cmgr.view import shapes

LISTS = get_args(shapes.ServiceState), get_args(shapes.ContainerStatus), ("starting", "unhealthy")
ENUMS: tuple[type[StrEnum], ...] = (Phase, NoteKind, GroupPhase, OutageCause)
HEALTHS = ("healthy", "pre-isolated", "isolated", "faulty")
OUTCOMES = ("recovered", "cleared", "isolated", "failed", "observed", "under way")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_state_kind_and_outcome_is_a_word_of_the_catalog(language: str) -> None:
    words = {*OUTCOMES, *HEALTHS, *(word for words in LISTS for word in words)}
    words |= {str(each) for enum in ENUMS for each in enum}
    assert {word for word in words if f"word.{word}" not in catalog(language)} == set()
