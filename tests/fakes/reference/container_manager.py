"""A program that takes the reference's flags and does, roughly, what that does: for tests of whoever measures it.

It is run as a script. Library and daemon it finds as the reference does: in LD_LIBRARY_PATH, and by -sockPath.
"""

import argparse
import os
import queue
import sys
import time
from datetime import timedelta
from pathlib import Path

import docker

from bench.weather import REAL
from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import DriverFact

SCAN_SECONDS = 0.2


def main() -> int:
    if sys.argv[1:] == ["status"]:
        sys.stdout.write("containers are running\n")
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("run", choices=["run"])
    parser.add_argument("-ctrStrategy", choices=["singleRecover", "ringRecover"], required=True)
    parser.add_argument("-runtimeType", choices=["docker"], required=True)
    parser.add_argument("-sockPath", required=True)
    parser.add_argument("-logPath", required=True)
    given = parser.parse_args()
    library = Path(os.environ["LD_LIBRARY_PATH"].partition(":")[0], "libdcmi.so")
    hour = timedelta(hours=1)
    driver, client = DcmiDriver(Dcmi(library=str(library)), hour, hour), docker.APIClient(f"unix://{given.sockPath}")
    told = queue.SimpleQueue[DriverFact]()
    driver.watch(told.put)
    while True:
        rows = client.containers(all=True)
        try:
            fact = told.get(timeout=SCAN_SECONDS)
        except queue.Empty:
            continue
        if isinstance(fact, FaultReported) and (fact.code, fact.assertion) == (REAL, Assertion.OCCURRED):
            _recover(driver, client, fact, [row["Id"] for row in rows], whole=given.ctrStrategy == "ringRecover")


def _recover(driver: DcmiDriver, client: docker.APIClient, fact: FaultReported, ids: list[str], *, whole: bool) -> None:
    (ring,) = {chip.ring for chip in driver.chips() if chip.id == fact.chip}
    chips = [chip.id for chip in driver.chips() if chip.ring == ring]
    used = {f"ASCEND_VISIBLE_DEVICES={chip}" for chip in (chips if whole else [fact.chip])}
    paused = [id_ for id_ in ids if used.intersection(client.inspect_container(id_)["Config"]["Env"])]
    for id_ in paused:
        client.stop(id_)
    driver.reset(chips, [fact.chip], frozenset({fact.code}))
    while not all(report.is_up for report in driver.read(chips)):
        time.sleep(0.05)
    for id_ in paused:
        client.start(id_)


if __name__ == "__main__":
    sys.exit(main())
