"""The texts that people read, byte for byte. `CMGR_REWRITE_GOLDEN=1` writes them anew, to be read as a diff."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding
from cmgr.cli.check.finding import lines as check_lines
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Fault, FaultClass, FaultCode, Handling, Level
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Raise, RuleKind, Rules, Tally
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node, Restraint
from cmgr.model.values.services.containers import Container, Kept
from cmgr.sentences.sentence import CHINESE, LANGUAGES, translated
from cmgr.service.door import records
from cmgr.store.history import EpisodeRow, NoteRow
from cmgr.view import shapes
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text import texts, timeline
from cmgr.view.text.columns import columns_of
from cmgr.view.text.reading import to_type
from tests.cli.scenes import (
    NOTES,
    NOW,
    PAGE,
    SERVICE,
    STOPPED,
    in_maintenance,
    in_need,
    recovering,
    slow,
    told,
    twins,
    waiting_for_a_window,
)
from tests.model.builders import stored
from tests.support.picture import CODE, T0, faulty, in_episode, key, machine

HAN = re.compile(r"[\u4e00-\u9fff]")

GOLDEN = Path(__file__).parent.parent / "golden" / "cli"


def status(node: Node, own: Own = SERVICE, *, observe: bool = False) -> list[str]:
    shown = told(node, own, observe=observe)
    return texts.picture(translated(shown, PAGE.face.language), PAGE)


def restrained() -> Node:
    """Ring 0 is in an episode, ring 2 is kept back."""
    node = in_episode(faulty(faulty(machine(), 0), 2), 0)
    reason = "1 ring is in an episode that stops containers (limits.rings_at_once)"
    ring = replace(node.rings[RingId(2)], reason=f"kept back, because {reason}; cmgr resume --all lets it begin")
    restraint = Restraint((T0,), T0, reason, {RingId(2): T0})
    return replace(node, rings={**node.rings, ring.id: ring}, restraint=restraint)


def with_long_names() -> Node:
    node = machine()
    name = "team-recommender-inference-llama-70b-chat-blue-0"
    odd = Container(
        key(name), name, running=True, kept=Kept(chips=node.containers[key("a")].kept.chips, since=T0),
        warnings=("asks for chip 99, which this machine does not have",),
    )  # fmt: skip
    return replace(node, containers={**node.containers, key(name): odd})


def explained(level: Level, policy: Policy) -> list[str]:
    meaning = "The chip's memory has an error that cannot be corrected."
    catalog = Catalog({CODE: Entry(Handling[level.name], "built-in table ascend", meaning)})
    return texts.explanation(view.explain(CODE, Node(policy, catalog)), PAGE)


def escalated() -> list[str]:
    """Chip 0 has the fault and was raised by both rules, chip 1 has had it once and counts, chip 2 was released."""
    day = timedelta(days=1)
    rules = Rules(
        {CODE: FrequencyRule(day, 3, Handling.SeparateNPU)},
        {CODE: DurationRule(timedelta(seconds=20), timedelta(seconds=60), Handling.RestartNPU)},
    )
    raised = (
        Raise(RuleKind.DURATION, Handling.RestartNPU, T0, "has lasted 20 s"),
        Raise(RuleKind.FREQUENCY, Handling.SeparateNPU, T0, "came 3 times within 1 d", manual=True),
    )
    tallies = (
        Tally(ChipId(0), CODE, (T0, T0, T0), raised, last=T0, risen=T0),
        Tally(ChipId(1), CODE, (T0,), last=T0, recovered=T0),
        Tally(ChipId(2), CODE, (), raised[:1], last=T0, recovered=T0),
    )
    node = replace(
        faulty(machine(), 0, Level.SeparateNPU),
        policy=Policy(Strategy.RING),
        catalog=Catalog({CODE: Entry(Handling.RestartRequest, "built-in table ascend", "A bit flipped.")}, rules=rules),
        tallies={t.key: t for t in tallies},
    )
    return texts.explanation(view.explain(CODE, node), PAGE)


DAY = timedelta(days=1)
EPISODES: shapes.Episodes = {
    "episodes": [
        records.episode_row(row, NOW)
        for row in (
            EpisodeRow(3, RingId(2), T0 + timedelta(minutes=2, seconds=2), None, "", NOTES[5].text),
            EpisodeRow(2, RingId(0), T0, T0 + timedelta(minutes=2), "recovered", NOTES[0].text),
            EpisodeRow(1, None, T0 - DAY, T0 - DAY / 2, "isolated", "chip 2 has fault 8C084E00"),
        )
    ]
}

EPISODE: shapes.Timeline = {
    "episode": EPISODES["episodes"][1],
    "notes": records.timeline(
        [
            NoteRow(n, x.at, x.kind, x.text, x.ring, x.episode, x.chip, x.container, x.outcome)
            for n, x in enumerate(NOTES[:5])
        ],
        T0,
    ),
    "lanes": [],
}

LINES = [
    records.line(NoteRow(n, x.at, x.kind, x.text, x.ring, x.episode, x.chip, x.container, x.outcome))
    for n, x in enumerate([*NOTES[:2], replace(NOTES[2], episode=0, text="maintenance is begun by uid 0 (root)")])
]

FINDINGS = (
    Finding("configuration", OK, "/etc/cmgr/cmgr.toml"),
    Finding("strategy", WARNING, "strategy = never: no container is stopped or started", "set strategy = ringRecover"),
    Finding("driver", ERROR, "cannot find a chip driver", 'set driver = "sim" for simulated chips'),
)

TEXTS: Mapping[str, Callable[[], list[str]]] = {
    "status-well": lambda: status(machine()),
    "status-recovering": lambda: status(recovering()),
    "status-in-need": lambda: status(in_need()),
    "status-stopped": lambda: status(replace(recovering(), holds=stored(recovering()).holds), STOPPED),
    "status-starting": lambda: status(Node(), replace(SERVICE, state="starting", runtimes=()), observe=True),
    "status-restrained": lambda: status(restrained()),
    "status-long-names": lambda: status(with_long_names()),
    "status-windows": lambda: status(waiting_for_a_window()),
    "status-maintenance": lambda: status(in_maintenance()),
    "status-slow": lambda: status(slow()),
    "status-twins": lambda: status(twins()),
    "chips": lambda: texts.chips(told(recovering()), PAGE),
    "chips-in-need": lambda: texts.chips(told(in_need()), PAGE),
    "faults": lambda: texts.faults(view.faults(recovering()), PAGE, history=False),
    "faults-history": lambda: texts.faults(view.faults(recovering()), PAGE, history=True),
    "faults-none": lambda: texts.faults({"faults": [], "machine": []}, PAGE, history=False),
    "history": lambda: timeline.episodes(EPISODES, PAGE),
    "history-none": lambda: timeline.episodes({"episodes": []}, PAGE),
    "episode": lambda: timeline.episode(EPISODE, PAGE),
    "episode-under-way": lambda: timeline.episode({**EPISODE, "episode": EPISODES["episodes"][0], "notes": []}, PAGE),
    "history-all": lambda: timeline.all_notes({"notes": LINES}, PAGE),
    "history-all-none": lambda: timeline.all_notes({"notes": []}, PAGE),
    "explain-handled": lambda: explained(Level.RestartRequest, Policy(Strategy.RING)),
    "explain-isolated": lambda: explained(Level.SeparateNPU, Policy(observe=True)),
    "explain-unknown": lambda: texts.explanation(view.explain("0x1", Node(Policy(), Catalog())), PAGE),
    "explain-escalated": escalated,
    "check": lambda: check_lines(FINDINGS, 80),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_the_one_that_was_agreed_on(name: str) -> None:
    golden = GOLDEN / f"{name}.txt"
    text = "".join(f"{line}\n" for line in TEXTS[name]())
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        golden.write_text(text)
    assert golden.read_text() == text


def test_every_golden_text_is_compared() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_fits_a_terminal_of_80_columns(name: str) -> None:
    assert max(len(line) for line in TEXTS[name]()) <= 80


@pytest.mark.parametrize("name", sorted({*TEXTS} - {"check"}))
def test_the_text_in_chinese_has_no_english_label_and_fits_as_well(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE._replace(face=PAGE.face._replace(language=CHINESE))
    monkeypatch.setitem(globals(), "PAGE", page)
    lines = TEXTS[name]()
    assert [line for line in lines if re.search(r"^[A-Z]{2,}\b|^[a-z][a-z ]*:", line)] == []
    assert any(HAN.search(line) for line in lines)
    assert max(map(columns_of, lines)) <= 80


def test_of_a_chip_its_gravest_fault_is_not_told_twice_in_any_language() -> None:
    for language in LANGUAGES:
        page = PAGE._replace(face=PAGE.face._replace(language=language))
        lines = texts.chips(translated(told(recovering()), language), page)
        assert sum("80E24E00" in line for line in lines) == 1


def test_a_name_is_never_cut() -> None:
    assert any("team-recommender-inference-llama-70b-chat-blue-0" in line for line in status(with_long_names()))


def test_after_a_clock_was_set_back_no_line_is_before_the_one_above_it() -> None:
    at = [T0, T0 + timedelta(seconds=2), T0 - timedelta(days=2882)]
    found = [NoteRow(n, moment, NoteKind.RESULT, "x", None, 1, None, None, "") for n, moment in enumerate(at)]
    assert [line["offset"] for line in records.timeline(found, T0)] == [0, 2, 2]


def test_a_report_of_several_chips_is_one_row_and_one_of_another_reporter_is_another() -> None:
    code = FaultCode("220001001")
    said = [(chip, "root/disk-7") for chip in range(3)] + [(0, "net/disk-7")]
    faults = [
        Fault(ChipId(chip), code, module, Level.NotHandleFault, T0, T0, T0, fault_class=FaultClass.REPORTED)
        for chip, module in said
    ]
    by_chip = {f.chip: {g.key: g for g in faults if g.chip == f.chip} for f in faults}
    rows = texts.faults(view.faults(replace(machine(), faults=by_chip)), PAGE, history=False)[1:]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [("0", "net/disk-7"), ("0-2", "root/disk-7")]


def test_a_command_that_a_troubles_own_line_names_is_not_named_again() -> None:
    happened = MachineFault(
        FaultCode("memory-uncorrected"), "DIMM3", "memory", Handling.PreSeparateNPU, T0, T0, mark="1"
    )  # fmt: skip
    node = replace(machine(), machine_faults={happened.key: happened})
    typed = to_type(view.status(node, Own("ready", "sim", ()), T0))
    assert ["cmgr acknowledge machine-memory-uncorrected" in line for line in typed].count(True) == 1
