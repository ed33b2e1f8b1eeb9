"""The pictures of docs/performance.md, drawn from figures of a made-up run."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import floor
from bench.report import figures
from bench.report.figures import Figure
from bench.report.pictures import FIRST_STOP, RECOVERY, SCALE, first_stop, growth, recovery

RUN = [
    *(Figure(RECOVERY, f"{case}: cmgr's own share, median", own, "ms") for case, own in
      (("1 container", 20.0), ("8 containers", 40.0))),
    *(Figure(RECOVERY, f"{case}: {part}, median", 100.0, "ms") for case in ("1 container", "8 containers")
      for part in ("stops", "starts")),
    Figure(RECOVERY, "1 container: in all, median", 720.0, "ms", reference="3,600 ms", floor=700.0),
    Figure(RECOVERY, "8 containers: in all, median", 1440.0, "ms", reference="7,200 ms"),
    Figure(FIRST_STOP, "ringRecover, 8 containers: p50", 3.0, "ms", 5, 3, "453 ms, max 541", (2.0, 3.0, 4.0)),
]  # fmt: skip


def test_a_recovery_is_drawn_to_scale_beside_the_reference() -> None:
    picture = ElementTree.fromstring(recovery(RUN))
    drawn = [element for element in picture.iter() if element.get("height") in ("20", "21")]
    bars = {kind: [float(bar.get("width", "0")) for bar in drawn if bar.get("class") == kind]
            for kind in ("stops", "reset", "starts", "own", "reference")}  # fmt: skip
    ours = [sum(bars[kind][n] for kind in ("stops", "reset", "starts", "own")) for n in (0, 1)]
    assert bars["reference"] == pytest.approx([5 * length for length in ours], rel=0.01)
    assert bars["own"][1] == pytest.approx(2 * bars["own"][0], rel=0.05)


def test_each_try_is_a_dot() -> None:
    dots = [float(x) for x in re.findall(r'class="dot" cx="([\d.]+)"', first_stop(RUN))]
    assert len(dots) == 3
    assert dots == sorted(dots)


def test_three_sizes_of_machines_are_drawn_beside_each_other() -> None:
    run = [Figure(SCALE, f"{size}: memory (RSS)", value, "MB") for size, value in (("1 chip", 30.0), ("8 chips", 45.0))]
    picture = growth([*run, Figure(SCALE, "8 times the chips: memory (RSS) grows", 1.5, "times")])
    widths = [float(width) for width in re.findall(r'class="starts" x="340" y="\d+" width="([\d.]+)"', picture)]
    assert widths[0] / widths[1] == pytest.approx(30 / 45, rel=0.01)
    assert [said in picture for said in ("30 MB", "45 MB", "times")] == [True, True, False]


def test_what_matters_most_stands_before_all_that_is_folded() -> None:
    told = figures.markdown({"processor": "none"}, RUN)
    first, _, folded = told.partition("<details>")
    assert [line.partition(" | ")[0] for line in first.splitlines() if line.startswith("| Fault")] == [
        f"| {FIRST_STOP}: ringRecover, 8 containers: p50",
        f"| {RECOVERY}: 8 containers: in all, median",
    ]
    assert folded.count("\n| Fault") == len(RUN)
    assert "<summary>All 9 figures, of which 1 of 1 are as they must be</summary>" in folded


def test_what_was_measured_on_a_disturbed_machine_says_so() -> None:
    rows = figures.rows([replace(RUN[-1], disturbed=True), replace(RUN[-2], disturbed=True), RUN[-1]])
    assert [row[3] for row in rows] == ["pass, disturbed", "disturbed", "pass"]


def test_the_figures_stand_in_their_place_in_the_page(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(figures.PAGE.read_text())
    figures.write({"processor": "none"}, RUN, page)
    before, _, after = figures.PAGE.read_text().partition("<!-- bench -->")
    assert page.read_text().startswith(before)
    assert page.read_text().endswith(after.partition("<!-- end -->")[2])
    assert (
        "| 1 container: in all, median | 720 ms |  |  | 700 ms | 1 | 3,600 ms, 5.0 times |"
        in page.read_text().replace(f"{RECOVERY}: ", "")
    )


def test_a_floor_lies_under_each_figure_that_the_machine_sets_one_for() -> None:
    needs = {"stop 1": 100.0, "start 1": 200.0, "stop 8": 300.0, "start 8": 900.0, "reset and boot": 500.0, "sync": 1.0}
    found = {f"{f.part}: {f.what}": f.floor for f in floor.laid(RUN, needs)}
    assert found[f"{RECOVERY}: 1 container: in all, median"] == 800
    assert found[f"{RECOVERY}: 8 containers: starts, median"] == 900
    assert found[f"{FIRST_STOP}: ringRecover, 8 containers: p50"] == 1
    assert found[f"{RECOVERY}: 1 container: cmgr's own share, median"] is None


def test_each_rule_of_the_floor_is_for_a_figure_of_the_page() -> None:
    rows = [line.split(" | ")[:2] for line in figures.PAGE.read_text().splitlines() if line.startswith("| ")]
    for pattern, unit, _ in floor.RULES:
        assert any(re.search(pattern, what.removeprefix("| ")) and value.endswith(unit) for what, value in rows), (
            pattern
        )
