"""The documents about slots, CDI, faults that persons or programs bring, fault tables, sessions, and downtime.

As `shapes` has the others, and for types only, too.
"""

from typing import Annotated, NotRequired, TypedDict

from cmgr.model.values.services.outages import OutageCause
from cmgr.view.shapes import Done, HandlingName, Messages, ServiceState, Time, values_of


class Available(TypedDict):
    available: Annotated[list[int], "ids of healthy chips that nobody uses"]
    numbers: Annotated[list[int], "what containers call them, in the same order"]


class Slot(TypedDict):
    name: Annotated[str, "its name"]
    device: Annotated[str, "what a container asks for: `--device`"]
    chips: Annotated[list[int], "the chips that it has now"]
    given: Annotated[
        list[int], "those of them that its containers get: fewer where no spare is there (`cmgr.min-chips`)"
    ]
    home: Annotated[list[int], "those that a person gave it; it has moved where they are others"]
    ordered: Annotated[list[int], "those that it gets once nothing runs on it; mostly none"]
    since: Annotated[Time, "since when it has these"]
    containers: Annotated[list[str], "the containers that ask for it"]
    reason: Annotated[str, "why it has these, and why it cannot move where it should"]
    messages: NotRequired[Messages]


class Slots(TypedDict):
    slots: Annotated[list[Slot], "every slot, by name"]


class ChipForgotten(Done):
    chip: Annotated[int, "the number under which it was remembered"]
    piece: Annotated[str, "what it was"]
    slots: Annotated[list[str], "the slots that have its place still"]


class Acknowledged(Done):
    troubles: Annotated[list[str], "the troubles that end by that"]


class SlotMade(Done):
    slot: Annotated[str, "its name"]
    chips: Annotated[list[int], "its chips"]
    device: Annotated[str, "what a container asks for: `--device`"]


class SlotAssigned(Done):
    slot: Annotated[str, "its name"]
    chips: Annotated[list[int], "the chips that it gets"]
    containers: Annotated[list[str], "what is stopped for that, and started again"]


class SlotRemoved(Done):
    slot: Annotated[str, "its name"]


class Reserved(TypedDict):
    available: Annotated[list[int], "ids of healthy chips that nobody uses"]
    numbers: Annotated[list[int], "what containers call them, in the same order"]
    until: Annotated[Time | None, "until when nobody else is given them; null: they are not reserved"]


class CdiMount(TypedDict):
    hostPath: Annotated[str, "of the machine"]
    containerPath: Annotated[str, "in the container"]
    options: Annotated[list[str], "as mount(8) has them"]


class CdiEdits(TypedDict):
    env: NotRequired[Annotated[list[str], "variables of the container"]]
    deviceNodes: NotRequired[Annotated[list[dict[str, str]], "device files; one that is not there is the refusal"]]
    mounts: NotRequired[Annotated[list[CdiMount], "files of the machine"]]


class CdiDevice(TypedDict):
    name: Annotated[str, "the chip's id, or `all`"]
    containerEdits: Annotated[CdiEdits, "what a container gets"]


class CdiSpecification(TypedDict):
    cdiVersion: Annotated[str, "the format's version"]
    kind: Annotated[str, "what containers say before the `=`"]
    devices: Annotated[list[CdiDevice], "each chip that is there, and all of them"]


class Cdi(TypedDict):
    file: Annotated[str, "where it is kept, with `cdi.chips`"]
    kept: Annotated[bool, "whether it is"]
    specification: Annotated[CdiSpecification, "the chips, for the Container Device Interface; isolated ones refuse"]


class Drill(TypedDict):
    chip: Annotated[int | None, "the chip; null: there is no drill"]
    code: Annotated[str, "the code that its driver raises there"]
    who: Annotated[str, "who ordered it"]
    until: Annotated[Time | None, "then it ends by itself"]


class Ticket(TypedDict):
    ticket: Annotated[str, "what opens the page once"]
    ends: Annotated[Time, "until then"]


class SessionsEnded(TypedDict):
    sessions: Annotated[int, "how many there were"]


class PageSession(TypedDict):
    who: Annotated[str, "whose session it is"]
    ends: Annotated[Time, "when it ends by itself"]
    orders: Annotated[bool, "orders may be given"]


class Entered(PageSession):
    session: Annotated[str, "what every order is to be sent with"]


class Left(TypedDict):
    left: Annotated[bool, "the session is over"]


class ReportTaken(Done):
    code: Annotated[str, "the code"]
    id: Annotated[str, "the reporter's own name for the fault"]
    source: Annotated[str, "the reporter, as the configuration calls it"]
    chips: Annotated[list[int], "the chips that have the fault now"]
    handling: Annotated[HandlingName, "what is done about it: no more than the reporter may ask for"]


class Injected(Done):
    chip: Annotated[int | None, "the chip; null: the machine around the chips"]
    part: Annotated[str, "the part of the machine"]
    code: Annotated[str, "the fault's code"]
    assertion: Annotated[str, "occurred, cleared or once"]


class RebootCancelled(Done):
    reboot: Annotated[bool, "whether the machine is rebooted yet: false"]
    what: Annotated[str, "the chips that it was for, in words"]


class Difference(TypedDict):
    code: Annotated[str, "the code"]
    here: Annotated[str, "its level in the table in use, or `in no table`"]
    there: Annotated[str, "its level in the file"]
    meaning: Annotated[str, "what it means, where the table in use says it"]


class Comparison(TypedDict):
    differences: Annotated[list[Difference], "the codes whose level is not the same in both tables"]
    same: Annotated[int, "so many codes have the same level in both"]
    reported: Annotated[list[str], "codes of nine digits, which no driver tells: left out"]
    warnings: Annotated[list[str], "what is odd in the file"]


class AlarmReceiver(TypedDict):
    receiver: Annotated[str, "who it is, without what may be secret of its address"]
    format: Annotated[str, "the form in which it is told"]
    events: Annotated[list[str], "the events that are sent to it"]
    sent: Annotated[bool | None, "with `--test`: whether it has taken the test; else null"]
    answer: Annotated[str, "with `--test`: its answer, or why it was not told"]


class AlarmReceivers(TypedDict):
    receivers: Annotated[list[AlarmReceiver], "every receiver of alarms, as the configuration names them"]


class Wellbeing(TypedDict):
    healthy: Annotated[bool, "the service is ready, and nothing is wrong with it"]
    state: Annotated[ServiceState, "as `service.state` of the status has it"]
    troubles: Annotated[list[str], "what is wrong with the service, a sentence each"]


class Version(TypedDict):
    version: Annotated[str, "cmgr's version"]


Cause = Annotated[str, values_of(OutageCause), "by which cause ([downtime.md](downtime.md#causes))"]


class DowntimeSum(TypedDict):
    minutes: Annotated[float, "how long services were down, each for itself, in all"]
    outages: Annotated[int, "how many outages were over in this time"]
    recoveries: Annotated[int, "those of them that a start of cmgr's has ended"]
    recovery_minutes: Annotated[float, "how long these were, in all"]


class DowntimeOfCause(DowntimeSum):
    cause: Cause


class DowntimeOfService(DowntimeSum):
    service: Annotated[str, "its runtime, namespace and name"]
    unseen_minutes: Annotated[float, "how long nobody can say whether it was down"]


class OutageNow(TypedDict):
    service: Annotated[str, "its runtime, namespace and name"]
    cause: Cause
    since: Annotated[Time, "since when it is down"]
    minutes: Annotated[float, "for how long, in this time; that is in the sums, too"]


class SilentRuntime(TypedDict):
    runtime: Annotated[str, "its name"]
    since: Annotated[Time, "since when it does not answer"]


class Downtime(DowntimeSum):
    period: Annotated[str, "what was asked for: `2026-Q4`, `2026`, `2026-11`, `2026-11-29`"]
    begins: Annotated[Time, "when that begins"]
    ends: Annotated[Time, "when it ends, or this was said"]
    counted_since: Annotated[Time | None, "since when downtime is counted at all; what was before is not known"]
    known_until: Annotated[Time, "until when it is: earlier than the end where cmgr does not run"]
    unseen_minutes: Annotated[float, "how long nobody can say whether services were down; in no other sum"]
    reaction_minutes: Annotated[float | None, "`downtime.reaction`; null where that is not set"]
    by_hand_minutes: Annotated[
        float | None, "what the recoveries of cmgr's would have taken with a person's reaction before each"
    ]
    causes: Annotated[list[DowntimeOfCause], "the sums by cause, the largest first"]
    services: Annotated[list[DowntimeOfService], "the sums by service, the largest first"]
    now: Annotated[list[OutageNow], "the services that are down"]
    silent: Annotated[
        list[SilentRuntime], "the runtimes that do not answer: since then nothing is known of their services"
    ]
