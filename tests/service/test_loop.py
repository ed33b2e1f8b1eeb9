"""The deciding thread, with a real database, simulated chips and pretended containers; no process and no Docker."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.settings import Config
from cmgr.config.sim import Sim
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.facts import Restarted, Resync
from cmgr.model.values.rings import Phase, Ring
from cmgr.service.inbox import Inbox
from cmgr.service.loop import Loop
from cmgr.service.timing.clock import SteadyClock
from cmgr.service.work.workers import Workers
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.store.reader import open_reader
from tests.runtimes.sim.by_hand import RuntimeByHand, pretended
from tests.service.door.desk import CODE, POLICY, Done, Heard, let_fail
from tests.support.waiting import PATIENCE

FULL = "attempt to write a readonly database"


class Site:
    """A service without its process: the test's thread is the deciding one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.log = Heard()
        self.clock = SteadyClock()
        self.store = open_store(self.path)
        quick = timedelta(milliseconds=20)
        self.driver = SimDriver(Sim(chips=4, ring=2, reset_time=quick, boot_time=quick))
        self.runtime = RuntimeByHand([pretended(f"c{n}", str(n)) for n in range(4)])
        self.inbox = Inbox(self.clock)
        self.workers = Workers(self.driver, {self.runtime.name: self.runtime}, self.inbox.put, self.log.bug)
        node = replace(self.store.load(), policy=POLICY, catalog=load_catalog(Config()))
        self.loop = Loop(node, self.inbox, self.store, self.workers.submit, self.log)
        self.inbox.put(Restarted(self.driver.chips(), ("sim",)))
        self.driver.watch(self.inbox.put)
        self.runtime.watch(self.inbox.put)
        self.until(lambda: all(ring.read for ring in self.loop.node.rings.values()) and len(self.loop.node.containers))

    def until(self, condition: Callable[[], object]) -> None:
        """Run the loop until the condition holds, looked at after every batch."""

        def after_each() -> None:
            if condition():
                raise Done

        guard = threading.Timer(PATIENCE, self.inbox.stop)
        guard.start()
        try:
            self.loop.run(self.clock, lambda: timedelta(hours=1), after_each, lambda: None)
        except Done:
            return
        finally:
            guard.cancel()
        raise AssertionError(f"not true in time: {self.loop.node.rings} {self.loop.node.holds}")

    def ring(self) -> Ring:
        return self.loop.node.rings[min(self.loop.node.rings)]

    def phase(self) -> Phase:
        return self.ring().phase

    def well(self) -> bool:
        return not self.loop.node.holds and self.phase() is Phase.HEALTHY and self.loop.node.episodes == 1

    def stopped(self) -> list[str]:
        return sorted(call.name for call in self.runtime.calls if call.operation == "stop")

    def close(self) -> None:
        self.workers.close(5, 5)
        self.runtime.close()
        self.driver.close()
        self.store.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def test_a_whole_episode(site: Site) -> None:
    site.driver.inject(ChipId(0), CODE, Assertion.OCCURRED)
    site.until(site.well)
    assert [reset.outcome for reset in site.driver.resets] == ["taken"]
    assert site.stopped() == ["c0", "c1"]
    assert all(site.runtime.container(f"c{n}").running for n in range(4))
    assert (site.log.warnings, site.log.bugs, site.loop.bugs) == ([], [], 0)
    with open_reader(site.path) as reader:
        told = [note.text for note in reader.notes(1, 100)]
    assert [text for text in site.log.notes if text in told] == told, "the log says what the timeline says"


def test_nothing_is_stopped_whose_hold_could_not_be_written(site: Site) -> None:
    let_fail(site.store, True)
    site.driver.inject(ChipId(0), CODE, Assertion.OCCURRED)
    site.until(lambda: sum(hold.attempt.delays > 1 for hold in site.loop.node.holds.values()) == 2)
    assert site.stopped() == []
    assert [reset.outcome for reset in site.driver.resets] == []
    for hold in site.loop.node.holds.values():
        assert (hold.state, hold.attempt.tries) == (HoldState.TO_STOP, 0)
        assert hold.attempt.error == f"its hold could not be written: {FULL}"
    assert site.loop.trouble.endswith(FULL)
    assert [FULL in text for text in site.log.warnings] == [True], "it is said once"
    with open_reader(site.path) as reader:
        assert reader.episodes(9) == ()
    let_fail(site.store, False)
    site.until(site.well)
    assert site.loop.trouble == ""
    assert site.log.warnings[1:] == ["the database is written again"]
    assert site.stopped() == ["c0", "c1"]
    assert [reset.outcome for reset in site.driver.resets] == ["taken"]
    assert all(site.runtime.container(f"c{n}").running for n in range(4))
    with open_reader(site.path) as reader:
        (episode,) = reader.episodes(9)
        assert episode.outcome == "recovered"
        assert reader.node().holds == {}


def test_what_is_held_is_recovered_from_memory_when_the_disk_is_full(site: Site) -> None:
    site.runtime.fail_next("start", 1, "c0")
    site.driver.inject(ChipId(0), CODE, Assertion.OCCURRED)
    site.until(lambda: site.driver.resets)
    let_fail(site.store, True)
    site.until(site.well)
    assert all(site.runtime.container(f"c{n}").running for n in range(4))
    assert [reset.outcome for reset in site.driver.resets] == ["taken"]
    with open_reader(site.path) as reader:
        assert len(reader.node().holds) == 2, "the file is as old as its last save"
    let_fail(site.store, False)
    site.inbox.put(Resync())
    site.until(lambda: not site.loop.trouble)
    with open_reader(site.path) as reader:
        assert reader.node().holds == {}
        assert reader.episodes(9)[0].outcome == "recovered"


def test_nothing_is_reset_that_could_not_be_noted(site: Site) -> None:
    site.driver.inject(ChipId(0), CODE, Assertion.OCCURRED)
    site.until(lambda: site.phase() is Phase.WAITING)
    let_fail(site.store, True)
    site.until(lambda: site.ring().refusals > 2)
    assert not site.driver.resets
    assert site.ring().resets == (), "what was not ordered costs no budget"
    assert "nothing was reset" in site.ring().reason
    assert FULL in site.ring().reason
    let_fail(site.store, False)
    site.until(site.well)
    assert [reset.outcome for reset in site.driver.resets] == ["taken"]
    assert all(site.runtime.container(f"c{n}").running for n in range(4))
    with open_reader(site.path) as reader:
        assert len(reader.resets(site.clock.now() - timedelta(hours=1))) == 1
