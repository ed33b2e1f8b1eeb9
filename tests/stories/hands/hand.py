"""A person who does one thing after the other with the containers of a machine, as the seed has it."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from docker.errors import APIError

from tests.stories.ends.test_ended_well import ENDS_WELL
from tests.stories.hands.dockerd_record import Change
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually
from tests.system.containers import Containers, Spec

CHIPS = 5
POLICIES = ("no", "no", "always", "unless-stopped", "on-failure")
HEALS = {"cmgr.heal": "true", "cmgr.heal-backoff": "1"}
COMES_BACK = ("always", "unless-stopped")
UNHEARD = ("SIGHUP", "SIGUSR1", "SIGWINCH")
"""Signals for which the first process of a container has no trap, so that it never hears of them."""


@dataclass(eq=False)
class Kept:
    """A container that a person has made. `wishes`: whether cmgr is to see that it serves, or that it does not."""

    id: str
    spec: Spec
    policy: str
    policy_is_sure: bool = True
    wishes: list[Change] = field(default_factory=list)
    before: "tuple[Kept, ...]" = ()
    """Those in whose place a client has made it: of all these only one is to serve."""

    def want(self, wanted: bool | None) -> None:
        self.wishes.append((time.monotonic(), wanted))

    @property
    def wanted(self) -> bool | None:
        return self.wishes[-1][1] if self.wishes else None

    @property
    def is_service(self) -> bool:
        return self.policy in COMES_BACK or bool(self.spec.labels)


@dataclass
class Hand:
    """`kept`: by name, what is there; `made`: what ever was. `did` tells what was done, for whoever reads a failure."""

    containers: Containers
    service: Service
    chance: random.Random
    kept: dict[str, Kept] = field(default_factory=dict)
    made: list[Kept] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    _numbers: Callable[[], int] = field(default_factory=lambda: count(1).__next__)

    def begin(self) -> None:
        for chip in range(CHIPS):
            self._run(f"s{chip}", str(chip))
        self._run("free", "")

    def act(self) -> None:
        """Do one thing, and wait for as long as it takes a person's fancy."""
        acts: Mapping[Callable[[], None], int] = {
            self._stop: 3,
            self._start: 3,
            self._end_by_signal: 2,
            self._signal: 2,
            self._restart: 3,
            self._pause: 2,
            self._unpause: 2,
            self._arm: 2,
            self._limit: 1,
            self._rename: 1,
            self._remove: 1,
            self._recreate: 2,
            self._redeploy: 2,
            self._try_again: 3,
            self._crash: 3,
            self._end_well: 2,
            self._restart_dockerd: 1,
            self._kill_dockerd: 1,
            self._lose_disk: 1,
            self._kill_cmgr: 2,
            self._restart_cmgr: 1,
            self._configure: 1,
            self._fault: 9,
        }
        (act,) = self.chance.choices(list(acts), list(acts.values()))
        # A person is refused some things: a container that is gone meanwhile cannot be stopped.
        with suppress(APIError, ProcessLookupError):
            act()
        self._pause_between()

    # Containers are made.

    def _run(self, name: str, chips: str) -> None:
        policy = self.chance.choice(POLICIES)
        labels = HEALS if policy == "no" and self.chance.random() < 0.3 else {}
        self._make(Spec(name, chips, ENDS_WELL, policy, labels))

    def _make(self, spec: Spec, before: tuple[Kept, ...] = ()) -> None:
        self._say(f"run {spec.name} on chip {spec.chips or '-'}, --restart {spec.policy} {dict(spec.labels)}")
        self.containers.run(spec)
        made = Kept(self.containers.id(spec.name), spec, spec.policy, before=before)
        self.kept[spec.name] = made
        self.made.append(made)
        self._is_wanted(spec.name)

    def _recreate(self) -> None:
        name = self._any()
        old = self.kept[name]
        self._take_away(name)
        self._make(Spec(name, old.spec.chips, ENDS_WELL, old.policy, old.spec.labels))

    def _redeploy(self) -> None:
        name = self._any()
        old = self.kept[name]
        self._make(Spec(f"{name[:8]}-v{self._numbers()}", old.spec.chips, ENDS_WELL, old.policy, old.spec.labels))
        self._take_away(name)

    def _try_again(self) -> None:
        """A client whose container ends makes another, and leaves the old one to whoever cleans up."""
        jobs = sorted(n for n, k in self.kept.items() if k.spec.chips and k.policy == "no" and not k.is_service)
        if not jobs:
            return
        name = self.chance.choice(jobs)
        old = self.kept[name]
        began = self.containers.started_at(name)
        if self.containers.is_running(name):
            self._fault_on(int(old.spec.chips), NOW)
            eventually(lambda: not self.containers.is_running(name) or self.containers.started_at(name) != began)
        self._say(f"the client of {name} tries again")
        if old.wanted:
            old.want(None)
        self._make(Spec(f"t{self._numbers()}", old.spec.chips, ENDS_WELL), (old, *old.before))

    def _leave_both(self, name: str) -> None:
        """A person's own order for one of several tries may leave two of them on a chip."""
        for kept in self.kept.values():
            if self.kept[name] in (kept, *kept.before):
                kept.before = ()

    def _take_away(self, name: str) -> None:
        self._say(f"rm -f {name}")
        self.kept[name].want(None)
        self.containers.remove(name)
        del self.kept[name]

    def _remove(self) -> None:
        if len(self.kept) > 3:
            self._take_away(self._any())

    # They are told to do something else.

    def _stop(self) -> None:
        name = self._running()
        self._ends(name, f"stop {name}", lambda: self.containers.stop(name))

    def _end_by_signal(self) -> None:
        name, how = self._running(), self.chance.choice(("SIGTERM", "SIGKILL"))
        self._ends(name, f"kill -s {how} {name}", lambda: self.containers.tell(name, how))

    def _ends(self, name: str, words: str, act: Callable[[], None]) -> None:
        """A stop of a container that cmgr stops too, or has stopped, says nothing that Docker could tell."""
        calm = self._is_calm(name)
        self._say(f"{words} ({'calm' if calm else 'in an episode'})")
        self.kept[name].want(None)
        act()
        eventually(lambda: not calm or not self.containers.is_running(name), why=f"{name} ends")
        self.kept[name].want(False if calm and self._is_calm(name) else None)

    def _start(self) -> None:
        self._wants("start", self.containers.start)

    def _restart(self) -> None:
        self._wants("restart", lambda name: self.containers.restart_within(name, 5))

    def _wants(self, words: str, act: Callable[[str], None]) -> None:
        name = self._any()
        self._leave_both(name)
        self._say(f"{words} {name}")
        self.kept[name].want(None)
        act(name)
        self._is_wanted(name)

    def _is_wanted(self, name: str) -> None:
        """It is cmgr's to see to one with a chip, or with the wish to be healed."""
        kept = self.kept[name]
        if kept.spec.chips or kept.spec.labels:
            kept.want(True)

    def _signal(self) -> None:
        name, how = self._running(), self.chance.choice(UNHEARD)
        self._say(f"kill -s {how} {name}")
        self.containers.tell(name, how)

    def _pause(self) -> None:
        name = self._running()
        self._say(f"pause {name}")
        self.containers.pause(name)

    def _unpause(self) -> None:
        for name in self.kept:
            if self.containers.is_paused(name):
                self._say(f"unpause {name}")
                self.containers.unpause(name)
                return

    def _arm(self) -> None:
        name, policy = self._any(), self.chance.choice(POLICIES)
        calm = self._is_calm(name)
        self._leave_both(name)
        self._say(f"update --restart {policy} {name} ({'calm' if calm else 'in an episode'})")
        self.containers.arm(name, policy)
        # Off is off already while cmgr holds it: of that only dockerd's event tells, and it may be missed.
        self.kept[name].policy, self.kept[name].policy_is_sure = policy, calm or policy != "no"

    def _limit(self) -> None:
        name = self._any()
        self._say(f"update --cpu-shares {name}")
        self.containers.limit(name, shares=self.chance.randint(2, 1024))

    def _rename(self) -> None:
        name = self._any()
        other = f"r{self._numbers()}"
        self._say(f"rename {name} {other}")
        self.containers.rename(name, other)
        self.kept[other] = self.kept.pop(name)

    def _crash(self) -> None:
        name = self._running()
        self._say(f"{name} crashes")
        self._ends_by_itself(name, signal.SIGKILL)

    def _end_well(self) -> None:
        name = self._running()
        self._say(f"{name} ends with code 0")
        kept = self.kept[name]
        if not kept.is_service:
            kept.want(None)
        self._ends_by_itself(name, signal.SIGUSR2)

    def _ends_by_itself(self, name: str, how: signal.Signals) -> None:
        # Of one that has just been stopped it is 0, which is whoever runs the tests. If it is paused it hears nothing.
        pid = self.containers.pid(name)
        if pid and not self.containers.is_paused(name):
            os.kill(pid, how)
            eventually(lambda: self.containers.pid(name) != pid, why=f"{name} is dead")

    # The machine.

    def _restart_dockerd(self) -> None:
        self._without_dockerd("stop", self.containers.dockerd.stop)

    def _kill_dockerd(self) -> None:
        self._without_dockerd("kill", self.containers.dockerd.kill)

    def _lose_disk(self) -> None:
        self._without_dockerd("mount nothing, restart", self._come_up_elsewhere)

    def _come_up_elsewhere(self) -> None:
        """Let dockerd come up on an empty disk, and go."""
        dockerd, own = self.containers.dockerd, self.containers.dockerd.data
        dockerd.stop()
        dockerd.data = "unmounted"
        try:
            dockerd.start()
            if self.chance.random() < 0.5:
                self._fault()
            self._pause_between()
            dockerd.stop()
        finally:
            dockerd.data = own

    def _without_dockerd(self, words: str, end: Callable[[], None]) -> None:
        self._say(f"{words} dockerd")
        end()
        self._pause_between()
        self._say("start dockerd")
        self.containers.dockerd.start()
        for kept in self.kept.values():
            # Docker itself starts what has such a policy, whoever stopped it; by the second what was killed, or failed.
            if kept.policy in ("always", "on-failure") and kept.wanted is False:
                kept.want(None)

    def _kill_cmgr(self) -> None:
        self._without_cmgr(signal.SIGKILL)

    def _restart_cmgr(self) -> None:
        self._without_cmgr(signal.SIGTERM)

    def _without_cmgr(self, how: signal.Signals) -> None:
        self._say(f"{how.name} to cmgr")
        self.service.end(how)
        self._pause_between()
        self._say("start cmgr")
        self.service.start()

    def _configure(self) -> None:
        strategy = self.chance.choice(("singleRecover", "ringRecover"))
        self._say(f"strategy = {strategy}")
        self.service.configure({"strategy": strategy})
        self.service.cmgr("reload")

    def _fault(self) -> None:
        self._fault_on(self.chance.randrange(CHIPS), self.chance.choice((NOW, NOW, LATER)))

    def _fault_on(self, chip: int, code: str) -> None:
        self._say(f"chip {chip} has {code}")
        self.service.inject(chip, code)

    # How it goes about it.

    def _pause_between(self) -> None:
        threading.Event().wait(self.chance.choice((0.0, 0.0, 0.05, 0.3, 1.0)))

    def _say(self, words: str) -> None:
        self.did.append(words)

    def _any(self) -> str:
        return self.chance.choice(sorted(self.kept))

    def _running(self) -> str:
        running = sorted(name for name in self.kept if self.containers.is_running(name))
        return self.chance.choice(running) if running else self._any()

    def _is_calm(self, name: str) -> bool:
        """Return whether cmgr has nothing to do with this container at the moment."""
        status = self.service.status()
        return all(ring["phase"] == "healthy" for ring in status["rings"]) and all(
            row["status"] == "running" for row in status["containers"] if row["name"] == name
        )
