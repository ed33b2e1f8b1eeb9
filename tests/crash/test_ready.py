"""The same of services that are asked: each of them answers before the episode is over, whichever life has asked."""

import pytest

from tests.crash.conftest import Field
from tests.crash.matrix import singles, tell
from tests.crash.trial import Point, Trial
from tests.crash.worlds import ASKED, Docker
from tests.support.daemons.dockerd import Dockerd
from tests.support.figures import Figures

pytestmark = [pytest.mark.docker, pytest.mark.timeout(7200)]


class Asked(Trial):
    def play(self, *ends: Point) -> None:
        super().play(*ends)
        texts = [note.text for note in self.service.notes(1)]
        for name in self.place.held:
            begun = texts.index(f"start {name}")  # It may have answered for the first time after the fault.
            assert sum(text.startswith(f"{name} answers ") for text in texts[begun:]) == 1, texts


def test_killed_anywhere_each_service_answers_before_its_episode_is_over(
    field: Field, figures: Figures, dockerd: Dockerd
) -> None:
    matrix = field(ASKED, lambda layout, place: Docker(dockerd, layout, place), make=Asked)
    tell(figures, "Docker, services that are asked", matrix.run(singles(matrix.points())))
