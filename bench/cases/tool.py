"""The same on chips that a program speaks for: from its line to the first stop."""

import time
from contextlib import ExitStack

from bench.cases.cycles import CHIPS
from bench.records import of
from bench.report.figures import Figure, quantile
from bench.site import Site
from tests.fakes.tool.standin import RESETS, Speaker

PART = 'driver = "tool"'
ROUNDS = 5


def run(site: Site) -> list[Figure]:
    return [
        *_first_stops(site, "1 container", "singleRecover", 1, 1),
        *_first_stops(site, "8 containers", "ringRecover", CHIPS, CHIPS),
    ]


def _first_stops(site: Site, case: str, strategy: str, stopped: int, ring: int) -> list[Figure]:
    """From the moment before the program has the event: it looks for one every ms, which is part of the figure."""
    speaker = Speaker(chips=CHIPS, ring=ring)
    with ExitStack() as stack:
        stack.callback(speaker.remove)
        service, records = site.settled(speaker.program, CHIPS, strategy, stack)
        waited = []
        for _ in range(ROUNDS):
            for chip in range(CHIPS):
                speaker.occur(chip, RESETS, told=False)
                mark, began = records.mark(), time.monotonic()
                speaker.tell(fault=RESETS, chip=chip, state="occurred")
                records.wait(mark, lambda calls: len(of(calls, "start")) >= stopped, f"chip {chip} recovered")
                service.until(service.all_well, "end the episode")
                waited.append((of(records.since(mark), "stop")[0].begin - began) * 1000)
    what, n = f"{case}: the program's line to the first stop", len(waited)
    return [
        Figure(PART, f"{what}, p50", quantile(waited, 0.5), "ms", 5, n),
        Figure(PART, f"{what}, p99", quantile(waited, 0.99), "ms", 25, n),
    ]
