"""The state of this appliance as the others of its fleet are shown it."""

from collections.abc import Sequence
from datetime import datetime

from cmgr.model.values.node import Node
from cmgr.model.values.presence import MOST_AILS, Ail, Presence
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble
from cmgr.words import one_line


def presence(node: Node, state: str, since: datetime, found: Sequence[Trouble]) -> Presence:
    """Return it. `found`: everything that is wrong now, the most pressing first."""
    return Presence(
        state,
        since,
        sum(ring.phase is not Phase.HEALTHY for ring in node.rings.values()),
        len(node.isolations),
        tuple(Ail(one_line(trouble.words), _typed(trouble.hint)) for trouble in found[:MOST_AILS]),
        max(0, len(found) - MOST_AILS),
    )


def _typed(hint: str) -> str:
    # Others are told to type what is a command as it stands; a whole sentence they find here, by `cmgr status`.
    return hint if hint.startswith("cmgr ") else ""
