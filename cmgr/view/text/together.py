"""Groups, the fleet and slots, from documents to lines."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cmgr.sentences.sentence import Sentence, say
from cmgr.view.text.render import Face
from cmgr.view.text.texts import Page
from cmgr.words import runs

if TYPE_CHECKING:
    from cmgr.view import group_shapes, slot_shapes


def groups(told: "group_shapes.Groups", page: Page) -> list[str]:
    """Return a row for each group."""
    face = page.face
    if not told["groups"]:
        return [face.says("label.no-groups")]
    rows = [
        (
            each["name"],
            face.word(each["phase"]),
            str(each["round"] or "-"),
            _running(each, face),
            "\n".join(filter(None, [face.local(each["reason"]), *_remarks(each["remarks"], face)])),
        )
        for each in told["groups"]
    ]
    return page.table(("GROUP", "PHASE", "ROUND", "RUNNING", "WHY"), rows)


def _running(told: "group_shapes.Group", face: Face) -> str:
    members = len(told["members"])
    return face.says("label.running-of", running=members - told["down"], count=told["size"] or members)


def _remarks(remarks: Iterable[str], face: Face) -> list[str]:
    return [face.says("label.remark", text=remark) for remark in remarks]


def group(told: "group_shapes.Group", page: Page) -> list[str]:
    """Return a group member by member, and its last rounds."""
    face, phase = page.face, say("label.word", word=told["phase"])
    line: str = say("label.group-is", name=told["name"], phase=phase)
    if told["began"]:
        line = say("label.in-round", line=line, round=told["round"], cause=face.local(told["cause"]))
    rows = [
        (
            each["name"],
            face.word("running" if each["running"] else "held" if each["held"] else "down"),
            runs(each["chips"]),
            str(each["order"]),
            face.ago(each["since"]) if each["since"] else "",
            face.local(each["reason"]),
        )
        for each in told["members"]
    ]
    lines = [face.said(line), *filter(None, [told["reason"]])]
    lines += ["", *page.table(("MEMBER", "STATUS", "CHIPS", "ORDER", "SINCE", "WHY"), rows)]
    lines += _appliances(told["fleet"], page) if told["fleet"] is not None else []
    past = [
        (str(r["number"]), face.when(r["began"]), face.when(r["ended"]), face.word(r["outcome"]), r["cause"])
        for r in told["history"]
    ]
    lines += ["", *page.table(("ROUND", "BEGAN", "ENDED", "OUTCOME", "CAUSE"), past)] if past else []
    lines += _remarks(told["remarks"], face)
    return [*lines, *([face.says("label.to-do", hint=told["hint"])] if told["hint"] else [])]


def _appliances(told: "group_shapes.Agreement", page: Page) -> list[str]:
    """Return a row for each appliance that has members, with a line before them of what all agreed on."""
    face = page.face
    rows = [
        (
            each["name"],
            face.word(each["state"]),
            str(each["round"] or "-"),
            ", ".join(each["containers"]),
            face.ago(each["since"]) if each["since"] else "",
            face.local(each["reason"]),
        )
        for each in told["appliances"]
    ]
    line: str = say("label.on-all", phase=told["phase"], round=str(told["round"] or "-"))
    if told["by"] and told["phase"] != "running":
        line = say("label.on-all-by", line=line, by=told["by"], cause=face.local(told["cause"]))
    return ["", face.said(line), *page.table(("APPLIANCE", "STATE", "ROUND", "MEMBERS", "SINCE", "WHY"), rows)]


def fleet(told: "group_shapes.Fleet", page: Page) -> list[str]:
    """Return whether all is well in the fleet, its engine, and a row for each appliance."""
    engine, face = told["engine"], page.face
    if engine is None:
        return [face.says("label.no-fleet")]
    lines = [face.said(_fleet_headline(told)), *_engine(engine, page)]
    rows = [
        (
            face.says("label.here", name=each["name"]) if each["here"] else each["name"],
            face.word(each["state"]),
            each["version"],
            face.ago(since) if (since := each["gone"] or each["since"]) else "",
            "\n".join(face.said(wrong) for wrong in _wrong_there(each)),
        )
        for each in told["appliances"]
    ]
    lines += ["", *page.table(("APPLIANCE", "STATE", "VERSION", "SINCE", "WRONG THERE"), rows)]
    return [*lines, *_remarks(told["remarks"], face)]


def _fleet_headline(told: "group_shapes.Fleet") -> Sentence:
    engine, found = told["engine"], told["appliances"]
    if engine is not None and not engine["up"]:
        return say("label.engine-away", why=engine["why"])
    if engine is not None and engine["why"]:
        return say("label.engine-takes-no-writes", why=engine["why"])
    names = ", ".join(each["name"] for each in found if each["state"] != "ready" or each["wrong"])
    nodes = sum(bool(node["why"]) or node["full"] for node in engine["nodes"]) if engine is not None else 0
    full = say("label.engine-nodes", count=nodes)
    if names and nodes:
        return say("label.look-at-both", names=names, nodes=full)
    if names or nodes:
        return say("label.look-at", what=names or full)
    return say("label.fleet-well", count=len(found))


def _engine(told: "group_shapes.Engine", page: Page) -> list[str]:
    face = page.face
    state = "is away" if not told["up"] else "answers, but takes no writes" if told["why"] else "answers"
    line: str = say("label.engine", state=say("label.word", word=state))
    line = say("label.engine-since", line=line, since=face.when(told["since"])) if told["since"] else line
    line = say("label.engine-heard", line=line, ago=face.ago(told["heard"])) if told["heard"] else line
    lines = [face.said(line), *([face.says("label.to-do", hint=told["hint"])] if told["hint"] else [])]
    rows = [
        (
            node["endpoint"],
            node["name"] or "-",
            node["version"] or "-",
            face.word("away" if node["why"] else "full" if node["full"] else "leads" if node["leads"] else "follows"),
            face.local(node["why"]),
        )
        for node in told["nodes"]
    ]
    return [*lines, "", *page.table(("NODE", "NAME", "VERSION", "STATE", "WHY"), rows)] if rows else lines


def _wrong_there(told: "group_shapes.FleetAppliance") -> Iterator[str]:
    if told["state"] == "away":
        yield say("label.not-seen-any-more") if told["gone"] else say("label.not-seen-yet")
    for each in told["wrong"]:
        yield each["text"]
        if each["hint"]:
            yield say("label.type-there", hint=each["hint"])
    if told["more"]:
        yield say("label.more-there", count=told["more"])


def slots(told: "slot_shapes.Slots", page: Page) -> list[str]:
    """Return a row for each slot."""
    face = page.face
    if not told["slots"]:
        return [face.says("label.no-slots")]
    rows = [
        (
            slot["name"],
            runs(slot["chips"]),
            ", ".join(slot["containers"]) or "-",
            face.ago(slot["since"]),
            face.local(slot["reason"]),
        )
        for slot in told["slots"]
    ]
    return page.table(("SLOT", "CHIPS", "CONTAINERS", "SINCE", "WHY"), rows)
