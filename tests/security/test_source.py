"""Words that the program's text must not contain, beside what ruff finds (S: shells, code out of data, pickles).

Each test looks at every file and lists what offends.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CALLS = frozenset({"compile", "__import__", "breakpoint", "input"})
ATTRIBUTES = frozenset(
    {"os.fork", "os.forkpty", "builtins.eval", "builtins.exec", "code.interact", "runpy.run_path", "runpy.run_module"}
)
MODULES = frozenset({"marshal", "shelve", "yaml", "commands", "pdb", "xmlrpc", "telnetlib"})
RUNNING = frozenset({"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_output"})
WAIVED = re.compile(r"# noqa: .*\bS(102|108|301|302|306|307|60[245679])\b")
"""A waiver of one of ruff's rules that this test relies on."""


def offences(text: str) -> Iterator[str]:
    yield from (line.strip() for line in text.splitlines() if WAIVED.search(line))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (n.name for n in names if n.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{n.name}" for n in names if f"{module}.{n.name}" in ATTRIBUTES)
                yield from [module] if module.partition(".")[0] in MODULES else []
            case ast.Attribute(value=ast.Name(id=module), attr=name) if f"{module}.{name}" in ATTRIBUTES:
                yield f"{module}.{name}"
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield name
            case ast.Call() if ast.unparse(node.func) in RUNNING and _is_one_text(node):
                yield "a program named by one text"
            case _:
                pass


def _is_one_text(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant | ast.JoinedStr)


def test_the_program_runs_no_shell_and_makes_no_code_or_objects_of_data() -> None:
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "cmgr").rglob("*.py"))}
    found = {path: told for path, text in texts.items() if (told := list(offences(text)))}
    assert len(found.pop("cmgr/frozen.py")) == 1, "of its own classes' fields, as dataclasses does"
    assert len(found.pop("cmgr/drivers/nvml/library/forks.py")) == 3, "two forks of its own, and what these send to it"
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.fork()",
        "from os import fork",
        "import subprocess\nsubprocess.run('ls')",
        "import subprocess\nsubprocess.Popen(f'ls {x}')",
        "subprocess.run(x, shell=True)  # noqa: S602",
        "compile(x, '', 'exec')",
        "__import__(x)",
        "import yaml\nyaml.load(x)",
        "from xmlrpc import client",
    ],
)
def test_each_of_these_would_be_found(text: str) -> None:
    assert list(offences(text)) != []
