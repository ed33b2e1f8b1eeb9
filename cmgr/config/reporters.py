"""The settings of faults that other programs report: who may report what."""

import re
from datetime import timedelta
from typing import Annotated

from cmgr.config.roles import ANYBODY, GROUP, UID
from cmgr.declare import Meta
from cmgr.frozen import dataclass
from cmgr.model.values.faults import Handling


@dataclass(frozen=True, slots=True)
class Reporter:
    """A program that may report faults."""

    name: Annotated[str, Meta("Its name, which faults and timelines show.")]
    uid: Annotated[int, UID] = ANYBODY
    codes: Annotated[
        tuple[str, ...], Meta('The codes that it may report: nine digits, or their beginning and "*".', empty=False)
    ] = ("*",)
    chips: Annotated[tuple[int, ...], Meta("The chips that it may report on; empty: all.", within=(0, 9999))] = ()
    highest: Annotated[
        str,
        Meta("The most that a report of it may ask for, whatever a table says.", choices=tuple(Handling.__members__)),
    ] = Handling.NotHandleFault.name
    group: Annotated[str, GROUP] = ""

    def may_report(self, code: str) -> bool:
        """Return whether it may report this code."""
        return any(re.fullmatch(re.escape(each).replace(r"\*", "[0-9]*"), code) for each in self.codes)


@dataclass(frozen=True, slots=True)
class Reports:
    """Faults that other programs report."""

    lasts: Annotated[
        timedelta,
        Meta("When a reported fault counts as over that is not reported again and says no end.", within=("1s", "30d")),
    ] = timedelta(minutes=10)
    sources: Annotated[tuple[Reporter, ...], Meta("The programs that may report, beside root.")] = ()
