"""The parts of pages that are made from the code. `python -m tests.docs.made.generated` writes them."""

import ast
import re
from pathlib import Path

from cmgr.runtimes.labels import Reach, declared
from tests.model.diagram import diagram, hold_diagram

ROOT = Path(__file__).parents[3]
ARCHITECTURE, CODE_MAP, SECURITY = ROOT / "ARCHITECTURE.md", ROOT / "docs/code-map.md", ROOT / "docs/security.md"


def code_map() -> str:
    """Return every module of the package with the first sentence of its docstring."""
    lines = ["```"]
    for folder in sorted(init.parent for init in (ROOT / "cmgr").rglob("__init__.py")):
        lines.append(f"{folder.relative_to(ROOT)}/".ljust(26) + _summary(folder / "__init__.py"))
        modules = (m for m in sorted(folder.glob("*.py")) if m.name != "__init__.py")
        lines += [f"  {module.name}".ljust(26) + _summary(module) for module in modules]
    return "\n".join([*lines, "```"])


def _summary(module: Path) -> str:
    doc = ast.get_docstring(ast.parse(module.read_text())) or ""
    return doc.partition("\n\n")[0].replace("\n", " ")


def labels() -> str:
    """Return the table of labels, those that reach furthest first."""
    reaches = [*reversed(Reach)]
    rows = sorted(declared().items(), key=lambda row: (reaches.index(row[1].reach), not row[1].form, row[0]))
    lines = ["| label | reach | what it does | of an image |", "|---|---|---|---|"]
    for name, label in rows:
        counts = "counts, but in a group" if label.reach is Reach.OWN else "does not count"
        lines.append(f"| `{name}{'…' if name.endswith('/') else ''}` | {label.reach} | {label.concerns} | {counts} |")
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Return the pages with their generated parts as they should be."""
    return {
        ARCHITECTURE: _with(_with(ARCHITECTURE.read_text(), "diagram", diagram()), "diagram of holds", hold_diagram()),
        CODE_MAP: _with(CODE_MAP.read_text(), "code map", code_map()),
        SECURITY: _with(SECURITY.read_text(), "labels", labels()),
    }


def _with(text: str, name: str, made: str) -> str:
    block = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    assert block.search(text), f"there is no place for the {name}"
    return block.sub(lambda found: f"{found[1]}{made.strip()}\n{found[2]}", text)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
