"""Which tests run where, and in what order.

A test is *alone* that needs a daemon, root, a service of its own, or a long time: it has that for itself, and waits for
it most of its time. Whoever takes one of the fixtures below needs such a thing; what needs it by another way says
`pytest.mark.alone`. `make quick` runs all the others.

A test that has a timeout of its own takes long and begins first: nobody waits for it at the end.
"""

import pytest

FIXTURES = frozenset(
    {"dockerd", "containerd", "podman", "systemd", "etcd", "etcds", "install", "field", "place", "emulator", "browser"}
)
"""A private daemon, a service as a process, a crash trial, a machine of its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("alone")
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
