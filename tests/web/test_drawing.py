"""An episode as a picture for a ticket: what stands in it."""

import xml.etree.ElementTree as ET
from typing import Any

from cmgr.sentences.sentence import CHINESE
from cmgr.view.text.drawing import MOST_LANES, MOST_TOLD, TAIL, WIDTH, drawing
from tests.web.scene import Scene

SVG = "{http://www.w3.org/2000/svg}"


def lane(name: str, *states: tuple[str, float, float | None], kind: str = "container") -> dict[str, Any]:
    return {"kind": kind, "name": name, "spans": [{"state": s, "start": a, "end": b} for s, a, b in states]}


def timeline(*lanes: dict[str, Any], seconds: float = 40.0, notes: tuple[dict[str, Any], ...] = ()) -> Any:
    episode = {"number": 7, "ring": 0, "began": "2026-03-02T03:00:12.000Z", "ended": "2026-03-02T03:00:52.000Z",
               "seconds": seconds, "outcome": "recovered", "cause": "80E24E00 on chip 1"}  # fmt: skip
    return {"episode": episode, "notes": list(notes), "lanes": list(lanes)}


def drawn(told: Any, where: str = "appliance7") -> ET.Element:
    """Return the picture as a reader of XML has it, which refuses what is none."""
    return ET.fromstring(drawing(told, where))


def texts(found: ET.Element) -> list[str]:
    return [each.text or "" for each in found.iter(f"{SVG}text")]


def test_it_says_which_episode_where_why_and_how_long_and_what_each_lane_was() -> None:
    found = texts(drawn(Scene("busy").episode()))
    assert found[0] == "episode 17 of ring 0 on appliance7: under way"
    assert found[1].endswith("80E24E00 (RestartNPU) on chip 1")
    assert {"ring 0", "chip 1", "resets", "llm-chat", "llm-code", "b (tp4)"} <= set(found)
    assert "80E24E00" in found
    assert any(text.startswith("held, ") for text in found)
    assert "+1.6 s  draining → waiting: every stop was answered" in found


def test_it_is_drawn_in_the_language_of_whoever_asks() -> None:
    states = ("running", 0.0, 1.0), ("stopping", 1.0, 2.0), ("held", 2.0, 8.0), ("running", 10.0, None)
    many = [lane(f"c{n}", *states) for n in range(MOST_LANES + 1)]
    chip = lane("1", ("80E24E00", 0.0, 8.0), kind="chip")
    found = texts(ET.fromstring(drawing(timeline(*many, chip), "appliance7", CHINESE)))
    assert found[0] == "appliance7 上环 0 的恢复过程 7：已恢复，用时 40 秒"
    assert {"芯片 1", "持有，6 秒", "观察：30 秒", "80E24E00", "另有 1 个容器，停止的时间都不更长"} <= set(found)


def test_time_goes_on_until_all_run_again_and_what_follows_is_a_tail() -> None:
    states = ("running", 0.0, 1.0), ("stopping", 1.0, 2.0), ("held", 2.0, 8.0), ("running", 10.0, None)
    found = drawn(timeline(lane("chat", *states)))
    assert "watched: 30 s" in texts(found)
    (tail,) = [each for each in found.iter(f"{SVG}rect") if each.get("class") == "tail"]
    assert float(tail.get("width", 0)) < TAIL * WIDTH
    down = drawn(timeline(lane("chat", *states[:-1], ("held", 8.0, None))))
    assert [each for each in down.iter(f"{SVG}rect") if each.get("class") == "tail"] == [], "it does not run yet"


def test_of_many_those_are_shown_that_were_away_longest() -> None:
    many = [lane(f"c{n}", ("running", 0.0, 1.0), ("held", 1.0, 2.0 + n), ("running", 2.0 + n, None)) for n in range(30)]
    found = texts(drawn(timeline(*many)))
    shown = [text for text in found if text.startswith("c") and text[1:].isdigit()]
    assert shown == [f"c{n}" for n in range(30 - MOST_LANES, 30)]
    assert "and 14 containers more, which were away no longer" in found


def test_names_by_strangers_are_text_and_long_ones_are_cut() -> None:
    wild = '<script>alert("1")</script>&' + "x" * 80
    found = drawn(timeline(lane(wild, ("held", 0.0, None))), where="<b>")
    known = {SVG + tag for tag in ("svg", "style", "rect", "text", "path", "g", "title")}
    assert {each.tag for each in found.iter()} <= known
    assert any(text.startswith("<script>") and len(text) < 40 for text in texts(found))
    assert wild in [each.text for each in found.iter(f"{SVG}title")]


def test_a_long_story_is_told_by_its_beginning_and_its_end() -> None:
    notes = tuple({"kind": "phase", "text": f"step {n}", "offset": float(n)} for n in range(100))
    found = [text for text in texts(drawn(timeline(notes=notes, seconds=100.0))) if "step" in text or "more" in text]
    assert len(found) == MOST_TOLD + 1
    assert found[0].endswith("step 0")
    assert found[MOST_TOLD // 2] == "… 76 lines more: cmgr history 7"
    assert found[-1].endswith("step 99")
