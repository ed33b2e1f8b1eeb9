"""Finding one's way in a status: what its rows are called, and what of it is wrong."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cmgr.sentences.sentence import Sentence, because, parts, say

if TYPE_CHECKING:
    from cmgr.view import shapes

WELL = say("label.well-again")

TABLED = (
    *("service", "kept-back", "episode", "silent", "isolated", "unhealthy"),
    *("failed", "given-up", "ailing", "down", "idle"),
)
"""The kinds of troubles that `cmgr status` shows in a table, or at its beginning, with what to do."""


END: "shapes.Order" = {"do": "maintenance", "args": {"on": False}}
"""It is said once, of cmgr itself, and of nothing that waits for it."""


def labels(told: "shapes.Status") -> list[str]:
    """Return what each container is called: its name, the beginning of its id, or more where others have the same."""
    names = [c["name"] or c["id"][:12] for c in told["containers"]]
    count = Counter(names)
    return [n if count[n] == 1 else c["called"] for n, c in zip(names, told["containers"], strict=True)]


def fitting(status: "shapes.Status", text: str) -> list[tuple[str, str, str]]:
    """Return what a person may mean by this: of each its kind, what tells it from all others, and what to type for it.

    The beginning of an id counts where nothing has that name.
    """
    chips = [("chip", str(c["id"]), str(c["id"])) for c in status["chips"] if str(c["id"]) == text]
    groups = [("group", text, text)] if text and any(c.get("group") == text for c in status["containers"]) else []
    named = [c for c in status["containers"] if text in names(c)]
    if not (chips or groups or named):
        named = [c for c in status["containers"] if text and c["id"].startswith(text)]
    return [*chips, *(("container", c["id"], c["called"]) for c in named), *groups]


def names(container: "shapes.Container") -> tuple[str, ...]:
    """Return the names by which a person may mean this container, from the shortest to that which is whole."""
    runtime, namespace, name = container["runtime"], container["namespace"], container["name"]
    return name, f"{namespace}/{name}", f"{runtime}/{name}", "/".join(filter(None, (runtime, namespace, name)))


def tells(ring: "shapes.Ring") -> bool:
    """Return whether there is something to say of the ring: it is in an episode, or kept back from one."""
    return bool(ring["episode"] or ring["reason"])


def health(chip: "shapes.Chip") -> str:
    if chip["healthy"]:
        return "pre-isolated" if chip["pre_isolated"] else "healthy"
    return "isolated" if chip["isolated"] else "faulty"


def ails(container: "shapes.Container") -> bool:
    """Return whether the container is restarted because it ails, or was given up."""
    return container["heal"] is not None and bool(container["heal"]["since"])


def troubles(status: "shapes.Status") -> list[str]:
    """Return what is wrong, in a few words each; nothing when all is well."""
    # A service that was not restarted after an update does not tell the first line yet.
    return status.get("headline", [trouble["text"] for trouble in status["troubles"]])


def state(status: "shapes.Status") -> str:
    """Return how all is in one of three words: `well`, `troubled`, or `hangs`, for a service that decides nothing."""
    if status["service"]["state"] == "hangs":
        return "hangs"
    return "troubled" if troubles(status) else "well"


def beside(status: "shapes.Status") -> list[str]:
    """Return the troubles that none of the tables below them shows, a sentence each."""
    return [because(t["text"], t["why"]) for t in status["troubles"] if t["kind"] not in TABLED]


def subjects(status: "shapes.Status") -> dict[str, str]:
    """Return, in sentences, what there is to say of each thing that is not as it should be, and of cmgr itself."""
    own, wrong = status["service"], beside(status)
    state = _word(own["state"])
    found: dict[str, str] = {"cmgr": say("label.in-maintenance", state=state) if own["maintenance"] else state}
    found |= {say("label.trouble"): parts(wrong)} if wrong else {}
    rings = [ring for ring in status["rings"] if tells(ring)]
    found |= {say("label.ring", ring=ring["id"]): because(_word(ring["phase"]), ring["reason"]) for ring in rings}
    for name, container in zip(labels(status), status["containers"], strict=True):
        if container["status"] != "running" or container["reason"]:
            found[say("label.container", name=name)] = because(_word(container["status"]), container["reason"])
    found |= {chip_named(c): because(_word(health(c)), c["reason"]) for c in status["chips"] if not c["healthy"]}
    # How long it takes by now is no news, that it takes long is.
    return found | {say("label.warning", text=w["subject"]): w["hint"] for w in status["warnings"]}


def _word(word: str) -> Sentence:
    return say("label.word", word=word)


def chip_named(chip: "shapes.Chip") -> Sentence:
    return say("label.chip", chip=chip["id"])


def to_type(status: "shapes.Status") -> list[str]:
    """Return what a person can do, a line for each thing, the most urgent first."""
    own, wrong = status["service"], status["troubles"]
    found = [because(say("label.the-service"), t["hint"]) for t in wrong if t["kind"] == "service" and t["hint"]]
    found += [because(_word("maintenance"), "cmgr maintenance off")] * own["maintenance"]
    found += [t["hint"] for t in wrong if t["kind"] == "kept-back"]
    found += [because(w["subject"], w["hint"]) for w in status["warnings"]]
    if not own["maintenance"]:
        found += [because(say("label.ring", ring=r["id"]), r["hint"]) for r in status["rings"] if r["hint"]]
    # A restart of the machine is said once, with the chips that need it.
    once = {"", *(t["hint"] for t in wrong if t["kind"] == "reboot")}
    named = zip(labels(status), status["containers"], strict=True)
    found += [because(name, c["hint"]) for name, c in named if c["hint"] not in once and END not in _orders(c)]
    found += [because(chip_named(c), c["hint"]) for c in _isolated(status) if c["hint"] not in once]
    return found + [because(t["text"], t["hint"]) for t in wrong if t["kind"] not in TABLED and t["hint"]]


def _isolated(status: "shapes.Status") -> "list[shapes.Chip]":
    """Return the isolated chips, but for those whose release a container's hint says already."""
    said = [order for container in status["containers"] for order in _orders(container)]
    return [c for c in status["chips"] if c["isolated"] and all(order not in said for order in _orders(c))]


def _orders(row: "shapes.Container | shapes.Chip") -> "list[shapes.Order]":
    return row.get("orders", [])  # A service that was not restarted after an update does not tell them yet.


def users_of_ring(status: "shapes.Status", chip: int) -> list[str]:
    """Return what runs on any chip of the ring of this one."""
    ring = next((c["ring"] for c in status["chips"] if c["id"] == chip), None)
    mates = {c["id"] for c in status["chips"] if c["ring"] == ring}
    return [
        name
        for name, container in zip(labels(status), status["containers"], strict=True)
        if container["status"] in ("running", "settling", "pausing") and mates & {*container["chips"]}
    ]


def numbers(status: "shapes.Status") -> tuple[int, int, int, int]:
    """Return how many chips are healthy, of how many, and how many containers run, of how many."""
    # Of a unit and the containers that it runs the unit counts.
    chips, containers = status["chips"], [c for c in status["containers"] if not c["unit"]]
    healthy = sum(c["healthy"] for c in chips)
    idle = {t["about"] for t in status["troubles"] if t["kind"] == "idle"}
    running = sum(
        c["status"] in ("running", "settling") and "/".join((c["runtime"], c["namespace"], c["id"])) not in idle
        for c in containers
    )
    return healthy, len(chips), running, len(containers)


def counts(status: "shapes.Status") -> Sentence:
    """Return how many chips are healthy and how many containers run."""
    healthy, chips, running, containers = numbers(status)
    well = say("label.chips-healthy", count=chips) if chips else say("label.no-chip")
    well = well if healthy == chips else say("label.some-healthy", healthy=healthy, count=chips)
    up = say("label.running", count=containers)
    up = up if running == containers else say("label.some-running", running=running, count=containers)
    return say("label.counts", chips=well, containers=up)


def row_of(status: "shapes.Status", key: "shapes.Key") -> "shapes.Container | None":
    """Return the row of the container that a line is about; None where it has none."""
    wanted = (key["runtime"], key["namespace"], key["id"])
    return next((c for c in status["containers"] if (c["runtime"], c["namespace"], c["id"]) == wanted), None)


def is_about_chips(line: "shapes.HistoryLine", chips: Collection[int], rings: "Sequence[shapes.Ring]") -> bool:
    """Return whether a line is about one of these chips, or about its ring as a whole."""
    if line["chip"] is not None or line["container"] is not None:
        return line["chip"] in chips
    return any(ring["id"] == line["ring"] and not {*ring["chips"]}.isdisjoint(chips) for ring in rings)
