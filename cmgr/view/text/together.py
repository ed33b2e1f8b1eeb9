"""Groups, the fleet and slots, from documents to lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cmgr.view.text.texts import Page
from cmgr.words import counted, runs

if TYPE_CHECKING:
    from cmgr.view import group_shapes, slot_shapes


def groups(told: "group_shapes.Groups", page: Page) -> list[str]:
    """Return a row for each group."""
    if not told["groups"]:
        return ["there are no groups: containers with the same label cmgr.group=NAME are one"]
    rows = [
        (
            each["name"],
            each["phase"],
            str(each["round"] or "-"),
            f"{len(each['members']) - each['down']} of {each['size'] or len(each['members'])}",
            "\n".join(filter(None, [page.face.local(each["reason"]), *(f"remark: {r}" for r in each["remarks"])])),
        )
        for each in told["groups"]
    ]
    return page.table(("GROUP", "PHASE", "ROUND", "RUNNING", "WHY"), rows)


def group(told: "group_shapes.Group", page: Page) -> list[str]:
    """Return a group member by member, and its last rounds."""
    on = f": round {told['round']}, {told['cause']}" if told["began"] else ""
    lines = [f"group {told['name']} is {told['phase']}{page.face.local(on)}", *filter(None, [told["reason"]])]
    rows = [
        (
            each["name"],
            "running" if each["running"] else "held" if each["held"] else "down",
            runs(each["chips"]),
            str(each["order"]),
            page.face.ago(each["since"]) if each["since"] else "",
            page.face.local(each["reason"]),
        )
        for each in told["members"]
    ]
    lines += ["", *page.table(("MEMBER", "STATUS", "CHIPS", "ORDER", "SINCE", "WHY"), rows)]
    lines += _appliances(told["fleet"], page) if told["fleet"] is not None else []
    past = [
        (str(r["number"]), page.face.when(r["began"]), page.face.when(r["ended"]), r["outcome"], r["cause"])
        for r in told["history"]
    ]
    lines += ["", *page.table(("ROUND", "BEGAN", "ENDED", "OUTCOME", "CAUSE"), past)] if past else []
    lines += [f"remark: {remark}" for remark in told["remarks"]]
    return [*lines, *([f"what to do: {told['hint']}"] if told["hint"] else [])]


def _appliances(told: "group_shapes.Agreement", page: Page) -> list[str]:
    """Return a row for each appliance that has members, with a line before them of what all agreed on."""
    rows = [
        (
            each["name"],
            each["state"],
            str(each["round"] or "-"),
            ", ".join(each["containers"]),
            page.face.ago(each["since"]) if each["since"] else "",
            page.face.local(each["reason"]),
        )
        for each in told["appliances"]
    ]
    cause = f", {told['by']}: {told['cause']}" if told["by"] and told["phase"] != "running" else ""
    line = f"on all appliances: {told['phase']}, round {told['round'] or '-'}{page.face.local(cause)}"
    return ["", line, *page.table(("APPLIANCE", "STATE", "ROUND", "MEMBERS", "SINCE", "WHY"), rows)]


def fleet(told: "group_shapes.Fleet", page: Page) -> list[str]:
    """Return whether all is well in the fleet, its engine, and a row for each appliance."""
    engine = told["engine"]
    if engine is None:
        return ["this appliance is in no fleet: fleet.engine is not set"]
    lines = [_fleet_headline(told), *_engine(engine, page)]
    rows = [
        (
            f"{each['name']} (here)" if each["here"] else each["name"],
            each["state"],
            each["version"],
            page.face.ago(since) if (since := each["gone"] or each["since"]) else "",
            "\n".join(_wrong_there(each)),
        )
        for each in told["appliances"]
    ]
    lines += ["", *page.table(("APPLIANCE", "STATE", "VERSION", "SINCE", "WRONG THERE"), rows)]
    return [*lines, *(f"remark: {remark}" for remark in told["remarks"])]


def _fleet_headline(told: "group_shapes.Fleet") -> str:
    engine, found = told["engine"], told["appliances"]
    if engine is not None and not engine["up"]:
        return f"not well: the engine is away: {engine['why']}"
    if engine is not None and engine["why"]:
        return f"not well: the engine takes no writes: {engine['why']}"
    names = [each["name"] for each in found if each["state"] != "ready" or each["wrong"]]
    nodes = sum(bool(node["why"]) or node["full"] for node in engine["nodes"]) if engine is not None else 0
    where = [*([", ".join(names)] if names else []), *([f"{counted(nodes, 'node')} of the engine"] if nodes else [])]
    if where:
        return f"not well: look at {' and at '.join(where)}"
    return f"all is well: {counted(len(found), 'appliance')}, and the engine answers"


def _engine(told: "group_shapes.Engine", page: Page) -> list[str]:
    heard = f", its last word came {page.face.ago(told['heard'])}" if told["heard"] else ""
    since = f" since {page.face.when(told['since'])}" if told["since"] else ""
    state = "is away" if not told["up"] else "answers, but takes no writes" if told["why"] else "answers"
    lines = [f"engine: {state}{since}{heard}"]
    lines += [f"what to do: {told['hint']}"] if told["hint"] else []
    rows = [
        (
            node["endpoint"],
            node["name"] or "-",
            node["version"] or "-",
            "away" if node["why"] else "full" if node["full"] else "leads" if node["leads"] else "follows",
            page.face.local(node["why"]),
        )
        for node in told["nodes"]
    ]
    return [*lines, "", *page.table(("NODE", "NAME", "VERSION", "STATE", "WHY"), rows)] if rows else lines


def _wrong_there(told: "group_shapes.FleetAppliance") -> Iterator[str]:
    if told["state"] == "away":
        yield "it is not seen: no power, no network, or its cmgr does not run" + (" any more" if told["gone"] else "")
    for each in told["wrong"]:
        yield each["text"]
        if each["hint"]:
            yield f"type there: {each['hint']}"
    if told["more"]:
        yield f"and {counted(told['more'], 'trouble')} more: cmgr status there"


def slots(told: "slot_shapes.Slots", page: Page) -> list[str]:
    """Return a row for each slot."""
    if not told["slots"]:
        return ["there are no slots: cmgr slot create NAME --count 1"]
    rows = [
        (
            slot["name"],
            runs(slot["chips"]),
            ", ".join(slot["containers"]) or "-",
            page.face.ago(slot["since"]),
            page.face.local(slot["reason"]),
        )
        for slot in told["slots"]
    ]
    return page.table(("SLOT", "CHIPS", "CONTAINERS", "SINCE", "WHY"), rows)
