from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.load import load
from cmgr.config.schema import settings
from cmgr.config.settings import Config
from cmgr.errors import ConfigError
from tests.security.fuzz import tries

anything = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=10) | st.floats() | st.sampled_from(["1s", "never", "/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(sorted(settings())) | st.text(max_size=12)
variables = st.sampled_from(sorted(s.variable for s in settings().values())) | st.text(max_size=8).map("CMGR_".__add__)
toml_values = st.sampled_from(
    ["1", "-1", '"x"', '""', "true", "[]", "{}", '["a"]', "1.5", '"60s"', "2026-01-01", "[[1]]"]
)
toml_lines = st.tuples(st.sampled_from(sorted(settings())) | st.text('abc.[]"#', max_size=6), toml_values)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "cmgr.toml"


@tries(200)
@given(
    environ=st.dictionaries(variables, st.text(max_size=12), max_size=4),
    flags=st.dictionaries(keys, anything, max_size=4),
)
def test_no_environment_and_no_flags_give_anything_but_a_configuration_or_its_mistakes(
    environ: dict[str, str], flags: dict[str, object]
) -> None:
    environ.pop("CMGR_CONFIG", None)
    with suppress(ConfigError):
        assert isinstance(load(None, environ=environ, overrides=flags), Config)


@tries(200)
@given(
    content=st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
    | st.lists(toml_lines, max_size=6).map(lambda rows: "\n".join(f"{k} = {v}" for k, v in rows).encode())
)
def test_no_file_gives_anything_but_a_configuration_or_its_mistakes(scratch: Path, content: bytes) -> None:
    scratch.write_bytes(content)
    scratch.chmod(0o640)
    with suppress(ConfigError):
        assert isinstance(load(str(scratch), environ={}), Config)
