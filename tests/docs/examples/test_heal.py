"""The example of docs/heal.md is what happens, its configuration is taken, and its numbers are the defaults."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config
from cmgr.model.values.handling.policy import HealPolicy, Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, StartContainer
from cmgr.model.values.services.containers import Heal
from cmgr.runtimes.labels import HEAL, HEAL_BACKOFF, HEAL_LIMIT
from cmgr.service.metrics.table import METRICS
from cmgr.view.status import containers
from tests.model.builders import T0, Cmgr, container, key, seconds

PAGE = (Path(__file__).parents[3] / "docs" / "heal.md").read_text()
LINE = re.compile(r"^(\d\d):(\d\d):(\d\d)  (.*)$", re.MULTILINE)
BEGAN = timedelta(hours=3)
DEFAULT = HealPolicy()


def told() -> list[tuple[timedelta, str]]:
    """Return the lines of the page's example, each with the time since its beginning."""
    found = LINE.findall(PAGE)
    return [(timedelta(hours=int(h), minutes=int(m), seconds=int(s)) - BEGAN, text) for h, m, s, text in found]


def goes_to(cmgr: Cmgr, time: timedelta) -> None:
    cmgr.wait(max(0.0, (T0 + time - cmgr.now).total_seconds()))


def test_the_example_is_what_happens() -> None:
    cmgr = Cmgr(container("vllm", 0, 1, heal=Heal(limit=3)), policy=Policy())
    for death in (30, 70, 120, 190):
        goes_to(cmgr, seconds(death))
        cmgr.dies("vllm")
    (row,) = containers(cmgr.node)
    assert f'`{row["status"]}`: "{row["reason"]}"' in PAGE
    goes_to(cmgr, timedelta(hours=5, minutes=10))
    cmgr.tell(facts.ResumeOrdered(key("vllm"), "uid 0 (root)"))
    cmgr.run()
    notes = [note for note in cmgr.log if isinstance(note, Note)]
    assert [(seconds(int((n.at - T0).total_seconds())), n.text) for n in notes] == told()
    assert len(cmgr.sent(StartContainer)) == 4


def test_the_configuration_is_taken(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "cmgr.toml"
    path.write_text(text)
    path.chmod(0o640)
    expected = HealPolicy(3, timedelta(minutes=30), seconds(5), seconds(60))
    assert load(str(path), environ={}).policy() == replace(Config().policy(), heal=expected)


@pytest.mark.parametrize(
    ("words", "true"),
    [
        ("`heal.limit` (5)", DEFAULT.limit == 5),
        ("`heal.backoff` (10s)", DEFAULT.backoff == seconds(10)),
        ("`heal.window` (1h)", DEFAULT.window == timedelta(hours=1)),
        ("`heal.backoff_max` (5m)", DEFAULT.backoff_max == timedelta(minutes=5)),
        *((f"| `{label}` |", True) for label in (HEAL, HEAL_LIMIT, HEAL_BACKOFF)),
        *((f"`{m.name}`", True) for m in METRICS if m.name in ("cmgr_heals_total", "cmgr_containers_given_up")),
    ],
)
def test_labels_numbers_and_metrics_are_as_they_are(words: str, true: bool) -> None:
    assert (words in PAGE, true) == (True, True)
