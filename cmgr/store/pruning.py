"""Which history goes when it is too old or too much."""

from datetime import datetime

from sqlalchemy import Connection, text

from cmgr.store import rows

MOST_NOTES = 20_000
"""So many notes go for each reason in one call, which bounds its time."""

_QUERIES = (
    """DELETE FROM notes WHERE id IN (
           SELECT id FROM notes
           WHERE at < :before AND episode NOT IN (SELECT episode FROM rings WHERE phase <> 'healthy')
           ORDER BY at LIMIT :most)""",
    """DELETE FROM notes WHERE id IN (
           SELECT id FROM notes WHERE id <= (SELECT id FROM notes ORDER BY id DESC LIMIT 1 OFFSET :keep)
           ORDER BY id LIMIT :most)""",
    # An episode that no ring is in any more will not be closed either.
    """DELETE FROM episodes
       WHERE coalesce(ended, began) < :before AND number NOT IN (SELECT episode FROM rings WHERE phase <> 'healthy')""",
    "DELETE FROM faults WHERE cleared < :before",
    "DELETE FROM resets WHERE at < :before",
)


def prune(connection: Connection, before: datetime, keep_notes: int) -> int:
    """Delete it, and return how many rows went. What the episodes under way noted does not grow too old."""
    values = {"before": rows.stamp(before), "keep": keep_notes, "most": MOST_NOTES}
    return sum(connection.execute(text(query), values).rowcount for query in _QUERIES)
