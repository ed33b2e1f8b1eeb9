"""Lanes of an episode over one axis of time: the ring, each chip and each container, by what its timeline says.

Older databases have the lines alone: words are read where no field says it.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmgr.view import shapes

PHASE = re.compile(r"\w+ → (\w+)")
RESET = re.compile(r"reset \d+ of \d+")
CODE = re.compile(r"\b[0-9A-F]{8}\b|Xid \d+")
APPLIANCE = re.compile(r"group (\S+): appliance (\S+) (?:is|has)(?: left)? (\w+)")
NAME = re.compile(
    r"(?:stop|pause|kill|start|resume|unpause|restart) (\S+)|(\S+) (?:will be|is stopped|is paused|runs)\b"
)

STEPS = (
    ("action", re.compile(r"(?:stop|pause|kill) "), "stopping"),
    ("result", re.compile(r".*\b(?:is (?:stopped|paused|down|killed)|has ended)\b"), "held"),
    ("action", re.compile(r"(?:start|resume|unpause|restart) "), "starting"),
    ("result", re.compile(r".*\b(?:runs|is ready)\b"), "running"),
)
"""Kind and words of a line, and how the container is after it. The first that fits counts."""

ORDER = ("ring", "chip", "reset", "container", "appliance")


def lanes(lines: "Iterable[shapes.TimelineLine]") -> "list[shapes.Lane]":
    """Return the lanes of a timeline, the ring's first; one of a fault has a span for each time that it was there."""
    found = _Lanes()
    for line in lines:
        found.take(line)
    return found.sorted()


class _Lanes:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str], shapes.Lane] = {}
        self._lane("ring", "", "")

    def sorted(self) -> "list[shapes.Lane]":
        def place(lane: "shapes.Lane") -> tuple[int, int, str]:
            return ORDER.index(lane["kind"]), int(lane["name"]) if lane["kind"] == "chip" else 0, lane["name"]

        return sorted(self._found.values(), key=place)

    def take(self, line: "shapes.TimelineLine") -> None:
        at, text = max(0.0, line["offset"]), line["text"]
        if line["kind"] == "phase" and (phase := PHASE.match(text)):
            self._phase(phase[1], text, at)
        if line["kind"] == "fault" and line["chip"] is not None:
            self._fault(line, self._lane("chip", str(line["chip"]), str(line["chip"])), at)
        if line["container"] is not None:
            self._container(line, "/".join(map(str, line["container"].values())), at)
        if other := APPLIANCE.match(text):
            group, name, state = other.groups()
            _enters(self._lane("appliance", f"{name} {group}", f"{name} ({group})", "running"), state, at)

    def _phase(self, phase: str, text: str, at: float) -> None:
        ring = self._lane("ring", "", "")
        _ends(ring, at)
        if ("reset", "") in self._found:
            _ends(self._lane("reset", "", ""), at)
        if phase != "healthy":
            _enters(ring, phase, at)
        if phase == "resetting":
            attempt = RESET.search(text)
            _enters(self._lane("reset", "", ""), attempt[0] if attempt else "reset", at)

    def _fault(self, line: "shapes.TimelineLine", lane: "shapes.Lane", at: float) -> None:
        said = CODE.search(line["text"])
        code = line["code"] or (said[0] if said else "")
        there = [span for span in lane["spans"] if span["state"] == code and span["end"] is None]
        if line["assertion"] == "cleared" or (line["assertion"] is None and "no longer" in line["text"]):
            for span in there:
                span["end"] = at
        elif not there:
            lane["spans"].append({"state": code, "start": at, "end": None})

    def _container(self, line: "shapes.TimelineLine", key: str, at: float) -> None:
        assert line["container"] is not None
        lane = self._lane("container", key, line["container"]["id"], "running")
        if named := NAME.match(line["text"]):
            lane["name"] = (named[1] or named[2]).rstrip(":;,")
        for kind, words, state in STEPS:
            if kind == line["kind"] and words.match(line["text"]):
                _enters(lane, state, at)
                return

    def _lane(self, kind: str, key: str, name: str, state: str = "") -> "shapes.Lane":
        """Return this lane; a new one begins in `state`, if that is a word, when the episode does."""
        spans: list[shapes.LaneSpan] = [{"state": state, "start": 0.0, "end": None}] if state else []
        return self._found.setdefault((kind, key), {"kind": kind, "name": name, "spans": spans})


def _ends(lane: "shapes.Lane", at: float) -> None:
    if lane["spans"] and lane["spans"][-1]["end"] is None:
        lane["spans"][-1]["end"] = at


def _enters(lane: "shapes.Lane", state: str, at: float) -> None:
    last = lane["spans"][-1] if lane["spans"] else None
    if last is None or last["end"] is not None or last["state"] != state:
        _ends(lane, at)
        lane["spans"].append({"state": state, "start": at, "end": None})
