"""What the showing commands say, as lines: pure functions of the JSON that the views give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cmgr.cli import texts_rules
from cmgr.cli.reading import Row, counts, health, labels, rows, service, tells, to_type, troubles
from cmgr.cli.text import render
from cmgr.cli.text.render import Face


@dataclass(frozen=True, slots=True)
class Page:
    """How wide a text may be and how its times are shown."""

    face: Face
    width: int = render.WIDTH


def headline(status: Row, width: int) -> str:
    """Return the whole picture in one line: that all is well, or as much of what is wrong as there is room for."""
    found = troubles(status)
    if not found:
        well = "nothing is wrong, in maintenance" if service(status).get("maintenance") else "all is well"
        return f"{well}: {counts(status)}"
    line = f"not well: {found[0]}"
    for n, trouble in enumerate(found[1:], start=1):
        more = f"; and {len(found) - n} more"
        room = width if n == len(found) - 1 else width - len(more)
        if len(line) + 2 + len(trouble) > room:
            return line + more
        line += f"; {trouble}"
    return line


def screen(told: Row, page: Page, height: int) -> list[str]:
    """Return `status` in so many lines of a terminal: if need be without the containers that run well, else cut."""
    lines = status(told, page)
    if _height(lines, page.width) > height:
        lines = status(told, page, brief=True)
    if _height(lines, page.width) <= height:
        return lines
    left = len(lines)
    while lines and _height(lines, page.width) >= height:
        lines.pop()
    return [*lines, f"… {render.counted(left - len(lines), 'more line')}: cmgr status"]


def _height(lines: Sequence[str], width: int) -> int:
    return sum(max(1, -(-len(line) // width)) for line in lines)


def status(told: Row, page: Page, *, brief: bool = False) -> list[str]:
    """Return what stands below the headline; in brief without the containers of which there is nothing to say."""
    parts = [_service(told, page), _rings(told, page), _containers(told, page, brief), _bad_chips(told, page)]
    lines = [part for line in to_type(told) for part in render.paragraph(f"  {line}", page.width, indent="    ")]
    parts.append(["what to do:", *lines] if lines else [])
    return [line for part in parts if part for line in ["", *part]][1:]


def _service(told: Row, page: Page) -> list[str]:
    own = service(told)
    words = [str(own.get("state"))]
    if own.get("since"):
        words.append(f"since {page.face.when(own['since'])}")
    if own.get("pid"):
        words.append(f"pid {own['pid']}")
    if own.get("driver"):
        words.append(f"driver {own['driver']}")
    runtimes = own.get("runtimes")
    if isinstance(runtimes, list):
        words.append(f"runtimes {' '.join(map(str, runtimes)) or 'none'}")
    if own.get("strategy"):
        words.append(f"strategy {own['strategy']}")
    words += ["observe: nothing is done"] * bool(own.get("observe"))
    words += [_maintenance(own, page.face)] * bool(own.get("maintenance"))
    lines = [counts(told)] if troubles(told) else []
    lines.append(f"service: {', '.join(words)}")
    lines += [f"trouble: {trouble}" for trouble in _of_service(told)]
    lines += [f"warning: {w['subject']} {page.face.local(w['text'])}" for w in rows(told, "warnings")]
    return [part for line in lines for part in render.paragraph(line, page.width, indent="  ")]


def _maintenance(own: Row, face: Face) -> str:
    until = f" until {face.when(own['maintenance_until'])}" if own.get("maintenance_until") else ""
    return f"maintenance{until}, by {own.get('maintenance_by')}: nothing is done"


def _of_service(told: Row) -> list[str]:
    """Return what the service itself is troubled by, or what is known of that from the runtimes."""
    found = service(told).get("troubles")
    if isinstance(found, list):
        return [str(trouble) for trouble in found]
    return [f"runtime {r['name']} is down: {r['why_down']}" for r in rows(told, "runtimes") if r["why_down"]]


def _rings(told: Row, page: Page) -> list[str]:
    found = []
    for ring in rows(told, "rings"):
        if not tells(ring):
            continue
        why = f"{page.face.local(ring['reason'])}{_next_step(ring, page.face)}"
        if ring["episode"]:
            where = (str(ring["episode"]), str(ring["phase"]), page.face.when(ring["since"]))
        else:
            where = ("-", "kept back", "-")
        found.append((str(ring["id"]), *where, why))
    return render.table(("RING", "EPISODE", "PHASE", "SINCE", "REASON"), found, page.width) if found else []


def _next_step(ring: Row, face: Face) -> str:
    if not ring["deadline"]:
        return ""
    left = face.ago(ring["deadline"])
    return f"\nnext step {left}" if left.startswith("in ") else "\nnext step is due"


def _containers(told: Row, page: Page, brief: bool) -> list[str]:
    found, named, quiet = [], labels(told), 0
    for place, container in enumerate(rows(told, "containers")):
        warnings = container.get("warnings")
        warned = [f"warning: {w}" for w in warnings] if isinstance(warnings, list) else []
        why = "\n".join(filter(None, [page.face.local(container["reason"]), *warned]))
        chips = render.numbers(container["chips"])
        since = page.face.ago(container["since"]) if container["since"] else ""
        if brief and not why and container["status"] == "running":
            quiet += 1
        else:
            found.append((named[place], str(container["status"]), chips, since, why))
    lines = render.table(("CONTAINER", "STATUS", "CHIPS", "SINCE", "WHY"), found, page.width) if found else []
    return [*lines, f"{render.counted(quiet, 'container')} running, not shown here"] if quiet else lines


def _bad_chips(told: Row, page: Page) -> list[str]:
    bad = [c for c in rows(told, "chips") if not c["healthy"]]
    found = [(str(c["id"]), str(c["ring"]), health(c), str(c["reason"])) for c in bad]
    return render.table(("CHIP", "RING", "HEALTH", "WHY"), found, page.width) if found else []


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
