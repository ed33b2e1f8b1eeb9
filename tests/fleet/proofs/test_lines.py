"""The line between an appliance and the engine holds, drops, delays or breaks while it asks or writes in a round.

CMGR_CRASH_EVERY=1 tries each way three times, at different questions and writes of a round; without it once.
"""

import re
import signal
from collections.abc import Callable, Mapping

import pytest

from tests.crash.matrix import EVERY
from tests.fleet.proofs.trio import Trio
from tests.support.figures import Figures
from tests.support.relay import Relay, Way
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(3600)]

ASKED = re.compile(r"before (write of|read while|last look) .*#[12]$")
"""Those that every round has: of the later ones there are more or fewer."""


def there(way: Way) -> Callable[[Relay], None]:
    return lambda relay: setattr(relay, "there", way)


def back(way: Way) -> Callable[[Relay], None]:
    return lambda relay: setattr(relay, "back", way)


WAYS: Mapping[str, Callable[[Relay], None]] = {
    "requests held": there(Way.HOLD),
    "requests dropped": there(Way.DROP),
    "cut by a request": there(Way.CUT),
    "answers held": back(Way.HOLD),
    "answers dropped": back(Way.DROP),
    "cut after the request had passed": back(Way.CUT),
    "slow both ways": lambda relay: setattr(relay, "delay", 0.3),
}


def test_whatever_becomes_of_a_question_or_a_write_the_round_comes_to_its_end(three: Trio, figures: Figures) -> None:
    asked = [(name, point) for name, points in three.points().items() for point in points if ASKED.match(point)]
    tried = [(asked[n * 5 % len(asked)], way) for n, way in enumerate(list(WAYS) * (3 if EVERY else 1))]
    broken = 0
    for (name, point), way in tried:
        broken += breaks(three, name, point, way)
        three.comes_through()
    assert broken >= len(tried) // 2
    three.figures(figures, {"questions and writes whose line broke": broken})


def breaks(three: Trio, name: str, point: str, way: str) -> bool:
    """Begin a round in which this question or write goes that way; the line is well again when it has ended."""
    sleeper, relay = three.meets(name, point, signal.SIGSTOP), three.relays[name]
    stood = sleeper.stands_still()
    before, after = len(sleeper.passed()), point.replace("before", "after")
    WAYS[way](relay)
    sleeper.goes_on()
    if stood:
        eventually(lambda: after in sleeper.passed()[before:], f"{name} has had an end of it: {point}, {way}")
    relay.heal()
    if "dropped" in way:
        relay.cut(away=False)  # Of what was lost nothing comes any more; the machine's network would say so in time.
    return stood
