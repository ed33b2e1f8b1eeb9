"""`python -m bench`: measure everything in one run. `--page` writes the last run's figures into docs/performance.md."""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from bench import floor, reference, steady
from bench.cases import (
    alone,
    ascend,
    asking,
    containerd,
    cycles,
    fleet,
    full_page,
    idle,
    moves,
    nvidia,
    page,
    requests,
    scale,
    slow,
    storm,
    tool,
)
from bench.report import figures, pictures
from bench.report.figures import Figure
from bench.site import Site
from tests.running import reaper

PARTS: Mapping[str, Callable[[Site], list[Figure]]] = {
    "cycles": cycles.run,
    "storm": storm.run,
    "ascend": ascend.run,
    "nvidia": nvidia.run,
    "tool": tool.run,
    "containerd": containerd.run,
    "moves": moves.run,
    "idle": idle.run,
    "asking": asking.run,
    "page": page.run,
    "full-page": full_page.run,
    "fleet": fleet.run,
    "scale": scale.run,
    "requests": requests.run,
    "slow": slow.run,
    "alone": lambda site: alone.run(site.folder),
}

T = TypeVar("T")


class Run:
    """The figures of a run, and the parts that could not be measured."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.figures: list[Figure] = []
        self.failed: list[str] = []
        self._watch = steady.Watch()

    def part(self, name: str, measure: Callable[[], list[Figure]]) -> list[Figure]:
        """Return the figures of a part. Where the machine was not itself it is measured once more, and else marked."""
        disturbed = False
        for _ in range(2):
            found, disturbed = self._watch.beside(lambda: self.do(name, measure) or [])
            if not disturbed or name in self.failed:
                break
        return [replace(figure, disturbed=disturbed) for figure in found]

    def do(self, name: str, measure: Callable[[], T]) -> T | None:
        """Return what it measures; None where it fails. The others are measured all the same: a run takes long."""
        print(f"{time.monotonic() - self.began:5.0f} s  measuring: {name}", file=sys.stderr)
        try:
            return measure()
        except Exception:
            traceback.print_exc()
            self.failed.append(name)
            return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page and its pictures, measure nothing")
    parser.add_argument("--reference", help="container-manager's program: measure it, too, and compare", metavar="PATH")
    parser.add_argument("--only", choices=PARTS, help="measure this part only, and save nothing")
    given = parser.parse_args()
    if given.page:
        machine, found = figures.load()
        figures.write(machine, found)
        pictures.draw(found)
        return 0
    # As it is installed, it has its bytecode: to compile everything at each start takes time, and memory that stays.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    run = Run()
    with Site() as site:
        floors = run.do("the floor", lambda: floor.measured(site)) or {}
        for name in [given.only] if given.only else PARTS:
            run.figures += run.part(name, partial(PARTS[name], site))
        found, machine = floor.laid(run.figures, floors), dict(site.machine())
        if "interpreter" in floors:
            machine["python -c pass"] = f"{floors['interpreter']:.1f} ms"
        machine["reference"] = "not measured in this run"
        if given.reference and (theirs := run.do("the reference", lambda: reference.measured(site, given.reference))):
            found, machine["reference"] = reference.beside(found, theirs), "measured in this run"
        machine["took"] = f"{time.monotonic() - run.began:.0f} s"
        if run.failed:
            machine["not measured"] = ", ".join(run.failed)
    if not given.only:
        figures.save(machine, found)
    print(figures.table(machine, found))
    return 1 if run.failed else 0


if __name__ == "__main__":
    reaper.guarded()
    sys.exit(main())
