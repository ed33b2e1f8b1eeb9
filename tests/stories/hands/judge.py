"""Whether cmgr's word is true: it is asked all the time, and dockerd's record says what it ought to have said."""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cmgr.errors import CmgrError
from tests.stories.hands.dockerd_record import Change, DockerdRecord
from tests.stories.hands.hand import Hand, Kept
from tests.support.service import Service

MOST = 4.0
"""Seconds for which "all is well" may stand while a container that is wanted does not serve."""

EVERY = 0.2


class Judge:
    """Asks from a thread of its own until `close`."""

    def __init__(self, service: Service, record: DockerdRecord) -> None:
        self._service = service
        self._record = record
        self._well: list[tuple[float, bool]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="judge", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._over.wait(EVERY):
            asked = time.monotonic()
            try:
                well = not self._service.status()["troubles"]
            except CmgrError:
                well = False
            self._well.append((asked, well))

    def untrue(self, made: Sequence[Kept]) -> list[str]:
        """Return when it was said for too long that all is well."""
        changes, end = self._record.changes(), time.monotonic()
        found = []
        for kept in made:
            for begin, over in _spans(kept.wishes, True, end):
                for down, up in _spans(changes.get(kept.id, ()), False, end):
                    stood = self._longest(max(begin, down), min(over, up))
                    if stood >= MOST:
                        found.append(
                            f"{kept.id[:12]} ({kept.spec.name}) did not serve, and all was well for {stood:.1f} s"
                        )
        return found

    def _longest(self, begin: float, end: float) -> float:
        longest, since = 0.0, None
        for at, well in self._well:
            if begin <= at <= end and well:
                since = at if since is None else since
                longest = max(longest, at - since)
            else:
                since = None
        return longest


def _spans(changes: Sequence[Change], value: bool | None, end: float) -> list[tuple[float, float]]:
    turns: list[Change] = []
    for change in changes:
        if not turns or change[1] is not turns[-1][1]:
            turns.append(change)
    return [(at, until) for (at, found), (until, _) in pairwise([*turns, (end, None)]) if found is value]


def words_told(status: Mapping[str, Any]) -> set[str]:
    """Return the words in which troubles are told: names and ids of containers among them."""
    texts = [f"{trouble['about']} {trouble['text']}" for trouble in status["troubles"]]
    return set(re.findall(r"[\w-]+", " ".join(texts)))


def wrong_at_rest(hand: Hand, record: DockerdRecord, status: Mapping[str, Any]) -> list[str]:
    """Return what is neither as the persons want it nor told."""
    told = words_told(status)
    found = []
    for name, each in hand.kept.items():
        serves = record.serves(each.id)
        if each.wanted is False and serves:
            found.append(f"{name} serves, and was stopped by a person")
        if told.intersection((name, each.id)):
            continue
        if each.wanted and not serves:
            found.append(f"{name} is wanted, does not serve, and nothing is said of it")
        if serves and any(record.serves(other.id) for other in each.before):
            found.append(f"{name} serves beside one in whose place a client made it")
        if each.policy_is_sure and (has := hand.containers.policy(name)) != each.policy:
            found.append(f"{name} has restart policy {has} in the place of {each.policy}")
    return found
