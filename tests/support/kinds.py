"""Which tests run where, and in what order.

A test is *alone* that needs a daemon, root, a service of its own, or a long time: it has that for itself, and waits for
it most of its time. Whoever takes one of the fixtures below needs such a thing; what needs it by another way says
`pytest.mark.alone`. `make quick` runs all the others.

A test that has a timeout of its own takes long and begins first: nobody waits for it at the end.

CMGR_EACH=3 plays each third case only of those tests whose cases are ways in which the same thing goes wrong: those of
every change are played so (`make test`), `make reliability` plays them all.
"""

import os
from collections import Counter

import pytest

FIXTURES = frozenset(
    {"dockerd", "containerd", "podman", "systemd", "etcd", "etcds", "install", "field", "place", "emulator", "browser"}
)
"""A private daemon, a service as a process, a crash trial, a machine of its own."""

EACH = int(os.environ.get("CMGR_EACH", "1"))
WAYS = frozenset({"crash", "fleet", "host", "running", "security", "sick", "system"})
"""The directories of `tests/` whose cases are such ways."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("alone")
    left_out = _left_out(items)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    met = Counter[str]()
    found = []
    for item in items:
        if item.get_closest_marker("alone") and item.nodeid.split("/")[1] in WAYS:
            test = item.nodeid.partition("[")[0]
            if met[test] % EACH:
                found.append(item)
            met[test] += 1
    return found
