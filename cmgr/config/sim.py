"""Settings of the simulated chips and of the containers on them, and which of them cannot be together."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from cmgr.config.spelling import doubled
from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.model.values.faults import Assertion, Severity
from cmgr.model.values.handling.catalog import is_of_machine
from cmgr.model.values.handling.policy import NO_TIME, Strategy
from cmgr.model.values.services.containers import DEFAULT_GRACE
from cmgr.sentences.sentence import say

MAX_CHIPS = 64
MODULE = "1.0.0.0"
SEVERITY = int(Severity.major)


@dataclass(frozen=True, slots=True)
class SimEvent:
    """One line of the script."""

    chip: Annotated[int, Meta("The chip that it happens on.", within=(0, MAX_CHIPS - 1))]
    code: Annotated[str, Meta("The fault's code.", form=Form.CODE)]
    after: Annotated[timedelta, Meta("When, counted from the start of the service.", within=("0s", "30d"))] = NO_TIME
    assertion: Annotated[Assertion, Meta("Whether the fault comes, goes, or both at once.")] = Assertion.OCCURRED
    module: Annotated[str, Meta("The module that the fault concerns.", form=Form.MODULE)] = MODULE
    severity: Annotated[int, Meta("How grave the driver calls it, from suggestion to critical.", within=(0, 3))] = (
        SEVERITY
    )


@dataclass(frozen=True, slots=True)
class SimMachineEvent:
    """One line of the script of the machine around the chips."""

    code: Annotated[str, Meta("The fault of the machine.", form=Form.CODE, example='"raid-failed"')]
    part: Annotated[str, Meta('The part that has it, such as "md0".')] = ""
    after: Annotated[timedelta, Meta("When, counted from the start of the service.", within=("0s", "30d"))] = NO_TIME
    assertion: Annotated[Assertion, Meta("Whether the fault comes, goes, or has happened.")] = Assertion.OCCURRED


@dataclass(frozen=True, slots=True)
class SimProcess:
    """A process that holds a simulated chip from the start on."""

    chip: Annotated[int, Meta("The chip that it is on.", within=(0, MAX_CHIPS - 1))]
    pid: Annotated[int, Meta("Its number.", within=(1, 4194304))]
    name: Annotated[str, Meta("Its name.")] = ""


@dataclass(frozen=True, slots=True)
class SimDivided:
    """A simulated chip that is divided. Its shares are numbered as vNPUs: chip 0's from 100, chip 1's from 116 on."""

    chip: Annotated[int, Meta("The chip that is divided.", within=(0, MAX_CHIPS - 1))]
    shares: Annotated[int, Meta("Into how many shares.", within=(1, 16))] = 2
    template: Annotated[str, Meta("The template from which each is made.")] = "vir01"


@dataclass(frozen=True, slots=True)
class SimContainer:
    """A simulated container. `strategy` None: that of the service."""

    name: Annotated[str, Meta("Its name.")]
    chips: Annotated[tuple[int, ...], Meta("The chips that it uses.", within=(0, 9999))] = ()
    strategy: Annotated[Strategy | None, Meta('Its own strategy; "" takes that of the service.')] = None
    order: Annotated[int, Meta("Stopped from high to low, started from low to high.", within=(-1000000, 1000000))] = 0
    enabled: Annotated[bool, Meta("Whether cmgr may touch it at all.")] = True
    heal: Annotated[bool, Meta("Whether it is to be restarted when it exits with an error.")] = False
    group: Annotated[str, Meta("The group that it is a member of; empty: none.")] = ""
    group_size: Annotated[
        int, Meta("How many members that has in all, on all appliances; 0: nobody says.", within=(0, 9999))
    ] = 0
    running: Annotated[bool, Meta("Whether it runs when the service starts.")] = True
    restart_policy: Annotated[str, Meta('The restart policy of its runtime: "", "always", "on-failure" and so on.')] = (
        ""
    )
    grace: Annotated[timedelta, Meta("How long a stop is polite before it kills.", within=("0s", "1h"))] = DEFAULT_GRACE
    stop_time: Annotated[
        timedelta, Meta("How long it takes to end when asked to; past its grace it is killed.", within=("0s", "1h"))
    ] = timedelta(milliseconds=200)
    start_time: Annotated[timedelta, Meta("How long a start takes.", within=("0s", "1h"))] = timedelta(milliseconds=500)
    fail_stops: Annotated[int, Meta("How many stops fail before one works; -1 is every one.", within=(-1, 1000000))] = 0
    fail_starts: Annotated[
        int, Meta("How many starts fail before one works; -1 is every one.", within=(-1, 1000000))
    ] = 0
    shares: Annotated[tuple[str, ...], Meta('The shares that it uses, each with its chip, such as "0:100".')] = ()


@dataclass(frozen=True, slots=True)
class Sim:
    chips: Annotated[int, Meta("How many simulated chips there are.", within=(1, MAX_CHIPS))] = 8
    ring: Annotated[
        int, Meta("How many chips form a ring; the last ring may be incomplete.", within=(1, MAX_CHIPS))
    ] = 8
    rings: Annotated[
        tuple[int, ...],
        Meta("The size of each ring, in the place of ring; the sizes must add up to chips.", within=(1, MAX_CHIPS)),
    ] = ()
    pieces: Annotated[
        tuple[int, ...],
        Meta(
            "The pieces of hardware that are there, in the order of their numbers: [0, 2, 3] simulates that the second "
            "of four chips was taken out, and that the driver numbers them again. Empty: all.",
            within=(0, MAX_CHIPS - 1),
        ),
    ] = ()
    measured: Annotated[bool, Meta("Whether temperature, load and memory of the chips are simulated, too.")] = False
    model: Annotated[str, Meta("The model that the simulated chips name.")] = "Ascend910B4"
    reset_time: Annotated[
        timedelta, Meta("How long the driver takes over a reset before it answers.", within=("0s", "1h"))
    ] = timedelta(seconds=1)
    boot_time: Annotated[timedelta, Meta("How long chips boot after a reset.", within=("0s", "1h"))] = timedelta(
        seconds=2
    )
    fail_resets: Annotated[
        int, Meta("How many resets fail before one works; -1 is every one.", within=(-1, 1000000))
    ] = 0
    fail_shares: Annotated[
        int, Meta("How often making shares again fails before it works; -1 is always.", within=(-1, 1000000))
    ] = 0
    boots: Annotated[bool, Meta("Whether the chips ever finish booting after a reset.")] = True
    incurable: Annotated[tuple[str, ...], Meta("Codes of faults that no reset cures.", form=Form.CODE)] = ()
    silent: Annotated[tuple[int, ...], Meta("Chips that do not answer.", within=(0, MAX_CHIPS - 1))] = ()
    world: Annotated[
        str,
        Meta(
            "A file that keeps faults and boots of the simulated chips while the service is down, as hardware would; "
            "empty: they are forgotten.",
            form=Form.PATH,
        ),
    ] = ""
    script_file: Annotated[
        str, Meta("A TOML file with more [[script]] and [[machine]] entries, beside those given here.", form=Form.PATH)
    ] = ""
    script: Annotated[tuple[SimEvent, ...], Meta("Faults that happen by themselves.")] = ()
    machine: Annotated[tuple[SimMachineEvent, ...], Meta("Faults of the machine that happen by themselves.")] = ()
    divided: Annotated[tuple[SimDivided, ...], Meta("Chips that are divided; a reset takes their shares.")] = ()
    processes: Annotated[tuple[SimProcess, ...], Meta("Processes that hold chips from the start on.")] = ()
    containers: Annotated[tuple[SimContainer, ...], Meta('Simulated containers, for runtimes = ["sim"].')] = ()


def contradictions(sim: Sim) -> Iterator[str]:
    """Yield a sentence for each."""
    if sim.rings and sum(sim.rings) != sim.chips:
        given = sum(sim.rings)
        yield say("config.must-add-up", key="sim.rings", other="sim.chips", wanted=sim.chips, given=given)
    if len(set(sim.pieces)) < len(sim.pieces):
        yield say("config.is-there-twice", key="sim.pieces")
    used = (
        ("sim.pieces", sim.pieces),
        ("sim.silent", sim.silent),
        ("sim.script", tuple(event.chip for event in sim.script)),
        ("sim.processes", tuple(process.chip for process in sim.processes)),
        ("sim.divided", tuple(divided.chip for divided in sim.divided)),
    )
    for name, chips in used:
        missing = sorted({chip for chip in chips if chip >= sim.chips})
        if missing:
            setting, last = f"sim.chips = {sim.chips}", sim.chips - 1
            yield say("config.no-chip", key=name, chips=[*map(str, missing)], setting=setting, last=last)
    for code in sorted({event.code for event in sim.script if is_of_machine(event.code)}):
        yield say("config.is-of-machine", key="sim.script", code=code, other="sim.machine")
    for code in sorted({event.code for event in sim.machine if not is_of_machine(event.code)}):
        yield say("config.is-of-chip", key="sim.machine", code=code)
    yield from doubled("sim.containers", [container.name for container in sim.containers])
    yield from doubled("sim.divided", [say("config.chip", chip=divided.chip) for divided in sim.divided])
