"""Containers that use no chip, as a person says: never in the way, but where the driver lists a process of theirs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.chips import ALL_CHIPS, UNCLEAR
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import missing
from cmgr.view.advice import ring_hint
from cmgr.view.troubles import troubles
from tests.model.builders import CATALOG, RING, Cmgr, container, key, names

EXPORTER = replace(container("npu-exporter-1"), claims=frozenset({UNCLEAR}), image="registry/npu-exporter:v5")


def ignoring(*patterns: str, containers: tuple[Container, ...] = (EXPORTER,)) -> Cmgr:
    return Cmgr(container("a", 0), *containers, policy=replace(RING, ignore=patterns))


def labelled(**fields: Any) -> Container:
    return replace(EXPORTER, claims=frozenset(), enabled=False, ignored=True, **fields)


@pytest.mark.parametrize(
    "there",
    [
        lambda: ignoring("npu-exporter*"),
        lambda: ignoring("other", "image:*/npu-exporter:*"),
        lambda: ignoring("npu-exporter-[0-9]"),
        lambda: ignoring(containers=(labelled(),)),
        lambda: ignoring("npu-*", containers=(replace(EXPORTER, claims=frozenset({ALL_CHIPS})),)),
        lambda: ignoring("npu-*", containers=(replace(EXPORTER, auto_remove=True),)),
    ],
)
def test_one_that_is_ignored_is_neither_stopped_nor_waited_for(there: Callable[[], Cmgr]) -> None:
    cmgr = there()
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), names(cmgr.log)) == (Phase.HEALTHY, 1, ["a"])
    assert cmgr.booked("npu-exporter-1").running
    cmgr.dies("npu-exporter-1")
    assert missing(cmgr.node) == ()


@pytest.mark.parametrize("pattern", ["exporter", "NPU-exporter-1", "image:npu-exporter*", "image:", "npu-exporter"])
def test_a_pattern_is_about_the_whole_name_or_image(pattern: str) -> None:
    assert not ignoring(pattern).booked("npu-exporter-1").ignored


@pytest.mark.parametrize("labels", [True, False])
def test_a_process_of_it_keeps_its_ring_from_a_reset_while_it_is_there_and_is_told_with_its_name(labels: bool) -> None:
    cmgr = ignoring(containers=(labelled(),)) if labels else ignoring("npu-exporter*")
    cmgr.inside[1] = key("npu-exporter-1")
    cmgr.fault(0)
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.sent(ResetRing), names(cmgr.log)) == (Phase.WAITING, [], ["a"])
    assert cmgr.ring().reason == "process 2 (python3) of npu-exporter-1, which is ignored, is on chip 1"
    assert str(ring_hint(cmgr.node, cmgr.ring())) == "to have it reset, stop npu-exporter-1 yourself"
    (told,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.BLOCKED]
    assert told.words.startswith("container npu-exporter-1 keeps ring 0 from a reset: it is ignored, and the driver")
    del cmgr.inside[1]
    cmgr.wait(30)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), set(cmgr.booked("npu-exporter-1").kept.chips)) == (
        Phase.HEALTHY, 1, set(),
    )  # fmt: skip


def test_a_process_of_nobody_is_told_with_what_to_do() -> None:
    cmgr = ignoring("npu-*")
    cmgr.processes[2] = "train"
    cmgr.fault(0)
    cmgr.wait(5)
    assert cmgr.ring().reason == "process 99 (train) is on chip 2"
    assert str(ring_hint(cmgr.node, cmgr.ring())) == "to have it reset, end process 99 (train) yourself"


def test_who_is_ignored_changes_with_the_settings_and_what_was_seen_of_it_is_forgotten() -> None:
    cmgr = ignoring()
    cmgr.inside[1] = key("npu-exporter-1")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert set(cmgr.booked("npu-exporter-1").kept.chips) == {1}
    for patterns, chips in ((("npu-*",), set[int]()), ((), {1})):
        cmgr.policy = replace(cmgr.policy, ignore=patterns)
        cmgr.tell(facts.Reconfigured(cmgr.policy, CATALOG, "uid 0"))
        cmgr.run()
        cmgr.tell(facts.Resync())
        cmgr.run()
        assert set(cmgr.booked("npu-exporter-1").kept.chips) == chips
