"""`python -m bench`: measure everything in one run. `--markdown` prints the last run's table for the README."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping

from bench import alone, ascend, containerd, cycles, figures, idle, storm
from bench.figures import Figure
from bench.site import Site

PARTS: Mapping[str, Callable[[Site], list[Figure]]] = {
    "cycles": cycles.run,
    "storm": storm.run,
    "ascend": ascend.run,
    "containerd": containerd.run,
    "idle": idle.run,
    "alone": lambda site: alone.run(site.folder),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the table of the last run, measure nothing")
    parser.add_argument("--only", choices=PARTS, help="measure this part only, and save nothing")
    given = parser.parse_args()
    if given.markdown:
        print(figures.markdown(*figures.load()))
        return 0
    found: list[Figure] = []
    began = time.monotonic()
    with Site() as site:
        for name in [given.only] if given.only else PARTS:
            print(f"{time.monotonic() - began:5.0f} s  measuring: {name}", file=sys.stderr)
            found += PARTS[name](site)
        machine = {**site.machine(), "took": f"{time.monotonic() - began:.0f} s"}
    if not given.only:
        figures.save(machine, found)
    print(figures.table(machine, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
