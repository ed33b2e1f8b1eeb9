"""Which real parts tests ran with, Docker, systemd or Python, in which version, and what came of it.

Where CMGR_PARTS names a file, a run adds a line to it for each version of a part that its tests used, and
CMGR_SUITE says which of Debian's suites they are of. `make reliability-parts` runs the same tests with the parts of
all suites, and has this module write what stands in that file into docs/parts.md.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from tests.support.machine import commit

FILE, SUITE, NAME = "CMGR_PARTS", "CMGR_SUITE", "parts"
PAGE = Path(__file__).parents[3] / "docs" / "parts.md"

PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dockerd": ("Docker", ("dockerd", "--version")),
    "containerd": ("containerd", ("containerd", "--version")),
    "podman": ("podman", ("podman", "--version")),
    "systemd": ("systemd", ("systemctl", "--version")),
    "etcd": ("etcd", ("etcd", "--version")),
    "etcds": ("etcd", ("etcd", "--version")),
    "compose": ("Docker Compose", ("docker-compose", "version")),
    "place": ("systemd, as PID 1 of a machine with the package", ()),
}
"""By the fixture that brings it: its name for people, and the command that tells its version."""

VERSION = re.compile(r"\d+(\.\d+)+[^\s,]*|(?<= )\d{3}\b")
SUITES = ("bullseye", "bookworm", "trixie", "sid")
OWN = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
INSTALLED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """The tests with one version of one part, and what came of them; `said`: in words, where it is no count."""

    part: str
    suite: str
    version: str
    kernel: str
    cgroups: str
    date: str
    commit: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    said: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return self.part, self.suite, self.version, self.kernel, self.cgroups, self.said


_OUTCOMES: Counter[tuple[str, str]] = Counter()
TOLD: dict[str, str] = {}
"""By fixture: the version of a part that no command here tells, as the tests found it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        used = PARTS.keys() & {*getattr(item, "fixturenames", ()), *(["compose"] if "compose" in item.nodeid else ())}
        item.user_properties.append((NAME, " ".join(sorted(used))))  # A worker's reports carry it.


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # A test that was skipped or failed while it was set up has no call.
    if report.when == "call" or (report.when == "setup" and not report.passed):
        _OUTCOMES.update(
            (fixture, report.outcome)
            for name, used in report.user_properties
            if name == NAME
            for fixture in str(used).split()
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["parts"] = TOLD  # The outcomes are the controller's.
    elif FILE in os.environ:
        tried = {fixture for fixture, outcome in _OUTCOMES if outcome != "skipped"}
        add(_row(fixture) for fixture in PARTS if fixture in tried)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    TOLD.update(getattr(node, "workeroutput", {}).get("parts", {}))


def _row(fixture: str) -> Row:
    name, command = PARTS[fixture]
    passed, failed, skipped = (_OUTCOMES[fixture, outcome] for outcome in ("passed", "failed", "skipped"))
    # Parts of another suite are unpacked elsewhere; what that suite lacks is this machine's.
    own = command and shutil.which(command[0]) == shutil.which(command[0], path=INSTALLED)
    told = version(*command) if command else TOLD.get(fixture, "")
    return Row(name, OWN if own else suite(), told, *here(), passed, failed, skipped)


def version(*command: str) -> str:
    """Return the first version in what the command says."""
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return found[0] if (found := VERSION.search(said)) else said.strip()


def suite() -> str:
    return os.environ.get(SUITE) or OWN


@cache
def here() -> tuple[str, str, str, str]:
    """Return kernel, version of cgroups, date and commit of this run."""
    second = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    kernel, today = platform.release().partition("-")[0], datetime.now(UTC).strftime("%Y-%m-%d")
    return kernel, "v2" if second else "v1", today, commit()


def add(rows: Iterable[Row]) -> None:
    """Add them to the file that the environment names."""
    path = Path(os.environ[FILE])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)


def summed(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each version of a part in each suite: several runs with the same parts are one."""
    sums: dict[tuple[str, ...], Row] = {}
    for row in rows:
        if past := sums.get(row.key):
            counts = {name: getattr(past, name) + getattr(row, name) for name in ("passed", "failed", "skipped")}
            sums[row.key] = replace(row, **counts)
        else:
            sums[row.key] = row
    return sorted(sums.values(), key=lambda row: (row.part, SUITES.index(row.suite), row))


def block(rows: Iterable[Row]) -> str:
    """Return the table as the page shows it."""
    head = ["| part | Debian's suite | version | kernel, cgroups | tests | date, commit |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *map(_line, rows)])


def _line(row: Row) -> str:
    tests = row.said or ", ".join(
        f"{n:,} {what}" for what, n in (("passed", row.passed), ("failed", row.failed), ("skipped", row.skipped)) if n
    )
    where = "" if row.said else f"{row.kernel}, {row.cgroups}"
    return f"| {row.part} | {row.suite} | {row.version} | {where} | {tests} | {row.date}, {row.commit} |"


def page(text: str, rows: Iterable[Row]) -> str:
    """Return the page's text with these rows in its table."""
    place = re.compile(r"(<!-- parts -->\n).*?(<!-- end -->)", re.DOTALL)
    assert place.search(text), "the page has no place for the table"
    return place.sub(lambda found: f"{found[1]}{block(rows)}\n{found[2]}", text)


def main() -> int:
    """Write what the runs left into the page; with three words, add a row instead: part, version, what came of it."""
    if words := sys.argv[1:]:
        part, version, said = words
        add([Row(part, suite(), version, *here(), said=said)])
        return 0
    rows = [Row(**json.loads(line)) for line in Path(os.environ[FILE]).read_text().splitlines()]
    if wrong := [row for row in rows if row.failed]:
        sys.stderr.write(
            f"cannot write {PAGE.name}: tests failed with {', '.join(f'{r.part} {r.version}' for r in wrong)}\n"
        )
        return 1
    PAGE.write_text(page(PAGE.read_text(), summed(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
