"""The world as cmgr needs it: a chip driver, container runtimes, a fleet's engine, a store, a clock.

Read together these five interfaces are the best summary of what cmgr does. They are implemented in `drivers`,
`runtimes`, `fleet`, `store` and `service.clock`; each implementation must pass the contract suite of its port under
`tests/`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Share
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, Note
from cmgr.model.values.messages.documents import Document, Seen, Written
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupSeen
from cmgr.model.values.node import Node
from cmgr.model.values.ranks import Device
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from cmgr.model.values.services.origins import Origin

DriverFact = facts.FaultReported | facts.ReadNeeded | facts.ChipsListed | facts.Remarked | facts.MachineTold
"""Facts that a driver tells on its own."""

RuntimeFact = facts.RuntimeUp | facts.RuntimeDown | facts.ContainerSeen | facts.ContainerRemoved
"""Facts that a runtime tells on its own."""

FleetFact = FleetUp | FleetDown | GroupSeen
"""Facts that the fleet's engine tells on its own."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return UTC that never jumps within one life of the process. Any thread; does not block."""


class ChipDriver(Protocol):
    """The chips of this machine. One driver at a time; its calls run on at most `concurrency` threads at once."""

    @property
    def name(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    def chips(self) -> tuple[Chip, ...]:
        """Return every chip, ordered by id. Blocks up to seconds. Safe to repeat. Raises `DriverError`."""

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        """Call `tell` for each fault event from now on, on foreign threads; it neither blocks nor raises.

        Returns at once; called once. Present faults are told again or not: `read` is the truth.
        Raises `DriverError`.
        """

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        """Return one report for each chip, in the order asked. Blocks up to 5 s. Safe to repeat. Does not raise.

        A chip that does not answer, or does not exist, is a report with `error`.
        """

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        """Reset these chips, all of one ring, together, and return when the driver took the order.

        They boot afterwards: `read` tells when. Looks once more first: raises `ResetRefused`, with nothing reset,
        when a process is on any of `chips`, one of them does not answer that question, or none of `faulty` reports
        one of `codes`; and for whatever else has kept it from being begun. Without any code no fault is asked for: a
        person has ordered it for `faulty`, or these did not come up after the last reset. The rest holds as ever.
        Blocks for minutes. NOT safe to repeat. Raises `DriverError` when it has begun and not gone well.
        """

    def close(self) -> None:
        """Stop telling. Blocks up to 2 s. Safe to repeat. Does not raise."""


@runtime_checkable
class Injector(Protocol):
    """A driver that can pretend faults."""

    def inject(self, chip: ChipId, code: str, assertion: Assertion) -> None:
        """Make the chip report that fault until it is cleared or a reset cures it. Any thread; does not block.

        Raises `DriverError` when there is no such chip.
        """


@runtime_checkable
class Ailing(Protocol):
    """A driver that can work badly and go on."""

    def trouble(self) -> tuple[str, ...]:
        """Return what is wrong with the driver as a whole, a sentence each. Any thread; does not block or raise."""


@runtime_checkable
class Beginning(Protocol):
    """A driver that may be there before its chips are known. Until then nothing of it but this is of use."""

    def begins(self, seconds: float) -> bool:
        """Return whether its chips are known.

        Blocks until they are, or another try to begin has failed, so many seconds at the most. One thread only.
        """

    def refusal(self) -> DriverError | None:
        """Return why its chips are not known yet; None once they are. Any thread; does not block or raise."""


@runtime_checkable
class Renewable(Protocol):
    """A driver whose library keeps what it found when it began for as long as its process lives."""

    def stale(self) -> str:
        """Return why only a new process would know these chips as they are; nothing while this one does.

        Any thread; does not block or raise.
        """


@runtime_checkable
class Lasting(Protocol):
    """A driver that may be in the midst of a reset when `reset` has returned."""

    def finish(self) -> None:
        """Return once it is in none: a process that ended there would leave chips off the bus.

        Any thread. Blocks for minutes.
        """


@runtime_checkable
class Dividing(Protocol):
    """A driver whose chips can have shares, which `read` tells of, and that can make them again."""

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        """Make those of these shares that their chips lack, under the same ids where that can be.

        Blocks for minutes. Safe to repeat. Raises `DriverError` when some could not be made.
        """

    def share_obstacle(self) -> str:
        """Return why none can be made here, in words; nothing when they can. Any thread; does not block or raise."""


@dataclass(frozen=True, slots=True)
class SoftFault:
    """A fault that the maker's own driver can raise on a chip, and that breaks nothing.

    `words`: those with which cmgr has to be called in the host, in `environment` (NAME=VALUE). It takes `--for SECONDS`
    besides, and a socket as its standard input, on which it says a line when the fault is raised. The fault ends with
    its time, or when the other end is closed.
    """

    code: str
    words: tuple[str, ...]
    environment: tuple[str, ...] = ()


@runtime_checkable
class Drilling(Protocol):
    """A driver of chips whose maker's driver may raise a fault by itself."""

    def soft_fault(self, chip: ChipId) -> SoftFault:
        """Return the fault that can be raised on this chip. Any thread; blocks up to seconds. Raises `DriverError`."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something of the machine that may keep a driver from its work, and what to do about it."""

    text: str
    hint: str


@runtime_checkable
class Describing(Protocol):
    """A driver that can say by what it reaches its chips, and what of the machine may keep it from that."""

    def describe(self) -> str:
        """Return that in a few words, for `cmgr check`. Any thread; does not block or raise."""

    def doubts(self) -> tuple[Doubt, ...]:
        """Return what may keep it from its work, for `cmgr check`. Any thread; takes as long as to read all chips."""


@runtime_checkable
class Gauge(Protocol):
    """A driver that knows more of its chips than decisions need."""

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        """Return what is known and measured of each chip by name, a unit at the name's end; nothing when it is silent.

        `service/metrics/measured.json` has the forms of those names that become metrics.
        Any thread. Blocks up to 3 s, then leaves out the rest. Safe to repeat. Does not raise.
        """


@runtime_checkable
class Ranking(Protocol):
    """A driver that can say how its chips reach one another, for the table that a collective needs of them."""

    def devices(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        """Return for each of these chips how the others reach it, or why that is not known.

        Any thread. Blocks up to 3 s. Safe to repeat. Does not raise.
        """


@dataclass(frozen=True, slots=True)
class Halt:
    """How a stop went. `run`: the word of the life that ended. `before`: it had ended already, and so.

    `deaf`: it was killed after the whole grace because its first process does not take the stop signal, in words.
    `ordered`: somebody else's stop of it was under way when this one began.
    """

    run: str = ""
    before: Exit | None = None
    deaf: str = ""
    ordered: bool = False


class Runtime(Protocol):
    """One container runtime. Calls come from many threads at once, and each is bounded in time: as said here, unless
    the runtime's `timeout` is set to another time than the usual one.

    `RuntimeDown` is raised only when the order surely never reached the daemon; a connection that breaks after that is
    a `ContainerError`, because the order may have been carried out.
    """

    name: str

    def list(self) -> tuple[Container, ...]:
        """Return every container that asks for chips or has a label of cmgr's, running or not, `chips` left empty.

        Blocks up to 30 s. Safe to repeat. Raises `RuntimeDown` or `ContainerError`.
        """

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        """Tell every change of such a container from now on, and the runtime's comings and goings.

        Returns at once; called once. `tell` is called on a foreign thread and neither blocks nor raises. Reconnects
        for ever, with growing delays; `RuntimeUp` is told each time that events flow.
        """

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        """Stop the container: its own stop signal, `grace`, then kill. A container that is down is success.

        Blocks for `grace` and up to 30 s more. Safe to repeat. Raises `RunsAgain` when something has started it
        since, `ContainerGone`, `RuntimeDown`, `ContainerError`.
        """

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        """Put `restart_policy` back, start the container, and return the word for its new life.

        `containers.NO_RESTART` leaves its restart policy as it is: there was none to put back. After a start that has
        failed it is off again. With `frozen` the container is frozen then; without it nothing is thawed.
        A container that runs already is success, but for one that would have to run without its policy. Blocks up to
        100 s. Safe to repeat. Raises as `stop`.
        """

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        """Set the policy; `containers.NO_RESTART` turns it off. Never starts or stops anything.

        The text is what `Container.restart_policy` said. Blocks up to 30 s. Safe to repeat. Raises as `stop`, and
        `ContainerError` where a container that runs would have to be changed for it and could lose its chips by that.
        """

    def close(self) -> None:
        """Stop telling and give connections back. Blocks up to 2 s. Safe to repeat. Does not raise."""


@runtime_checkable
class Originating(Protocol):
    """A runtime that can say which engine it is that answers, for those that have their books in different places."""

    def origin(self) -> Origin:
        """Return the engine that answers now.

        Its `word` is empty where that cannot be told. Blocks up to 5 s. Any thread. Does not raise.
        """


@runtime_checkable
class Booting(Protocol):
    """A runtime that has containers which use no chip, too, so that it does not list them."""

    def ended_by_boot(self) -> Iterable[Container]:
        """Return those that run, of all that there are. Blocks as `list`. Safe to repeat. Raises as `list`."""


@runtime_checkable
class Diagnosing(Protocol):
    """A runtime that can tell more of a container than decisions need. Nothing is run in the container for it."""

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        """Return all that the runtime knows of the container, as it words it, for a person; JSON can hold it.

        It has secrets in it: the environment's values. Blocks up to 10 s. Safe to repeat. Raises as `stop`.
        """

    def output(self, key: ContainerKey, lines: int) -> str:
        """Return the last lines that the container wrote, at most that many, or their end when they are very long.

        Blocks up to 10 s. Safe to repeat. Raises as `stop`; `ContainerError` also where its output is kept nowhere.
        """


@runtime_checkable
class Executing(Protocol):
    """A runtime that can run a command inside of a container, as the container's own user."""

    def run_inside(self, key: ContainerKey, command: Sequence[str], seconds: float) -> tuple[int, str]:
        """Return the command's exit code and the end of its output, 4 KiB at most.

        Blocks for up to so many seconds, and 1 s more. Not safe to repeat. Raises as `stop`; one that takes longer is
        left to go on. No shell is involved.
        """


@runtime_checkable
class Placing(Protocol):
    """A runtime that can give a container other chips than it was made for: those with `Container.tied` empty."""

    def place(self, key: ContainerKey, placing: Sequence[tuple[Chip, Chip | None]]) -> None:
        """Have its definition give the second chip of each pair in the place of the first, which it was made for.

        None stands for no chip. Each to itself: as it was made. A container that runs is left as it is, for whoever
        orders this starts it then. Blocks up to 30 s. Safe to repeat. Raises as `stop`.
        """


class Fleet(Protocol):
    """The engine by which the appliances of a fleet agree on the documents of groups, one document for each group.

    Every write is of this appliance in this life of its machine: the engine refuses those of a former life, and of
    another machine of the same name.
    """

    name: str
    """This appliance's name in the fleet."""

    def watch(self, tell: Callable[[FleetFact], None]) -> None:
        """Tell every change of a group's document from now on, and the engine's comings and goings.

        Returns at once; called once. `tell` is called on a foreign thread, one call at a time; it neither blocks nor
        raises. Reconnects for ever, with growing delays: `FleetUp` is told each time that this appliance is registered
        and changes flow, and then `GroupSeen` for each document there is; `FleetDown` when that ends, or cannot be.
        Every 30 s all documents are told anew, so that no lost change stays lost. Of one document the changes are told
        in their order; one that was deleted is told as none.
        """

    def write(self, group: str, document: Document, revision: int) -> Written:
        """Put the document in the place of the one with `revision`; 0: there must be none. All or nothing.

        A document without members is deleted instead. Before one that says that this appliance is ready the others are
        shown what they need for the start. Blocks up to 3 s, whatever is wrong, and for that up to 6 s more. Any
        thread, many at once. Safe to repeat: a second time it is stale. Raises `FleetError` when it was surely not
        written: the engine was not reached or refused it, it has forgotten what it knew (another `born`), or this life
        is over.
        """

    def read(self, group: str) -> Seen:
        """Return the document as it is: every write that was done before this call is in it.

        Blocks up to 3 s, whatever is wrong. Any thread, many at once. Safe to repeat. Raises `FleetError`; not for a
        document that cannot be read.
        """

    def close(self) -> None:
        """Stop telling and give connections back. Blocks up to 2 s. Safe to repeat. Does not raise."""


class Store(Protocol):
    """The state on disk. Only the thread that opened it may call it."""

    def load(self) -> Node:
        """Return what the last life left, with an empty topology, the default policy and no pending commands.

        Raises `StoreError`.
        """

    def save(self, node: Node, actions: Sequence[Action], notes: Sequence[Note]) -> None:
        """Write what changed since the last save that succeeded, all or nothing, and durably.

        Blocks for milliseconds. After a failure nothing was written, and the next save writes everything that is
        due. Raises `StoreError`.
        """

    def prune(self, before: datetime, keep_notes: int) -> int:
        """Drop closed episodes, cleared faults and notes older than `before`, and all but the newest notes.

        Returns how many rows went. Blocks up to 1 s. Raises `StoreError`.
        """

    def close(self) -> None:
        """Give the file back. Safe to repeat. Does not raise."""
