"""A command line that cannot be understood is refused with a hint, and nothing is done."""

import pytest

from tests.cli.conftest import Home


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("status", "--nonsense"),
        ("status", "-o", "xml"),
        ("chips", "--count", "2"),
        ("chips", "--available", "--count", "0"),
        ("faults", "--since", "yesterday"),
        ("faults", "--since", "99999d99999d"),
        ("history", "one"),
        ("explain",),
        ("explain", "xyz"),
        ("inject", "3"),
        ("inject", "-1", "80E24E00"),
        ("inject", "3", "xyz"),
        ("inject", "3", "80E24E00", "--clear", "--once"),
        ("demo", "--runtime", "podman"),
        ("isolate", "3"),
        ("reset", "all"),
        ("maintenance",),
        ("maintenance", "perhaps"),
        ("maintenance", "off", "--for", "2h"),
        ("maintenance", "on", "--for", "long"),
        ("status", "--watch", "--check"),
        ("history", "1", "--all"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_hint(home: Home, words: tuple[str, ...]) -> None:
    told = home.cmgr(*words)
    assert (told.code, told.out) == (2, "")
    assert "--help" in told.err
    assert "Traceback" not in told.err
