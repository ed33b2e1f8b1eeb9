"""All about one chip or one container, from its document to lines."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cmgr.sentences.sentence import because, say
from cmgr.view.text import render, texts, timeline
from cmgr.view.text.reading import health
from cmgr.view.text.texts import Page
from cmgr.words import runs

if TYPE_CHECKING:
    from cmgr.view import shapes
    from cmgr.view.one import one_shapes


def container(told: "one_shapes.AboutContainer", page: Page) -> list[str]:
    """Return whether it serves and what to do, what it is, who decides about it, its chips, and what was done to it."""
    row, face = told["container"], page.face
    asked = because(row["ready"], row["answer"] or face.says("label.no-answer-yet")) if row["ready"] else ""
    facts = {
        "runtime": "/".join(filter(None, (row["runtime"], row["namespace"]))),
        "id": row["id"],
        "image": told["image"],
        "chips": runs(row["chips"]),
        "slots": ", ".join(row["slots"]),
        "group": row["group"],
        "project": say("label.project", name=row["project"], service=row["service"]) if row["project"] else "",
        "health": face.word(row["health"]),
        "asked": face.local(face.said(asked)),
        "warning": "\n".join(row["warnings"]),
        "log": told["log"],
    }
    deciders = [(each["by"], face.local(each["does"])) for each in told["deciders"]]
    parts = [
        _head(_container_head(row, page), row["reason"], told["troubles"], page),
        _to_do([row["hint"]], told["troubles"], page),
        _facts(facts, page),
        page.table(("DECIDES", "WHAT FOLLOWS"), deciders) if deciders else [],
        texts.chips({"chips": told["chips"]}, page) if told["chips"] else [],
        [face.says("label.wrote-last"), *(f"  {line}" for line in told["last_words"])] if told["last_words"] else [],
        *_past(told, page),
    ]
    return _joined(parts)


def _container_head(row: "shapes.Container", page: Page) -> str:
    state = say("label.word", word=row["status"])
    if row["serves"]:
        state = say("label.and-serves", state=state)
    elif row["status"] == "running":
        state = say("label.and-serves-not", state=state)
    return _since(because(say("label.container", name=row["called"]), state), row["since"], page)


def _since(line: str, since: str | None, page: Page) -> str:
    return say("label.line-since", line=line, since=page.face.when(since)) if since else line


def chip(told: "one_shapes.AboutChip", page: Page) -> list[str]:
    """Return whether it is well and what to do, what it is, who uses it, its faults, and what was done about it."""
    row, ring, face = told["chip"], told["ring"], page.face
    its_ring = say("label.ring-of-chips", ring=ring["id"], chips=ring["chips"])
    if ring["episode"]:
        phase = because(say("label.word", word=ring["phase"]), face.local(ring["reason"]))
        its_ring = say("label.ring-in-phase", ring=its_ring, phase=phase)
    facts = {
        "model": row["model"],
        "ring": its_ring,
        "called": row["tool_name"],
        "bus": row["bus"],
        "serial": row["serial"],
        "on it": face.says(
            "label.processes",
            parts=[say("label.process", pid=each["pid"], name=each["name"]) for each in row["processes"]],
        ),
    }
    users = [(each["called"], face.word(each["status"]), face.local(each["reason"])) for each in told["containers"]]
    line = because(say("label.chip", chip=row["id"]), say("label.word", word=health(row)))
    parts = [
        _head(_since(line, row["isolated_since"], page), row["reason"], told["troubles"], page),
        _to_do([row["hint"], ring["hint"]], told["troubles"], page),
        _facts(facts, page),
        page.table(("CONTAINER", "STATUS", "WHY"), users) if users else [],
        texts.faults({"faults": told["faults"], "machine": []}, page, history=True) if told["faults"] else [],
        *_past(told, page),
    ]
    return _joined(parts)


def _head(line: str, why: str, troubles: "Iterable[shapes.Trouble]", page: Page) -> list[str]:
    """Return the line that says it all, why that is so, and what else is wrong that concerns it."""
    said = [why, *(because(each["text"], each["why"]) for each in troubles)]
    whys = [say("label.why", why=page.face.local(page.face.said(each))) for each in dict.fromkeys(filter(None, said))]
    return page.paragraphs([line, *whys])


def _to_do(own: Iterable[str], troubles: "Iterable[shapes.Trouble]", page: Page) -> list[str]:
    hints = dict.fromkeys(filter(None, [*own, *(each["hint"] for each in troubles)]))
    lines = [part for each in hints for part in render.paragraph(f"  {each}", page.width, "    ")]
    return [page.face.says("label.what-to-do"), *lines] if lines else []


def _facts(facts: dict[str, str], page: Page) -> list[str]:
    face = page.face
    return render.aligned([(face.word(name), face.said(text)) for name, text in facts.items() if text], page.width)


def _past(told: "one_shapes.AboutContainer | one_shapes.AboutChip", page: Page) -> list[list[str]]:
    episodes = timeline.episodes({"episodes": told["episodes"]}, page) if told["episodes"] else []
    return [episodes, timeline.all_notes({"notes": told["notes"]}, page) if told["notes"] else []]


def _joined(parts: Iterable[list[str]]) -> list[str]:
    return [line for part in parts if part for line in ["", *part]][1:]
