"""The pages say of the code what the code says."""

import re
from pathlib import Path

import pytest
import typer

from cmgr.cli.app import app_of
from tests.docs.made import generated

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMANDS = typer.main.get_command(app_of()).commands  # type: ignore[attr-defined]  # It is a group.


def test_the_tree_and_the_edges_are_shown_as_they_are() -> None:
    for path, text in generated.pages().items():
        assert path.read_text() == text, "run: make generated"


def test_the_architecture_page_is_read_in_ten_minutes() -> None:
    assert len(generated.ARCHITECTURE.read_text().splitlines()) <= 320


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_every_file_that_the_architecture_page_names_exists() -> None:
    prose = re.sub(r"```.*?```", "", generated.ARCHITECTURE.read_text(), flags=re.DOTALL)
    named = set(re.findall(r"`((?:cmgr/|model/|service/|store/|tests/|docs/)[\w/]+\.\w+)`", prose))
    assert named
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "cmgr" / name).exists(), name


def test_every_module_that_a_page_names_exists() -> None:
    there = [f"/{p.relative_to(ROOT)}" for tree in ("cmgr", "tests", "bench") for p in (ROOT / tree).rglob("*.py")]
    named = {(p.name, name) for p in PAGES for name in re.findall(r"`([\w/]+\.py)`", p.read_text())}
    assert named
    assert [(page, name) for page, name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []


def test_every_promise_names_its_proofs_and_each_proof_is_a_test() -> None:
    page = (ROOT / "docs/reliability.md").read_text()
    promised = re.findall(r"^## What is promised\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[0]
    promises = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^\S)", promised, re.MULTILINE | re.DOTALL)
    proofs = [re.findall(r"`(test_\w+)`", promise.partition("Proofs: ")[2]) for promise in promises]
    assert len(proofs) == 9
    assert all(proofs)
    there = {name for p in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", p.read_text())}
    assert {name for each in proofs for name in each} - there == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_anchor_that_is_linked_to_is_a_heading_there(path: Path) -> None:
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text()):
        there = (path.parent / page if page else path).read_text()
        headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", there, flags=re.M | re.S), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, (page, anchor)


def commands(page: str) -> list[str]:
    """Return what follows `cmgr` in the command lines of the page: in its blocks for shells, and where it is quoted."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    typed = [
        line for block in blocks for line in re.findall(r"^(?:\$ )?(?:sudo )?cmgr ([a-z].*)$", block, re.MULTILINE)
    ]
    # All that stands in bold is said by cmgr.
    return [*typed, *re.findall(r"(?<!\*)`(?:sudo )?cmgr\s([a-z][^`]*)`", prose)]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists_with_its_options(path: Path) -> None:
    for words in commands(path.read_text()):
        name, *rest = re.split(r"[;|#]", words)[0].split()
        command = COMMANDS.get(name)
        assert command is not None, words
        known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"--help"}
        assert {word for word in rest if re.fullmatch(r"--?[a-z-]+", word)} <= known, words


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.name)
def test_every_page_leads_on_to_another(path: Path) -> None:
    assert re.search(r"\]\((?!https:)[^)#]*\.md", path.read_text()), path.name


def test_the_packages_carry_every_page() -> None:
    listed = (ROOT / "packaging" / "contents").read_text()
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "zh").glob("*.md")]:
        assert f" {page.relative_to(ROOT)} " in listed, page.name


def test_whoever_installs_by_hand_has_every_unit() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    units = [path.name for kind in ("service", "socket") for path in (ROOT / "packaging").glob(f"*.{kind}")]
    assert [unit for unit in units if f"packaging/{unit}" not in page] == []


RELOADS = re.compile(r"systemctl (?:--(?!no-reload)\S+ )*(?:daemon-reload|enable|disable|preset|mask|unmask)\b")
"""The orders of systemctl after which systemd reads all its units anew."""


def test_nobody_is_told_to_reload_systemd_where_no_unit_has_changed() -> None:
    blocks = [(p.name, b) for p in PAGES for b in re.findall(r"^```\w*\n(.*?)^```$", p.read_text(), re.M | re.S)]
    code = [(p.name, p.read_text()) for p in (ROOT / "cmgr").rglob("*.py")]
    told = [(name, found) for name, text in [*blocks, *code] for found in RELOADS.findall(text)]
    hint = ("reloads.py", "systemctl daemon-reload")
    unmasked = ("runtime.py", "systemctl unmask")
    assert sorted(told) == [("machine.md", "systemctl daemon-reload"), hint, unmasked]


def test_what_users_read_says_directory_as_unix_does() -> None:
    shown = [
        path for part in ("cmgr", "docs", "etc", "packaging") for path in (ROOT / part).rglob("*") if path.is_file()
    ]
    texts = [
        path for path in [*shown, *ROOT.glob("*.md")] if path.suffix in {".py", ".md", ".toml", ".1", ".5", ".service"}
    ]
    assert [str(path.relative_to(ROOT)) for path in texts if re.search("folder", path.read_text(), re.I)] == []
