"""Chips of a walk that have failed their last test, and were neither reset since, nor released by a person."""

from random import Random
from typing import Any

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import RunTest
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone
from cmgr.model.values.node import Node


def bad_after(bad: frozenset[ChipId], before: Node, fact: facts.Fact) -> frozenset[ChipId]:
    """Return those that are bad when this node has taken in the fact, where `bad` were."""
    match fact:
        case ChipsTested(command=command, ring=ring, failed=failed) if (
            test := before.rings[ring].test
        ) is not None and test.command == command:
            used = {chip for chip in failed if chip not in before.isolations}
            return (bad if fact.error else bad - set(before.rings[ring].chips)) | used
        case ResetDone(ring=ring):
            return bad - set(before.rings[ring].chips)
        case facts.ReleaseOrdered(chip=chip):
            return bad - {chip}
        case _:
            return bad


def known_bad(saved: Node) -> frozenset[ChipId]:
    """Return those of which the next life knows: chips whose verdict was not saved are tested anew."""
    tested = frozenset(chip for chip, isolation in saved.isolations.items() if isolation.by == "test")
    return tested.union(*(ring.failed for ring in saved.rings.values()))


def verdict(rng: Random, command: RunTest, fails: bool) -> dict[str, Any]:
    """Return what a test says: nothing of the chips, that some have failed, or that all have passed."""
    if fails and rng.random() < 0.5:
        return {"error": "its tool is not there"}
    bad = rng.sample(command.chips, rng.randrange(1, len(command.chips) + 1)) if fails else ()
    return {"failed": dict.fromkeys(sorted(bad), "it computes wrongly")}
