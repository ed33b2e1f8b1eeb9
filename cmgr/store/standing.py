"""What a person has ordered and what stands, as rows and back (see `rows`)."""

from typing import Any

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.standing import Maintenance, ResetOrder
from cmgr.store import rows


def reset_order_row(order: ResetOrder) -> dict[str, Any]:
    return {
        "ring": order.ring,
        "chip": order.chip,
        "at": rows.stamp(order.at),
        "who": order.who,
        "stop": order.stop,
        "done": order.done,
    }


def reset_order_of(row: rows.Row) -> ResetOrder:
    return ResetOrder(
        ring=RingId(row["ring"]),
        chip=ChipId(row["chip"]),
        at=rows.moment(row["at"]),
        who=row["who"],
        stop=bool(row["stop"]),
        done=bool(row["done"]),
    )


def maintenance_row(maintenance: Maintenance) -> dict[str, Any]:
    until = rows.stamp_if(maintenance.until)
    return {"mode": "maintenance", "since": rows.stamp(maintenance.since), "until": until, "who": maintenance.who}


def maintenance_of(row: rows.Row) -> Maintenance:
    return Maintenance(rows.moment(row["since"]), rows.moment_if(row["until"]), row["who"])
