import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.settings import Config, Faults
from cmgr.config.tables.catalog import load_catalog, load_levels, load_rules
from cmgr.config.tables.rules import read_rules
from cmgr.errors import ConfigError
from cmgr.model.values.faults import FaultCode, Handling, Level
from cmgr.model.values.handling.catalog import FORMS
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, RuleKind, Rules
from tests.config.support import written
from tests.security.fuzz import tries

LINK_DOWN = FaultCode("81078603")
WORDS = [*Handling.__members__]
MANUALLY = Handling.ManuallySeparateNPU
A1, A2 = FaultCode("000000A1"), FaultCode("000000A2")

FREQUENT: Mapping[str, object] = {
    "EventId": ["A1"], "TimeWindow": 3600, "Times": 4, "FaultHandling": "RestartNPU", "ReleaseTimeWindow": 7200,
}  # fmt: skip
LASTING: Mapping[str, object] = {
    "EventId": ["A1"], "FaultTimeout": 30, "RecoverTimeout": 60, "FaultHandling": "RestartNPU",
}  # fmt: skip


def config(path: str, mode: str = "merge") -> Config:
    return Config(faults=Faults(rules=path, rules_mode=mode))


def frequency(path: Path, **fields: object) -> str:
    """Write a file with one rule of frequency that has these fields, those that are None not at all."""
    rule = {key: value for key, value in {**FREQUENT, **fields}.items() if value is not None}
    return written(path / "r.json", json.dumps({"FaultFrequency": [rule]}))


def duration(path: Path, **fields: object) -> str:
    rule = {key: value for key, value in {**LASTING, **fields}.items() if value is not None}
    return written(path / "r.json", json.dumps({"FaultDuration": [rule]}))


def mistakes_of(path: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_catalog(config(path))
    return caught.value.mistakes or (caught.value.message,)


def test_the_shipped_rules_are_in_force_where_an_operator_has_none() -> None:
    rules = load_catalog(Config()).rules
    assert (len(rules.frequency), len(rules.duration)) == (43, 3)
    day = timedelta(days=1)
    assert rules.frequency[FaultCode("80C98000")] == FrequencyRule(day, 2, MANUALLY, after_reset=True)
    assert rules.frequency[FaultCode("80E18005")] == FrequencyRule(day, 3, MANUALLY, after_reset=True)
    assert rules.frequency[LINK_DOWN] == FrequencyRule(day, 5, MANUALLY, 2 * day, after_reset=True)
    lasting = DurationRule(timedelta(seconds=20), timedelta(seconds=60), Handling.PreSeparateNPU)
    assert rules.duration[LINK_DOWN] == lasting


def test_a_rule_is_read_with_every_field(tmp_path: Path) -> None:
    text = json.dumps({"FaultFrequency": [{**FREQUENT, "EventId": ["0xa1", "A2"]}], "FaultDuration": [LASTING]})
    rules = read_rules(written(tmp_path / "r.json", text)).rules
    often = FrequencyRule(timedelta(hours=1), 4, Handling.RestartNPU, timedelta(hours=2))
    long = DurationRule(timedelta(seconds=30), timedelta(seconds=60), Handling.RestartNPU)
    assert rules == Rules({A1: often, A2: often}, {A1: long})


def test_toml_says_the_same(tmp_path: Path) -> None:
    as_json = written(tmp_path / "r.json", json.dumps({"FaultFrequency": [FREQUENT], "FaultDuration": [LASTING]}))
    fields = 'EventId = ["A1"]\nFaultHandling = "RestartNPU"\n'
    often = f"[[FaultFrequency]]\n{fields}TimeWindow = 3600\nTimes = 4\nReleaseTimeWindow = 7200\n"
    long = f"[[FaultDuration]]\n{fields}FaultTimeout = 30\nRecoverTimeout = 60\n"
    assert read_rules(written(tmp_path / "r.toml", often + long)) == read_rules(as_json)


def test_an_operators_rules_are_laid_over_the_shipped_ones_code_by_code_and_kind_by_kind(tmp_path: Path) -> None:
    rules = load_catalog(config(frequency(tmp_path, EventId=["81078603"]))).rules
    assert len(rules.frequency) == 43
    assert rules.frequency[LINK_DOWN].times == 4
    assert rules.duration[LINK_DOWN].fault_timeout == timedelta(seconds=20)


def test_an_operators_rules_can_replace_the_shipped_ones(tmp_path: Path) -> None:
    rules = load_catalog(config(frequency(tmp_path), "replace")).rules
    assert (set(rules.frequency), set(rules.duration)) == ({A1}, set())


def test_empty_lists_that_replace_the_shipped_rules_end_all_escalation(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", '{"FaultFrequency": [], "FaultDuration": []}')
    assert load_catalog(config(path, "replace")).rules == Rules()


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("ManuallySeparateNPU", Level.SeparateNPU),
        ("PreSeparateNPU", Level.NotHandleFault),
        ("SubHealthFault", Level.NotHandleFault),
        *((level.name, level) for level in Level),
    ],
)
def test_each_of_ascends_levels_has_its_own(tmp_path: Path, word: str, level: Level) -> None:
    read = load_catalog(config(frequency(tmp_path, FaultHandling=word))).rules.frequency[A1].handling
    assert (read.name, read.level) == (word, level)


@pytest.mark.parametrize(
    ("given", "release"),
    [(None, None), (0, None), (2**32, None), (60, timedelta(seconds=60)), (2**32 - 1, timedelta(seconds=2**32 - 1))],
)
def test_a_rule_for_manual_isolation_is_released_when_it_says_so_or_never(
    tmp_path: Path, given: int | None, release: timedelta | None
) -> None:
    path = frequency(tmp_path, FaultHandling="ManuallySeparateNPU", ReleaseTimeWindow=given)
    assert load_catalog(config(path)).rules.frequency[A1].release == release


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [("TimeWindow", 60, 864000), ("Times", 1, 100), ("ReleaseTimeWindow", 60, 2**32)],
)
def test_a_frequency_rule_has_ascends_limits(tmp_path: Path, field: str, least: int, most: int) -> None:
    for value in (least, most):
        assert A1 in read_rules(frequency(tmp_path, **{field: value})).rules.frequency
    wrongs: tuple[object, ...] = (least - 1 or -1, most + 1, 1e3, True, "3600", [60], {})
    for wrong in wrongs:
        (told,) = mistakes_of(frequency(tmp_path, **{field: wrong}))
        assert told.startswith(f"FaultFrequency[1].{field} = {json.dumps(wrong)}: must be a whole number")
        assert told.endswith(f"from {least} to {most}")


@pytest.mark.parametrize(("field", "most"), [("FaultTimeout", 600), ("RecoverTimeout", 86400)])
def test_a_duration_rule_has_ascends_limits(tmp_path: Path, field: str, most: int) -> None:
    for value in (0, most):
        assert A1 in read_rules(duration(tmp_path, **{field: value})).rules.duration
    for wrong in (-1, most + 1, 0.5, False, "60"):
        (told,) = mistakes_of(duration(tmp_path, **{field: wrong}))
        assert told == f"FaultDuration[1].{field} = {json.dumps(wrong)}: must be a whole number from 0 to {most}"


def test_a_fault_that_lasts_is_not_isolated_until_a_person_comes(tmp_path: Path) -> None:
    (told,) = mistakes_of(duration(tmp_path, FaultHandling="ManuallySeparateNPU"))
    assert told.startswith('FaultDuration[1].FaultHandling = "ManuallySeparateNPU": must be NotHandleFault, ')


def test_only_manual_isolation_can_do_without_a_release(tmp_path: Path) -> None:
    assert mistakes_of(frequency(tmp_path, ReleaseTimeWindow=None)) == (
        "FaultFrequency[1].ReleaseTimeWindow is missing: only ManuallySeparateNPU can do without",
    )


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "FaultFrequncy": [],
            "FaultFrequency": [
                {"EventId": ["xyz", 7, "0x0"], "TimeWindow": 59, "FaultHandling": "RestartNpu", "Tims": 3},
                "A1",
                FREQUENT,
                {**FREQUENT, "EventId": ["a2", "0xA1"]},
            ],
            "FaultDuration": {"EventId": ["A1"]},
        }
    )
    hexadecimal = f"must be {FORMS}, in quotes"
    *most, last = Handling.__members__
    levels = ", ".join(most)
    assert mistakes_of(written(tmp_path / "r.json", text)) == (
        "FaultFrequncy: there is no such key; did you mean FaultFrequency?",
        "FaultFrequency[1].Tims: there is no such field; did you mean Times?",
        "FaultFrequency[1].TimeWindow = 59: must be a whole number from 60 to 864000",
        "FaultFrequency[1].Times is missing: it must be a whole number from 1 to 100",
        f'FaultFrequency[1].FaultHandling = "RestartNpu": must be {levels} or {last}; did you mean RestartNPU?',
        f'FaultFrequency[1].EventId[1] = "xyz": {hexadecimal}',
        f"FaultFrequency[1].EventId[2] = 7: {hexadecimal}",
        f'FaultFrequency[1].EventId[3] = "0x0": {hexadecimal}',
        'FaultFrequency[2] = "A1": must be an object',
        "FaultFrequency[4].EventId: 000000A1 stands in another rule of FaultFrequency already",
        'FaultDuration = {"EventId": ["A1"]}: must be a list of rules',
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.json", " \n", "it is empty"),
        ("r.json", "{}", "it has no rule; the keys are FaultFrequency or FaultDuration"),
        ("r.toml", "", "it has no rule"),
        ("r.json", "[]", "must be an object"),
        ("r.json", "{", "not valid JSON"),
        ("r.toml", "FaultFrequency = 1 2", "line 1"),
        ("r.json", '{"FaultFrequency":' + "[" * 100000, "nests too deeply"),
        ("r.json", '{"FaultFrequency": [], "FaultFrequency": []}', "FaultFrequency: stands twice in one object"),
        ("r.json", '{"FaultFrequency": [{"EventId": ["A1"], "EventId": ["A2"]}]}', "EventId: stands twice"),
        ("r.json", '{"FaultFrequency": [{}]}', "FaultFrequency[1].EventId is missing: it must be a list of codes"),
        ("r.json", '{"FaultFrequency": [null]}', "FaultFrequency[1] = null: must be an object"),
        ("r.json", '{"\\u001b[31m": []}', '"\\u001b[31m": there is no such key'),
        ("r.json", '{"FaultFrequency": [{"\\u001b[31m": 1}]}', 'FaultFrequency[1]."\\u001b[31m": there is no such'),
    ],
)
def test_rules_that_cannot_be_read_are_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert any(said in mistake for mistake in mistakes_of(written(tmp_path / name, text)))


def test_what_ascends_file_has_besides_is_told_and_not_used(tmp_path: Path) -> None:
    # In the manner of an early file of Ascend's device plugin, with the example for no code that it was shipped with.
    document = {
        "GraceTolerance": {"WaitFlushingCMTime": 90, "WaitDeviceResetTime": 60},
        "FaultFrequency": [{"EventId": [], "TimeWindow": 3600, "Times": 5, "FaultHandling": "NotHandleFault"}],
        "FaultDuration": [{**LASTING, "EventId": ["81078603", "0x81078603"]}],
    }
    path = written(tmp_path / "r.json", json.dumps(document))
    warnings: list[str] = []
    rules = load_catalog(config(path, "replace"), warnings.append).rules
    assert (set(rules.frequency), set(rules.duration)) == (set(), {LINK_DOWN})
    assert warnings == [
        f"rules {path}: GraceTolerance is not used: cmgr has settings of its own for it",
        f"rules {path}: FaultFrequency[1] is not used: its EventId is empty",
        f"rules {path}: FaultDuration[1].EventId: 81078603 stands 2 times",
    ]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o606])
def test_the_file_of_rules_keeps_the_rule_for_files(tmp_path: Path, mode: int) -> None:
    path = frequency(tmp_path)
    Path(path).chmod(mode)
    with pytest.raises(ConfigError) as caught:
        load_catalog(config(path))
    assert caught.value.hint == f"chmod 0640 {path}"


def test_a_link_to_rules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(frequency(tmp_path))
    assert "it is a symbolic link" in mistakes_of(str(tmp_path / "link.json"))[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_rules_that_another_user_owns_are_refused(tmp_path: Path) -> None:
    path = frequency(tmp_path)
    os.chown(path, 12345, 12345)
    assert "user 12345 owns it" in mistakes_of(path)[0]


def test_mistakes_of_table_and_rules_are_told_together(tmp_path: Path) -> None:
    table = written(tmp_path / "t.json", '{"Codes": []}')
    both = Config(faults=Faults(file=table, rules=str(tmp_path / "none.json")))
    with pytest.raises(ConfigError) as caught:
        load_catalog(both)
    assert caught.value.message == "cannot use the fault table and the rules: 2 mistakes"
    assert len(caught.value.mistakes) == 2
    assert load_rules(Config(faults=Faults(file=table)), print) == load_catalog(Config()).rules
    assert load_levels(Config(faults=Faults(rules="/none.json")), print).rules == Rules()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rules")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
FIELDS = sorted({*FREQUENT, *LASTING, "x"})
rules_of_any_kind = st.dictionaries(
    st.sampled_from(FIELDS),
    anything | st.integers(0, 1000) | st.lists(st.text("0123xAF", max_size=9)) | st.sampled_from(WORDS),
)
documents = st.dictionaries(
    st.sampled_from([*RuleKind, "GraceTolerance", "x"]), anything | st.lists(anything | rules_of_any_kind, max_size=3)
)


@tries(150)
@given(text=st.one_of(documents.map(json.dumps), st.text(max_size=60)), name=st.sampled_from(["r.json", "r.toml"]))
def test_no_file_gives_anything_but_rules_or_its_mistakes(scratch: Path, text: str, name: str) -> None:
    path = scratch / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    path.chmod(0o640)
    with suppress(ConfigError):
        rules = load_catalog(config(str(path))).rules
        assert len(rules.frequency) >= 43
