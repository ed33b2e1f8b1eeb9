"""Parts of units on the pretended machine: systemd stops each with its unit, starts it with nothing, and forgets it.

A unit is told with those of its parts that run, and a part that is down at most with how it ended.
"""

from dataclasses import replace
from typing import Any

from cmgr.model.holds.consequences import SOON
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, ListContainers, StartContainer
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from tests.model.acts import forget
from tests.model.builders import T0
from tests.model.machine import Machine, Real
from tests.model.united import Unit, United
from tests.model.world import World


class Part(Unit):
    """A unit without chips that has BindsTo= on another one, its `whole`.

    `due`: cmgr, which had it in its books, has stopped its whole, and it went with that, at `ended`: nobody else starts
    it again.
    """

    whole: ContainerKey
    due = False
    ended = T0


class Parted(United):
    def create(self, number: int) -> Real:
        real = super().create(number)
        if isinstance(real, Unit) and self.rng.random() < 0.7:
            # Lists are in the order of names: a part comes before its whole in them, or after it.
            part = Part(ContainerKey(SYSTEMD, "", f"{self.rng.choice('az')}-{real.key.id}"), (), will=None)
            part.whole = real.key
            self.truth[part.key] = part
            self.ever.append(part)
        return real

    def parts_of(self, whole: ContainerKey) -> list[Part]:
        return [real for real in self.truth.values() if isinstance(real, Part) and real.whole == whole]

    def whole_of(self, part: Part) -> Real:
        return next(real for real in self.ever if real.key == part.whole)

    def is_told(self, part: Part) -> bool:
        """Return whether systemd is asked of it: it is in cmgr's books, or systemd says whose part it is."""
        return self.knows(part.key.id) or (part.running and self.knows(part.whole.id))

    def as_told(self, told: Container) -> Container:
        real = self.truth.get(told.key)
        if not isinstance(real, Part):
            return replace(told, takes=frozenset(part.key.id for part in self.parts_of(told.key) if part.running))
        if real.running:
            return real.told(self.now)
        end = None if real.exit is None else replace(real.exit, told=real.exit.at)
        down = replace(real.told(self.now), exit=end)
        return self.rng.choice([down, replace(down, exit=None), replace(down, exit=None, run="")])

    def hint(self, fact: facts.Fact) -> None:
        seen = fact.container if isinstance(fact, facts.ContainerSeen) else None
        real = self.truth.get(seen.key) if seen is not None else None
        if seen is None or seen.key.runtime != SYSTEMD:
            super().hint(fact)
        elif not isinstance(real, Part):
            super().hint(facts.ContainerSeen(self.as_told(seen)))
        elif self.is_told(real):
            Machine.hint(self, fact)

    def _carry_out(self, command: Action, fails: bool) -> dict[str, Any]:
        answer = super()._carry_out(command, fails)
        if isinstance(command, ListContainers) and command.runtime == SYSTEMD and "containers" in answer:
            wholes = (c for c in answer["containers"] if not isinstance(self.truth.get(c.key), Part))
            parts = [real for real in self.truth.values() if isinstance(real, Part) and self.is_told(real)]
            told = map(self.as_told, (*wholes, *(part.told(self.now) for part in parts)))
            answer["containers"] = tuple(sorted(told, key=lambda c: c.key))
        return answer

    def _may_be_touched(self, real: Real) -> None:
        super()._may_be_touched(self.whole_of(real) if isinstance(real, Part) else real)

    def _stop(self, real: Real, fails: bool) -> dict[str, Any]:
        known = [part for part in self.parts_of(real.key) if part.running and self.knows(part.key.id)]
        answer = super()._stop(real, fails)
        for part in known:
            part.due = not real.running
        return answer

    def _start(self, real: Real, command: StartContainer, fails: bool) -> dict[str, Any]:
        if isinstance(real, Part) and not self.whole_of(real).running:
            return {"error": "a unit that it needs did not start"}
        return super()._start(real, command, fails)

    def starts(self, real: Real, *, by_others: bool = True) -> None:
        if not isinstance(real, Part):
            super().starts(real, by_others=by_others)
        elif self.whole_of(real).running:
            real.due = False
            Machine.starts(self, real, by_others=by_others)

    def dies(self, real: Real, exit_: Exit) -> None:
        super().dies(real, exit_)
        if isinstance(real, Part):
            real.due = False
        whole = self.unit_of(real) or real  # A unit ends with its container, too.
        for part in [part for part in self.parts_of(whole.key) if part.running and not whole.running]:
            part.ended = self.now
            super().dies(part, Exit(143, self.clock(), asked=True))


class PartedWorld(World):
    machine: Parted

    def make(self) -> Machine:
        return Parted(self.seed, self.plan)

    @property
    def parts(self) -> list[Part]:
        return [real for real in self.machine.truth.values() if isinstance(real, Part)]

    def begin(self) -> None:
        for part in [part for part in self.parts if part.due]:
            known = self.saved.containers.get(part.key)
            # A life that goes on for longer without hearing of it has lost its news, and no list came in.
            in_time = self.machine.now - part.ended <= SOON and known is not None and known.running
            part.due = part.key in self.saved.holds or in_time
        super().begin()

    def step(self, *batch: facts.Fact) -> None:
        """Let news of a part say how it is now: whoever hears of it looks at it."""
        if not batch:
            return
        super().step(*map(self._as_looked_at, batch))

    def _as_looked_at(self, fact: facts.Fact) -> facts.Fact:
        real = self.machine.truth.get(fact.container.key) if isinstance(fact, facts.ContainerSeen) else None
        if not isinstance(real, Part):
            return fact
        return facts.ContainerSeen(self.machine.as_told(real.told(self.machine.now)))

    def forget_those_without_whole(self) -> None:
        """Let a person say that they are not waited for whose unit somebody has removed, or had forgotten."""
        for part in self.parts:
            if part.key in self.node.holds and not self.machine.whole_of(part).running:
                forget(self, part.key)
        while self.under_way:
            self.answer()

    def check_parts(self) -> None:
        for part in [part for part in self.parts if part.due and part.spared != part.life]:
            left = self.machine.whole_of(part).running and not part.running
            assert not left, f"seed {self.seed}: {part} went down with its unit, which runs again, and is left down"
