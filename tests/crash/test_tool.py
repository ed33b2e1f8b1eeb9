"""The same on chips that a program speaks for: each of its calls is a process, and that of a reset outlives cmgr."""

from collections.abc import Mapping, Sequence

import pytest

from tests.crash.conftest import Field
from tests.crash.matrix import singles, tell
from tests.crash.worlds import RING, SINGLE, Layout, Pretended, Stock
from tests.fakes.tool.standin import RESETS, Speaker
from tests.support.figures import Figures
from tests.support.service import Service, Setting

pytestmark = pytest.mark.timeout(7200)


class Spoken:
    """Chips that a program of each place's own speaks for."""

    environment: Mapping[str, str] = {}
    told: Sequence[str] = ()

    def __init__(self, layout: Layout, place: int) -> None:
        self._speaker = Speaker(chips=layout.chips, ring=layout.ring)
        self._chip = layout.chip(place)
        self._before = 0
        self.expected = ["taken"]
        self.settings: Mapping[str, Setting] = {"driver": "tool", "tool.program": str(self._speaker.program)}

    def furnish(self, service: Service, stock: Stock) -> None:
        self._before = len(self._speaker.resets)

    def fault(self, service: Service) -> None:
        self._speaker.occur(self._chip, RESETS)

    def resets(self, service: Service) -> list[str]:
        return ["taken" for _ in self._speaker.resets[self._before :]]

    def lost(self, service: Service) -> Sequence[str]:
        return []


@pytest.mark.parametrize("layout", [SINGLE, RING], ids=lambda layout: layout.name)
def test_killed_anywhere_on_chips_of_a_program_nothing_is_lost(field: Field, figures: Figures, layout: Layout) -> None:
    matrix = field(layout, Pretended, Spoken)
    tell(figures, f"a program's chips, {layout.name}", matrix.run(singles(matrix.points())))
