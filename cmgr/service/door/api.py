"""The table of everything that can be asked of the service. It routes, and the OpenAPI document is made from it."""

from cmgr.config.roles import Role
from cmgr.frozen import replace
from cmgr.service.door.answers import Answers
from cmgr.service.door.openapi import document
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.orders.groups import GroupOrders
from cmgr.service.door.orders.slots import SlotOrders
from cmgr.service.door.pages import Pages, for_persons
from cmgr.service.door.records import OUTCOMES
from cmgr.service.door.routes import LANG, LINES, SVG, TEXT, Answering, Arg, Route
from cmgr.service.door.shown import Shown

NARROWED = (
    Arg("chip", "string", "Only what is about these chips, or their rings as a whole: 5, 0-3,7."),
    Arg("container", "string", "Only what is about this container, or about gone ones of its name."),
    Arg("group", "string", "Only what is about members of this group."),
    Arg("since", "string", "Only what went on from this long ago on: 24h, 30m."),
)
LIMIT = Arg("limit", "integer", "How many, the newest ones, at most 1,000; else 20.")
WHERE = (
    Arg("chip", "integer", "The chip's physical id; none: the machine around the chips."),
    Arg("part", "string", "The part of the machine that has it."),
)
EXPORTED = (
    Arg("document", "string", "deviceinfo, cluster-device, fault-node, nodeinfo …", required=True),
    Arg("described", "boolean", "As kubectl describe cm shows it, which is no JSON."),
)
CHIP = Arg("chip", "integer", "The chip's physical id.", required=True)
CONTAINER = "Its name, NAMESPACE/NAME, or id."


def routes(answers: Answers, shown: Shown, orders: Orders, pages: Pages) -> tuple[Route, ...]:
    """Return the table. A new thing to ask is a new entry."""
    own = Route("GET", "/v1/openapi.json", "describe", lambda _request: document(table), "This document.")
    spoken = (*_answers(answers), *_past(answers), *_orders(orders))
    told = (replace(route, args=(*(route.args or ()), LANG)) for route in spoken)
    table = (*told, *_shown(shown), *for_persons(pages), own)
    return table


EPISODE = (Arg("episode", "integer", "Its number.", required=True),)
GROUP_NAME = Arg("group", "string", "Its name.", required=True)


def _answers(a: Answers) -> tuple[Route, ...]:
    return (
        Route("GET", "/v1/status", "status", a.status, "The whole picture: cmgr status.", tag=a.tag_of_picture),
        Route("GET", "/v1/chips", "chips", a.chips, "The chips, and what is measured on them: cmgr chips."),
        Route("GET", "/v1/chips/{chip}", "chip", a.chip, "All about one chip: cmgr show chip CHIP.", (CHIP,)),
        Route(
            "GET", "/v1/faults", "faults", a.faults, "The active faults: cmgr faults.",
            (
                Arg("all", "boolean", "Those that have cleared too."),
                Arg("since", "string", "With cleared ones, from this long ago on: 24h, 30m."),
            ),
        ),
        Route("GET", "/v1/containers", "containers", a.containers, "The containers of cmgr status.", tag=a.tag),
        Route(
            "GET", "/v1/containers/{container}", "container", a.container,
            "All about one container: cmgr show container NAME.",
            (Arg("container", "string", CONTAINER, required=True),),
        ),
        Route(
            "GET", "/v1/explain/{code}", "explain", a.explain, "What a fault code means: cmgr explain CODE.",
            (Arg("code", "string", "The fault's code, such as 80E24E00.", required=True),), tag=a.tag,
        ),
        Route("GET", "/v1/groups", "groups", a.groups, "The groups, what they wait for, their rounds: cmgr group."),
        Route("GET", "/v1/groups/{group}", "group", a.group, "One of them: cmgr group NAME.", (GROUP_NAME,)),
        Route("GET", "/v1/groups/{group}/ranktable", "ranktable", a.ranktable, "Its rank table.", (GROUP_NAME,)),
        Route(
            "GET", "/v1/fleet", "fleet", a.fleet, "The fleet's appliances and engine: cmgr fleet status.",
            (Arg("nodes", "boolean", "With each node of the engine, which takes up to 3 s."),),
        ),
        Route("GET", "/v1/slots", "slots", a.slots, "The slots and their chips: cmgr slot.", tag=a.tag),
        Route("GET", "/v1/cdi", "cdi", a.cdi, "The chips as a CDI specification: cmgr cdi."),
        Route(
            "GET", "/v1/export/{document}", "export", a.export, "A document for tools of a cluster: cmgr export.",
            EXPORTED,
        ),
        Route("GET", "/v1/check", "check", a.check, "What is wrong with this machine's setup: cmgr check."),
        Route("GET", "/v1/health", "health", a.health, "Whether the service itself is well; 503 when it is not."),
        Route("GET", "/v1/events", "events", a.events, "Each line of history as it is written.", kind=LINES),
    )  # fmt: skip


def _past(a: Answers) -> tuple[Route, ...]:
    outcome = Arg("outcome", "string", f"Only those that ended so: {', '.join(OUTCOMES)}.")
    return (
        Route(
            "GET", "/v1/episodes", "episodes", a.episodes, "The newest episodes: cmgr history.",
            (LIMIT, *NARROWED, outcome),
        ),
        Route("GET", "/v1/episodes/{episode}", "episode", a.episode, "A timeline: cmgr history EPISODE.", EPISODE),
        Route("GET", "/v1/episodes/{episode}/picture", "picture", a.picture, "The same, drawn.", EPISODE, kind=SVG),
        Route(
            "GET", "/v1/history", "history", a.history, "The newest lines of all: cmgr history --all.",
            (LIMIT, *NARROWED),
        ),
        Route(
            "GET", "/v1/downtime", "downtime", a.downtime, "For how long services were down, and why: cmgr downtime.",
            (Arg("when", "string", "A year, quarter, month or day, such as 2026-Q4; else this quarter."),),
        ),
    )  # fmt: skip


def _shown(s: Shown) -> tuple[Route, ...]:
    args = (
        Arg("width", "integer", "The columns of the terminal; 80 at least."),
        Arg("zone", "string", "The time zone, such as Asia/Shanghai; else UTC."),
        LANG,
    )
    return tuple(
        Route("GET", f"/v1/{do}/text", f"{do}-text", answer, f"What cmgr {do} prints.", args, kind=TEXT)
        for do, answer in (("status", s.status), ("chips", s.chips), ("faults", s.faults))
    )


def _orders(o: Orders) -> tuple[Route, ...]:
    reason = Arg("reason", "string", "Why: everybody who looks is shown it.", required=True)
    stop = Arg("stop", "boolean", "Stop the containers on its ring, and start them again afterwards.")
    container = Arg("container", "string", CONTAINER)
    every = Arg("all", "boolean", "Every container that was given up, and every ring that is kept back.")
    on = Arg("on", "boolean", "Whether it begins or ends.", required=True)
    seconds = Arg("seconds", "number", "It ends by itself after that, or after 4 h.")
    lasts = Arg("seconds", "number", "The fault ends by itself after that, or after 60 s; 10 min at most.")
    code = Arg("code", "string", "The fault's code, such as 80E24E00.", required=True)
    assertion = Arg("assertion", "string", "occurred, cleared or once.", required=True)
    trouble = Arg("trouble", "string", "Its id, as cmgr status -o json has it.")
    noticed = Arg("all", "boolean", "Every one that waits for that.")
    preview = Arg("preview", "boolean", "Say what would happen, and do nothing.")
    runtime = Arg("runtime", "string", "A runtime that is gone for good, with its containers.")
    piece = Arg("chip", "integer", "A chip that is missing, and gone for good.")
    of_chip = Arg("chip", "integer", "A chip of the ring whose ordered reset or test waits.")
    reboot = Arg("reboot", "boolean", "The reboot of this machine that is announced.")
    forget = "Give a held container back to you, or call a runtime or a missing chip gone."
    return (
        _order("release", o.release, "End a chip's isolation.", CHIP, preview),
        _order("isolate", o.isolate, "Take a chip out of use.", CHIP, reason, preview),
        _order("reset", o.reset, "Reset the ring of a chip.", CHIP, stop, preview),
        _order("test", o.test, "Test the ring of a chip.", CHIP, stop, preview),
        _order("cancel", o.cancel, "Take back an ordered reset or test, or a reboot.", of_chip, reboot, preview),
        _order("resume", o.resume, "Start a container again that was given up, or all.", container, every, preview),
        _order("forget", o.forget, forget, container, runtime, piece, preview),
        _order("maintenance", o.maintenance, "Record recoveries and act on none, or act again.", on, seconds, preview),
        _order("acknowledge", o.acknowledge, "Take notice of a trouble that stays.", trouble, noticed, preview),
        *_group_orders(o.groups, preview),
        *_slot_orders(o.slots),
        _order("reload", o.read_anew, "Have the configuration and fault tables read again."),
        _order("drill", o.drill, "Have the driver raise a real fault that breaks nothing.", CHIP, lasts, preview),
        _order("drill-end", o.end_drill, "End the drill that is under way."),
        Route("GET", "/v1/drill", "drilled", o.drilled, "The drill that is under way."),
        _order("inject", o.inject, "Simulate a fault of a chip or the machine, for drills.", *WHERE, code, assertion),
        _report(o),
    )


def _group_orders(o: GroupOrders, preview: Arg) -> tuple[Route, ...]:
    name = Arg("group", "string", "The group's name.", required=True)
    why = Arg("reason", "string", "Why; a line.")
    return (
        _order("group-restart", o.restart, "Stop all members of a group, and start them together.", name, why, preview),
        _order("group-cancel", o.cancel, "Take back the restart of a group that waits.", name, preview),
        _order(
            "group-resume",
            o.resume,
            "Start what can be started of a group, without the rest.",
            name,
            Arg("alone", "boolean", "Where it spans appliances: without waiting for the others."),
            Arg("without", "string", "Or: without these appliances, by name: b,c."),
            preview,
        ),
    )


def _slot_orders(o: SlotOrders) -> tuple[Route, ...]:
    slot = Arg("slot", "string", "The slot's name.", required=True)
    some = Arg("chips", "string", "The chips: 4,5 or 0-3.")
    count = Arg("count", "integer", "So many free ones, where no chips are given.")
    number = Arg("count", "integer", "How many.", required=True)
    only = Arg("model", "string", "Only chips of this model.")
    policy = Arg("policy", "string", "ring: all of one ring, or none; binpack or spread; else as spares.policy says.")
    keep = Arg("seconds", "number", "Nobody else is given them for so long, an hour at most.")
    move = Arg("stop", "boolean", "Stop what runs on it, and start it again on the other chips.")
    return (
        _order("slot-create", o.create, "Make a slot.", slot, some, count),
        _order("slot-assign", o.assign, "Give a slot other chips.", slot, some, move),
        _order("reserve", o.reserve, "Find free chips, and keep them for you.", number, only, policy, keep),
        _order("slot-remove", o.remove, "Take a slot away that no container asks for.", slot),
    )


def _report(o: Orders) -> Route:
    return Route(
        "POST", "/v1/reports", "report", o.reported.report, "Report a fault that another program has found.",
        (
            Arg("id", "string", "The reporter's own name for it.", required=True),
            Arg("code", "string", "Its code: nine digits.", required=True),
            Arg("chips", "string", "The chips that it concerns: 0-2,5."),
            Arg("seconds", "number", "It counts as over after that, unless it is reported again."),
            Arg("clear", "boolean", "It is over: on these chips, or wherever it was reported."),
        ),
        role=Role.REPORT,
    )  # fmt: skip


def _order(do: str, answer: Answering, says: str, *args: Arg) -> Route:
    return Route("POST", f"/v1/orders/{do}", do, answer, says, args)
