"""The rules of the Container Device Interface that its JSON schema and its library have for a file.

After schema/schema.json, schema/defs.json and pkg/cdi/validate of github.com/cncf-tags/container-device-interface.
"""

import re
from collections.abc import Mapping
from typing import Any

_KEYS = {
    "env": str,
    "deviceNodes": {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"},
    "mounts": {"hostPath", "containerPath", "options", "type"},
    "hooks": {"hookName", "path", "args", "env", "timeout"},
}
_KIND = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")


def is_valid(document: Mapping[str, Any]) -> None:
    """See that this is a specification that every runtime reads. Raises `AssertionError`."""
    assert set(document) <= {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}
    assert document["cdiVersion"] in ("0.3.0", "0.4.0", "0.5.0", "0.6.0")
    assert _KIND.fullmatch(document["kind"]), document["kind"]
    names = [device["name"] for device in document["devices"]]
    assert len(names) == len(set(names)), names
    assert names, "a specification without devices is refused"
    for device in document["devices"]:
        assert set(device) == {"name", "containerEdits"}
        assert _DEVICE.fullmatch(device["name"]), device["name"]
        _edits(device["containerEdits"])


def _edits(edits: Mapping[str, Any]) -> None:
    assert edits, "a device without edits is refused"
    assert any(edits.values()), "a device without edits is refused"
    for what, items in edits.items():
        for item in items:
            if what == "env":
                assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", item), item
                continue
            known = _KEYS[what]
            assert isinstance(known, set)
            assert set(item) <= known, item
            assert item["hostPath" if what == "mounts" else "path"].startswith("/"), item
            assert set(item.get("permissions", "")) <= set("rwm"), item
