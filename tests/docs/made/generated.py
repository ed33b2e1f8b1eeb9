"""The parts of ARCHITECTURE.md that are made from the code. `python -m tests.docs.made.generated` rewrites them."""

import ast
import re
from pathlib import Path

from tests.model.diagram import diagram

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "ARCHITECTURE.md"


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


def page() -> str:
    """Return the page with its generated parts as they should be."""
    text = PAGE.read_text()
    for name, made in (("diagram", diagram().strip()), ("code map", code_map())):
        block = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert block.search(text), f"{PAGE.name} has no place for the {name}"
        text = block.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
