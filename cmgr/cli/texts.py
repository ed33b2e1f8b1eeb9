"""What the showing commands say, as lines: pure functions of the JSON that the views give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from cmgr.cli import render, texts_rules
from cmgr.cli.render import Face, counted

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Page:
    """How wide a text may be and how its times are shown."""

    face: Face
    width: int = render.WIDTH


def rows(told: Row, key: str) -> list[Row]:
    """Return the list of objects under this key."""
    found = told.get(key)
    return [cast("Row", row) for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def troubles(status: Row) -> list[str]:
    """Return what is wrong, in a few words each; nothing when all is well."""
    service = cast("Row", status.get("service") or {})
    found = []
    state = service.get("state")
    if state == "stopped":
        found.append("the service is not running")
    elif state != "ready":
        found.append(f"the service is {state}")
    found += [f"ring {r['id']} is in an episode ({r['phase']})" for r in rows(status, "rings") if r["episode"]]
    bad = [c for c in rows(status, "chips") if not c["healthy"]]
    found += [f"chip {c['id']} is {'isolated' if c['isolated'] else 'not healthy'}" for c in bad]
    found += [f"container {c['name']} failed" for c in rows(status, "containers") if c["status"] == "failed"]
    found += [f"runtime {r['name']} is down" for r in rows(status, "runtimes") if r["why_down"]]
    return found


def headline(status: Row, width: int) -> str:
    """Return the whole picture in one line: that all is well, or as much of what is wrong as there is room for."""
    found = troubles(status)
    if not found:
        return f"all is well: {_counts(status)}"
    line = f"not well: {found[0]}"
    for n, trouble in enumerate(found[1:], start=1):
        more = f"; and {len(found) - n} more"
        room = width if n == len(found) - 1 else width - len(more)
        if len(line) + 2 + len(trouble) > room:
            return line + more
        line += f"; {trouble}"
    return line


def _counts(status: Row) -> str:
    chips, containers = rows(status, "chips"), rows(status, "containers")
    healthy = sum(bool(c["healthy"]) for c in chips)
    running = sum(c["status"] == "running" for c in containers)
    well = counted(healthy, "chip") if healthy == len(chips) else f"{healthy} of {counted(len(chips), 'chip')}"
    up = counted(running, "container")
    up = up if running == len(containers) else f"{running} of {counted(len(containers), 'container')}"
    return f"{well} healthy, {up} running"


def status(told: Row, page: Page) -> list[str]:
    """Return what stands below the headline."""
    parts = [_service(told, page), _rings(told, page), _containers(told, page), _bad_chips(told, page)]
    parts.append(_to_type(told))
    return [line for part in parts if part for line in ["", *part]][1:]


def _service(told: Row, page: Page) -> list[str]:
    service = cast("Row", told.get("service") or {})
    words = [str(service.get("state"))]
    if service.get("since"):
        words.append(f"since {page.face.when(service['since'])}")
    if service.get("pid"):
        words.append(f"pid {service['pid']}")
    if service.get("driver"):
        words.append(f"driver {service['driver']}")
    runtimes = service.get("runtimes")
    if isinstance(runtimes, list):
        words.append(f"runtimes {' '.join(map(str, runtimes)) or 'none'}")
    if service.get("strategy"):
        words.append(f"strategy {service['strategy']}")
    words += ["observe: nothing is done"] * bool(service.get("observe"))
    words += ["maintenance: nothing is done"] * bool(service.get("maintenance"))
    counts = [_counts(told)] if troubles(told) else []
    lines = [*counts, *render.paragraph(f"service: {', '.join(words)}", page.width, indent="  ")]
    for trouble in _of_service(told):
        lines += render.paragraph(f"trouble: {trouble}", page.width, indent="  ")
    return lines


def _of_service(told: Row) -> list[str]:
    """Return what the service itself is troubled by, or what is known of that from the runtimes."""
    found = cast("Row", told.get("service") or {}).get("troubles")
    if isinstance(found, list):
        return [str(trouble) for trouble in found]
    return [f"runtime {r['name']} is down: {r['why_down']}" for r in rows(told, "runtimes") if r["why_down"]]


def _rings(told: Row, page: Page) -> list[str]:
    found = []
    for ring in rows(told, "rings"):
        if not ring["episode"]:
            continue
        why = f"{ring['reason']}{_next_step(ring, page.face)}"
        found.append((str(ring["id"]), str(ring["episode"]), str(ring["phase"]), page.face.when(ring["since"]), why))
    return render.table(("RING", "EPISODE", "PHASE", "SINCE", "REASON"), found, page.width) if found else []


def _next_step(ring: Row, face: Face) -> str:
    if not ring["deadline"]:
        return ""
    left = face.ago(ring["deadline"])
    return f"\nnext step {left}" if left.startswith("in ") else "\nnext step is due"


def _containers(told: Row, page: Page) -> list[str]:
    found = []
    for container in rows(told, "containers"):
        warnings = container.get("warnings")
        warned = [f"warning: {w}" for w in warnings] if isinstance(warnings, list) else []
        why = "\n".join(filter(None, [str(container["reason"]), *warned]))
        chips = render.numbers(container["chips"])
        since = page.face.ago(container["since"]) if container["since"] else ""
        found.append((label(container), str(container["status"]), chips, since, why))
    return render.table(("CONTAINER", "STATUS", "CHIPS", "SINCE", "WHY"), found, page.width) if found else []


def label(container: Row) -> str:
    """Return the container's name, or the beginning of its id when it has none."""
    return str(container["name"]) or str(container["id"])[:12]


def _bad_chips(told: Row, page: Page) -> list[str]:
    bad = [c for c in rows(told, "chips") if not c["healthy"]]
    found = [(str(c["id"]), str(c["ring"]), health(c), str(c["reason"])) for c in bad]
    return render.table(("CHIP", "RING", "HEALTH", "WHY"), found, page.width) if found else []


def health(chip: Row) -> str:
    return "healthy" if chip["healthy"] else "isolated" if chip["isolated"] else "faulty"


def _to_type(told: Row) -> list[str]:
    found = [f"{label(c)}: {c['hint']}" for c in rows(told, "containers") if c["hint"]]
    service = cast("Row", told.get("service") or {})
    if service.get("state") == "stopped":
        found.insert(0, "the service: systemctl start cmgr")
    return ["what to do:", *(f"  {line}" for line in found)] if found else []


def chips(told: Row, page: Page) -> list[str]:
    """Return one row for each chip."""
    head = ("CHIP", "RING", "MODEL", "HEALTH", "USED BY", "FAULTS AND WHY")
    return render.table(head, [_chip(c) for c in rows(told, "chips")], page.width)


def _chip(chip: Row) -> tuple[str, ...]:
    containers = chip.get("containers")
    used = [str(name) for name in containers] if isinstance(containers, list) else []
    used += [f"pid {p['pid']}" for p in rows(chip, "processes")] if not used else []
    told = [f"{f['code']} {f['level']}" for f in rows(chip, "faults")]
    # A chip's reason is its gravest fault unless it says more than that.
    reason = str(chip["reason"])
    gravest = [f"fault {f['code']} ({f['level']})" for f in rows(chip, "faults")][:1]
    why = [] if [reason] == gravest else [reason]
    shown = used[0] if len(used) == 1 else f"{used[0]} +{len(used) - 1}" if used else "-"
    return (
        str(chip["id"]),
        str(chip["ring"]),
        str(chip["model"]),
        health(chip),
        shown,
        "\n".join(filter(None, [*told, *why])),
    )


def faults(told: Row, page: Page, *, history: bool) -> list[str]:
    """Return one row for each fault; `history` adds when each cleared."""
    found = rows(told, "faults")
    if not found:
        return ["no faults"] if history else ["no active faults"]
    head = ["CHIP", "CODE", "LEVEL", "COUNT", "SINCE", "CLEARED", "MODULE"]
    table = [_fault(f, page.face) for f in found]
    if not history:
        head.remove("CLEARED")
        table = [(*row[:5], row[6]) for row in table]
    return render.table(head, table, page.width)


def _fault(fault: Row, face: Face) -> tuple[str, ...]:
    since, cleared = face.when(fault["since"]), face.clock(fault["cleared"]) if fault["cleared"] else "active"
    module = str(fault["module"]) or "-"
    return str(fault["chip"]), str(fault["code"]), str(fault["level"]), str(fault["count"]), since, cleared, module


def explanation(told: Row, page: Page) -> list[str]:
    """Return what a code means and what is done about it."""
    does = told.get("does")
    steps = [str(step) for step in does] if isinstance(does, Sequence) and not isinstance(does, str) else []
    pairs = [("code", str(told["code"]))]
    pairs += [("meaning", str(told["meaning"]))] if told.get("meaning") else []
    pairs += [("level", str(told["level"] or "by severity")), ("from", str(told["origin"]))]
    lines = [*render.aligned(pairs, page.width), "cmgr", *_bullets(steps, page.width)]
    for head, found in (("rules", texts_rules.rules(told)), ("now", texts_rules.counters(told, page.face))):
        lines += [head, *_bullets(found, page.width)] if found else []
    return lines


def _bullets(steps: Sequence[str], width: int) -> Iterator[str]:
    for step in steps:
        first, *rest = render.wrapped(step, width - 4)
        yield f"  - {first}"
        yield from (f"    {line}" for line in rest)
