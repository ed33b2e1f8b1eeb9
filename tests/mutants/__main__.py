"""Draw mutants of a directory of the model, and have the tests look at each: `python -m tests.mutants holds --draw 30`.

The tests are collected once. A child runs them all and notes which ones come by which line. For each mutant another
child is forked. It gives the function the changed code, and runs the tests that come by its line, the quickest first,
until one fails. A change may let it go on for ever: it ends when it has used up its time, and counts as killed.
No file of the tree is changed.
"""

import argparse
import gc
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutants.changes import Change, changed, changes
from tests.mutants.equivalent import EQUIVALENT
from tests.running import reaper

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "cmgr" / "model"

KILLED, SURVIVED, UNSEEN = "killed", "survived", "no test comes by"

_NOTICED = 9
"""How a child ends of which a test has failed."""

Lines = dict[tuple[str, int], set[int]]


class Mutants:
    """The plugin that runs the tests of each mutant instead of all tests once."""

    def __init__(self, drawn: Sequence[Change], at_once: int) -> None:
        self.drawn, self.at_once = drawn, at_once
        self.verdicts: dict[Change, str] = {}
        self._lines: Lines = {}
        self._costs: list[float] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with tempfile.NamedTemporaryFile() as notes:
            if self._wait(self._fork(partial(self._noted, session, Path(notes.name)))):
                raise pytest.UsageError("a test fails without any change")
            *places, self._costs = json.load(notes)
            self._lines = {(path, line): set(tests) for path, line, tests in places}
        running: dict[int, Change] = {}
        for change in self.drawn:
            tests = self._tests(change)
            if not tests:
                self._tell(change, UNSEEN)
                continue
            if len(running) == self.at_once:
                self._end_one(running)
            running[self._fork(partial(self._killed, session, change, tests))] = change
        while running:
            self._end_one(running)
        return True

    def _end_one(self, running: dict[int, Change]) -> None:
        pid, status = os.wait()
        change = running.pop(pid)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) not in (0, _NOTICED):
            raise pytest.UsageError(f"cannot change {change.words}")
        self._tell(change, KILLED if status else SURVIVED)

    def _tell(self, change: Change, verdict: str) -> None:
        self.verdicts[change] = verdict
        sys.stderr.write(f"{verdict}: {change.path.relative_to(ROOT)}:{change.line} {change.words}\n")

    def _tests(self, change: Change) -> list[int]:
        """Return the tests that come by it, the quickest first."""
        lines = range(change.line, change.last + 1)
        met = set[int]().union(*(self._lines.get((str(change.path), n), set()) for n in lines))
        return sorted(met, key=lambda n: self._costs[n])

    @staticmethod
    def _wait(pid: int) -> int:
        return os.waitpid(pid, 0)[1]

    @staticmethod
    def _fork(work: Callable[[], int]) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            code = work()
        finally:
            os._exit(code)

    def _noted(self, session: pytest.Session, notes: Path) -> int:
        files = {str(change.path) for change in self.drawn}
        lines: Lines = {}
        costs = []
        for number in range(len(session.items)):
            began = time.process_time()
            met = _watched(files, partial(_run, session, number))
            costs.append(time.process_time() - began)
            for place in met:
                lines.setdefault(place, set()).add(number)
        notes.write_text(json.dumps([[*place, sorted(met)] for place, met in lines.items()] + [costs]))
        return session.testsfailed

    def _killed(self, session: pytest.Session, change: Change, tests: list[int]) -> int:
        most = 10 + 3 * sum(self._costs[n] for n in tests)
        resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most) + 5))
        given(change)
        for number in tests:
            _run(session, number)
            if session.testsfailed:
                return _NOTICED
        return 0


def _run(session: pytest.Session, number: int) -> None:
    item = session.items[number]
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _watched(files: set[str], work: Callable[[], None]) -> set[tuple[str, int]]:
    """Return the lines of these files that were come by."""
    met: set[tuple[str, int]] = set()

    def line(frame: FrameType, _event: str, _arg: object) -> Any:
        met.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, arg: object) -> Any:
        return line(frame, event, arg) if frame.f_code.co_filename in files else None

    threading.settrace(call)
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return met


def given(change: Change) -> None:
    """Give the function that has been loaded the changed code."""
    loaded(change).__code__ = _code(compile(changed(change), str(change.path), "exec"), change.function)


def loaded(change: Change) -> FunctionType:
    """Return the function that it changes, which a class, a property or a decorator may have taken in."""
    import_module(".".join(change.path.relative_to(ROOT).with_suffix("").parts))
    names = (str(change.path), change.function)
    functions = (thing for thing in gc.get_objects() if isinstance(thing, FunctionType))
    return next(f for f in functions if (f.__code__.co_filename, f.__code__.co_qualname) == names)


def _code(within: CodeType, qualified: str) -> CodeType:
    for name in qualified.split("."):
        within = next(c for c in within.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return within


def drawn(place: Path, number: int, seed: int) -> list[Change]:
    """Return so many changes of a file or of a directory's files, the same ones for a seed, without equivalent ones."""
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    found = [change for path in paths for change in changes(path)]
    alive = [change for change in found if (change.path.name, change.words) not in EQUIVALENT]
    return random.Random(seed).sample(alive, min(number, len(alive)))  # noqa: S311 - a test's dice, not a secret


def main() -> int:
    told = _told()
    reaper.guarded()
    sys.stderr.write(f"{told.draw} mutants each of {', '.join(told.directories)}, by seed {told.seed}\n")
    all_drawn = {name: drawn(MODEL / name, told.draw, told.seed) for name in told.directories}
    mutants = Mutants([change for some in all_drawn.values() for change in some], told.at_once)
    options = ["-o", "addopts=", "-s", "-p", "no:terminal", "-p", "no:cacheprovider", "-m", "not alone"]
    code = pytest.main([*options, *told.tests], plugins=[mutants])
    if len(mutants.verdicts) < len(mutants.drawn):
        return int(code) or 1
    report = {}
    for name, some in all_drawn.items():
        left = [f"{c.path.name}:{c.line} {c.words}" for c in some if mutants.verdicts[c] != KILLED]
        report[name] = {"seed": told.seed, "drawn": len(some), "killed": len(some) - len(left), "left": left}
    text = json.dumps(report, indent=1)
    if told.report:
        told.report.write_text(text)
    sys.stdout.write(f"{text}\n")
    return 0


def _told() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("directories", nargs="+", help="or files of cmgr/model, as in `holds` and `holds/seen.py`")
    parser.add_argument("--draw", type=int, default=100)
    parser.add_argument("--seed", type=int, required=True, help="which ones: the same for the same number")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("--report", type=Path, help="is written: how many there were, and which survived")
    parser.add_argument("--tests", nargs="+", default=["tests/model"])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
