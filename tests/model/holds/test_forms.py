"""The special forms in which containers are run answer what holds ask, and neither make nor end a hold themselves."""

import ast

from cmgr.model.containers.forms import FORMS
from cmgr.model.holds.keeping import Form
from tests.test_shape import sources

CHANGES = ("put_hold", "drop_hold")
PLACE = {"chips", "wish", "short"}
"""The fields that say where a container is to be started: slots, units and moves decide on that."""


def _calls() -> list[tuple[str, ast.Call]]:
    """Return where something other than the life of a hold changes one."""
    return [
        (path, call)
        for path, tree in sources("cmgr")
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in CHANGES
        if not path.startswith("cmgr/model/holds/")
    ]


def _only_says_where(call: ast.Call) -> bool:
    given = call.args[0]
    new = isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "replace"
    return new and isinstance(given, ast.Call) and {keyword.arg for keyword in given.keywords} <= PLACE


def test_outside_of_its_life_a_hold_is_only_told_where_its_container_is_to_be() -> None:
    assert [f"{path}:{call.lineno}" for path, call in _calls() if not _only_says_where(call)] == []
    assert {path.rpartition("/")[0] for path, _ in _calls()} == {
        "cmgr/model/containers",
        "cmgr/model/containers/moving",
    }


def test_each_question_is_answered_by_a_form_and_no_row_answers_nothing() -> None:
    nothing = Form()
    assert all(any(form[n] is not nothing[n] for form in FORMS) for n in range(len(nothing)))
    assert all(form != nothing for form in FORMS)
