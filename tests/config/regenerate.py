"""Writes the files that are made from the declarations of the settings: `python -m tests.config.regenerate`."""

from pathlib import Path

from cmgr.cli.setup import dozen
from tests.config.template import reference, template

_ROOT = Path(__file__).parents[2]

TEMPLATE = _ROOT / "etc/cmgr.toml"
REFERENCE = _ROOT / "docs/configuration.md"
PACKAGED = _ROOT / "packaging/cmgr.toml"

if __name__ == "__main__":
    TEMPLATE.write_text(template(), encoding="utf-8")
    PACKAGED.write_text(dozen.text({}), encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
