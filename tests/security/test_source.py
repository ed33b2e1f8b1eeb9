"""What the program's own text must not contain: a shell, code made of data, objects made of data, names in /tmp."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "cmgr").rglob("*.py"))

CALLS = frozenset({"eval", "exec", "compile", "__import__", "breakpoint", "input"})
ATTRIBUTES = frozenset(
    {
        "os.system", "os.popen", "os.fork", "os.forkpty", "os.startfile", "pty.spawn", "tempfile.mktemp",
        "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell", "builtins.eval",
        "builtins.exec", "code.interact", "runpy.run_path", "runpy.run_module", "sys.settrace",
    }
)  # fmt: skip
FAMILIES = ("os.exec", "os.spawn", "os.posix_spawn")
MODULES = frozenset(
    {"pickle", "cPickle", "marshal", "shelve", "dill", "yaml", "commands", "pdb", "xmlrpc", "telnetlib"}
)
RUNNING = frozenset({"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_output"})


def offences(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                modules = [n.name for n in names] + ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
                yield from (m for m in modules if m.partition(".")[0] in MODULES)
                yield from (f"{m}.{n.name}" for m in modules for n in names if f"{m}.{n.name}" in ATTRIBUTES)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                whole = f"{module}.{name}"
                if whole in ATTRIBUTES or whole.startswith(FAMILIES):
                    yield whole
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield name
            case ast.Call() if ast.unparse(node.func) in RUNNING and _is_one_text(node):
                yield "a program named by one text"
            case ast.keyword(arg="shell"):
                yield "shell="
            case ast.Constant(value=str(value)) if value.startswith(("/tmp", "/var/tmp", "/dev/shm")):  # noqa: S108
                yield value
            case _:
                pass


def _is_one_text(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant | ast.JoinedStr)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_program_runs_no_shell_and_makes_no_code_or_objects_of_data(path: Path) -> None:
    assert list(offences(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.system('x')",
        "import os\nos.popen(x)",
        "import os\nos.execvp(x, y)",
        "from os import system",
        "import subprocess\nsubprocess.run(x, shell=True)",
        "import subprocess\nsubprocess.run('ls')",
        "import subprocess\nsubprocess.Popen(f'ls {x}')",
        "eval(x)",
        "exec(x)",
        "compile(x, '', 'exec')",
        "__import__(x)",
        "import pickle",
        "from pickle import loads",
        "import yaml\nyaml.load(x)",
        "open('/tmp/cmgr')",
        "import tempfile\ntempfile.mktemp()",
    ],
)
def test_each_of_these_would_be_found(text: str) -> None:
    assert list(offences(text)) != []
