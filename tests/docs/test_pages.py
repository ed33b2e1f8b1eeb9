"""What the pages say of the code is what the code says."""

import re
from pathlib import Path

import pytest

from tests.docs import generated

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_architecture_page_shows_the_tree_and_the_edges_as_they_are() -> None:
    assert generated.PAGE.read_text() == generated.page(), "run: make generated"


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_every_file_that_the_architecture_page_names_exists() -> None:
    prose = re.sub(r"```.*?```", "", generated.PAGE.read_text(), flags=re.DOTALL)
    named = set(re.findall(r"`((?:cmgr/|model/|service/|store/|tests/|docs/)[\w/]+\.\w+)`", prose))
    assert named
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "cmgr" / name).exists(), name
