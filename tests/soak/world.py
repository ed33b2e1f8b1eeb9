"""A cmgr with a real database on a pretended machine, which has every sickness at once and gets well every evening."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from cmgr.errors import StoreError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, Severity
from cmgr.model.values.handling.policy import IsolationPolicy, LimitsPolicy, OnIsolate, Policy, ResetPolicy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, Note, ResetRing
from cmgr.model.values.node import Node
from cmgr.store import open_store
from cmgr.store.sqlite import SqliteStore
from tests.model.acts import ACTS, check_end, heal
from tests.model.builders import stored
from tests.model.world import World

KEEP, MOST_NOTES = timedelta(days=1), 50_000
"""How old history gets, and how much of it there may be."""

FULL, READ_ONLY = "full", "read-only"

STEPS, ALONE = 110, 45
"""How much happens in a day, and how long cmgr is left alone with it before the machine gets well."""

LIMITS = LimitsPolicy(rings_at_once=3, episodes_per_hour=40)
POLICIES = (
    Policy(strategy=Strategy.RING),
    Policy(strategy=Strategy.SINGLE, limits=LIMITS),
    Policy(strategy=Strategy.RING, limits=LIMITS, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
    Policy(strategy=Strategy.SINGLE, reset=ResetPolicy(widen_after=timedelta(seconds=5), at_once=2)),
)


@dataclass
class Soak(World):
    """`refuses`: why the database takes nothing now. `refused`: how often it did not.

    `taken`: facts that came.
    """

    path: Path = Path()
    store: SqliteStore | None = None
    refuses: str = ""
    refused: int = 0
    taken: int = 0
    starts: int = 0
    resets: int = 0

    def load(self) -> Node:
        """Open the database as a new life does: it must say what was saved last."""
        self.close()
        self.store = open_store(self.path)
        found = self.store.load()
        assert not self.store.damage, f"seed {self.seed}: {self.store.damage}"
        saved = stored(self.saved)
        active = {chip: known for chip, known in saved.faults.items() if known}
        # Numbers of questions are not worth a write.
        expected = replace(saved, faults=active, serial=found.serial)
        assert found == expected, f"seed {self.seed}: {found} was loaded, {expected} was saved"
        # Other proofs cut the power; here nobody does, and the disk need not be waited for.
        self._pragma("synchronous = OFF")
        if self.refuses:
            self._refuse()
        return found

    def step(self, *batch: facts.Fact) -> None:
        self.taken += len(batch)
        for released in (fact for fact in batch if isinstance(fact, facts.ReleaseOrdered)):
            # A person says that the chip is well: its ring's budget begins anew.
            ring = released.chip // self.plan.ring * self.plan.ring
            self.machine.resets = [(r, at) for r, at in self.machine.resets if r != ring]
        super().step(*batch)

    def save(self, commands: Sequence[Action], notes: Sequence[Note]) -> bool:
        assert self.store is not None
        try:
            self.store.save(self.node, commands, notes)
        except StoreError:
            if not self.refuses:
                raise
            self.refused += 1
            return False
        return super().save(commands, notes)

    def _refuse(self) -> None:
        if self.refuses == FULL:
            self._pragma(f"max_page_count = {self._pragma('page_count')}")
        else:
            self._pragma("query_only = ON")

    def _pragma(self, text: str) -> int:
        assert self.store is not None
        row = self.store.connection.execute(f"PRAGMA {text}").fetchone()
        return int(row[0]) if row is not None else 0

    def refuse_or_not(self, why: str) -> None:
        """Let the database refuse what is written from now on, or with no reason take it again."""
        self.refuses = why
        self._pragma("max_page_count = 1000000000")
        self._pragma("query_only = OFF")
        if why:
            self._refuse()

    def set_clock(self) -> None:
        """Set the clock forward or back, or right again, now and then."""
        machine = self.machine
        before = machine.skew
        if self.rng.random() < 0.2:
            wrong = timedelta(seconds=self.rng.choice([1, 100, 86_400]) * self.rng.choice([-1, 1]))
            machine.skew = wrong if not before else timedelta()
        if machine.skew > before:
            # By the clock they are longer ago than they are: no budget has them.
            machine.resets.clear()

    def answer(self) -> None:
        """Take in answers, at times several at once as a busy service does."""
        several = min(len(self.under_way), self.rng.randrange(1, 9))
        taken = [self.under_way.pop(self.rng.randrange(len(self.under_way))) for _ in range(several)]
        self.resets += sum(isinstance(command, ResetRing) for command in taken)
        if taken:
            self.step(*[self.machine.carry_out(command) for command in taken])

    def prune(self) -> None:
        assert self.store is not None
        self.store.prune(self.machine.clock() - KEEP, MOST_NOTES)

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def history(self) -> int:
        """Return how many bytes of the database are in use."""
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return pages * self._pragma("page_size")

    def on_disk(self) -> int:
        return sum(file.stat().st_size for file in self.path.parent.iterdir())


def a_day(soak: Soak) -> None:
    """Let everything happen, and let cmgr see to it; then be well, look whether all is as it must be, and tidy up."""
    _morning(soak)
    acts, often, _ = zip(*ACTS, strict=True)
    for act in soak.rng.choices([*acts, *SICK], [*often, *SICK.values()], k=STEPS):
        act(soak)
    soak.refuse_or_not("")
    _afternoon(soak)
    heal(soak)
    check_end(soak)
    soak.prune()
    for real in soak.machine.truth.values():
        soak.starts, real.starts = soak.starts + real.starts, 0


def _morning(soak: Soak) -> None:
    """Have everybody start what is down, in place of what is gone make something new, and want another policy."""
    machine = soak.machine
    for real in [r for r in machine.truth.values() if not r.running]:
        real.will = True
        machine.starts(real)
    for real in [r for r in machine.truth.values() if not r.enabled or r.strategy is not None]:
        # A container that must not be stopped keeps its ring from every reset: not the same ones for ever.
        if soak.rng.random() < 0.5:
            del machine.truth[real.key]
            machine.hint(facts.ContainerRemoved(real.key))
    while len(machine.truth) < soak.plan.containers:
        made = machine.create(soak.rng.randrange(soak.plan.containers))
        machine.hint(facts.ContainerSeen(made.told(machine.now)))
    window = soak.policy.reset.window
    machine.resets = [(ring, at) for ring, at in machine.resets if machine.now - at < window]
    soak.policy = soak.rng.choice(POLICIES)
    soak.step(facts.Reconfigured(soak.policy, soak.catalog(), "a"))
    machine.emptied, machine.calm = set(), False


def _afternoon(soak: Soak) -> None:
    """Leave cmgr alone with the faults that are there: what is under way goes on, and fails now and then."""
    machine = soak.machine
    machine.down, machine.processes, machine.silent = set(), set(), set()
    for runtime in soak.plan.runtimes:
        soak.step(facts.RuntimeUp(runtime))
    soak.step(facts.MaintenanceOrdered(on=False, who="a"))
    for _ in range(ALONE):
        for work in (soak.answer, soak.answer, soak.deliver, soak.advance_time):
            work()


def _a_chip_goes_silent_or_answers(world: World) -> None:
    world.machine.silent ^= {world.rng.randrange(world.plan.chips)}


def _a_fault_flaps(world: World) -> None:
    chip, code = world.rng.randrange(world.plan.chips), world.rng.choice(["80E24E00", "80C98008", "80E20000"])
    for _ in range(world.rng.randrange(2, 12)):
        world.machine.fault(chip, code, Assertion.OCCURRED)
        world.machine.fault(chip, code, Assertion.CLEARED)


def _every_ring_faults(world: World) -> None:
    for chip in range(0, world.plan.chips, world.plan.ring):
        world.machine.fault(chip, "80E24E00")


def _events_pour_in(world: World) -> None:
    chip, first = ChipId(world.rng.randrange(world.plan.chips)), world.rng.randrange(10**6)
    for begin in range(first, first + 192, 64):
        codes = (f"9A{n:06X}" for n in range(begin, begin + 64))
        told = [facts.FaultReported(chip, code, Assertion.ONCE, "1.2", int(Severity.minor)) for code in codes]
        world.step(*told)


def _the_database_refuses_or_takes(world: World) -> None:
    assert isinstance(world, Soak)
    world.refuse_or_not("" if world.refuses else world.rng.choice([FULL, READ_ONLY]))


SICK: dict[Callable[[World], None], int] = {
    _a_chip_goes_silent_or_answers: 2,
    _a_fault_flaps: 1,
    _every_ring_faults: 1,
    _events_pour_in: 1,
    _the_database_refuses_or_takes: 2,
}
