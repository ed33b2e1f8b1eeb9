"""The stored values as rows and back: plain dictionaries of what SQLite knows, one function pair for each table.

Times are ISO text in UTC with microseconds, so that they sort as text; durations are whole microseconds; collections
are JSON. What belongs to one life of the process only is left out, so that a change of it changes no row.
"""

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cmgr.model.policy import Strategy
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.containers import Container, ContainerKey, Exit
from cmgr.model.values.faults import Fault, FaultCode, Isolation, Level, Severity
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.rings import Phase, Ring

Row = Mapping[str, Any]
"""A row by column name."""

compact = json.JSONEncoder(separators=(",", ":")).encode
"""Return a value as JSON without spaces."""

_MICROSECOND = timedelta(microseconds=1)
_INT64 = 2**63 - 1


def stamp(at: datetime) -> str:
    """Return a time as it is stored."""
    assert at.tzinfo is not None, "a time without a zone"
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def moment(text: str) -> datetime:
    """Return a stored time."""
    return datetime.fromisoformat(text)


def stamp_if(at: datetime | None) -> str | None:
    return None if at is None else stamp(at)


def moment_if(text: str | None) -> datetime | None:
    return None if text is None else moment(text)


def bindable(row: Row) -> dict[str, Any]:
    """Return the row as SQLite takes it.

    Labels and names come from anybody. A number past 64 bits or half a surrogate pair among them would make every
    save fail from then on, so the one is stored as the largest number and the other escaped.
    """
    return {column: _bindable(value) for column, value in row.items()}


def _bindable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return max(-_INT64, min(value, _INT64))
    return value


def key_row(key: ContainerKey) -> dict[str, Any]:
    return {"runtime": key.runtime, "namespace": key.namespace, "id": key.id}


def key_of(row: Row) -> ContainerKey:
    return ContainerKey(row["runtime"], row["namespace"], row["id"])


def chip_row(chip: Chip) -> dict[str, Any]:
    return dataclasses.asdict(chip)


def chip_of(row: Row) -> Chip:
    return Chip(**row)


def ring_row(ring: Ring) -> dict[str, Any]:
    return {
        "id": ring.id,
        "chips": compact(ring.chips),
        "phase": ring.phase.value,
        "since": stamp_if(ring.since),
        "reason": ring.reason,
        "deadline": stamp_if(ring.deadline),
        "episode": ring.episode,
        "began": stamp_if(ring.began),
        "resets": compact([stamp(at) for at in ring.resets]),
        "failures": ring.failures,
        "not_before": stamp_if(ring.not_before),
        "lulls": compact([stamp(at) for at in ring.lulls]),
        "theirs": compact(sorted(ring.theirs)),
        "starts": compact(sorted(ring.starts.items())),
        "blocked": stamp_if(ring.blocked),
        "widened": ring.widened,
    }


def ring_of(row: Row) -> Ring:
    return Ring(
        id=RingId(row["id"]),
        chips=tuple(ChipId(c) for c in json.loads(row["chips"])),
        phase=Phase(row["phase"]),
        since=moment_if(row["since"]),
        reason=row["reason"],
        deadline=moment_if(row["deadline"]),
        episode=row["episode"],
        began=moment_if(row["began"]),
        resets=tuple(moment(at) for at in json.loads(row["resets"])),
        failures=row["failures"],
        not_before=moment_if(row["not_before"]),
        lulls=tuple(moment(at) for at in json.loads(row["lulls"])),
        theirs=frozenset(ContainerKey(*key) for key in json.loads(row["theirs"])),
        starts={ContainerKey(*key): count for key, count in json.loads(row["starts"])},
        blocked=moment_if(row["blocked"]),
        widened=bool(row["widened"]),
    )


def container_row(container: Container) -> dict[str, Any]:
    end = container.exit
    return {
        **key_row(container.key),
        "name": container.name,
        "chips": compact(sorted(container.chips)),
        "claims": compact(sorted(container.claims)),
        "running": container.running,
        "run": container.run,
        "exit_code": None if end is None else end.code,
        "exit_at": None if end is None else stamp(end.at),
        "exit_asked": None if end is None else end.asked,
        "grace_us": container.grace // _MICROSECOND,
        "strategy": None if container.strategy is None else container.strategy.value,
        "order": container.order,
        "enabled": container.enabled,
        "restart_policy": container.restart_policy,
        "auto_remove": container.auto_remove,
        "warnings": compact(container.warnings),
        "since": stamp_if(container.since),
    }


def container_of(row: Row) -> Container:
    return Container(
        key=key_of(row),
        name=row["name"],
        claims=frozenset(json.loads(row["claims"])),
        running=bool(row["running"]),
        run=row["run"],
        exit=_exit_of(row),
        grace=row["grace_us"] * _MICROSECOND,
        strategy=None if row["strategy"] is None else Strategy(row["strategy"]),
        order=row["order"],
        enabled=bool(row["enabled"]),
        restart_policy=row["restart_policy"],
        auto_remove=bool(row["auto_remove"]),
        warnings=tuple(json.loads(row["warnings"])),
        chips=frozenset(ChipId(c) for c in json.loads(row["chips"])),
        since=moment_if(row["since"]),
    )


def _exit_of(row: Row) -> Exit | None:
    if row["exit_at"] is None:
        return None
    asked = row["exit_asked"]
    return Exit(row["exit_code"], moment(row["exit_at"]), None if asked is None else bool(asked))


def hold_row(hold: Hold) -> dict[str, Any]:
    return {
        **key_row(hold.key),
        "name": hold.name,
        "chips": compact(sorted(hold.chips)),
        "episode": hold.episode,
        "since": stamp(hold.since),
        "state": hold.state.value,
        "run": hold.run,
        "died": hold.died,
        "order": hold.order,
        "grace_us": hold.grace // _MICROSECOND,
        "restart_policy": hold.restart_policy,
        "disarmed": hold.disarmed,
        "failed": hold.failed,
        "tries": hold.tries,
        "retry_at": stamp_if(hold.retry_at),
        "error": hold.error,
        "cause": hold.cause.value,
    }


def hold_of(row: Row) -> Hold:
    return Hold(
        key=key_of(row),
        name=row["name"],
        chips=frozenset(ChipId(c) for c in json.loads(row["chips"])),
        episode=row["episode"],
        since=moment(row["since"]),
        state=HoldState(row["state"]),
        run=row["run"],
        died=bool(row["died"]),
        order=row["order"],
        grace=row["grace_us"] * _MICROSECOND,
        restart_policy=row["restart_policy"],
        disarmed=bool(row["disarmed"]),
        failed=bool(row["failed"]),
        tries=row["tries"],
        retry_at=moment_if(row["retry_at"]),
        error=row["error"],
        cause=Cause(row["cause"]),
    )


def fault_row(fault: Fault) -> dict[str, Any]:
    return {
        "chip": fault.chip,
        "code": fault.code,
        "module": fault.module,
        "since": stamp(fault.since),
        "level": fault.level.name,
        "risen": stamp(fault.risen),
        "changed": stamp(fault.changed),
        "severity": None if fault.severity is None else fault.severity.name,
        "count": fault.count,
        "momentary": fault.momentary,
        "cleared": stamp_if(fault.cleared),
    }


def fault_of(row: Row) -> Fault:
    return Fault(
        chip=ChipId(row["chip"]),
        code=FaultCode(row["code"]),
        module=row["module"],
        level=Level[row["level"]],
        since=moment(row["since"]),
        risen=moment(row["risen"]),
        changed=moment(row["changed"]),
        severity=None if row["severity"] is None else Severity[row["severity"]],
        count=row["count"],
        momentary=bool(row["momentary"]),
        cleared=moment_if(row["cleared"]),
    )


def isolation_row(isolation: Isolation) -> dict[str, Any]:
    return {
        "chip": isolation.chip,
        "since": stamp(isolation.since),
        "by": isolation.by,
        "reason": isolation.reason,
        "code": isolation.code,
        "clean_since": stamp_if(isolation.clean_since),
    }


def isolation_of(row: Row) -> Isolation:
    return Isolation(
        chip=ChipId(row["chip"]),
        since=moment(row["since"]),
        by=row["by"],
        reason=row["reason"],
        code=None if row["code"] is None else FaultCode(row["code"]),
        clean_since=moment_if(row["clean_since"]),
    )
