"""The example in docs/migration.md. `python -m tests.docs.made.migration` writes it anew."""

import re

from cmgr.migration.migrate import migrate, without_fault_table
from cmgr.migration.text import file_text
from cmgr.migration.unit_file import Source
from tests.docs.made.generated import ROOT

PAGE = ROOT / "docs" / "migration.md"
NAME = "container-manager.service"


def blocks(language: str) -> list[str]:
    """Return the page's blocks of code in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def example() -> str:
    (unit,) = blocks("ini")
    return file_text(without_fault_table(migrate([Source(NAME, unit)], {})), [NAME])


def page() -> str:
    """Return the page with its example as it should be."""
    block = re.compile(r"(<!-- generated: migrated -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: f"{found[1]}```toml\n{example()}```\n{found[2]}", PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
