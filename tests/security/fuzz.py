"""How much is fuzzed: CMGR_FUZZ=100 is a hundred times as much as `make reliability` does; 0.2, as in CI, a fifth."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SECTION = "Security"
TIMES = float(os.environ.get("CMGR_FUZZ", "1"))

UNASKED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def tries(count: int) -> settings:
    """Return hypothesis' settings for so many examples."""
    return settings(max_examples=max(1, int(count * TIMES)), deadline=None, suppress_health_check=UNASKED)


NASTY = (
    "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "a\nb", "a\r\nFORGED=1", "\u202egnp", "\u2028", "\x00", "\ud800", "$(id)",
    "`id`",
    "; reboot", "' OR 1=1 --", '"; DROP TABLE holds; --', "../../../etc/passwd", "/etc/shadow", "%s%n", "{0.__class__}",
    "{}", "<red>", "-rf", "--help", "x" * 5000, "\uff10", "\u0663", "", " ", "all", "-1", "0x0", "1e9", "nan",
)  # fmt: skip
"""Texts that a stranger might write where a name, a number or a list is wanted."""

texts = st.sampled_from(NASTY) | st.text(max_size=40)
numbers = st.integers() | st.integers(-2, 20) | st.sampled_from([2**31, 2**32, 2**63, 2**64, -(2**63)])
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
