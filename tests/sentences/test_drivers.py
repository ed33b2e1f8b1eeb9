"""Drivers say their sentences as messages: no text of theirs is English wherever it is read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRIVERS = sorted(path for path in (ROOT / "cmgr/drivers").rglob("*.py"))

SENTENCE = re.compile(r"(?:^|[^\w\\])[a-z][a-z']*,? [a-z']+,? [a-z]+(?![\w\\])")
"""Three words after each other."""

AS_IT_IS = {
    "dcmi/optics.py": "the words of hccn_tool",
    "dcmi/library/soft_fault.py": "what its own process says to the drill, which says it as a message",
    "machine/kernel.py": "the words of the kernel",
    "machine/smart.py": "the words of smartctl",
    "nvml/resetting/tool.py": "the words of nvidia-smi",
    "tool/kept.py": "where a level comes from, which is a name in every table",
    "tool/spoken.py": "for whoever writes such a program, as the page docs/drivers.md is",
}
"""Modules with other texts, and whose words those are."""

NOT_SAID = ("Meta", "Vendor", "compile", "ValueError")
"""Calls whose texts are no sentences of a driver: the settings' own, and what is caught and said as a message."""


def is_not_said(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "command"
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in NOT_SAID


def texts(path: Path) -> Iterator[str]:
    """Yield each text of a module that somebody could read; {} stands for what is put into it."""
    tree = ast.parse(path.read_text())
    passed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(node.value)
        elif is_not_said(node):
            passed.update(ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            passed.update(node.values)
    for node in ast.walk(tree):
        if node in passed:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)


@pytest.mark.parametrize("path", DRIVERS, ids=lambda path: str(path.relative_to(ROOT / "cmgr/drivers")))
def test_a_driver_says_no_bare_sentence(path: Path) -> None:
    found = [text for text in texts(path) if SENTENCE.search(text)]
    if str(path.relative_to(ROOT / "cmgr/drivers")) in AS_IT_IS:
        assert found, "nothing is left of it"
    else:
        assert found == []
