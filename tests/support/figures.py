"""The figures that proofs leave: how many points a service was killed at, how many faults came, how much was lost.

A test that takes the fixture `figures` is a proof: `make reliability` runs them all (`-m proof`) and has this module
write what they added into docs/reliability.md. Any run that has proofs in it prints the figures at its end.
"""

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import machine

FILE = "CMGR_FIGURES"
"""Names the file that the figures of a whole run go into."""

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
AUDITED = PAGE.with_name("security.md")
"""Has the figures of the section Security alone, too."""

SECURITY = "security"
"""The part of the proofs whose figures go into that page alone."""


class Figures:
    """Sums by section and by what was counted, in the order in which they first came."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, int]] = {}
        self.began = time.monotonic()

    def add(self, section: str, what: str, n: int = 1) -> None:
        """Count so many more. `what` is plural: "points killed at". A zero is worth saying, too: "containers lost"."""
        counted = self.sections.setdefault(section, {})
        counted[what] = counted.get(what, 0) + n


@dataclass(frozen=True, slots=True)
class Run:
    """The sums of one run of the proofs."""

    machine: Mapping[str, str]
    passed: int
    failed: int
    skipped: int
    sections: Mapping[str, Mapping[str, int]]


_KEPT = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    """Take figures in: `figures.add("Crash matrix", "points killed at", 7)`. Sums over the whole run."""
    return pytestconfig.stash[_KEPT]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_KEPT] = Figures()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where tests run side by side, each process hands over what its proofs added."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["figures"] = session.config.stash[_KEPT].sections


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for section, counted in getattr(node, "workeroutput", {}).get("figures", {}).items():
        for what, n in counted.items():
            node.config.stash[_KEPT].add(section, what, n)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if figures.__name__ in getattr(item, "fixturenames", ()):
            item.add_marker("proof")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    kept, stats = config.stash[_KEPT], terminalreporter.stats
    if not kept.sections:
        return
    terminalreporter.section("figures")
    for line in lines(kept.sections):
        terminalreporter.write_line(line)
    if FILE in os.environ:
        count = {name: len(stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")}
        told = machine.described({"took": f"{time.monotonic() - kept.began:.0f} s"})
        run = Run(told, count["passed"], count["failed"] + count["error"], count["skipped"], kept.sections)
        path = Path(os.environ[FILE])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(run), indent=1) + "\n")


def lines(sections: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [f"{section}: {what}: {n:,}" for section, counted in sections.items() for what, n in counted.items()]


def block(run: Run) -> str:
    """Return the run as the page shows it."""
    told = ", ".join(f"{name} {value}" for name, value in run.machine.items() if value)
    tests = f"{run.passed} proofs passed, {run.failed} failed, {run.skipped} could not run there"
    rows = [f"| {s} | {what} | {n:,} |" for s, counted in run.sections.items() for what, n in counted.items()]
    return "\n".join([told, "", f"{tests}.", "", "| | | |", "|---|---|---:|", *rows])


def page(text: str, run: Run, part: str = "") -> str:
    """Return the page's text with this run in its block; `part`: of the proofs that run on their own."""
    began = f"<!-- proof: {part} -->" if part else "<!-- proof -->"
    place = re.compile(rf"({re.escape(began)}\n).*?(<!-- end -->)", re.DOTALL)
    assert place.search(text), "the page has no place for the proof"
    return place.sub(lambda found: f"{found[1]}{block(run)}\n{found[2]}", text)


def main() -> int:
    """Write the figures of the file named into the page, into the block of the part named, if any."""
    run = Run(**json.loads(Path(sys.argv[1]).read_text()))
    if run.failed or not run.passed:
        sys.stderr.write(f"cannot write {PAGE.name}: {run.failed} proofs failed, {run.passed} passed\n")
        return 1
    if sys.argv[2:] != [SECURITY]:
        PAGE.write_text(page(PAGE.read_text(), run, *sys.argv[2:]))
    if sys.argv[2:] in ([], [SECURITY]):
        alone = replace(run, sections={"Security": run.sections.get("Security", {})})
        AUDITED.write_text(page(AUDITED.read_text(), alone, SECURITY))
    return 0


if __name__ == "__main__":
    sys.exit(main())
