"""One episode as a picture, SVG, to be put into a ticket: light or dark as the reader's screen is. Pure.

The page draws the same lanes for its own screen (web/static/episode.js): in its reader's language, as wide as it is.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from cmgr.sentences.sentence import ENGLISH, in_language, say
from cmgr.view.text.columns import columns_of
from cmgr.view.text.render import wrapped

if TYPE_CHECKING:
    from cmgr.view import shapes

WIDTH, LEFT, RIGHT, ROW, TOP, LINE = 960, 190, 16, 28, 96, 17
LETTER = 6.6
"""How wide a letter is at most, on average over a word: where a text would not fit, it is left to the title."""

TAIL = 0.12
MOST_LANES = 16
"""Containers that have a lane; of more those that were away longest."""

STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
MOST_TICKS = 9

TOLD = frozenset({"opened", "phase", "warning", "closed"})
"""The lines that stand below the lanes: the ring's steps, and why it took them."""
MOST_TOLD = 24

TONES = {
    "running": "good", "resuming": "good", "draining": "warn", "resetting": "bad", "verifying": "busy",
    "stopping": "busy", "starting": "busy", "halting": "busy", "waiting": "kept", "held": "kept", "halted": "kept",
}  # fmt: skip
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #16202c } .head { font-size: 16px; font-weight: 650 }
  .soft { fill: #566373 } .back { fill: #fff } .rule { stroke: #dfe3e9 } .fault { stroke: #b3261e; stroke-width: 2 }
  .mark { fill: #b3261e } .good { fill: #cfe6db } .warn { fill: #f0dcbd } .bad { fill: #f2c6c2 } .busy { fill: #cfe0f5 }
  .kept { fill: #dfd5ee } .calm { fill: #e3e7ec } .tail { fill: #eef1f5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebf1 } .soft { fill: #9aa8b7 } .back { fill: #171e26 } .rule { stroke: #2a333e }
    .fault { stroke: #ff9d94 } .mark { fill: #ff9d94 } .good { fill: #23493a } .warn { fill: #54401f }
    .bad { fill: #5d302d } .busy { fill: #25405f } .kept { fill: #443961 } .calm { fill: #2c3641 }
    .tail { fill: #202934 }
  }
"""
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


class _Axis(NamedTuple):
    """Of `whole` seconds, with words in `language`. From `up` on nothing is down any more, only watched: that is drawn
    as a short tail.
    """

    whole: float
    up: float
    language: str

    @property
    def bend(self) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (1 - TAIL if self.up < self.whole else 1)

    def x(self, at: float) -> float:
        if at <= self.up:
            return LEFT + at / self.up * (self.bend - LEFT)
        return self.bend + (at - self.up) / (self.whole - self.up) * (WIDTH - RIGHT - self.bend)


def drawing(told: "shapes.Timeline", where: str, language: str = ENGLISH) -> str:
    """Return the episode as SVG. `where`: the machine's name. `language`: of words that are not in the document."""
    shown = told["episode"]
    whole = max(0.5, shown["seconds"], *(note["offset"] for note in told["notes"]))
    axis = _Axis(whole, _up_again(told["lanes"], whole), language)
    lanes, left_out = _chosen(told["lanes"], whole)
    bottom = TOP + len(lanes) * ROW
    body = [*_scale(axis, bottom)]
    for n, lane in enumerate(lanes):
        body += _lane(lane, axis, TOP + n * ROW, shown["ring"])
    y = bottom + 10
    more = [in_language(say("label.lanes-left-out", count=left_out), language)] if left_out else []
    for line in [*more, *_steps(told, language)]:
        y += LINE
        body.append(_text(0, y, line, "soft"))
    head, cause = _head(shown, where, language), _cause(shown, language)
    above = [_text(0, 18, head, "head"), *(_text(0, 40 + n * LINE, line) for n, line in enumerate(cause))]
    return _picture(f"{head}; {shown['cause']}", [*above, *body], y + 14)


def _head(shown: "shapes.Episode", where: str, language: str) -> str:
    if shown["ring"] is None:
        which = say("label.episode", number=shown["number"])
    else:
        which = say("label.episode-of-ring", number=shown["number"], ring=shown["ring"])
    line = say("label.episode-on", which=which, where=where, outcome=shown["outcome"])
    if shown["ended"] is not None:
        line = say("label.line-took", line=line, length=_length(shown["seconds"], language))
    return in_language(line, language)


def _cause(shown: "shapes.Episode", language: str) -> list[str]:
    line = say("label.began-at", began=shown["began"], cause=shown["cause"])
    first, *rest = wrapped(in_language(line, language), 140)
    return [first, *([f"{rest[0]} …" if len(rest) > 1 else rest[0]] if rest else [])]


def _up_again(lanes: "Sequence[shapes.Lane]", whole: float) -> float:
    """Return when the last of those that were down ran again, where much of the time came after that."""
    ends = [lane["spans"][-1] for lane in lanes if lane["kind"] == "container" and len(lane["spans"]) > 1]
    up = max((end["start"] for end in ends), default=0.0)
    return up if up and all(end["state"] == "running" for end in ends) and whole - up > whole / 4 else whole


def _chosen(lanes: "Sequence[shapes.Lane]", whole: float) -> "tuple[list[shapes.Lane], int]":
    containers = [lane for lane in lanes if lane["kind"] == "container"]
    longest = sorted(containers, key=lambda lane: _away(lane, whole), reverse=True)[:MOST_LANES]
    found = [lane for lane in lanes if lane["kind"] != "container" or lane in longest]
    return found, len(containers) - len(longest)


def _away(lane: "shapes.Lane", whole: float) -> float:
    return sum(_end(each, whole) - each["start"] for each in lane["spans"] if each["state"] != "running")


def _end(each: "shapes.LaneSpan", whole: float) -> float:
    return whole if each["end"] is None else each["end"]


def _scale(axis: _Axis, bottom: int) -> Iterator[str]:
    if axis.up < axis.whole:
        x, height = axis.bend, bottom - TOP + 6
        yield f'<rect class="tail" x="{x:.1f}" y="{TOP - 6}" width="{WIDTH - RIGHT - x:.1f}" height="{height}"/>'
        watched = say("label.watched", length=_length(axis.whole - axis.up, axis.language))
        yield _text(x + 4, TOP - 12, in_language(watched, axis.language), "soft")
    step = next((each for each in STEPS if axis.up / each <= MOST_TICKS), STEPS[-1])
    for n in range(int(axis.up / step) + 1):
        x = axis.x(n * step)
        yield f'<path class="rule" d="M{x:.1f} {TOP - 6}V{bottom}"/>'
        if x < axis.bend - 40:
            yield _text(x, TOP - 12, f"+{_length(n * step, axis.language)}" if n else "0", "soft")


def _lane(lane: "shapes.Lane", axis: _Axis, y: int, ring: int | None) -> Iterator[str]:
    kinds = {
        "ring": say("label.ring", ring=str(ring)),
        "chip": say("label.chip", chip=lane["name"]),
        "reset": say("label.resets"),
    }
    name = in_language(kinds.get(lane["kind"], lane["name"]), axis.language)
    yield _text(0, y + 18, _cut(name, LEFT - 8), title=lane["name"])
    yield f'<path class="rule" d="M0 {y + ROW - 1}H{WIDTH - RIGHT}"/>'
    for each in lane["spans"]:
        if lane["kind"] == "chip":
            yield _fault(each, axis, y)
        else:
            yield _bar(each, axis, y, "bad" if lane["kind"] == "reset" else TONES.get(each["state"], "calm"))


def _bar(each: "shapes.LaneSpan", axis: _Axis, y: int, tone: str) -> str:
    start, end = each["start"], _end(each, axis.whole)
    x, width, length = axis.x(start), max(2.0, axis.x(end) - axis.x(start)), _length(end - start, axis.language)
    state = in_language(say("label.word", word=each["state"]), axis.language)
    both = in_language(say("label.state-for", state=state, length=length), axis.language)
    words = next((text for text in (both, state) if columns_of(text) * LETTER < width - 8), "")
    box = f'<rect class="{tone}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 8}" rx="3"/>'
    title = f"<title>{_plain(state)}: {length}</title>"
    return f"<g>{title}{box}{_text(x + 5, y + 17, words) if words else ''}</g>"


def _fault(each: "shapes.LaneSpan", axis: _Axis, y: int) -> str:
    start, end = axis.x(each["start"]), axis.x(_end(each, axis.whole))
    line = f'<path class="fault" d="M{start:.1f} {y + 14}H{end:.1f}"/>'
    gone = "" if each["end"] is None else f'<circle class="mark" cx="{end:.1f}" cy="{y + 14}" r="4"/>'
    come = f'<path class="mark" d="M{start:.1f} {y + 7}l6 11h-12z"/>'
    return line + come + gone + _text(start + 10, y + 10, each["state"])


def _steps(told: "shapes.Timeline", language: str) -> list[str]:
    """Return the ring's own lines, the first and the last of many."""
    notes = [note for note in told["notes"] if note["kind"] in TOLD]
    found = list[str]()
    for note in notes:
        first, *rest = wrapped(note["text"], 130)
        found += [f"+{_length(note['offset'], language)}  {first}", *(f"      {more}" for more in rest)]
    if len(found) <= MOST_TOLD:
        return found
    half = MOST_TOLD // 2
    command = f"cmgr history {told['episode']['number']}"
    left_out = say("label.lines-left-out", count=len(found) - 2 * half, command=command)
    return [*found[:half], in_language(left_out, language), *found[-half:]]


def _length(seconds: float, language: str) -> str:
    """Return `41.2 s`: below two minutes a tenth counts."""
    if 1 <= seconds < 120 and seconds % 1:
        return in_language(say("label.seconds", seconds=f"{seconds:.1f}"), language)
    return in_language(say("label.length", length=timedelta(seconds=seconds)), language)


def _cut(text: str, width: float) -> str:
    most, shown = int(width / LETTER), text
    while columns_of(shown) > most:
        shown = shown[:-1]
    return text if shown == text else f"{shown[:-1]}…"


def _plain(text: str) -> str:
    return text.translate(_MARKUP)


def _text(x: float, y: float, text: str, kind: str = "", *, title: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    more = f"<title>{_plain(title)}</title>" if title else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named} xml:space="preserve">{_plain(text)}{more}</text>'


def _picture(title: str, body: Sequence[str], height: int) -> str:
    edge = 20
    size = f'width="{WIDTH + 2 * edge}" height="{height + 2 * edge}"'
    box = f'viewBox="-{edge} -{edge} {WIDTH + 2 * edge} {height + 2 * edge}" role="img" aria-label="{_plain(title)}"'
    back = f'<rect class="back" x="-{edge}" y="-{edge}" {size}/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>'
    return "\n".join([head, f"<style>{STYLE}</style>", back, *body, "</svg>"])
