"""Which tests run where: those that share nothing run side by side and all day, the others alone.

A test is *alone* that needs a daemon, root, a service of its own, or a long time. Whoever takes one of the fixtures
below needs such a thing; what needs it by another way says `pytest.mark.alone`. `make quick` runs all the others.
"""

import pytest

FIXTURES = frozenset({"dockerd", "containerd", "install", "field", "place", "emulator"})
"""A private daemon, a service as a process, a crash trial, a machine of its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("alone")
