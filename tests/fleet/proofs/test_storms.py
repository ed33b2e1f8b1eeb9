"""Storms over a fleet: whatever may end, stand still, fill or be cut does so at random while rounds go on, by a seed.

CMGR_STORMS: how many one after the other; `make reliability` has more of them than `make test`.
"""

import os
import random
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from cmgr.errors import CmgrError
from cmgr.fleet import document_text
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.appliance_text import Keys
from cmgr.fleet.gateway import Access, Gateway
from cmgr.fleet.registration import RANGE
from cmgr.model.values.services.groups import GroupPhase
from tests.fleet.proofs.trio import BESIDE, Mortal, Trio, document, is_over, too_early
from tests.fleet.services import TP
from tests.support.daemons.etcd import Node
from tests.support.figures import Figures
from tests.support.relay import Way
from tests.support.service import NOW
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(7200)]

STORMS = int(os.environ.get("CMGR_STORMS", "2"))

FURTHEST = 60
"""A round has about as many points for each appliance; one that is told to end later does not."""


class Storm:
    """One storm: from where all run until all run again. `done`: what it did, in order."""

    def __init__(self, three: Trio, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - a test's dice, not a secret
        self._three = three
        self._all = list(three.all.values())
        self._frozen = set[Node]()
        self._may_stand = [self._dice.choice(self._all)]
        self.done = list[str]()

    def rages(self) -> None:
        acts: Sequence[Callable[[], None]] = (
            self._fault, self._wake, self._wake, self._kill, self._kill_node, self._freeze_leader, self._nodes_back,
            self._break_line, self._mend_line,
        )  # fmt: skip
        for each in self._all:
            self._plan(each)
        self._fault()
        for _ in range(self._dice.randint(3, 8)):
            self._meanwhile()
            self._dice.choice(acts)()

    def calms(self) -> None:
        """Let nothing ail any more."""
        for node in self._three.cluster.nodes:
            node.thaw()
        self._three.cluster.start()
        for relay in self._three.relays.values():
            relay.heal()
            relay.cut(away=False)
        for each in self._all:
            each.goes_on()
        self._say("over")

    def _say(self, what: str) -> None:
        self.done.append(what)

    def _plan(self, each: Mortal) -> None:
        """Perhaps let it end, or stand still, after so many points of the round."""
        how = self._dice.choice([None, signal.SIGKILL, signal.SIGSTOP if each in self._may_stand else signal.SIGKILL])
        point = self._dice.randint(1, FURTHEST)
        each.meets(point if how else None, how or signal.SIGKILL)
        self._say(f"{each.name}: {how.name if how else 'lives'} after {point}")

    def _awake(self) -> list[Mortal]:
        """Return those that run and never stand still: a question to one that does would wait for half a minute."""
        return [each for each in self._all if each not in self._may_stand and each.running()]

    def _fault(self) -> None:
        for each in self._awake():
            chip = self._dice.choice((0, 4))
            self._say(f"fault on chip {chip} of {each.name}")
            self._inject(each, chip)

    def _inject(self, each: Mortal, chip: int) -> None:
        """Let the chip have a fault, unless its service ends before it has answered."""

        def tried() -> bool:
            with suppress(CmgrError):
                each.inject(chip, NOW)
                return True
            return not each.running()

        eventually(tried, f"{each.name} is told of a fault")

    def _meanwhile(self) -> None:
        """Let a container beside the group be recovered somewhere, unless somebody ends or stands still before."""
        there = [each.is_there() for each in self._all]
        for each in self._awake():
            before = len(each.deeds())
            self._inject(each, BESIDE)

            def passed(each: Mortal = each, before: int = before) -> bool:
                news = [deed.action for deed in each.deeds()[before:] if deed.name == "x"]
                return news[-1:] == ["start"] or [e.is_there() for e in self._all] != there

            eventually(passed, f"x of {each.name} is recovered, or somebody ends")

    def _wake(self) -> None:
        for each in self._all:
            if each.is_there():
                self._say(f"{each.name} goes on")
                each.goes_on()
                if self._dice.random() < 0.5:
                    self._plan(each)

    def _kill(self) -> None:
        each = self._dice.choice(self._all)
        if each.running():
            self._say(f"{each.name} is killed")
            each.kill9()

    def _kill_node(self) -> None:
        node = self._dice.choice(self._three.cluster.nodes)
        if node.running():
            self._say(f"{node.name} is killed")
            node.kill()

    def _freeze_leader(self) -> None:
        nodes = self._three.cluster.nodes
        if all(node.running() for node in nodes) and not self._frozen:
            node = self._three.cluster.leader()
            self._say(f"{node.name} leads, and stands still")
            node.freeze()
            self._frozen.add(node)

    def _nodes_back(self) -> None:
        self._say("the nodes are back")
        for node in self._frozen:
            node.thaw()
        self._frozen.clear()
        self._three.cluster.launch()

    def _break_line(self) -> None:
        name, way = self._dice.choice("abc"), self._dice.choice([Way.HOLD, Way.DROP, Way.CUT])
        relay, there = self._three.relays[name], self._dice.random() < 0.5
        self._say(f"{'requests' if there else 'answers'} of {name}: {way.name}")
        if there:
            relay.there = way
        else:
            relay.back = way

    def _mend_line(self) -> None:
        self._say("the lines are well")
        for relay in self._three.relays.values():
            relay.heal()
            relay.cut(away=False)


def is_calm(three: Trio) -> bool:
    """Return whether everything runs everywhere, and no service has anything to do or to tell.

    The point at which one was to end may come only now.
    """
    for each in three.all.values():
        if each.is_there():
            each.goes_on()
    with suppress(CmgrError):
        all_ = three.all.values()
        well = all(is_over(each, three.rounds) and each.status()["service"]["state"] == "ready" for each in all_)
        return well and len({document(each)["round"] for each in all_}) == 1
    return False


def rounds(three: Trio) -> dict[int, bool]:
    """Return each round of which the engine knows, and whether its document said of it in the end that all run."""
    engine, key = Gateway(Access(three.cluster.endpoints)), Keys("/cmgr").group(TP)
    seen, revision = dict[int, bool](), 0
    while page := wire.page(engine.ask(RANGE, wire.range_asked(key, revision=revision))).keys:
        found = document_text.parse(page[0].value)
        seen[found.round] = seen.get(found.round, False) or found.phase is GroupPhase.RUNNING
        revision = page[0].mod - 1
    engine.close()
    return seen


def test_in_whatever_storm_nobody_starts_too_early_and_nobody_is_lost(three: Trio, figures: Figures) -> None:
    for seed in range(STORMS):
        storm, before = Storm(three, seed), max(rounds(three))
        try:
            storm.rages()
            storm.calms()
            eventually(lambda: is_calm(three), "all of all run, and nothing ails any more", times=2)
            deeds = three.news()
            assert too_early(deeds) == [], deeds
        except Exception as error:
            error.add_note(f"storm {seed}: {storm.done}")
            raise
        three.rounds = max(rounds(three))
        assert three.rounds > before
    seen = rounds(three)
    assert seen[three.rounds], "the last round is complete"
    three.figures(figures, {"storms": STORMS}, overtaken=list(seen.values()).count(False))
