"""Units of systemd on the pretended machine: each runs a container, which another one follows in its next life.

A unit ends with its container and brings it down with it, mostly: a container may outlive the client that runs it.
"""

from dataclasses import replace
from typing import Any

from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, ListContainers, StartContainer
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from tests.model.machine import Machine, Real


class Unit(Real):
    """A unit as it really is. Of its container systemd knows nothing.

    `stuck`: its starts take too long from now on. `starting`: its present life is such a one. `restarting`: systemd is
    about to begin the next one, `restarts`: for the so many-th time by itself.
    """

    stuck = False
    starting = False
    restarting = False
    restarts = 0

    def told(self, now: object) -> Container:
        end = None if self.running or self.exit is None else replace(self.exit, asked=self.exit.asked or None)
        unit = Container(self.key, self.key.id, running=self.running, run=f"life {self.life}", exit=end)
        starting = self.running and self.starting and not self.restarting
        return replace(unit, starting=starting, restarting=self.restarting, revived=self.restarts > 0)


class United(Machine):
    """Containers that a unit runs are made and removed by it, and nobody has a will of their own for them."""

    def create(self, number: int) -> Real:
        runtimes, self.plan = self.plan.runtimes, replace(self.plan, runtimes=("docker",))
        real = super().create(number)
        self.plan = replace(self.plan, runtimes=runtimes)
        if self.rng.random() >= self.plan.united:
            return real
        name = f"{real.key.id}.service"
        unit = Unit(ContainerKey(SYSTEMD, "", name), real.chips, enabled=real.enabled, strategy=real.strategy)
        unit.order, unit.needs_network, unit.group = real.order, real.needs_network, real.group
        self.truth[unit.key] = unit
        self.ever.append(unit)
        real.unit, real.will, real.policy, real.armed, real.before_stop = name, None, "", "", ()
        return unit

    def of(self, unit: Real) -> list[Real]:
        """Return the containers that the unit has made and that are still there."""
        return [self.truth[key] for key in self.named(unit.key.id)]

    def named(self, unit: str) -> list[ContainerKey]:
        return [key for key, real in self.truth.items() if real.unit == unit]

    def unit_of(self, real: Real) -> Real | None:
        return self.truth.get(ContainerKey(SYSTEMD, "", real.unit)) if real.unit else None

    def hint(self, fact: facts.Fact) -> None:
        told = fact.container.key if isinstance(fact, facts.ContainerSeen) else None
        if told is None or told.runtime != SYSTEMD:
            super().hint(fact)
        elif self.knows(told.id):
            assert isinstance(fact, facts.ContainerSeen)
            vouches = frozenset(self.named(told.id))
            super().hint(facts.ContainerSeen(replace(fact.container, vouches=vouches)))

    def _carry_out(self, command: Action, fails: bool) -> dict[str, Any]:
        answer = super()._carry_out(command, fails)
        if isinstance(command, ListContainers) and command.runtime == SYSTEMD:
            known = (c for c in answer.get("containers", ()) if self.knows(c.name))
            answer["containers"] = tuple(replace(c, vouches=frozenset(self.named(c.name))) for c in known)
        return answer

    def _start(self, real: Real, command: StartContainer, fails: bool) -> dict[str, Any]:
        unit = self.unit_of(real)
        assert unit is None or not unit.running, f"seed {self.seed}: {real} is started beside its unit {unit}"
        if isinstance(real, Unit) and not real.running and any(mine.running for mine in self.of(real)):
            return {"error": "the unit itself failed: the name of its container is in use"}
        return super()._start(real, command, fails)

    def starts(self, real: Real, *, by_others: bool = True) -> None:
        if isinstance(real, Unit) and any(mine.running for mine in self.of(real)):
            return
        if isinstance(real, Unit):
            real.restarts = real.restarts + 1 if real.restarting else 0
            real.starting, real.restarting = real.stuck, False
        super().starts(real, by_others=by_others)
        if isinstance(real, Unit):
            self._make(real)

    def begins_again(self, unit: Unit) -> None:
        """Do what systemd does with a start that takes too long: it ends that life, and begins the next one."""
        for mine in [mine for mine in self.of(unit) if mine.running]:
            super().dies(mine, Exit(143, self.clock(), asked=False))
            self._remove(mine)
        unit.restarting = True
        self.hint(facts.ContainerSeen(unit.told(self.now)))
        self.starts(unit)

    def gets_up(self, unit: Unit) -> None:
        unit.stuck = False
        if unit.starting:
            unit.starting = False
            self.hint(facts.ContainerSeen(unit.told(self.now)))

    def _make(self, unit: Real) -> None:
        """Do what `docker run --rm` in it does."""
        for old in self.of(unit):
            self._remove(old)
        key = ContainerKey("docker", "", f"c{self.made}")
        self.made += 1
        made = Real(key, unit.chips, enabled=unit.enabled, strategy=unit.strategy, will=None, unit=unit.key.id)
        made.order, made.needs_network, made.group, made.begun = unit.order, unit.needs_network, unit.group, unit.begun
        self.truth[key] = made
        self.ever.append(made)
        self.hint(facts.ContainerSeen(made.told(self.now)))

    def _remove(self, real: Real) -> None:
        del self.truth[real.key]
        self.hint(facts.ContainerRemoved(real.key))

    def dies(self, real: Real, exit_: Exit) -> None:
        super().dies(real, exit_)
        unit = self.unit_of(real)
        if isinstance(real, Unit):
            for mine in [mine for mine in self.of(real) if mine.running]:
                if self.calm or self.rng.random() < 0.8:
                    super().dies(mine, exit_)
                    self._remove(mine)
        elif unit is not None:
            if unit.running:
                unit.will = unit.wanted = None
                super().dies(unit, exit_)
            if self.rng.random() < 0.8:
                self._remove(real)
