"""The meaning of the strategy on this machine's rings. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta

from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.model.values.chips import Chip, ChipId, rings_of
from cmgr.model.values.handling.policy import Strategy
from cmgr.sentences.sentence import Sentence, say
from cmgr.words import runs

WHAT = "rings"


def rings(config: Config, chips: Iterable[Chip], users: Sequence[Collection[int]] | None) -> Iterator[Finding]:
    """Yield a finding for all rings that are alike, which is: of as many chips.

    `users`: the chips of each container that runs; None where nobody could be asked.
    """
    alike: dict[int, list[tuple[ChipId, ...]]] = {}
    for members in rings_of(chips).values():
        alike.setdefault(len(members), []).append(members)
    widen_after = config.reset.widen_after
    for size, found in alike.items():
        text = _told(config.strategy, _meaning(config.strategy, size, _named(found), widen_after), _count(found, users))
        if config.strategy is Strategy.SINGLE and size > 1 and widen_after is None:
            yield Finding(WHAT, WARNING, text, say("check.set-widen"))
        else:
            yield Finding(WHAT, OK, text)


def divided(chips: Iterable[Chip], obstacle: str) -> Iterator[Finding]:
    """Yield what a reset does to the shares of chips. `obstacle`: why the driver cannot make any; nothing if it can."""
    shares = {chip.id: [share for share in chip.shares if share.there] for chip in chips}
    what = [
        say("check.has-shares", chip=chip, shares=[share.title for share in found])
        for chip, found in shares.items()
        if found
    ]
    if what and obstacle:
        yield Finding("shares", WARNING, say("check.shares-lost", what=what, why=obstacle), say("check.by-hand"))
    elif what:
        yield Finding("shares", OK, say("check.shares-kept", what=what))


def told_apart(chips: Iterable[Chip]) -> Iterator[Finding]:
    """Yield a finding for the chips of which nothing is known that would go with them to another seat."""
    if vague := [chip.id for chip in chips if not (chip.serial or chip.board)]:
        yield Finding("pieces", OK, say("check.vague", chips=vague))


def _told(strategy: Strategy, meaning: Sentence, count: int | None) -> Sentence:
    if count is None:
        return say("check.meaning", strategy=strategy, meaning=meaning)
    return say("check.meaning-users", strategy=strategy, meaning=meaning, count=count)


def _meaning(strategy: Strategy, size: int, names: list[str], widen_after: timedelta | None) -> Sentence:
    if strategy is Strategy.NEVER and size == 1:
        return say("check.never-alone")
    if strategy is Strategy.NEVER:
        return say("check.never-ring", names=names, size=size)
    if size == 1:
        return say("check.alone")
    if strategy is Strategy.RING:
        return say("check.ring", names=names, size=size)
    waits = say("check.single", names=names, size=size)
    if widen_after is None:
        return say("check.without-end", waits=waits)
    return say("check.widens", waits=waits, length=widen_after)


def _named(found: Sequence[tuple[ChipId, ...]]) -> list[str]:
    """Return the rings, all but the last as one, as a list that ends with `or` has them."""
    *names, last = (runs(members) for members in found)
    return [", ".join(names), last] if names else [last]


def _count(found: Sequence[tuple[ChipId, ...]], users: Sequence[Collection[int]] | None) -> int | None:
    """Return how many containers run there; None where nobody could be asked."""
    if users is None:
        return None
    chips = {chip for members in found for chip in members}
    return sum(not chips.isdisjoint(of) for of in users)
