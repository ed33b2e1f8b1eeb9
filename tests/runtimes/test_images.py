"""Which labels of Docker's containers their images brought: asked once of each image, and decided once."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from cmgr.model.values.services.containers import Container
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.docker.wire import Limits
from tests.runtimes.docker.fake_dockerd import FakeDockerd, Request, document, fake_dockerd

LABELS = {"cmgr.group": "tp4", "cmgr.heal": "true"}
ASK = "GET /images/i1/json"
REFUSED = "label cmgr.group is not obeyed: the image brought it, and only --label counts"


@pytest.fixture
def daemon() -> Iterator[FakeDockerd]:
    """Two containers of one image run in it, which brought the labels of the first."""
    with fake_dockerd() as daemon:
        for id_, labels in {"c1": LABELS, "c2": {"cmgr.group": "mine"}}.items():
            daemon.containers[id_] = {**document(id_, Labels=labels), "Image": "i1"}
        daemon.images["i1"] = LABELS
        yield daemon


def listed(daemon: FakeDockerd, decided: frozenset[str] | None = None, limits: Limits | None = None) -> list[Container]:
    with closing(DockerRuntime(daemon.socket, limits, lambda _: decided)) as runtime:
        return list(runtime.list())


def test_an_image_is_asked_once_for_all_of_its_containers(daemon: FakeDockerd) -> None:
    brought, given = listed(daemon)
    assert (brought.group, brought.warnings, brought.brought) == ("", (REFUSED,), frozenset({"cmgr.group=tp4"}))
    assert (given.group, given.warnings, given.brought) == ("mine", (), frozenset())
    assert daemon.asked(ASK) == 1


def test_what_was_decided_stays_and_nobody_is_asked(daemon: FakeDockerd) -> None:
    daemon.images.clear()
    brought, _ = listed(daemon, decided=frozenset({"cmgr.group=tp4"}))
    assert (brought.group, brought.warnings) == ("", (REFUSED,))
    given, _ = listed(daemon, decided=frozenset())
    assert (given.group, given.warnings) == ("tp4", ())
    assert daemon.asked(ASK) == 0


def test_where_the_image_is_gone_before_the_first_look_the_group_counts_with_a_warning(daemon: FakeDockerd) -> None:
    daemon.images.clear()
    untold, _ = listed(daemon)
    assert (untold.group, untold.brought) == ("tp4", None)
    assert untold.warnings == ("whether the image brought cmgr.group is not known: it counts as given by --label",)


@pytest.mark.parametrize("silent", [ASK, "GET /containers/c1/json"])
def test_whoever_is_not_described_when_it_is_seen_first_is_in_no_group_until_it_is(
    daemon: FakeDockerd, silent: str
) -> None:
    daemon.on(silent, Request.hang)
    hurried = Limits(look=0.3, list=5, locked=0.3)
    first, *_ = listed(daemon, limits=hurried)
    assert (first.group, first.brought, first.heal is not None) == ("", None, True)
    assert "did not answer within 0.3 s" in first.unread
    known, *_ = listed(daemon, decided=frozenset(), limits=hurried)
    assert known.group == "tp4"
