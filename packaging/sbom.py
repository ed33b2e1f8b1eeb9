"""Prints what the packages bring along as a CycloneDX document (cyclonedx.org): sbom.py VERSION SOURCES CLOSURE ZIG.

SOURCES has the source packages of Debian that were compiled, CLOSURE the wheels as name==version; ZIG is the version of
the compiler, some of whose run-time code is in the programs. The same input gives the same bytes.
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5


def component(name: str, version: str, purl: str, kind: str = "library") -> dict[str, str]:
    return {"type": kind, "name": name, "version": version, "purl": purl, "bom-ref": purl}


def of_debian(line: str) -> dict[str, str]:
    name, version = line.split()
    return component(name, version, f"pkg:deb/debian/{quote(name)}@{quote(version, safe=':')}?arch=source")


def of_pypi(line: str) -> dict[str, str]:
    name, version = line.split("==")
    return component(name, version, f"pkg:pypi/{quote(name)}@{quote(version, safe='')}")


def main() -> None:
    version, sources, closure, zig = sys.argv[1:]
    parts = [of_debian(line) for line in Path(sources).read_text().splitlines()]
    parts += [of_pypi(line) for line in [*Path(closure).read_text().split(), f"ziglang=={zig}"]]
    whole = component("cmgr", version, f"pkg:generic/cmgr@{quote(version, safe='')}", "application")
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps([whole, parts]))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC).isoformat(),
            "component": whole,
        },
        "components": parts,
        "dependencies": [{"ref": whole["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    sys.stdout.write(json.dumps(document, indent=1) + "\n")


main()
