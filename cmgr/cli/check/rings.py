"""The meaning of the strategy on this machine's rings. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta

from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.model.values.chips import Chip, ChipId, listed, rings_of
from cmgr.model.values.handling.policy import Strategy
from cmgr.words import counted, span

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
        text = f"{config.strategy}: {_meaning(config.strategy, size, _named(found), widen_after)}{_who(found, users)}"
        if config.strategy is Strategy.SINGLE and size > 1 and widen_after is None:
            yield Finding(WHAT, WARNING, text, "set reset.widen_after, or strategy = ringRecover")
        else:
            yield Finding(WHAT, OK, text)


def divided(chips: Iterable[Chip], obstacle: str) -> Iterator[Finding]:
    """Yield what a reset does to the shares of chips. `obstacle`: why the driver cannot make any; nothing if it can."""
    shares = {chip.id: [share for share in chip.shares if share.there] for chip in chips}
    named = {chip: ", ".join(share.title for share in found) for chip, found in shares.items() if found}
    what = "; ".join(f"chip {chip} has {titles}" for chip, titles in named.items())
    if named and obstacle:
        hint = "containers on them wait after a reset until they are made by hand (docs/shares.md)"
        yield Finding("shares", WARNING, f"{what}: a reset takes them, and they are not made again: {obstacle}", hint)
    elif named:
        yield Finding("shares", OK, f"{what}: a reset takes them, and they are made again after it")


def told_apart(chips: Iterable[Chip]) -> Iterator[Finding]:
    """Yield a finding for the chips of which nothing is known that would go with them to another seat."""
    if vague := [chip.id for chip in chips if not (chip.serial or chip.board)]:
        text = "no serial number is known: what is remembered is that of the seat, and stays there when cards are moved"
        yield Finding("pieces", OK, f"{listed(vague)}: {text}")


def _meaning(strategy: Strategy, size: int, ring: str, widen_after: timedelta | None) -> str:
    alone = "(each is a ring of its own)"
    if strategy is Strategy.NEVER and size == 1:
        return f"no container is stopped; a reset of a chip waits until it is free {alone}"
    if strategy is Strategy.NEVER:
        return f"no container is stopped; a reset of {ring} waits until all {size} chips are free"
    if size == 1:
        return f"the containers on a faulty chip are stopped, and it is reset alone {alone}"
    if strategy is Strategy.RING:
        return f"a fault on {ring} stops all containers there, and its {size} chips are reset together"
    waits = f"the containers on a faulty chip are stopped; a reset of {ring} waits until all {size} chips are free"
    if widen_after is None:
        return f"{waits}, without an end"
    return f"{waits}, and after {span(widen_after)} stops the other containers there too"


def _named(found: Sequence[tuple[ChipId, ...]]) -> str:
    names = [listed(members).partition(" ")[2] for members in found]
    return f"ring {' or '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _who(found: Sequence[tuple[ChipId, ...]], users: Sequence[Collection[int]] | None) -> str:
    if users is None:
        return ""
    chips = {chip for members in found for chip in members}
    count = sum(not chips.isdisjoint(of) for of in users)
    return f"; {counted(count, 'container')} {'runs' if count == 1 else 'run'} there"
