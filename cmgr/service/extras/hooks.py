"""An operator's hooks: which commands run at which step of a recovery, and what follows from how they end.

Rules:
1. A hook runs at least once for its step. If an earlier life of cmgr has begun it and it still runs, by systemd, that
   run is waited for, and its answer counts. If it has ended meanwhile it runs again.
2. Each run is bounded, so that nothing waits for ever; only what the hook's own ring does waits for it at all.
3. A file that cmgr must not run counts as a hook that says no, where a hook can say no.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from cmgr.config.settings import Config
from cmgr.errors import ContainerError, ResetRefused, RuntimeDown
from cmgr.frozen import dataclass, replace
from cmgr.host.act import Act
from cmgr.host.host import host_of
from cmgr.model.scope import handled_faults
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.messages.commands import ReadRing, ResetRing, RunTest, StartContainer, StopContainer
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import because, say
from cmgr.service.extras import hook_files, hook_words
from cmgr.service.extras.hook_files import (
    AFTER_EPISODE,
    AFTER_RESET,
    BEFORE_RESET,
    BEFORE_START,
    BEFORE_STOP,
    HOOKS,
    TEST,
)
from cmgr.service.work.around import Reports, Verdicts
from cmgr.words import one_line

AGAIN = 1.0
"""A hook that called chips unwell is not asked again before so many seconds have passed."""

UNTOLD = 75
"""A test that ends with this, EX_TEMPFAIL of sysexits.h, could not be made, and says nothing of the chip."""


@dataclass(frozen=True, slots=True)
class Step:
    """The step of a ring's episode that a hook is run for. `about`: which of several, where an episode has several."""

    hook: str
    ring: Ring
    words: Mapping[str, str]
    about: str = ""

    def act(self, file: str) -> str:
        """Return the name of a run of this file."""
        which = (self.hook, file if file != self.hook else "", f"ring{self.ring.id}", f"episode{self.ring.episode}")
        return "-".join(filter(None, ("hook", *which, self.about)))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The last word of `after_reset` about a ring, and when it was said."""

    resets: int
    at: float
    why: str


@dataclass(frozen=True, slots=True)
class _Stage:
    """The configuration as it was read: settings, and which hooks there are."""

    config: Config
    there: frozenset[str] = field(default_factory=frozenset)


class Hooks:
    """Runs hooks on the threads of those who have come to their steps. Any thread may call anything."""

    def __init__(self, config: Config, node: Callable[[], Node], put: Callable[[Remarked], None]) -> None:
        self._node = node
        self._put = put
        self._host = host_of(config.systemd.bus)
        self._cut = threading.Event()
        self._lock = threading.Lock()
        self._gates: dict[int, threading.Event] = {}
        self._verdicts: dict[int, _Verdict] = {}
        self._said: dict[tuple[str, int], str] = {}
        self._stage = _Stage(config)
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Look which hooks there are. A hook that comes later is found when the configuration is read again."""
        found = (hook for hook in HOOKS if hook_files.commands(config.hooks.dir, hook))
        self._stage = _Stage(config, frozenset(found))

    def has(self, hook: str) -> bool:
        return hook in self._stage.there

    @property
    def closed(self) -> bool:
        return self._cut.is_set()

    def close(self) -> None:
        """Wait for nothing that runs, or kill it where it is a child; nothing is run any more."""
        self._cut.set()

    # The steps.

    def before_stop(self, action: StopContainer) -> None:
        """Let the first stop of an episode wait for the hook, and the others for the first."""
        if not self.has(BEFORE_STOP):
            return
        node = self._node()
        hold = node.holds.get(action.key)
        ring = next((r for r in node.rings.values() if hold is not None and r.episode == hold.episode), None)
        if ring is None or not ring.in_episode:
            return
        gate, mine = self._gate(node, ring.episode)
        if mine:
            try:
                self.run(Step(BEFORE_STOP, ring, hook_words.of_ring(node, ring)))
            finally:
                gate.set()
        gate.wait(self._stage.config.hooks.before_stop_timeout.total_seconds() + 5)
        if self._cut.is_set():
            # It was cut short: the next life of cmgr runs it again, and then stops the container.
            raise RuntimeDown(f"cannot stop container {one_line(action.name)}: cmgr ends")

    def _gate(self, node: Node, episode: int) -> tuple[threading.Event, bool]:
        with self._lock:
            known = self._gates.get(episode)
            if known is None:
                running = {r.episode for r in node.rings.values()}
                self._gates = {e: g for e, g in self._gates.items() if e in running}
                self._gates[episode] = threading.Event()
            return self._gates[episode], known is None

    def before_reset(self, action: ResetRing) -> None:
        """Raise `ResetRefused` when the hook says no."""
        if not self.has(BEFORE_RESET):
            return
        node = self._node()
        ring = node.rings[action.ring]
        words = {**hook_words.of_ring(node, ring), "REASON": action.reason}
        why = self.run(Step(BEFORE_RESET, ring, words))
        if why:
            raise ResetRefused(why)

    def after_reset(self, action: ReadRing, reports: Reports) -> tuple[ChipReport, ...]:
        """Return the reports, with the hook's words where it says that the chips are not well yet."""
        told = tuple(reports)
        if not self.has(AFTER_RESET):
            return told
        node = self._node()
        ring = node.rings[action.ring]
        if not _sound(node, ring, told):
            return told
        why = self._verdict(node, ring)
        return tuple(replace(report, unwell=why) for report in told) if why else told

    def _verdict(self, node: Node, ring: Ring) -> str:
        known = self._verdicts.get(ring.id)
        if known and known.why and known.resets == len(ring.resets) and time.monotonic() - known.at < AGAIN:
            return known.why
        why = self.run(Step(AFTER_RESET, ring, hook_words.of_ring(node, ring)))
        self._verdicts[ring.id] = _Verdict(len(ring.resets), time.monotonic(), why)
        return why

    def test(self, action: RunTest) -> Verdicts:
        """Have each of these chips tested, one after the other: makers' tools bear no second one beside them."""
        failed: dict[ChipId, str] = {}
        untold = ""
        for chip in action.chips:
            node = self._node()
            ring = node.rings[action.ring]
            words = {**hook_words.of_ring(node, ring), **hook_words.of_chips(node, [chip])}
            why, is_told = self._test(Step(TEST, ring, words, f"chip{chip}"), chip)
            if why and is_told:
                failed[chip] = why
            elif why:
                untold = untold or why
        return Verdicts(failed, untold)

    def _test(self, step: Step, chip: ChipId) -> tuple[str, bool]:
        """Return why the chip has not passed, or nothing; and whether that says anything of the chip."""
        settings = self._stage.config.reset
        path = Path(settings.test)
        if (weak := hook_files.objection(path, str(path.parent))) is not None:
            return because(weak.reason, weak.hint), False
        if not hook_files.is_enabled(path):
            return say("hook.not-executable", path=str(path)), False
        told = hook_words.environment(self._stage.config, step.hook, step.words)
        act = Act(step.act(step.hook), (str(path),), told, settings.test_timeout.total_seconds())
        ended = self._host.run(act, self._cut)
        if ended.well:
            passed = say("hook.test-passed", chip=chip, seconds=f"{ended.seconds:.2f}")
            self._says(step, because(passed, ended.said))
            return "", True
        why = because(say("hook.test-ended", program=path.name, how=ended.how), ended.said)
        return why, ended.late or ended.code not in (None, UNTOLD)

    def before_start(self, action: StartContainer) -> None:
        """Raise `ContainerError` when the hook says no: for each container with chips, and each waits for its own."""
        if not self.has(BEFORE_START):
            return
        node = self._node()
        hold, container = node.holds.get(action.key), node.containers.get(action.key)
        chips = sorted(chip for chip in hold.chips if chip in node.chips) if hold is not None else []
        if not chips:
            return
        ring = node.rings[node.chips[chips[0]].ring]
        mine = {**hook_words.of_chips(node, chips), **hook_words.of_containers([(action.key, action.name)])}
        group = container.group if container is not None else ""
        words = {**hook_words.of_ring(node, ring), **mine, "GROUP": group, "REASON": action.reason}
        why = self.run(Step(BEFORE_START, ring, words, f"{action.key.runtime}-{action.key.id}"))
        what = f"cannot start container {one_line(action.name)}"
        if self._cut.is_set():
            raise RuntimeDown(f"{what}: cmgr ends")
        if why:
            raise ContainerError(f"{what}: {why}")

    def after_episode(self, ring: Ring, words: Mapping[str, str]) -> None:
        """Run the hook; `ring` as it was in that episode."""
        self.run(Step(AFTER_EPISODE, ring, words))

    # Running.

    def run(self, step: Step) -> str:
        """Run the commands of this step one after the other, and return why the first that did not end well did not.

        They share the hook's time. The others are not run then.
        """
        settings = self._stage.config.hooks
        limit = settings.before_stop_timeout if step.hook == BEFORE_STOP else settings.timeout
        until = time.monotonic() + limit.total_seconds()
        told = hook_words.environment(self._stage.config, step.hook, step.words)
        for path in hook_files.commands(settings.dir, step.hook):
            if not hook_files.is_enabled(path):
                continue
            name = step.hook if path.name == step.hook else f"{step.hook}.d/{path.name}"
            if (weak := hook_files.objection(path, settings.dir)) is not None:
                why = because(weak.reason, weak.hint)
                return self._says(step, say("hook.not-run", name=name, why=why), loud=True)
            act = Act(step.act(path.name), (str(path),), told, max(0.0, until - time.monotonic()))
            ended = self._host.run(act, self._cut)
            name = say("hook.earlier", name=name) if ended.found else name
            if not ended.well:
                return self._says(step, because(say("hook.ended", name=name, how=ended.how), ended.said), loud=True)
            well = say("hook.ended-well", name=name, seconds=f"{ended.seconds:.2f}")
            self._says(step, because(well, ended.said))
        return ""

    def _says(self, step: Step, text: str, *, loud: bool = False) -> str:
        # A hook that is asked every second and always says the same is told of once.
        with self._lock:
            new = self._said.get((step.hook, step.ring.id)) != text
            self._said[step.hook, step.ring.id] = text
        if new:
            self._put(Remarked(text, step.ring.id, step.ring.episode, loud))
        return text


def _sound(node: Node, ring: Ring, reports: Reports) -> bool:
    """Return whether nothing is known against these chips, so that it is the hook's turn."""
    if any(report.error or not report.booted for report in reports):
        return False
    # Where one of these is still reported the reset has failed, whatever the hook would say.
    known = {(f.chip, f.code) for f in handled_faults(node, ring)}
    return not any((r.chip, normal_code(f.code)) in known for r in reports for f in r.faults)
