import pytest

from tests.security.watching import Watch


@pytest.fixture(scope="session")
def watch() -> Watch:
    return Watch()
