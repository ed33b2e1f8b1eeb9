"""`python -m bench`: measure everything in one run. `--page` writes the last run's figures into docs/performance.md."""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping

from bench import floor
from bench.cases import alone, ascend, containerd, cycles, fleet, idle, moves, nvidia, page, scale, slow, storm
from bench.report import figures, pictures
from bench.report.figures import Figure
from bench.site import Site

PARTS: Mapping[str, Callable[[Site], list[Figure]]] = {
    "cycles": cycles.run,
    "storm": storm.run,
    "ascend": ascend.run,
    "nvidia": nvidia.run,
    "containerd": containerd.run,
    "moves": moves.run,
    "idle": idle.run,
    "page": page.run,
    "fleet": fleet.run,
    "scale": scale.run,
    "slow": slow.run,
    "alone": lambda site: alone.run(site.folder),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page and its pictures, measure nothing")
    parser.add_argument("--only", choices=PARTS, help="measure this part only, and save nothing")
    given = parser.parse_args()
    if given.page:
        machine, found = figures.load()
        figures.write(machine, found)
        pictures.draw(found)
        return 0
    # As it is installed, it has its bytecode: to compile everything at each start takes time, and memory that stays.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    found, failed = [], []
    began = time.monotonic()
    with Site() as site:
        print(f"{time.monotonic() - began:5.0f} s  measuring: the floor", file=sys.stderr)
        floors = floor.measured(site)
        for name in [given.only] if given.only else PARTS:
            print(f"{time.monotonic() - began:5.0f} s  measuring: {name}", file=sys.stderr)
            try:
                found += PARTS[name](site)
            except Exception:
                # The others are measured all the same: a whole run takes half an hour.
                traceback.print_exc()
                failed.append(name)
        found = floor.laid(found, floors)
        machine = {**site.machine(), "took": f"{time.monotonic() - began:.0f} s"}
        if failed:
            machine["not measured"] = ", ".join(failed)
    if not given.only:
        figures.save(machine, found)
    print(figures.table(machine, found))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
