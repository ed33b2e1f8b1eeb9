from pathlib import Path

import pytest

from cmgr.config import load as loading


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cmgr.toml"


@pytest.fixture(autouse=True)
def no_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "DEFAULT_PATH", str(tmp_path / "etc/cmgr/cmgr.toml"))
