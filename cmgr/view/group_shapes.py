"""The documents about groups and fleets, as `shapes` has the others. For types only, too."""

from typing import Annotated, NotRequired, TypedDict

from cmgr.view.shapes import Advised, Done, Form, Messages, Time


class Member(TypedDict):
    name: Annotated[str, "its name"]
    called: Annotated[str, "what to type for it"]
    chips: Annotated[list[int], "the chips that it uses, or will use; a member needs none"]
    order: Annotated[int, "stopped from high to low, started from low to high"]
    running: Annotated[bool, "whether it runs"]
    held: Annotated[bool, "cmgr holds it down, or starts it just now"]
    since: Annotated[Time | None, "since when it runs, or does not"]
    reason: Annotated[str, "what it waits for, or why it is left out"]


class Round(TypedDict):
    number: Annotated[int, "the round's number"]
    began: Annotated[Time, "when it began"]
    ended: Annotated[Time, "when it ended"]
    cause: Annotated[str, "why it began"]
    outcome: Annotated[
        str,
        "`recovered`; `resumed`: a person has left some behind; `again`: another round began; "
        "`given back`: no member was held any more; `taken back`: its order was",
    ]


class Appliance(TypedDict):
    name: Annotated[str, "its name in the fleet"]
    round: Annotated[int, "the last round that it has followed"]
    state: Annotated[
        str,
        "`running`; `halting`: its members are being stopped; `halted`: they are down, and something keeps them so; "
        "`ready`: they could be started, or are being; `failed`: one was given up; `out`: a person has left it out",
    ]
    waited_for: Annotated[bool, "the others wait for it"]
    containers: Annotated[list[str], "its members, by name"]
    since: Annotated[Time | None, "since when its state is seen here"]
    reason: Annotated[str, "what it waits for, in its own words"]
    messages: NotRequired[Messages]


class Agreement(TypedDict):
    """The document on which the appliances have agreed, as it was read last."""

    phase: Annotated[str, "the phase of the round on all appliances"]
    round: Annotated[int, "its number"]
    by: Annotated[str, "the appliance that began it"]
    cause: Annotated[str, "why"]
    size: Annotated[int, "how many members there are in all"]
    known: Annotated[int, "how many are known; with fewer than there are the members here are a group of their own"]
    appliances: Annotated[list[Appliance], "every appliance that has members, by name"]
    messages: NotRequired[Messages]


class Group(Advised):
    name: Annotated[str, "its name"]
    phase: Annotated[str, "`running`: no round is on"]
    round: Annotated[int, "the number of its round, or of the last one; 0 where there was none"]
    began: Annotated[Time | None, "when the round began that is on"]
    cause: Annotated[str, "why that one began"]
    since: Annotated[Time | None, "since when it is in this phase"]
    size: Annotated[int, "how many members its labels say there are; 0: they do not say"]
    down: Annotated[int, "so many of its members do not run"]
    reason: Annotated[str, "what it waits for, or why it is not whole"]
    hint: Annotated[str, "what to type; often nothing"]
    members: Annotated[list[Member], "the members that are known here, by name"]
    fleet: Annotated[Agreement | None, "where it spans appliances, as far as known: what they have agreed on"]
    remarks: Annotated[list[str], "what of its labels cannot be as somebody meant it"]
    history: Annotated[list[Round], "its last rounds, the newest first"]


class Groups(TypedDict):
    groups: Annotated[list[Group], "every group, by name"]


class GroupRestarted(Done):
    group: Annotated[str, "its name"]
    round: Annotated[int, "the number of the round"]
    containers: Annotated[list[str], "the members that are stopped, and started again"]


class GroupResumed(Done):
    group: Annotated[str, "its name"]
    waiting: Annotated[list[str], "the members that do not run, and are started when they can be"]


class EngineNode(TypedDict):
    endpoint: Annotated[str, "its address, as `fleet.endpoints` has it"]
    name: Annotated[str, "its name in the cluster"]
    version: Annotated[str, "the engine's version"]
    leads: Annotated[bool, "it leads the others"]
    full: Annotated[bool, "it takes no writes: its database has reached its quota"]
    ahead: Annotated[float | None, "how many seconds its clock is ahead of this machine's"]
    why: Annotated[str, "why it does not answer; then nothing else is known of it"]


class Engine(TypedDict):
    up: Annotated[bool, "it answers, and tells changes"]
    since: Annotated[Time | None, "since when it does, or does not"]
    heard: Annotated[Time | None, "when it said anything last"]
    why: Annotated[str, "why it cannot be asked, or takes no writes"]
    hint: Annotated[str, "what to do about that"]
    leader_since: Annotated[Time | None, "since when, at the latest, the same node leads"]
    nodes: Annotated[list[EngineNode], "its nodes; over HTTP only with `nodes=true`"]


class Wrong(TypedDict):
    text: Annotated[str, "what is wrong there"]
    hint: Annotated[str, "the command to type there; often nothing"]
    messages: NotRequired[Messages]


class FleetAppliance(TypedDict):
    name: Annotated[str, "its name in the fleet"]
    here: Annotated[bool, "it is this one"]
    state: Annotated[
        str,
        Form(words=("starting", "ready", "degraded", "stopping", "away", "unknown")),
        "its service's state; `away`: it is not seen; `unknown`: the engine is away, and the rest is of before that",
    ]
    since: Annotated[Time | None, "when its service began"]
    gone: Annotated[Time | None, "since when it is not seen, if that is known"]
    version: Annotated[str, "its version of cmgr"]
    life: Annotated[int, "how often its service has registered"]
    episodes: Annotated[int, "so many of its rings are in an episode"]
    isolated: Annotated[int, "so many of its chips are isolated"]
    wrong: Annotated[list[Wrong], "what is wrong there, the worst first"]
    more: Annotated[int, "so many troubles more there are"]
    ahead: Annotated[float | None, "how many seconds its clock is ahead of this machine's, as far as that is known"]


class Fleet(TypedDict):
    name: Annotated[str, "this appliance's name in it; nothing where there is no fleet"]
    engine: Annotated[Engine | None, "what the appliances agree by; null: there is no fleet"]
    appliances: Annotated[list[FleetAppliance], "every appliance, by name"]
    remarks: Annotated[list[str], "what else there is to see to: clocks that are apart, versions"]
    messages: NotRequired[Messages]
