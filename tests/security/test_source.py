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


OWN_JSON = {
    "cmgr/drivers/nvml/hearing/nvlink5.py": "the tables that are brought along",
    "cmgr/words.py": "which makes one kind of error of all that is wrong with a peer's",
    "cmgr/redact.py": "below it", "cmgr/service/door/client.py": "it loads the standard library alone",
    "cmgr/web/app.py": "below nothing of cmgr", "cmgr/web/live.py": "the service's own answer",
    "cmgr/config/spelling.py": "it looks for keys that are there twice",
    "cmgr/fleet/document_text.py": "it refuses numbers that are none",
    "cmgr/service/metrics/chips.py": "a table of the package",
    "cmgr/sentences/sentence.py": "the catalogs of the package",
    "cmgr/config/tables/catalog.py": "a table of the package", "cmgr/drivers/nvml/codes.py": "a table of the package",
    "cmgr/cli/act.py": "cmgr's own output", "cmgr/cli/past.py": "cmgr's own output",
    "cmgr/cli/groups.py": "cmgr's own output", "cmgr/cli/bundle.py": "what it has just written",
    "cmgr/store/rows.py": "the database's own",
    "cmgr/service/extras/bundles.py": "cmgr's own files",
}  # fmt: skip
"""The modules that read JSON by themselves, and why that is right."""


def test_json_of_a_peer_is_read_in_one_place() -> None:
    files = [path for path in (ROOT / "cmgr").rglob("*.py") if re.search(r"\bjson\.loads?\(", path.read_text())]
    assert {str(path.relative_to(ROOT)) for path in files} == set(OWN_JSON)


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
