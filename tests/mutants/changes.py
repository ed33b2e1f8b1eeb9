"""The small changes that a function of ours can be given, each as the module's text with that change."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
EDGE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}

_BOTH = ast.Constant(True), ast.Constant(False)


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a file, and what stands there instead."""

    path: Path
    function: str
    """Its qualified name."""
    line: int
    """The first line of what is changed, and `last` the last one."""
    last: int
    before: str
    after: str
    place: int
    """Which node of the file's tree, as `ast.walk` goes."""
    way: int
    """Which of the changes that this node can be given."""

    @property
    def words(self) -> str:
        return f"{self.function}: `{_short(self.before)}` -> `{_short(self.after)}`"


def changes(path: Path) -> list[Change]:
    """Return all that can be changed within the functions of a file, in order."""
    tree = ast.parse(path.read_text())
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    found = []
    for name, function in functions(tree):
        for node in _own(function):
            for way, other in enumerate(_ways(node)):
                last = node.end_lineno or node.lineno
                texts = (ast.unparse(node), ast.unparse(other))
                found.append(Change(path, name, node.lineno, last, *texts, places[id(node)], way))
    return sorted(found, key=lambda c: (c.line, c.place, c.way))


def changed(change: Change) -> ast.Module:
    """Return the tree of the file with the change in it."""
    tree = ast.parse(change.path.read_text())
    node = list(ast.walk(tree))[change.place]
    assert isinstance(node, ast.expr | ast.stmt)
    other = ast.copy_location(_ways(node)[change.way], node)
    _Exchanged(node, other).visit(tree)
    return ast.fix_missing_locations(tree)


def functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes; those within functions are part of these."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{within}{node.name}.")


class _Exchanged(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self._node, self._other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        return self._other if node is self._node else self.generic_visit(node)


def _own(function: ast.FunctionDef) -> Iterator[ast.expr | ast.stmt]:
    """Yield what a function runs: neither its signature, which is run once, nor what is said for readers."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr | ast.stmt):
                yield node


def _ways(node: ast.expr | ast.stmt) -> list[ast.expr | ast.stmt]:  # noqa: C901 - a flat table
    """Return what can stand there instead."""
    match node:
        case ast.Compare(ops=[op]):
            others = [kinds[type(op)]() for kinds in (OPPOSITE, EDGE) if type(op) in kinds]
            return [ast.Compare(node.left, [other], node.comparators) for other in others]
        case ast.BoolOp(op=ast.And()):
            return [ast.BoolOp(ast.Or(), node.values)]
        case ast.BoolOp():
            return [ast.BoolOp(ast.And(), node.values)]
        case ast.UnaryOp(op=ast.Not()):
            return [node.operand]
        case ast.Constant(value=int(n)) if not isinstance(node.value, bool):
            return [ast.Constant(n + 1), ast.Constant(n - 1)]
        case ast.IfExp():
            return [ast.IfExp(value, node.body, node.orelse) for value in _BOTH]
        case ast.If():
            return [ast.If(value, node.body, node.orelse) for value in _BOTH]
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            return [ast.Return(ast.Constant(None))]
        case ast.Expr(value=ast.Constant()):
            return []
        case ast.Expr() | ast.AugAssign() | ast.Continue() | ast.Break():
            return [ast.Pass()]
    return []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:67]}..."
