"""The table of everything that can be asked of the service. It routes, and the OpenAPI document is made from it."""

from cmgr.frozen import replace
from cmgr.service.door.answers import Answers
from cmgr.service.door.openapi import document
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.orders.declared import CHIP, CONTAINER, declared_of
from cmgr.service.door.pages import Pages, for_persons
from cmgr.service.door.records import OUTCOMES
from cmgr.service.door.routes import LANG, LINES, SVG, TEXT, Arg, Route
from cmgr.service.door.shown import Shown

NARROWED = (
    Arg("chip", "string", "Only what is about these chips, or their rings as a whole: 5, 0-3,7."),
    Arg("container", "string", "Only what is about this container, or about gone ones of its name."),
    Arg("group", "string", "Only what is about members of this group."),
    Arg("since", "string", "Only what went on from this long ago on: 24h, 30m."),
)
LIMIT = Arg("limit", "integer", "How many, the newest ones, at most 1,000; else 20.")
EXPORTED = (
    Arg("document", "string", "deviceinfo, cluster-device, fault-node, nodeinfo …", required=True),
    Arg("described", "boolean", "As kubectl describe cm shows it, which is no JSON."),
)


def routes(answers: Answers, shown: Shown, orders: Orders, pages: Pages) -> tuple[Route, ...]:
    """Return the table. A new thing to ask is a new entry."""
    own = Route("GET", "/v1/openapi.json", "describe", lambda _request: document(table), "This document.")
    spoken = (*_answers(answers), *_past(answers), *_orders(orders))
    told = (replace(route, args=(*(route.args or ()), LANG)) for route in spoken)
    table = (*told, *_shown(shown), *for_persons(pages), own)
    return table


def _orders(o: Orders) -> tuple[Route, ...]:
    return tuple(route for part in (o, o.groups, o.slots, o.reported) for route in declared_of(part))


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
