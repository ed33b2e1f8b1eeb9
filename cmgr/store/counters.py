"""What escalation and healing count, and the restraint, as rows and back; as in `rows`."""

import json
from typing import Any

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import FaultCode, Level
from cmgr.model.values.healing import Healing
from cmgr.model.values.node import Restraint
from cmgr.model.values.rules import Raise, RuleKind, Tally
from cmgr.store.rows import Row, compact, key_of, key_row, moment, moment_if, stamp, stamp_if


def tally_row(tally: Tally) -> dict[str, Any]:
    return {
        "chip": tally.chip,
        "code": tally.code,
        "times": compact([stamp(at) for at in tally.times]),
        "raised": compact([_raise_cell(r) for r in tally.raised]),
        "last": stamp_if(tally.last),
        "risen": stamp_if(tally.risen),
        "recovered": stamp_if(tally.recovered),
    }


def tally_of(row: Row) -> Tally:
    return Tally(
        chip=ChipId(row["chip"]),
        code=FaultCode(row["code"]),
        times=tuple(moment(at) for at in json.loads(row["times"])),
        raised=tuple(_raise_of(*cell) for cell in json.loads(row["raised"])),
        last=moment_if(row["last"]),
        risen=moment_if(row["risen"]),
        recovered=moment_if(row["recovered"]),
    )


def _raise_cell(raised: Raise) -> list[str | bool]:
    return [raised.kind.value, raised.level.name, stamp(raised.since), raised.reason, raised.manual]


def _raise_of(kind: str, level: str, since: str, reason: str, manual: bool) -> Raise:
    return Raise(RuleKind(kind), Level[level], moment(since), reason, manual)


def healing_row(healing: Healing) -> dict[str, Any]:
    return {
        **key_row(healing.key),
        "times": compact([stamp(at) for at in healing.times]),
        "life": healing.life,
        "since": stamp_if(healing.since),
        "due": stamp_if(healing.due),
        "counted": healing.counted,
        "spared": healing.spared,
        "given_up": stamp_if(healing.given_up),
    }


def healing_of(row: Row) -> Healing:
    return Healing(
        key=key_of(row),
        times=tuple(moment(at) for at in json.loads(row["times"])),
        life=row["life"],
        since=moment_if(row["since"]),
        due=moment_if(row["due"]),
        counted=bool(row["counted"]),
        spared=bool(row["spared"]),
        given_up=moment_if(row["given_up"]),
    )


def restraint_row(restraint: Restraint) -> dict[str, Any]:
    return {
        "id": 0,  # There is one, if any.
        "opened": compact([stamp(at) for at in restraint.opened]),
        "since": stamp_if(restraint.since),
        "reason": restraint.reason,
        "kept": compact([[ring, stamp(at)] for ring, at in sorted(restraint.kept.items())]),
        "waived": compact(sorted(restraint.waived)),
    }


def restraint_of(row: Row) -> Restraint:
    return Restraint(
        opened=tuple(moment(at) for at in json.loads(row["opened"])),
        since=moment_if(row["since"]),
        reason=row["reason"],
        kept={RingId(ring): moment(at) for ring, at in json.loads(row["kept"])},
        waived=frozenset(RingId(ring) for ring in json.loads(row["waived"])),
    )
