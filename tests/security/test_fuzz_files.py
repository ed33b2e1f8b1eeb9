"""Configuration, environment, fault tables and rules of any shape: taken, or refused with a sentence; no more."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cmgr.config.load import load
from cmgr.config.schema import settings
from cmgr.config.settings import Config, Faults
from cmgr.config.tables.catalog import MACHINE, load_catalog
from cmgr.config.tables.table import KEYS
from cmgr.errors import ConfigError, chain
from cmgr.model.values.faults import Handling
from cmgr.model.values.handling.rules import RuleKind
from cmgr.vendor import vendors
from tests.security.fuzz import NASTY, SECTION, json_values, numbers, texts, tries
from tests.security.watching import Watch
from tests.support.figures import Figures


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    """Have everything imported that is imported when it is needed, and no default file."""
    monkeypatch.setattr("cmgr.config.load.DEFAULT_PATH", str(scratch / "none" / "cmgr.toml"))
    load(None, environ={})
    for text in (b"", b"observe = 1", b'{"x": 1}', b"\xff"):
        path = put(scratch / "warm.json", text)
        for configured in (Faults(file=path), Faults(rules=path)):
            with suppress(ConfigError):
                load_catalog(Config(faults=configured))
        with suppress(ConfigError):
            load(path, environ={})


@contextmanager
def refused_well(watch: Watch, *readable: str) -> Iterator[None]:
    """Check that nothing is done but to read these files, and that refusals are printable sentences."""
    with watch.quiet(*readable):
        try:
            yield
        except ConfigError as error:
            told = (chain(error), error.hint, *error.mistakes)
            assert told[0].startswith("cannot ")
        else:
            told = ()
    for text in told:
        assert text.isprintable(), text
        text.encode()


def put(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    path.chmod(0o640)
    return str(path)


def toml(value: object) -> str:
    """Return the value as TOML, or what looks like it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


names = st.sampled_from(sorted(settings())) | st.sampled_from(sorted({s.partition(".")[0] for s in settings()})) | texts
lines = st.builds(lambda name, value: f"{name} = {toml(value)}", names, json_values)
garbage = st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))


@tries(500)
@given(content=st.lists(lines, max_size=8).map(lambda rows: "\n".join(rows).encode("utf-8", "replace")) | garbage)
def test_no_configuration_does_more_than_being_read(
    scratch: Path, watch: Watch, figures: Figures, content: bytes
) -> None:
    path = put(scratch / "cmgr.toml", content)
    with refused_well(watch, path):
        load(path, environ={})
    figures.add(SECTION, "configurations fuzzed")


variables = st.sampled_from(sorted(s.variable for s in settings().values())) | texts.map("CMGR_".__add__)


@tries(400)
@given(environ=st.dictionaries(variables, texts | numbers.map(str) | json_values.map(json.dumps), max_size=6))
@example({"CMGR_TIME_ZONE": 256 * "x"})
def test_no_environment_does_more_than_being_read(watch: Watch, figures: Figures, environ: dict[str, str]) -> None:
    # It names the file to read: that is what it is for.
    environ.pop("CMGR_CONFIG", None)
    environ.pop("CMGR_SIM_SCRIPT_FILE", None)
    with refused_well(watch):
        load(None, environ=environ)
    figures.add(SECTION, "environments of the service fuzzed")


@pytest.mark.parametrize("value", NASTY)
def test_a_file_that_the_environment_names_is_only_read(value: str, watch: Watch) -> None:
    # Its name stands in the error as it was given: whoever prints or logs that cleans it.
    with watch.quiet(value), suppress(ConfigError):
        load(None, environ={"CMGR_CONFIG": value})


codes = st.lists(st.text("0123456789abcdefABCDEFxX \n", max_size=10) | json_values, max_size=5) | json_values
tables = st.dictionaries(st.sampled_from([*KEYS]) | texts, codes, max_size=5)
WORDS = [*Handling.__members__]
RULE = ("EventId", "TimeWindow", "Times", "FaultHandling", "ReleaseTimeWindow", "FaultTimeout", "RecoverTimeout")
one_rule = st.dictionaries(
    st.sampled_from(RULE) | texts, codes | numbers | st.sampled_from(WORDS) | st.integers(0, 90000)
)
some_rules = st.dictionaries(
    st.sampled_from([*RuleKind, "GraceTolerance"]) | texts, st.lists(one_rule | json_values, max_size=4) | json_values
)


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def as_toml(value: Mapping[str, object]) -> bytes:
    return "\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()).encode("utf-8", "replace")


@tries(400)
@given(content=tables.map(as_json) | tables.map(as_toml) | garbage, end=st.sampled_from(["json", "toml"]))
def test_no_fault_table_does_more_than_being_read(
    scratch: Path, watch: Watch, figures: Figures, content: bytes, end: str
) -> None:
    path = put(scratch / f"faults.{end}", content)
    with refused_well(watch, path, *shipped()):
        assert len(load_catalog(Config(faults=Faults(file=path))).entries) >= 350
    figures.add(SECTION, "fault tables fuzzed")


@tries(400)
@given(content=some_rules.map(as_json) | some_rules.map(as_toml) | garbage, end=st.sampled_from(["json", "toml"]))
def test_no_rules_do_more_than_being_read(
    scratch: Path, watch: Watch, figures: Figures, content: bytes, end: str
) -> None:
    path = put(scratch / f"rules.{end}", content)
    with refused_well(watch, path, *shipped()):
        assert len(load_catalog(Config(faults=Faults(rules=path))).rules.frequency) >= 43
    figures.add(SECTION, "rules of escalation fuzzed")


def shipped() -> list[str]:
    directories = (MACHINE, *filter(None, (vendor.tables for vendor in vendors())))
    return [str(path) for tables in directories for path in tables.iterdir()]


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 500_000,
        b'{"FaultFrequency":' * 20_000,
        b'{"RestartNPUCodes": [' + b'"A1",' * 200_000 + b'"A1"]}',
        b'{"RestartNPUCodes": [' + b",".join(b'"%X"' % n for n in range(1, 90_000)) + b"]}",
        b"{" + b",".join(b'"k%d": 1' % n for n in range(60_000)) + b"}",
        b"{" + b",".join(b'"k%d": 1' % (n % 30_000) for n in range(60_000)) + b"}",
        b'{"FaultFrequency": [' + b",".join([b"{}"] * 100_000) + b"]}",
        b"a." * 300_000 + b"b = 1",
        b"[" + b"'a' . " * 100_000 + b"b]",
        b"x = {" + b"a." * 300_000 + b"b = 1}",
        b"".join(b"[t%d]\n" % n for n in range(5_000)),
        b"[[t]]\n" * 30_000,
        b"".join(b"%s%d = 1\n" % (b"a." * 99, n) for n in range(1_000)),
        b"a = " + b"[" * 300_000,
        b'a = "' + b"\\\\" * 400_000 + b'"',
        b"9" * 1_000_000,
        b"\xef\xbb\xbf" * 300_000,
        b"x" * (1024 * 1024 + 1),
    ],
    ids=lambda content: f"{len(content)} bytes of {content[:4]!r}",
)
def test_what_is_large_or_deep_is_over_soon(scratch: Path, watch: Watch, content: bytes) -> None:
    for name in ("large.json", "large.toml"):
        path = put(scratch / name, content)
        for configured in (Faults(file=path), Faults(rules=path)):
            with refused_well(watch, path, *shipped()):
                load_catalog(Config(faults=configured))
        with refused_well(watch, path):
            load(path, environ={})
    os.unlink(path)
