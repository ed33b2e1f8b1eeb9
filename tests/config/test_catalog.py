import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.settings import Config, Faults
from cmgr.config.tables.catalog import load_catalog
from cmgr.config.tables.table import KEYS, read_table
from cmgr.drivers.dcmi.library.abi import CONTROLLER
from cmgr.errors import ConfigError
from cmgr.model.values.faults import FaultClass, FaultCode, Handling, Level, Severity
from cmgr.model.values.handling.catalog import FORMS, Catalog, is_of_machine
from cmgr.vendor import vendors
from tests.config.support import written
from tests.security.fuzz import tries

VENDOR = next(vendor for vendor in vendors() if vendor.chips == "ascend")
TABLES = Path(str(VENDOR.tables))


def catalog_of(path: str, mode: str = "merge") -> tuple[Catalog, list[str]]:
    warnings: list[str] = []
    return load_catalog(Config(faults=Faults(file=path, mode=mode)), warnings.append), warnings


def mistakes_of(path: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_catalog(Config(faults=Faults(file=path)))
    return caught.value.mistakes or (caught.value.message,)


def test_the_built_in_table_has_each_of_the_821_codes_once() -> None:
    shipped = json.loads((TABLES / "levels.json").read_text())
    codes = [code for key in shipped for code in shipped[key]]
    assert [key for key in KEYS if key in shipped] == list(shipped)
    assert len(codes) == len(set(codes)) == 821
    assert all(shipped[key] == sorted(shipped[key]) for key in shipped)
    shown = load_catalog(Config()).entries.values()
    assert [entry.origin for entry in shown].count("built-in table ascend") == 821


def test_links_are_the_networks_and_what_ails_is_known_as_that() -> None:
    catalog = load_catalog(Config())
    links = {code for code, entry in catalog.entries.items() if entry.fault_class is FaultClass.NETWORK}
    assert links == {"81078603", "81078605", "81078607", "81B18603", "81B18605"}
    assert catalog.judge(FaultCode("8C2FA001"), None).handling is Handling.SubHealthFault


@pytest.mark.parametrize(
    ("code", "handling"),
    [
        ("8F180200", Handling.SeparateNPU),
        ("8F180220", Handling.PreSeparateNPU),
        ("8F180237", Handling.PreSeparateNPU),
        ("8F198800", Handling.PreSeparateNPU),
        ("80CD8809", Handling.RestartNPU),
        ("814D800A", Handling.RestartNPU),
        ("81AE4E00", Handling.RestartNPU),
        ("8107800D", Handling.RestartRequest),
        ("80F7860C", Handling.NotHandleFault),
        ("80BB880D", Handling.RestartRequest),
        ("814D8008", Handling.NotHandleFault),
        ("80B18009", Handling.NotHandleFault),
        ("8118045A", Handling.PreSeparateNPU),
        ("81CB8009", Handling.FreeRestartNPU),
        ("8C4DA000", Handling.RestartNPU),
        ("81B18605", Handling.SubHealthFault),
    ],
)
def test_what_a_950_and_its_cards_controller_tell_is_known(code: str, handling: Handling) -> None:
    verdict = load_catalog(Config()).judge(FaultCode(code), None)
    assert (verdict.handling, verdict.known) == (handling, True)


@pytest.mark.parametrize(
    ("code", "handling"),
    [
        ("80818C06", Handling.SubHealthFault),
        ("81078605", Handling.SubHealthFault),
        ("8C1F860A", Handling.SubHealthFault),
        ("81B38004", Handling.RestartNPU),
        ("81B38009", Handling.RestartNPU),
        ("816F8002", Handling.RestartNPU),
    ],
)
def test_where_ascends_programs_differ_the_one_that_is_kept_up_to_date_counts(code: str, handling: Handling) -> None:
    """MindCluster: ascend-device-plugin/build/faultCode.json (2026-06-29), container-manager config.go (2026-01-22)."""
    assert load_catalog(Config()).judge(FaultCode(code), None).handling is handling


@pytest.mark.parametrize("code", ["020000002", "020001002", "110000002", "110001024", "200001002"])
def test_codes_that_ascends_plugin_makes_itself_are_no_chips_faults(tmp_path: Path, code: str) -> None:
    """The same file of the plugin has them; an event's id in DCMI has 32 bits."""
    assert FaultCode(code) not in load_catalog(Config()).entries
    catalog, warnings = catalog_of(
        written(tmp_path / "faults.json", json.dumps({"SeparateNPUCodes": [code, "80B18009"]}))
    )
    assert (catalog.judge(FaultCode(code), None).fault_class, warnings) == (FaultClass.REPORTED, [])


def test_every_code_of_a_cards_controller_keeps_new_work_from_the_chip() -> None:
    entries = load_catalog(Config()).entries
    told = {code: entry.handling for code, entry in entries.items() if code.startswith(CONTROLLER)}
    assert len(told) == 399
    assert set(told.values()) == {Handling.PreSeparateNPU, Handling.SeparateNPU}


def test_an_operators_table_may_have_ascends_other_keys(tmp_path: Path) -> None:
    text = '{"PreSeparateNPUCodes": ["A1"], "SubHealthFaultCodes": ["A2"], "SeparateNPUNetworkCodes": ["A3"]}'
    catalog, (warning,) = catalog_of(written(tmp_path / "faults.json", text))
    asked = [catalog.judge(FaultCode(f"000000A{n}"), None) for n in (1, 2, 3)]
    assert [(v.handling.name, v.fault_class.value) for v in asked] == [
        ("PreSeparateNPU", "chip"), ("SubHealthFault", "chip"), ("PreSeparateNPU", "network"),
    ]  # fmt: skip
    assert "SeparateNPUNetworkCodes isolates no chip" in warning


def test_an_xid_is_found_with_its_meaning_and_what_its_maker_advises() -> None:
    verdict = load_catalog(Config()).judge(FaultCode("Xid 79"), None)
    assert (verdict.level, verdict.origin) == (Level.SeparateNPU, "built-in table nvidia")
    assert verdict.meaning == "the GPU does not answer on PCIe any more"
    assert verdict.advice == "NVIDIA says RESTART_BM: restart the machine"


@pytest.mark.parametrize(
    ("code", "level", "meaning"),
    [
        ("80E24E00", Level.RestartNPU, "power and temperature manager (LPM): no heartbeat"),
        (
            "A2301001",
            Level.SeparateNPU,
            "network: exception 01001 in the black box",
        ),  # The reference lists it under RestartBusiness too.
        ("40F84E00", Level.RestartNPU, "the card has dropped off"),
        ("80E01801", Level.RestartBusiness, "HBM: double-bit ECC error"),
        ("80C98008", Level.RestartRequest, "AI core: multi-bit ECC error"),
        ("80E01809", Level.NotHandleFault, "HBM: multi-bit ECC error found by patrol"),
        ("8C2FA009", Level.NotHandleFault, "a reset has finished"),
    ],
)
def test_a_code_has_its_level_origin_and_meaning(code: str, level: Level, meaning: str) -> None:
    verdict = load_catalog(Config()).judge(FaultCode(code), None)
    assert (verdict.level, verdict.meaning) == (level, meaning)
    assert verdict.origin == "built-in table ascend"
    assert verdict.known


@pytest.mark.parametrize(("table", "codes"), [("ascend", 821), ("nvidia", 320)])
def test_every_code_has_a_meaning_and_an_advice_in_two_languages(table: str, codes: int) -> None:
    entries = [e for e in load_catalog(Config()).entries.values() if e.origin == f"built-in table {table}"]
    assert len(entries) == codes
    for entry in entries:
        assert entry.meaning.isascii(), entry
        assert entry.advice.isascii(), entry
        assert min(len(entry.meaning), len(entry.advice)) > 5, entry
        for text in entry.chinese:
            assert any("\u4e00" <= letter <= "\u9fff" for letter in text), entry


def test_every_meaning_belongs_to_a_code_of_the_table() -> None:
    meanings = json.loads((TABLES / "meanings.json").read_text())
    assert set(meanings) <= set(load_catalog(Config()).entries)


def test_an_operators_table_is_laid_over_the_built_in_one(tmp_path: Path) -> None:
    path = written(tmp_path / "faults.json", '{"SeparateNPUCodes": ["0x80e24e00", "40f84e00", "0x1234", "78"]}')
    catalog, warnings = catalog_of(path)
    verdict = catalog.judge(FaultCode("80E24E00"), None)
    assert (verdict.level, verdict.origin) == (Level.SeparateNPU, f"operator's file {path}")
    assert catalog.judge(FaultCode("40F84E00"), None).meaning == "the card has dropped off"
    assert catalog.judge(FaultCode("00001234"), None).level is Level.SeparateNPU
    assert catalog.judge(FaultCode("Xid 78"), None).level is Level.SeparateNPU
    assert len(catalog.entries) == len(load_catalog(Config()).entries) + 1
    assert warnings == []


def test_an_operators_table_in_toml_says_the_same(tmp_path: Path) -> None:
    as_json = written(tmp_path / "a.json", '{"RestartNPUCodes": ["A1", "0XB2"], "NotHandleFaultCodes": []}')
    as_toml = written(tmp_path / "a.toml", 'RestartNPUCodes = ["A1", "0XB2"]\nNotHandleFaultCodes = []\n')
    assert read_table(as_json) == read_table(as_toml)


def test_an_operators_table_can_replace_the_built_in_one(tmp_path: Path) -> None:
    path = written(tmp_path / "faults.json", '{"RestartNPUCodes": ["A1"]}')
    catalog, warnings = catalog_of(path, "replace")
    assert {code for code in catalog.entries if not is_of_machine(code)} == {"000000A1"}
    assert catalog.judge(FaultCode("raid-degraded"), None).handling is Handling.SubHealthFault
    assert len(warnings) == 5
    assert "SeparateNPUCodes is missing" in warnings[-1]


def test_a_code_under_two_levels_has_the_higher_and_is_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path / "faults.json", '{"SeparateNPUCodes": ["a1"], "RestartRequestCodes": ["A1", "0xA1"]}')
    catalog, warnings = catalog_of(path)
    assert catalog.judge(FaultCode("000000A1"), None).level is Level.SeparateNPU
    assert warnings == [
        f"fault table {path}: 000000A1 stands 2 times under RestartRequestCodes",
        f"fault table {path}: 000000A1 stands under RestartRequest and SeparateNPU: "
        "it has the higher level, SeparateNPU",
    ]


def test_every_mistake_of_a_table_is_told_at_once(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "RestartNPUCode": ["A1"],
            "Codes": [],
            "RestartNPUCodes": "A1",
            "SeparateNPUCodes": ["A1", "xyz", 7, "0x0", "1234567890", None],
        }
    )
    assert mistakes_of(written(tmp_path / "faults.json", text)) == (
        "RestartNPUCode: there is no such level; did you mean RestartNPUCodes?",
        "Codes: there is no such level",
        'RestartNPUCodes = "A1": must be a list of codes',
        'SeparateNPUCodes[2] = "xyz": must be ' + FORMS,
        "SeparateNPUCodes[3] = 7: must be a code in quotes",
        'SeparateNPUCodes[4] = "0x0": must be ' + FORMS,
        'SeparateNPUCodes[5] = "1234567890": must be ' + FORMS,
        "SeparateNPUCodes[6] = null: must be a code in quotes",
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("f.json", "", "it is empty"),
        ("f.json", "  \n", "it is empty"),
        ("f.json", "{}", "it has no fault code"),
        ("f.toml", "", "it has no fault code"),
        ("f.json", '{"RestartNPUCodes": []}', "it has no fault code"),
        ("f.json", "[]", "must be an object"),
        ("f.json", '"A1"', "must be an object"),
        ("f.json", '{"RestartNPUCodes": ["A1"],}', "it is not valid JSON"),
        ("f.json", "{" * 100000, "it"),
        ("f.json", '{"RestartNPUCodes":' + "[" * 100000, "nests too deeply"),
        ("f.toml", "RestartNPUCodes = 1 2", "line 1"),
        ("f.json", '{"RestartNPUCodes": ["A1"], "RestartNPUCodes": ["A2"]}', "stands twice in the file"),
        ("f.json", '{"RestartNPUCodes": {"A1": 1}}', "must be a list of codes"),
        ("f.json", '{"\\u001b[31m": []}', '"\\u001b[31m": there is no such level'),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert any(said in mistake for mistake in mistakes_of(written(tmp_path / name, text)))


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    assert mistakes_of(str(tmp_path / "none.json")) == (f"cannot read {tmp_path / 'none.json'}: there is no such file",)


def test_the_fault_file_keeps_the_rule_for_files(tmp_path: Path) -> None:
    path = written(tmp_path / "faults.json", '{"RestartNPUCodes": ["A1"]}')
    Path(path).chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        load_catalog(Config(faults=Faults(file=path)))
    assert caught.value.hint == f"chmod 0640 {path}"


@pytest.mark.parametrize(
    ("unknown", "severity", "level"),
    [
        ("severity", Severity.minor, Level.NotHandleFault),
        ("severity", Severity.major, Level.SeparateNPU),
        ("severity", None, Level.SeparateNPU),
        ("RestartNPU", Severity.suggestion, Level.RestartNPU),
        ("NotHandleFault", Severity.critical, Level.NotHandleFault),
    ],
)
def test_an_unknown_code_has_the_level_that_the_setting_says(
    unknown: str, severity: Severity | None, level: Level
) -> None:
    catalog = load_catalog(replace(Config(), faults=Faults(unknown=unknown)))
    verdict = catalog.judge(FaultCode("DEADBEEF"), severity)
    assert (verdict.level, verdict.known) == (level, False)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
tables = st.dictionaries(
    st.sampled_from([*KEYS, "x"]), json_values | st.lists(st.text("0123xAF", max_size=9)), max_size=4
)


@tries(150)
@given(text=st.one_of(tables.map(json.dumps), st.text(max_size=60)), name=st.sampled_from(["f.json", "f.toml"]))
def test_no_table_gives_anything_but_a_catalog_or_its_mistakes(scratch: Path, text: str, name: str) -> None:
    path = scratch / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    path.chmod(0o640)
    config = Config(faults=Faults(file=str(path)))
    with suppress(ConfigError):
        assert len(load_catalog(config).entries) >= 350


def test_a_level_without_its_key_in_a_built_in_table_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmgr.config.tables.catalog._NEEDED", ("SeparateNPUCodes", "DoubtfulCodes"))
    with pytest.raises(AssertionError, match=r"^DoubtfulCodes: the built-in table of .* has a key for each level$"):
        catalog_of("")


def test_the_machine_s_own_codes_are_given_levels_by_the_same_keys(tmp_path: Path) -> None:
    text = '{"NotHandleFaultCodes": ["fan-failed"], "RestartNPUCodes": ["psu-failed", "no-such-part"]}'
    catalog, warnings = catalog_of(written(tmp_path / "faults.json", text))
    asked = {code: catalog.judge(FaultCode(code), None) for code in ("fan-failed", "psu-failed", "raid-degraded")}
    assert {code: (v.handling.name, v.level.name) for code, v in asked.items()} == {
        "fan-failed": ("NotHandleFault", "NotHandleFault"),
        "psu-failed": ("SubHealthFault", "NotHandleFault"),
        "raid-degraded": ("SubHealthFault", "NotHandleFault"),
    }
    assert (asked["fan-failed"].meaning, warnings) == ("a fan turns too slowly, or not at all", [])
