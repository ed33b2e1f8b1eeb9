"""docs/logs.md says what the journal gets."""

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.log import journal
from tests.docs.made import logs
from tests.support.picture import T0


def test_every_kind_of_line_stands_in_the_table() -> None:
    assert set(logs.ABOUT) == {*NoteKind, journal.SERVICE, journal.TROUBLE, journal.BUG, journal.LIBRARY}
    assert logs.PAGE.read_text() == logs.page(), "run: make generated"


def test_every_field_is_explained() -> None:
    text = logs.PAGE.read_text()
    key = ContainerKey("docker", "moby", "web-1")
    note = Note(T0, NoteKind.CLOSED, "over", RingId(0), 7, ChipId(0), key, "recovered")
    for name in (*journal.fields_of(note), "MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER"):
        assert f"`{name}`" in text, name
