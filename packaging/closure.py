"""Prints the distributions that cmgr needs at run time, each as name==version of the constraints."""

import re
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    lines = (ROOT / "packaging" / "constraints.txt").read_text().split()
    pinned = {normal(name): version for name, version in (line.split("==") for line in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    todo = [Requirement(line) for line in project["dependencies"]]
    while todo:
        requirement = todo.pop()
        # The packages are for Linux on either architecture: a need of either is a need of both.
        machines = ({"extra": "", "platform_machine": machine} for machine in ("x86_64", "aarch64"))
        name = normal(requirement.name)
        if name in found or not (requirement.marker is None or any(map(requirement.marker.evaluate, machines))):
            continue
        if name not in pinned:
            sys.exit(f"cannot build: packaging/constraints.txt pins no version of {name}")
        found.add(name)
        todo += [Requirement(line) for line in distribution(name).requires or ()]
    sys.stdout.writelines(f"{name}=={pinned[name]}\n" for name in sorted(found))


main()
