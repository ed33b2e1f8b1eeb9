"""The documents that the service answers with and that `-o json` prints: each key, its type, and what it says.

docs/json.md and the schemas of the OpenAPI document are made from these types. Keys are added, never renamed. Each text
is for people who read that page, in its Markdown. This module is for types only: what runs all day does not load it.
"""

from enum import Enum
from typing import Annotated, Literal, NotRequired, TypedDict

from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultClass, Handling, Level, Severity
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.rules import RuleKind
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Severity as TroubleSeverity
from cmgr.model.values.troubles import TroubleKind
from cmgr.sentences.sentence import Message


@dataclass(frozen=True, slots=True)
class Form:
    """More of a text than that it is one: its format, as JSON Schema names it, or the words that it can be."""

    format: str = ""
    words: tuple[str, ...] = ()


def values_of(words: type[Enum]) -> Form:
    return Form(words=tuple(str(word.value) for word in words))


Time = Annotated[str, Form("date-time")]
LevelName = Annotated[str, Form(words=tuple(level.name for level in Level))]
HandlingName = Annotated[str, Form(words=tuple(word.name for word in Handling))]
SeverityName = Annotated[str, Form(words=tuple(severity.name for severity in Severity))]
StrategyName = Annotated[str, values_of(Strategy)]
RuleName = Annotated[str, values_of(RuleKind)]
Outcome = Annotated[str, Form(words=("recovered", "cleared", "isolated", "failed", "observed", "under way"))]
Health = Annotated[str, Form(words=("", "starting", "healthy", "unhealthy"))]
Messages = Annotated[
    dict[str, Message],
    "`id` and `args` of each sentence here, by its key, in a list with its place (`remarks[0]`), for another language",
]
ServiceState = Literal["starting", "ready", "degraded", "hangs", "stopping", "stopped", "not to be reached"]
ContainerStatus = Literal["running", "pausing", "paused", "resuming", "settling", "failed", "down"]


class Source(TypedDict):
    name: Annotated[str, "what is asked"]
    on: Annotated[bool, "whether there is anything to look at here"]
    why: Annotated[str, "why it is off; or why it tells nothing though it is on"]


class Service(TypedDict):
    name: NotRequired[Annotated[str, "what this appliance is called: its name in the fleet, else its host's"]]
    state: Annotated[
        ServiceState,
        "`starting`: until every chip and runtime was heard; `degraded`: it serves, and `troubles` says what is wrong; "
        "`hangs`: it does not answer, or decides nothing",
    ]
    version: NotRequired[Annotated[str, "cmgr's version"]]
    pid: Annotated[int | None, "its process"]
    since: Annotated[Time | None, "when it was started"]
    driver: Annotated[str, "the chips' driver"]
    runtimes: Annotated[list[str], "the container runtimes that it manages"]
    strategy: Annotated[StrategyName, "whose containers are stopped"]
    observe: Annotated[bool, "everything is decided and recorded, and nothing done, by configuration"]
    maintenance: Annotated[bool, "the same, by a person's order or a window"]
    maintenance_until: Annotated[Time | None, "when that ends by itself"]
    maintenance_by: Annotated[str | None, "who ordered it, or maintenance.windows"]
    troubles: NotRequired[Annotated[list[str], "what is wrong with the service, a sentence each"]]
    sources: NotRequired[Annotated[list[Source], "who tells of the machine's faults ([machine.md](machine.md))"]]


class Order(TypedDict):
    do: Annotated[str, "the order, as `POST /v1/orders/` has it"]
    args: Annotated[dict[str, str | int | bool], "its arguments, as that takes them"]


class Advised(TypedDict):
    orders: Annotated[list[Order], "the orders that `hint` names"]
    messages: NotRequired[Messages]


class Trouble(Advised):
    id: Annotated[str, "what to type for it: `cmgr acknowledge`"]
    kind: Annotated[str, values_of(TroubleKind), "what kind of trouble"]
    about: Annotated[str, "what it is about: `chip 3`, `docker//<id>`; nothing where its kind says that"]
    severity: Annotated[str, values_of(TroubleSeverity), "the same in alarms and in the shipped alert rules"]
    since: Annotated[Time | None, "when it began, where that is known"]
    text: Annotated[str, "what is wrong, in a few words"]
    why: Annotated[str, "more of it"]
    hint: Annotated[str, "what to do; often nothing"]
    stays: Annotated[bool, "nobody can see when it is over: it stays until `cmgr acknowledge`"]
    lines: NotRequired[Annotated[list[str], "what to type in a shell, line by line, to make a removed container again"]]


class Late(Advised):
    subject: Annotated[str, "`container web`, `ring 0`"]
    text: Annotated[str, "what it has been doing for how long, and why"]
    hint: Annotated[str, "what to do"]


class Restraint(TypedDict):
    since: Annotated[Time | None, "since when"]
    reason: Annotated[str, "which limit, and by how much"]
    rings: Annotated[list[int], "the rings that wait for `cmgr resume --all`"]


class Ring(Advised):
    id: Annotated[int, "the lowest chip of the ring"]
    chips: Annotated[list[int], "its chips"]
    phase: Annotated[str, values_of(Phase), "where it is in its episode"]
    reason: Annotated[str, "what it waits for"]
    episode: Annotated[int | None, "the number of its episode; null when healthy"]
    since: Annotated[Time | None, "when it came into this phase"]
    deadline: Annotated[Time | None, "when time alone moves it on"]
    began: Annotated[Time | None, "when its episode began"]
    resets: Annotated[int, "resets that are remembered for its budget"]
    ordered_by: Annotated[str | None, "who ordered the reset that it is about"]
    hint: Annotated[str, "what to type; often nothing"]


class Window(TypedDict):
    name: Annotated[str, "the setting that has the windows"]
    open: Annotated[bool, "whether one of them is open"]
    until: Annotated[Time | None, "when that closes, or the next one opens; null: never"]


class Drill(TypedDict):
    name: Annotated[str, "what it is called"]
    next: Annotated[Time | None, "when it is held next, or is due now"]
    last: Annotated[Time | None, "its last time, held or left out"]


class Heal(TypedDict):
    restarts: Annotated[int, "restarts within the window"]
    limit: Annotated[int, "after so many it is given up"]
    window_seconds: Annotated[float, "the window"]
    since: Annotated[Time | None, "since when it is unhealthy"]
    next: Annotated[Time | None, "when it is restarted"]
    given_up: Annotated[Time | None, "since when it is given up"]


class Container(Advised):
    runtime: Annotated[str, "docker, containerd, sim; systemd of a unit"]
    namespace: Annotated[str, "containerd's; nothing for the others"]
    id: Annotated[str, "the runtime's id"]
    name: Annotated[str, "its name"]
    called: Annotated[str, "what to type for it: the name, with the namespace where two have it, quoted for a shell"]
    chips: Annotated[list[int], "the chips that it uses, or will use"]
    status: Annotated[
        ContainerStatus,
        "`settling`: started, and watched for `retry.settle`; `failed`: its starts have failed, and it is tried on, or "
        "its healing was given up; `down`: it ought to run, and is not held",
    ]
    since: Annotated[Time | None, "since when it runs, or is held"]
    strategy: Annotated[StrategyName, "whether it is stopped for whom"]
    held: Annotated[bool, "cmgr has promised to start it"]
    health: Annotated[Health, "what its own check says, or its answer, the worse of both; nothing without either"]
    ready: Annotated[str, "what cmgr asks it ([ready.md](ready.md)); nothing where it is not asked"]
    answer: Annotated[str, "what has come of that last, in words"]
    heal: Annotated[Heal | None, "its wish to be restarted when it is unhealthy ([heal.md](heal.md)); null without one"]
    lost: Annotated[list[int], "chips that it cannot open, or has left ([heal.md](heal.md#what-has-lost-its-chips))"]
    slots: Annotated[list[str], "the slots that it is on ([slots.md](slots.md))"]
    spared: Annotated[bool, "it runs and was started with `--rm`: cmgr does not stop it, for that would remove it"]
    unclear: Annotated[bool, "it runs and can reach chips, and nobody knows which it uses"]
    reason: Annotated[str, "what it waits for"]
    hint: Annotated[str, "what to type"]
    owner: Annotated[str, "who starts its own containers, and this one is one of them: swarm, kubelet, …; or nothing"]
    project: Annotated[str, "the project of docker compose that it is of, or nothing"]
    service: Annotated[str, "which service of that"]
    group: Annotated[str, "the group that it is a member of ([groups.md](groups.md)), or nothing"]
    serves: Annotated[bool, "it runs, and it works, as far as anybody can tell"]
    unit: Annotated[str, "the unit of systemd that is stopped and started in its place, or nothing"]
    warnings: Annotated[list[str], "what in its definition could not be read"]


class Down(Advised):
    runtime: Annotated[str, "docker, containerd, sim; systemd of a unit"]
    namespace: Annotated[str, "containerd's; nothing for the others"]
    id: Annotated[str, "the runtime's id"]
    name: Annotated[str, "its name"]
    called: Annotated[str, "what to type for it"]
    chips: Annotated[list[int], "the chips that it is to use"]
    since: Annotated[Time | None, "since when it does not run"]
    reason: Annotated[str, "why"]
    hint: Annotated[str, "what to do or type; nothing where time does it"]


class Fault(TypedDict):
    code: Annotated[str, "8 hexadecimal digits, or a name and a number: Xid 79"]
    level: Annotated[LevelName, "what cmgr does about the fault itself"]
    handling: Annotated[HandlingName, "the word of its table or of a rule: also for what keeps new work away"]
    fault_class: Annotated[str, values_of(FaultClass), "what it concerns"]
    since: Annotated[Time, "its first occurrence"]
    count: Annotated[int, "how often it has occurred"]
    module: Annotated[str, "what of the chip it concerns, where that is known"]
    severity: Annotated[SeverityName | None, "what the driver calls it"]
    momentary: Annotated[bool, "the driver said that it passes at once"]
    raised: Annotated[str, "why it is graver than its table says; nothing when it is not"]


class Process(TypedDict):
    pid: Annotated[int, "its process id"]
    name: Annotated[str, "its name"]
    memory: Annotated[int, "bytes of the chip's memory"]
    container: NotRequired[Annotated[str, "the id of the container that it is in, where the driver can tell"]]
    share: NotRequired[Annotated[str, "the id of the share that it is on, where the driver can tell"]]
    gone: NotRequired[Annotated[bool, "true: it does not exist any more, and the driver still lists it"]]


class Share(TypedDict):
    id: Annotated[str, "what the driver calls it: a number, or a UUID"]
    template: Annotated[str, "what it was made as, in the driver's words; nothing where that is not told"]
    there: Annotated[bool, "the driver lists it; if not, a reset took it, and it is to be there again"]
    containers: Annotated[list[str], "the containers that ask for it by name, or have a process on it, by name"]
    why: Annotated[str, "why it could not be made again"]
    hint: Annotated[str, "what to type to make it; nothing when it is there"]


class Chip(Advised):
    id: Annotated[int, "the physical id: what people say to cmgr"]
    number: Annotated[int, "what containers and device files call it: the id, but on some chips another number"]
    tool_name: Annotated[str, "what its maker's own tool calls it; nothing where that is the id"]
    bus: Annotated[str, "its place on PCIe; nothing where that is not known"]
    serial: Annotated[str, "its serial number or the like; nothing where that is not known"]
    logical: Annotated[int, "the driver's own number"]
    ring: Annotated[int, "the ring that it is reset with"]
    model: Annotated[str, "what it is"]
    healthy: Annotated[bool, "nothing known speaks against it"]
    isolated: Annotated[bool, "out of use until a person or a clean period says otherwise"]
    isolated_by: Annotated[str | None, "`level`, `escalation`, `budget`, `test`, `boot`, or `operator`; null when not"]
    isolated_since: Annotated[Time | None, "since when"]
    release_at: Annotated[Time | None, "when a clean period ends the isolation; null when something else does"]
    pre_isolated: Annotated[bool, "what runs on it goes on, and nothing new is to be started there"]
    reason: Annotated[str, "why it is isolated, not healthy, or pre-isolated"]
    faults: Annotated[list[Fault], "its active faults, the gravest first"]
    containers: Annotated[list[str], "the containers that use it, by name"]
    processes: Annotated[list[Process], "the processes on it, as the driver says"]
    shares: Annotated[list[Share], "the parts that containers are given ([shares.md](shares.md)); often none"]
    available: Annotated[bool, "healthy, not pre-isolated, and used by nobody"]
    hint: Annotated[str, "what to type when it is isolated"]
    measured: NotRequired[
        Annotated[
            dict[str, float | str],
            "what the driver measures, a unit at each name's end; from `cmgr chips` of a running service only",
        ]
    ]


class Runtime(Advised):
    name: Annotated[str, "docker, containerd, sim"]
    why_down: Annotated[str, "why it cannot be reached; nothing when it can"]
    listed: Annotated[Time | None, "when its last good list was asked for"]
    hint: Annotated[str, "what to do about that, ready to be typed; nothing when it answers"]


class Quarter(TypedDict):
    quarter: Annotated[str, "which: `2026-Q4`"]
    minutes: Annotated[float, "how long services were down, in outages that are over: `cmgr downtime` has all of it"]
    recovery_minutes: Annotated[float, "how much of that a start of cmgr's has ended"]
    unseen_minutes: Annotated[float, "how long nobody can say whether services were down"]


class Status(TypedDict):
    at: Annotated[Time, "when this was said"]
    service: Annotated[Service, "the service itself"]
    headline: Annotated[list[str], "the same in a few words each, the worst first: what `cmgr status` begins with"]
    troubles: Annotated[list[Trouble], "everything that is wrong now: empty when all is well"]
    restraint: Annotated[Restraint | None, "what the limits keep back; null when nothing"]
    warnings: Annotated[list[Late], "what takes longer than it should"]
    rings: Annotated[list[Ring], "every ring"]
    containers: Annotated[list[Container], "those that run on chips, that are held, or that ought to run"]
    down: Annotated[
        list[Down],
        "every container that ought to run and does not ([reliability.md](reliability.md)); "
        "all is well only while this is empty",
    ]
    chips: Annotated[list[Chip], "every chip"]
    runtimes: Annotated[list[Runtime], "every container runtime"]
    windows: Annotated[list[Window], "every setting with windows"]
    drills: Annotated[list[Drill], "every drill of the calendar"]
    downtime: Annotated[Quarter | None, "the downtime of this quarter; null where nobody can say"]


class Chips(TypedDict):
    chips: Annotated[list[Chip], "every chip"]


class Containers(TypedDict):
    containers: Annotated[list[Container], "those of `cmgr status`"]


class ChipFault(Fault):
    chip: Annotated[int, "the chip that has it"]
    changed: Annotated[Time, "when an event spoke of it last"]
    cleared: Annotated[Time | None, "null while it is active"]


class MachineFault(TypedDict):
    code: Annotated[str, "words with hyphens, or a name and a number: SXid 20034"]
    part: Annotated[str, "the part of the machine that has it, where there is one"]
    source: Annotated[str, "who has found it"]
    handling: Annotated[HandlingName, "the word of its table"]
    since: Annotated[Time, "since when it is there"]
    changed: Annotated[Time, "when it happened last"]
    count: Annotated[int, "how often it was found again"]
    text: Annotated[str, "what its source says of it"]
    until: Annotated[Time | None, "when it counts as over, if it does not happen again; null: when it is no longer so"]


class Faults(TypedDict):
    faults: Annotated[list[ChipFault], "chip by chip, the gravest first"]
    machine: Annotated[list[MachineFault], "the active ones of the machine around the chips, the gravest first"]


class Episode(TypedDict):
    number: Annotated[int, "what to type for it: `cmgr history EPISODE`"]
    ring: Annotated[int | None, "the ring that it is about"]
    began: Annotated[Time, "when it was opened"]
    ended: Annotated[Time | None, "null while it goes on"]
    seconds: Annotated[float, "how long it took, or has taken by now"]
    outcome: Annotated[Outcome, "what became of it"]
    cause: Annotated[str, "what it was opened for"]


class Episodes(TypedDict):
    episodes: Annotated[list[Episode], "the newest first"]


class Key(TypedDict):
    runtime: Annotated[str, "docker, containerd, sim"]
    namespace: Annotated[str, "containerd's; nothing for the others"]
    id: Annotated[str, "the runtime's id"]


class Said(TypedDict):
    kind: Annotated[str, values_of(NoteKind), "what the line is about"]
    text: Annotated[str, "the line"]
    messages: NotRequired[Messages]
    chip: Annotated[int | None, "the chip that it is about"]
    container: Annotated[Key | None, "the container that it is about"]
    card: Annotated[int | None, "the chip's card, as its driver numbers it"]
    device: Annotated[int | None, "the chip's number on that card"]
    code: Annotated[str | None, "the fault that it is about"]
    level: Annotated[LevelName | None, "its level then"]
    handling: Annotated[HandlingName | None, "the word of its table, or of a rule, for that level"]
    assertion: Annotated[str | None, "what of it: `occurred`, `cleared`, or `once`; null: something else changed"]


class TimelineLine(Said):
    at: Annotated[Time, "when it was noted"]
    offset: Annotated[float, "seconds since the episode began; below zero for what came before"]


class LaneSpan(TypedDict):
    state: Annotated[str, "the phase, the fault's code, which reset, or how the container or the appliance is"]
    start: Annotated[float, "seconds since the episode began"]
    end: Annotated[float | None, "null: it is still so, or was when the episode was over"]


class Lane(TypedDict):
    kind: Annotated[str, "ring, chip, reset, container, appliance"]
    name: Annotated[str, "the chip's id, the container's name, or the appliance's with its group; else nothing"]
    spans: Annotated[list[LaneSpan], "the oldest first; those of a chip are its faults"]


class Timeline(TypedDict):
    episode: Annotated[Episode, "the episode itself"]
    notes: Annotated[list[TimelineLine], "its timeline, the oldest first"]
    lanes: Annotated[list[Lane], "the same as spans of time: the ring, its chips, resets, containers, other appliances"]


class HistoryLine(Said):
    at: Annotated[Time, "when it was noted"]
    ring: Annotated[int | None, "the ring that it is about"]
    episode: Annotated[int | None, "null for a line of no episode"]


class History(TypedDict):
    notes: Annotated[list[HistoryLine], "the newest lines of every timeline and of none, the newest last"]


class Rule(TypedDict):
    kind: Annotated[RuleName, "the kind of rule"]
    level: Annotated[LevelName, "what it raises the code to"]
    handling: Annotated[HandlingName, "the rule's own word for that"]
    text: Annotated[str, "when it does, and until when"]


class Raised(TypedDict):
    kind: Annotated[RuleName, "the kind of rule"]
    level: Annotated[LevelName, "to what"]
    handling: Annotated[HandlingName, "the rule's own word for that"]
    since: Annotated[Time, "since when"]
    reason: Annotated[str, "why"]
    ends: Annotated[Time | None, "when that ends if the fault stays away"]
    manual: Annotated[bool, "only a person ends it"]


class Counter(TypedDict):
    chip: Annotated[int, "the chip"]
    active: Annotated[bool, "it has the fault now"]
    level: Annotated[LevelName | None, "its level there; null while it does not have it"]
    counted: Annotated[int, "occurrences that count now"]
    times: Annotated[int | None, "how many raise it; null without such a rule"]
    first: Annotated[Time | None, "the first of those that count"]
    raised: Annotated[list[Raised], "the rules that have raised it"]


class Explanation(TypedDict):
    code: Annotated[str, "the code in its one spelling"]
    level: Annotated[LevelName | None, "null where the driver's severity decides"]
    handling: Annotated[HandlingName | None, "the table's word for it; null where the driver's severity decides"]
    fault_class: Annotated[str, values_of(FaultClass), "what it concerns"]
    origin: Annotated[str, "where the level comes from"]
    known: Annotated[bool, "a table has the code"]
    meaning: Annotated[str, "what the table says of it"]
    advice: Annotated[str, "what a person can do about it; nothing where the table does not say"]
    meaning_zh: Annotated[str, "the meaning in Chinese; nothing where the table has none"]
    advice_zh: Annotated[str, "the advice in Chinese"]
    rules: Annotated[list[Rule], "the rules that can raise it"]
    chips: Annotated[list[Counter], "the chips that have it, count it, or have it raised"]
    does: Annotated[list[str], "what cmgr does about it, sentence by sentence"]


class Finding(TypedDict):
    what: Annotated[str, "its subject"]
    state: Annotated[Literal["ok", "warning", "error"], "`error`: the command ends with 1"]
    text: Annotated[str, "what was found"]
    hint: Annotated[str, "what to do about it"]
    messages: NotRequired[Messages]


class Check(TypedDict):
    ok: Annotated[bool, "no finding is an error"]
    findings: Annotated[list[Finding], "everything that was looked at"]


class Preview(TypedDict):
    does: Annotated[list[str], "what would happen, sentence by sentence"]


class Done(TypedDict):
    did: Annotated[list[str], "what was done, sentence by sentence"]


class Released(Done):
    chip: Annotated[int, "the chip"]
    isolated: Annotated[bool, "it was isolated again at once"]
    reason: Annotated[str, "why that; nothing when it was not"]


class Isolated(Done):
    chip: Annotated[int, "the chip"]
    reason: Annotated[str, "as it was given"]
    containers: Annotated[list[str], "what runs on it"]


class ResetOrdered(Done):
    chip: Annotated[int, "the chip"]
    ring: Annotated[int, "its ring"]
    chips: Annotated[list[int], "the chips of that ring"]
    containers: Annotated[list[str], "what is stopped for it, and started again afterwards"]
    left: Annotated[list[str], "what is stopped for it, and not started again by cmgr"]


class Resumed(Done):
    container: Annotated[str, "what is started as soon as its chips allow"]


class AllResumed(Done):
    rings: Annotated[list[int], "the rings that are kept back no longer"]
    containers: Annotated[list[str], "what is started as soon as its chips allow"]


class Forgotten(Done):
    container: Annotated[str, "what is held no longer"]
    running: Annotated[bool, "it runs"]
    under_way: Annotated[bool, "a stop or start of it takes its course"]


class RuntimeForgotten(Done):
    runtime: Annotated[str, "nothing waits for it any more"]
    containers: Annotated[list[str], "what was held of it, and is started by nobody"]


class MaintenanceOrdered(Done):
    on: Annotated[bool, "it has begun; else it is over"]
    until: Annotated[Time | None, "when it ends by itself"]
    held: Annotated[list[str], "what stays down until then"]


class Reloaded(Done):
    changed: Annotated[list[str], "the settings that are in force now"]
    after_restart: Annotated[list[str], "those that are in force only after a restart of the service"]
