"""Following what was ordered until it is over: a line for each thing that happens."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from cmgr.cli.text import out
from cmgr.sentences.sentence import because, say
from cmgr.service.door.client import get, status, told
from cmgr.view.text import reading, timeline

if TYPE_CHECKING:
    from cmgr.view import group_shapes, shapes

LOOK_EVERY = 0.5

OVER = ("running", "failed")
"""The statuses in which a container waits for nothing that cmgr would do soon."""


def episodes(path: str) -> "list[shapes.Episode]":
    """Return the newest episodes, the newest first."""
    return cast("shapes.Episodes", get(path, "episodes"))["episodes"]


def episode(path: str, ring: int, known: "list[shapes.Episode]") -> "shapes.Timeline":
    """Show the episode in which the ring is, or that it begins, as it happens, and return it when it is over.

    `known`: the episodes as they were before what it is followed for was ordered.
    """
    before = max((e["number"] for e in known if e["ring"] == ring and e["ended"] is not None), default=0)
    shown, waits = 0, ""
    while True:
        number = next((e["number"] for e in reversed(episodes(path)) if e["ring"] == ring and e["number"] > before), 0)
        whole = cast("shapes.Timeline", told(path, f"episodes/{number}")) if number else None
        if whole is not None:
            out.told(map(_line, whole["notes"][shown:]))
            shown = len(whole["notes"])
            if whole["episode"]["ended"] is not None:
                return whole
        now = next(each for each in _status(path)["rings"] if each["id"] == ring)
        if now["phase"] == "waiting" and now["reason"] != waits:
            waits = now["reason"]
            out.told([waits])
        out.flush()
        time.sleep(LOOK_EVERY)


def _line(note: "shapes.TimelineLine") -> str:
    return say("order.happens", at=timeline.offset(note["offset"]), kind=note["kind"], text=note["text"])


def _status(path: str) -> "shapes.Status":
    return cast("shapes.Status", told(path, "status"))


def held_on(path: str, chips: Iterable[int]) -> list[str]:
    """Return the containers on these chips that wait for their start, or are being started."""
    rows = [row for row in status(path)["containers"] if not {*chips}.isdisjoint(row["chips"])]
    return [row["called"] for row in rows if row["status"] not in (*OVER, "down")]  # Nobody starts what is down.


def group(path: str, name: str, number: int) -> bool:
    """Show how the group does until its round of this number is over; return whether it is whole then."""
    before = ""
    while True:
        row = cast("group_shapes.Groups", told(path, f"groups/{quote(name, safe='')}"))["groups"][0]
        now = because(say("order.group-is", group=name, phase=row["phase"]), row["reason"])
        if now != before:
            before = now
            out.told([now])
            out.flush()
        if row["phase"] == "running" and row["round"] >= number:
            return not row["down"]
        time.sleep(LOOK_EVERY)


def container(path: str, name: str) -> bool:
    """Show how the container does until it runs, or has failed; return whether it serves."""
    before = ""
    while True:
        rows = [row for row in _status(path)["containers"] if name in reading.names(row) or row["id"].startswith(name)]
        if not rows:
            return False
        row = rows[0]
        now = because(say("order.container-is", name=row["called"], status=row["status"]), row["reason"])
        if now != before:
            before = now
            out.told([now])
            out.flush()
        if row["status"] in OVER:
            return row["serves"]
        time.sleep(LOOK_EVERY)
