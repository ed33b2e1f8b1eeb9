"""docs/migration.md says what `cmgr migrate` does. tests/system/test_migration.py goes the way that it describes."""

from cmgr.migration.reference import FLAGS
from tests.docs.made import migration


def test_the_example_is_what_cmgr_makes_of_it() -> None:
    assert migration.PAGE.read_text() == migration.page(), "run: make generated"


def test_every_flag_of_the_reference_is_named() -> None:
    text = migration.PAGE.read_text()
    for name in FLAGS:
        assert f"`-{name}`" in text, name
