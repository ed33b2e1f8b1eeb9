"""All about one chip or one container, from its document to lines."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cmgr.view.text import render, texts, timeline
from cmgr.view.text.reading import health
from cmgr.view.text.texts import Page
from cmgr.words import runs

if TYPE_CHECKING:
    from cmgr.view import shapes
    from cmgr.view.one import one_shapes


def container(told: "one_shapes.AboutContainer", page: Page) -> list[str]:
    """Return whether it serves and what to do, what it is, who decides about it, its chips, and what was done to it."""
    row = told["container"]
    serves = ", and serves" if row["serves"] else ", and does not serve" if row["status"] == "running" else ""
    since = f", since {page.face.when(row['since'])}" if row["since"] else ""
    whole = f"{row['project']}, service {row['service']}" if row["project"] else ""
    asked = f"{row['ready']}: {row['answer'] or 'no answer yet'}" if row["ready"] else ""
    facts = {
        "runtime": "/".join(filter(None, (row["runtime"], row["namespace"]))),
        "id": row["id"],
        "image": told["image"],
        "chips": runs(row["chips"]),
        "slots": ", ".join(row["slots"]),
        "group": row["group"],
        "project": whole,
        "health": row["health"],
        "asked": page.face.local(asked),
        "warning": "\n".join(row["warnings"]),
        "log": told["log"],
    }
    deciders = [(each["by"], page.face.local(each["does"])) for each in told["deciders"]]
    parts = [
        _head(f"container {row['called']}: {row['status']}{serves}{since}", row["reason"], told["troubles"], page),
        _to_do([row["hint"]], told["troubles"], page),
        _facts(facts, page),
        page.table(("DECIDES", "WHAT FOLLOWS"), deciders) if deciders else [],
        texts.chips({"chips": told["chips"]}, page) if told["chips"] else [],
        ["it wrote last:", *(f"  {line}" for line in told["last_words"])] if told["last_words"] else [],
        *_past(told, page),
    ]
    return _joined(parts)


def chip(told: "one_shapes.AboutChip", page: Page) -> list[str]:
    """Return whether it is well and what to do, what it is, who uses it, its faults, and what was done about it."""
    row, ring = told["chip"], told["ring"]
    since = f", since {page.face.when(row['isolated_since'])}" if row["isolated_since"] else ""
    phase = f", {ring['phase']}: {page.face.local(ring['reason'])}" if ring["episode"] else ""
    facts = {
        "model": row["model"],
        "ring": f"{ring['id']}, chips {runs(ring['chips'])}{phase}",
        "called": row["tool_name"],
        "bus": row["bus"],
        "serial": row["serial"],
        "on it": ", ".join(f"pid {each['pid']} ({each['name']})" for each in row["processes"]),
    }
    users = [(each["called"], each["status"], page.face.local(each["reason"])) for each in told["containers"]]
    parts = [
        _head(f"chip {row['id']}: {health(row)}{since}", row["reason"], told["troubles"], page),
        _to_do([row["hint"], ring["hint"]], told["troubles"], page),
        _facts(facts, page),
        page.table(("CONTAINER", "STATUS", "WHY"), users) if users else [],
        texts.faults({"faults": told["faults"], "machine": []}, page, history=True) if told["faults"] else [],
        *_past(told, page),
    ]
    return _joined(parts)


def _head(line: str, why: str, troubles: "Iterable[shapes.Trouble]", page: Page) -> list[str]:
    """Return the line that says it all, why that is so, and what else is wrong that concerns it."""
    said = [why, *(f"{each['text']}: {each['why']}" if each["why"] else each["text"] for each in troubles)]
    lines = [line, *(f"why: {page.face.local(each)}" for each in dict.fromkeys(filter(None, said)))]
    return [part for each in lines for part in render.paragraph(each, page.width, "  ")]


def _to_do(own: Iterable[str], troubles: "Iterable[shapes.Trouble]", page: Page) -> list[str]:
    hints = dict.fromkeys(filter(None, [*own, *(each["hint"] for each in troubles)]))
    lines = [part for each in hints for part in render.paragraph(f"  {each}", page.width, "    ")]
    return ["what to do:", *lines] if lines else []


def _facts(facts: dict[str, str], page: Page) -> list[str]:
    return render.aligned([(name, text) for name, text in facts.items() if text], page.width)


def _past(told: "one_shapes.AboutContainer | one_shapes.AboutChip", page: Page) -> list[list[str]]:
    episodes = timeline.episodes({"episodes": told["episodes"]}, page) if told["episodes"] else []
    return [episodes, timeline.all_notes({"notes": told["notes"]}, page) if told["notes"] else []]


def _joined(parts: Iterable[list[str]]) -> list[str]:
    return [line for part in parts if part for line in ["", *part]][1:]
