"""The lines of the showing commands: pure functions of the documents that the views give."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cmgr.sentences.sentence import CHINESE, ENGLISH, Sentence, because, in_language, parts, say
from cmgr.view.text import render
from cmgr.view.text.columns import columns_of
from cmgr.view.text.reading import beside, counts, health, labels, numbers, tells, to_type, troubles
from cmgr.view.text.render import Face
from cmgr.words import runs

if TYPE_CHECKING:
    from cmgr.view import shapes


NAGIOS = ("OK", "WARNING", "CRITICAL")
NAGIOS_WIDTH = 300
"""Letters of its line before the figures: its kin keep some thousand, and a pager shows fewer."""


class Page(NamedTuple):
    """How wide a text may be, how its times are shown, whether its columns have heads, and by which key of their rows
    containers stand; nothing: by what they need.
    """

    face: Face
    width: int = render.WIDTH
    heads: bool = True
    order: str = ""

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
        """Return the rows in columns. `head`: words of the catalog."""
        lines = render.table([self.face.word(each) for each in head], rows, self.width)
        return lines if self.heads else lines[1:]

    def paragraphs(self, texts: Iterable[str]) -> list[str]:
        """Return sentences in the reader's language, each on lines of its own."""
        return [line for text in texts for line in render.paragraph(self.face.said(text), self.width, "  ")]


def headline(status: "shapes.Status", width: int, language: str = ENGLISH) -> str:
    """Return the whole picture in one line: that all is well, or as much of what is wrong as there is room for."""
    maintained = bool(status["service"]["maintenance"])
    return in_one_line(troubles(status), counts(status), width, maintained=maintained, language=language)


def in_one_line(found: Sequence[str], there_is: str, width: int, *, maintained: bool, language: str = ENGLISH) -> str:
    """Return what is wrong, as much as there is room for; where that is nothing, `there_is`."""

    def said(told: Sentence) -> str:
        return in_language(say("label.maintained", what=told) if maintained else told, language)

    if not found:
        well = say("label.nothing-wrong", there_is=there_is) if maintained else say("label.well", there_is=there_is)
        return said(well)
    line = said(_not_well(found, 1))
    for count in range(2, len(found) + 1):
        longer = said(_not_well(found, count))
        if columns_of(longer) > width:
            break
        line = longer
    return line


def _not_well(found: Sequence[str], count: int) -> Sentence:
    shown, more = found[:count], len(found) - count
    return say("label.not-well-and-more", troubles=shown, more=more) if more else say("label.not-well", troubles=shown)


def picture(told: "shapes.Status", page: Page, whole: "shapes.Status | None" = None) -> list[str]:
    """Return the headline and what stands below it. `whole`: the picture of which `told` has some rows."""
    return [headline(whole or told, page.width, page.face.language), *status(told, page, whole=whole)]


def nagios(status: "shapes.Status") -> tuple[str, int]:
    """Return the whole picture as a plugin of Nagios tells it, with figures for graphs, and its code."""
    found = {trouble["severity"] for trouble in status["troubles"]}
    code = 2 if "critical" in found else 1 if found else 0
    healthy, chips, running, containers = numbers(status)
    figures = f"chips={chips} healthy={healthy};;;0;{chips} containers={containers} running={running};;;0;{containers}"
    words = headline(status, NAGIOS_WIDTH).replace("|", "/")
    return f"CMGR {NAGIOS[code]} - {words} | {figures} troubles={len(status['troubles'])}", code


def screen(told: "shapes.Status", page: Page, height: int) -> list[str]:
    """Return `status` in so many lines of a terminal: if need be without the containers that run well, else cut."""
    lines = status(told, page)
    if _height(lines, page.width) > height:
        lines = status(told, page, brief=True)
    return cut(lines, page, height, "cmgr status")


def cut(lines: list[str], page: Page, height: int, command: str) -> list[str]:
    """Return as many of the lines as fit, and where that is not all, the command that shows the rest."""
    kept = list(lines)
    if _height(kept, page.width) <= height:
        return kept
    while kept and _height(kept, page.width) >= height:
        kept.pop()
    return [*kept, page.face.says("label.more-lines", count=len(lines) - len(kept), command=command)]


def _height(lines: Sequence[str], width: int) -> int:
    return sum(max(1, -(-columns_of(line) // width)) for line in lines)


def status(
    told: "shapes.Status", page: Page, *, brief: bool = False, whole: "shapes.Status | None" = None
) -> list[str]:
    """Return what stands below the headline; in brief without the containers of which there is nothing to say, and
    with what to do before all else: whatever is cut off, that is not.
    """
    face = page.face
    lines = [part for line in to_type(told) for part in render.paragraph(f"  {face.said(line)}", page.width, "    ")]
    to_do = [face.says("label.what-to-do"), *lines] if lines else []
    shown = [_service(whole or told, page), _rings(told, page), _containers(told, page, brief), _bad_chips(told, page)]
    shown = [to_do, *shown] if brief else [*shown, to_do]
    # No line is broken: they are copied into a shell.
    made = [trouble for trouble in told["troubles"] if "lines" in trouble and not brief]
    shown += [[face.says("label.to-make-it-again", what=each["text"]), *each["lines"]] for each in made]
    return [line for part in shown if part for line in ["", *part]][1:]


def _service(told: "shapes.Status", page: Page) -> list[str]:
    own, face = told["service"], page.face
    words = [say("label.word", word=own["state"])]
    words += [say("label.since", when=face.when(own["since"]))] if own["since"] else []
    words += [say("label.pid", pid=own["pid"])] if own["pid"] else []
    words += [say("label.driver", name=own["driver"])]
    words += [say("label.runtimes", names=" ".join(own["runtimes"]) or say("label.none"))]
    words += [say("label.strategy", name=own["strategy"]), *[say("label.observe")] * own["observe"]]
    words += [_maintenance(own, face)] * own["maintenance"]
    lines = [counts(told)] if troubles(told) else []
    lines.append(say("label.service", words=words))
    lines += [_window(window, face) for window in told["windows"]]
    lines += [say("label.drill", name=d["name"], when=face.when(d["next"])) for d in told["drills"] if d["next"]]
    lines += _downtime(told.get("downtime"))
    lines += [say("label.trouble-is", what=trouble) for trouble in beside(told)]
    lines += [say("label.warning", text=f"{w['subject']} {face.local(w['text'])}") for w in told["warnings"]]
    return page.paragraphs(lines)


def _downtime(told: "shapes.Quarter | None") -> list[Sentence]:
    """Return how long services were down, once that is worth a line; an older service does not say it."""
    if told is None or max(told["minutes"], told["unseen_minutes"]) < 1:
        return []
    minutes, recovered = f"{told['minutes']:,.0f}", f"{told['recovery_minutes']:,.0f}"
    number = say("label.minutes-ended", minutes=minutes, recovered=recovered)
    if told["unseen_minutes"]:
        number = say("label.minutes-unseen", number=number, unseen=f"{told['unseen_minutes']:,.0f}")
    return [say("label.downtime-is", quarter=told["quarter"], number=number)]


def _window(told: "shapes.Window", face: Face) -> Sentence:
    state = say("label.window-is-open") if told["open"] else say("label.window-is-closed")
    if told["until"]:
        return say("label.window-until", name=told["name"], state=state, until=face.when(told["until"]))
    return say("label.window", name=told["name"], state=state)


def _maintenance(own: "shapes.Service", face: Face) -> Sentence:
    by = own["maintenance_by"] or ""
    if own["maintenance_until"]:
        return say("label.maintenance-until", until=face.when(own["maintenance_until"]), by=by)
    return say("label.maintenance-by", by=by)


def _rings(told: "shapes.Status", page: Page) -> list[str]:
    found = []
    for ring in told["rings"]:
        if not tells(ring):
            continue
        why = "\n".join(filter(None, [page.face.local(ring["reason"]), _next_step(ring, page.face)]))
        if ring["episode"]:
            where = (str(ring["episode"]), page.face.word(ring["phase"]), page.face.when(ring["since"]))
        else:
            kept = told["restraint"] is not None and ring["id"] in told["restraint"]["rings"]
            where = ("-", page.face.word("kept back" if kept else "waits"), "-")
        found.append((str(ring["id"]), *where, why))
    return page.table(("RING", "EPISODE", "PHASE", "SINCE", "REASON"), found) if found else []


def _next_step(ring: "shapes.Ring", face: Face) -> str:
    if not ring["deadline"]:
        return ""
    if face.is_ahead(ring["deadline"]):
        return face.says("label.next-step", ahead=face.ago(ring["deadline"]))
    return face.says("label.next-step-is-due")


_BY_NEED = ("failed", "down", "paused", "pausing", "resuming", "settling", "running")
"""The statuses of containers, from those that need somebody most to those that need nobody."""


def _place(container: "shapes.Container", order: str) -> tuple[object, ...]:
    """Return what the rows are sorted by: this key, or what the container needs."""
    if order:
        return in_order(container, order)
    return _BY_NEED.index(container["status"]), not container["reason"]


def in_order(row: Mapping[str, object], key: str) -> tuple[bool, Any]:
    """Return what rows are sorted by that have this key; those stand last that know nothing of it."""
    return row[key] is None, row[key]


def _containers(told: "shapes.Status", page: Page, brief: bool) -> list[str]:
    found, quiet, face = [], 0, page.face
    named = list(zip(labels(told), told["containers"], strict=True))
    for name, container in sorted(named, key=lambda each: _place(each[1], page.order)):
        warned = [face.says("label.warning", text=w) for w in container["warnings"]]
        why = "\n".join(filter(None, [face.local(container["reason"]), *warned]))
        chips = runs(container["chips"])
        since = face.ago(container["since"]) if container["since"] else ""
        if brief and not why and container["status"] == "running":
            quiet += 1
        else:
            found.append((name, face.word(container["status"]), chips, since, why))
    lines = page.table(("CONTAINER", "STATUS", "CHIPS", "SINCE", "WHY"), found) if found else []
    return [*lines, face.says("label.not-shown", count=quiet)] if quiet else lines


def _bad_chips(told: "shapes.Status", page: Page) -> list[str]:
    bad = [c for c in told["chips"] if not c["healthy"]]
    found = [(str(c["id"]), str(c["ring"]), page.face.word(health(c)), c["reason"]) for c in bad]
    return page.table(("CHIP", "RING", "HEALTH", "WHY"), found) if found else []


def chips(told: "shapes.Chips", page: Page) -> list[str]:
    """Return one row for each chip, and one for each share of those that are divided."""
    named = any(chip["tool_name"] for chip in told["chips"])
    head = ("CHIP", *(["CALLED"] if named else []), "RING", "MODEL", "HEALTH", "USED BY", "FAULTS AND WHY")
    lines = page.table(head, [_chip(c, page.face, named=named) for c in told["chips"]])
    shares = [_share(chip["id"], share, page.face) for chip in told["chips"] for share in chip["shares"]]
    if shares:
        lines += ["", *page.table(("CHIP", "SHARE", "TEMPLATE", "USED BY", "WHY"), shares)]
    return lines


def _share(chip: int, share: "shapes.Share", face: Face) -> tuple[str, ...]:
    lost = "" if share["there"] else because(say("label.share-lost"), share["why"])
    how = say("label.to-make-it", hint=share["hint"]) if share["hint"] else ""
    why = "\n".join(face.said(each) for each in (lost, how) if each)
    return (str(chip), share["id"], share["template"] or "-", ", ".join(share["containers"]) or "-", why)


def _chip(chip: "shapes.Chip", face: Face, *, named: bool) -> tuple[str, ...]:
    used = chip["containers"] or [face.says("label.pid", pid=p["pid"]) for p in chip["processes"]]
    told = [f"{f['code']} {_word(f)}" for f in chip["faults"]]
    # A chip's reason is its gravest fault unless it says more than that.
    gravest = [face.says("trouble.unfit-fault", code=f["code"], level=f["level"]) for f in chip["faults"]][:1]
    why = [] if [chip["reason"]] == gravest or chip["healthy"] else [chip["reason"]]
    shown = used[0] if len(used) == 1 else f"{used[0]} +{len(used) - 1}" if used else "-"
    return (
        str(chip["id"]),
        *([chip["tool_name"]] if named else []),
        str(chip["ring"]),
        chip["model"],
        face.word(health(chip)),
        shown,
        "\n".join(filter(None, [*told, *why])),
    )


def faults(told: "shapes.Faults", page: Page, *, history: bool) -> list[str]:
    """Return one row for each fault; `history` adds when each cleared."""
    rows = told["machine"]
    machine = page.table(_OF_MACHINE, [_machine_fault(row, page.face) for row in rows]) if rows else []
    if not told["faults"]:
        return machine or [page.face.says("label.no-faults") if history else page.face.says("label.no-active-faults")]
    head = ["CHIP", "CODE", "LEVEL", "COUNT", "SINCE", "CLEARED", "MODULE"]
    table = [_fault(alike, page.face) for alike in _causes(told["faults"])]
    if not history:
        head.remove("CLEARED")
        table = [(*row[:5], row[6]) for row in table]
    return [*page.table(head, table), *([""] if machine else []), *machine]


_OF_MACHINE = ("PART", "CODE", "LEVEL", "COUNT", "SINCE", "WHAT")


def _machine_fault(row: "shapes.MachineFault", face: Face) -> tuple[str, ...]:
    part = row["part"] or "-"
    return part, row["code"], row["handling"], str(row["count"]), face.when(row["since"]), row["text"]


def _causes(faults: "Sequence[shapes.ChipFault]") -> "list[list[shapes.ChipFault]]":
    """Return the faults row by row: those of the network that many chips have at once, and a report of several."""
    found: dict[tuple[str, ...], list[shapes.ChipFault]] = {}
    for n, fault in enumerate(faults):
        shared = {"network": "", "reported": fault["module"]}.get(fault["fault_class"])
        alone = shared is None or fault["cleared"]
        found.setdefault((str(n),) if alone else (fault["code"], _word(fault), str(shared)), []).append(fault)
    return list(found.values())


def _fault(alike: "list[shapes.ChipFault]", face: Face) -> tuple[str, ...]:
    first = min(alike, key=lambda fault: fault["since"])
    since = face.when(first["since"])
    cleared = face.clock(first["cleared"]) if first["cleared"] else face.word("active")
    chips, count = runs([fault["chip"] for fault in alike]), str(sum(fault["count"] for fault in alike))
    modules = {fault["module"] for fault in alike}
    return chips, first["code"], _word(first), count, since, cleared, modules.pop() if len(modules) == 1 else "-"


def _word(fault: "shapes.Fault") -> str:
    """Return what the fault asks for; where a rule has added that nothing new comes, its own level first."""
    kept_free = fault["handling"] in ("PreSeparateNPU", "SubHealthFault")
    return fault["handling"] if kept_free and fault["level"] == "NotHandleFault" else fault["level"]


def explanation(told: "shapes.Explanation", page: Page) -> list[str]:
    """Return what a code means and what is done about it; its meaning and advice in Chinese where that is wished."""
    face, meaning, advice = page.face, told["meaning"], told["advice"]
    if face.language == CHINESE and told["meaning_zh"]:
        meaning, advice = told["meaning_zh"], told["advice_zh"]
    pairs = [("code", told["code"]), ("meaning", meaning), ("advice", advice)]
    pairs += [("level", told["handling"] or face.word("by severity")), ("from", told["origin"])]
    pairs += [("class", told["fault_class"])] if told["fault_class"] != "chip" else []
    lines = render.aligned([(face.word(name), text) for name, text in pairs if text], page.width)
    lines += ["cmgr", *_bullets(told["does"], page.width)]
    rules = [f"{row['kind']}: {row['text']}" for row in told["rules"]]
    for head, found in (("rules", rules), ("now", [_counter(row, face) for row in told["chips"]])):
        lines += [face.word(head), *_bullets(found, page.width)] if found else []
    return lines


def _bullets(steps: Sequence[str], width: int) -> Iterator[str]:
    for step in steps:
        first, *rest = render.wrapped(step, width - 4)
        yield f"  - {first}"
        yield from (f"    {line}" for line in rest)


def _counter(row: "shapes.Counter", face: Face) -> str:
    """Return a sentence about a chip that has the fault or counts it."""
    told = [say("label.has-it", level=row["level"] or "-") if row["active"] else say("label.has-it-not")]
    if row["times"] is not None and not any(r["kind"] == "FaultFrequency" for r in row["raised"]):
        count, times = row["counted"], row["times"]
        if row["first"]:
            told.append(say("label.counted-since", count=count, times=times, since=face.when(row["first"])))
        else:
            told.append(say("label.counted", count=count, times=times))
    told += [_raise(r, face) for r in row["raised"]]
    return face.said(because(say("label.chip", chip=row["chip"]), parts(told)))


def _raise(row: "shapes.Raised", face: Face) -> Sentence:
    if row["manual"]:
        ends = say("label.until-ended")
    elif row["ends"]:
        ends = say("label.until", when=face.when(row["ends"]))
    else:
        ends = say("label.while-it-lasts")
    since, reason = face.when(row["since"]), row["reason"]
    return say("label.raised", level=row["handling"], since=since, reason=reason, kind=row["kind"], ends=ends)
