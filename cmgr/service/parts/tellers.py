"""The parts that tell what there is: the driver of the chips, sources of the machine, runtimes; and how all goes."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, TypeGuard

from cmgr.config.sources import wanted
from cmgr.errors import DriverError, RuntimeDown, chain, sentence
from cmgr.model.values.messages.facts import Fact, Resync, RuntimeFound
from cmgr.model.values.node import SYSTEMD, Node, brought_by_image, known_runtimes, units_known
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.ports import Ailing, Beginning, ChipDriver, Runtime
from cmgr.runtimes import appeared, open_runtimes, open_systemd
from cmgr.sentences.sentence import parts, say
from cmgr.service.part import Part, Step
from cmgr.service.parts.core import Core
from cmgr.service.systemd import Notifier
from cmgr.service.timing.clock import steadied
from cmgr.vendor import learn
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text import texts
from cmgr.view.troubles import in_few_words, once, row
from cmgr.words import counted, one_line

if TYPE_CHECKING:
    from cmgr.drivers.machine import watch
    from cmgr.view import shapes


SUMMARY_SECONDS = 0.5
"""Between two lines for systemd, at the least."""


@cache
def _offers(kind: type, protocol: type) -> bool:
    """Return what `isinstance` finds out by looking for each method of the protocol, each time that it is asked."""
    return issubclass(kind, protocol)


def _begins(driver: ChipDriver) -> TypeGuard[Beginning]:
    return _offers(type(driver), Beginning)


def _ails(driver: ChipDriver) -> TypeGuard[Ailing]:
    return _offers(type(driver), Ailing)


def refusal(driver: ChipDriver) -> DriverError | None:
    """Return why its chips are not known; None where they are. Any thread."""
    return driver.refusal() if _begins(driver) else None


class Drives(Part):
    """The log and systemd are told once of each thing that is not well."""

    def __init__(self, core: Core, notifier: Notifier) -> None:
        self._driver, self._config, self._log, self._notifier = core.driver, core.config, core.log, notifier
        self._ails: tuple[str, ...] = ()

    def no_chips(self, why: DriverError) -> None:
        """Tell that its chips are not known."""
        text = one_line(f"no chip is watched: {sentence(why)}")
        if self._ails != (text,):
            self._ails = (text,)
            self._log.warn(text)
            self._notifier.tell(f"STATUS={text}")

    def observe(self, step: Step) -> None:
        """Learn how containers ask for the chips that there are now."""
        if step.after.chips is not step.before.chips:
            learn(self._config)

    def look(self) -> None:
        ails = self._ailing()
        for new in (a for a in ails if a not in self._ails):
            self._log.warn(f"{self._driver.name}: {new}")
        if self._ails and not ails:
            self._log.say(f"{self._driver.name} is well again")
        self._ails = ails

    def troubles(self) -> Iterator[Trouble]:
        name = self._driver.name
        if (why := refusal(self._driver)) is not None:
            text, hint = say("trouble.no-chips"), why.hint or "cmgr check"
            yield Trouble(TroubleKind.UNKNOWN_CHIPS, name, text, chain(why), hint)
        elif ails := self._ailing():
            text = say("trouble.driver", name=name)
            yield Trouble(TroubleKind.DRIVER, name, text, parts(ails), "cmgr check")

    def _ailing(self) -> tuple[str, ...]:
        return self._driver.trouble() if _ails(self._driver) else ()


class Summary(Part):
    """systemd has the whole picture in one line, which `systemctl status` shows."""

    def __init__(self, core: Core, notifier: Notifier, clock: Callable[[], float] = time.monotonic) -> None:
        self._node, self._own, self._notifier, self._clock = core.node, core.own, notifier, clock
        self._told = ""
        self._next = -math.inf

    def look(self) -> None:
        now = self._clock()
        if now < self._next:  # In a storm it would cost more than what it tells of.
            return
        self._next = now + SUMMARY_SECONDS
        text = summary(self._node(), self._own())
        if text != self._told:
            self._told = text
            self._notifier.tell(f"STATUS={text}")


def summary(node: Node, own: Own) -> str:
    """Return whether all is well, and if not what is worst: as `cmgr status` has it, but for the figures."""
    found = in_few_words([row(trouble) for trouble in once(view.troubles(node, own))])
    there_is = f"{counted(len(node.chips), 'chip')}, strategy {node.policy.strategy}"
    return one_line(texts.in_one_line(found, there_is, 0, maintained=node.maintenance is not None))


class MachineSources(Part):
    """`names`: of those that are asked. Where there is none, nothing of them is loaded."""

    def __init__(self, core: Core) -> None:
        self._put = core.put
        self._watch: watch.MachineWatch | None = None
        self.names: tuple[str, ...] = ()
        settings = core.config.machine
        if names := wanted(settings, core.config.driver):
            from cmgr.drivers.machine.watch import MachineWatch, sources

            self._watch = MachineWatch(sources(settings, names), settings)
            self.names = self._watch.names

    def start(self) -> None:
        if self._watch is not None:
            self._watch.start(self._put)

    def told(self) -> "tuple[shapes.Source, ...]":
        """Return how each source does. Any thread."""
        states = self._watch.states() if self._watch is not None else ()
        return tuple({"name": each.name, "on": not each.off, "why": each.off or each.deaf} for each in states)

    def troubles(self) -> Iterator[Trouble]:
        for source in (each for each in self.told() if each["on"] and each["why"]):
            text = say("trouble.source", name=source["name"])
            yield Trouble(TroubleKind.SOURCE, source["name"], text, source["why"], "cmgr check")

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()


class Opened(Part):
    """The runtimes. `all` has them by name."""

    def __init__(self, core: Core, no_chips: Callable[[DriverError], None]) -> None:
        """Calls `no_chips` where there is no runtime, and the chips are not known either. Raises `RuntimeDown` then."""
        self._core = core
        self._finding = Thread()
        try:
            first = open_runtimes(core.config, known_runtimes(core.node()), self._units, self._decided)
        except RuntimeDown:
            if (why := refusal(core.driver)) is not None:
                no_chips(why)  # Whoever has neither is told of both.
            raise
        self.all: dict[str, Runtime] = {runtime.name: runtime for runtime in first}
        self._first = tuple(self.all)

    def _units(self) -> Mapping[str, Collection[Container]]:
        return units_known(self._core.node())

    def _decided(self, key: ContainerKey) -> frozenset[str] | None:
        return brought_by_image(self._core.node(), key)

    def start(self) -> None:
        for name in self._first:
            self.all[name].watch(self.take)

    def observe(self, step: Step) -> None:
        """Open what has come, at each look; take systemd on when a container first names a unit."""
        if any(isinstance(event.fact, Resync) for event in step.events) and not self._finding.is_alive():
            self._finding = Thread(target=self._find, name="find", daemon=True)
            with suppress(RuntimeError):  # No thread can be begun: at the next look.
                self._finding.start()
        node = step.after
        if node.containers is step.before.containers or SYSTEMD in self.all or SYSTEMD in node.gone:
            return
        if units_known(node):
            self._take_on(open_systemd(self._core.config, self._units), covering=True)

    def _find(self) -> None:
        for runtime in appeared(self._core.config, self.all, self._decided):
            self._take_on(runtime)

    def take(self, fact: Fact) -> None:
        """Take in what a runtime told. Any thread."""
        self._core.put(steadied(fact, self._core.clock.drift()))

    def close(self) -> None:
        for runtime in tuple(self.all.values()):
            runtime.close()

    def _take_on(self, runtime: Runtime, *, covering: bool = False) -> None:
        self.all[runtime.name] = runtime  # Before anything can be asked of it.
        self._core.put(RuntimeFound(runtime.name, covering=covering))
        runtime.watch(self.take)
