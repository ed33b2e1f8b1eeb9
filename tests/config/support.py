"""Configurations from texts, and the mistakes in them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config
from cmgr.errors import ConfigError


def written(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o640)
    return str(path)


def from_text(file: Path, text: str) -> Config:
    return load(written(file, text), environ={})


def mistakes(
    path: str | None = None, environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(path, environ=environ or {}, overrides=overrides or {})
    assert caught.value.message.startswith("cannot ")
    return caught.value.mistakes
