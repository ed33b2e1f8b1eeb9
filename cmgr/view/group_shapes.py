"""The documents about groups, as `shapes` has the others. For types only, too."""

from typing import Annotated, TypedDict

from cmgr.view.shapes import Time


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
        "`given back`: no member was held any more",
    ]


class Group(TypedDict):
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
    remarks: Annotated[list[str], "what of its labels cannot be as somebody meant it"]
    history: Annotated[list[Round], "its last rounds, the newest first"]


class Groups(TypedDict):
    groups: Annotated[list[Group], "every group, by name"]


class GroupRestarted(TypedDict):
    group: Annotated[str, "its name"]
    round: Annotated[int, "the number of the round"]
    containers: Annotated[list[str], "the members that are stopped, and started again"]


class GroupResumed(TypedDict):
    group: Annotated[str, "its name"]
    waiting: Annotated[list[str], "the members that cannot be started yet, and are when they can"]
