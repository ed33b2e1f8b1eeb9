"""compileall, without the docstrings: `python bytecode.py` takes what `python -m compileall` does.

Nobody reads them in a program that runs, and in the service they take megabytes for good. `python -OO` would take the
asserts as well, which stay: what they say is worth more than it costs. In cmgr/cli a command's docstring is its help.
"""

import ast
import compileall
import importlib.machinery
import sys

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bare(source, path):
    """Return the tree of a module without docstrings."""
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            instead = [] if len(node.body) > 1 or isinstance(node, ast.Module) else [ast.Pass()]
            node.body[:1] = [ast.copy_location(each, first) for each in instead]
    return tree


class Bare(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = data if "cmgr/cli/" in self.path else bare(data, path)
        return super().source_to_code(tree, path, _optimize=_optimize)


if __name__ == "__main__":
    importlib.machinery.SourceFileLoader = Bare  # py_compile, which compileall is made of, takes it from there.
    sys.exit(not compileall.main())
