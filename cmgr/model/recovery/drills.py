"""Drills: recoveries that are practised at times of the calendar, on rings where nothing is wrong.

A drill orders a reset as a person would, or has a chip pretend a fault. It is a recovery like any other. The
time of a drill is stored with what it begins: one that is cut short by a restart of cmgr is not begun again.
"""

from collections.abc import Iterator

from cmgr.frozen import replace
from cmgr.model import scope
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered, tells_of_users
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.handling.calendar import DRILLS, Drill, Exercise, Occasion, Opening
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages.commands import NoteKind, PretendFault
from cmgr.model.values.messages.facts import FaultPretended
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring, resets_within
from cmgr.model.values.services.containers import Container
from cmgr.model.values.standing import ResetOrder
from cmgr.sentences.sentence import say


def begin_drills(turn: Turn) -> None:
    """Begin each drill whose time has come, or say why it is left out."""
    _tell_of_those_cut_off(turn)
    for drill in turn.node.policy.drills:
        opening = turn.node.calendar.get(drill.occasion)
        known = turn.node.occasions.get(drill.occasion)
        if opening is None or opening.wall is None or not _is_due(turn, opening):
            continue
        if known is not None and known.due == opening.wall:
            continue
        chips = _chips(turn.node, drill)
        # It is not known yet who runs there: this is asked again while its time lasts.
        if any(r.listed is None and not r.why_down for r in tells_of_users(turn.node)) or _unread(turn, chips):
            continue
        occasion = Occasion(drill.occasion, opening.wall)
        why = next(_against(turn, drill, chips), "")
        if why:
            turn.note(NoteKind.WARNING, say("drill.left-out", name=drill.name, why=why))
        else:
            rings = frozenset(ring.id for ring in turn.rings_of(frozenset(chips)))
            occasion = replace(occasion, rings=rings, in_this_life=True)
            _begin(turn, drill, chips)
        _put(turn, occasion)


def _tell_of_those_cut_off(turn: Turn) -> None:
    """Let go of drills of an earlier life, which ended before the fault was there: another's episode is not theirs."""
    for occasion in list(turn.node.occasions.values()):
        if occasion.in_this_life:
            continue
        for ring in [turn.ring(id_) for id_ in occasion.rings if id_ in turn.node.rings]:
            begun = ring.in_episode or ring.id in turn.node.reset_orders or scope.handled_faults(turn.node, ring)
            if ring.read is not None and not begun:
                name = occasion.name.removeprefix(DRILLS)
                text = say("drill.left-out", name=name, why=say("drill.ended-before"))
                turn.note(NoteKind.WARNING, text, ring)
                occasion = replace(occasion, rings=occasion.rings - {ring.id})
                _put(turn, occasion)


def _is_due(turn: Turn, opening: Opening) -> bool:
    return opening.open and (opening.until is None or turn.at < opening.until)


def _put(turn: Turn, occasion: Occasion) -> None:
    turn.node = replace(turn.node, occasions={**turn.node.occasions, occasion.name: occasion})


def _chips(node: Node, drill: Drill) -> list[ChipId]:
    used = [
        c.kept.chips for c in node.containers.values() if drill.container and c.name == drill.container and c.running
    ]
    return sorted({*(ChipId(chip) for chip in drill.chips), *(chip for chips in used for chip in chips)})


def _unread(turn: Turn, chips: list[ChipId]) -> bool:
    return any(ring.read is None for ring in turn.rings_of(frozenset(chips)))


def _against(turn: Turn, drill: Drill, chips: list[ChipId]) -> Iterator[str]:
    """Yield what speaks against it: it practises, and nothing may get worse by that."""
    node = turn.node
    if scope.observing(node):
        yield scope.why_idle(node)
    if missing := [chip for chip in chips if chip not in node.chips]:
        yield say("drill.chips-not-there", chips=missing)
    if not chips:
        yield say("drill.nobody-runs", name=drill.container)
    if node.restraint.kept:
        yield say("drill.kept-back")
    for state in tells_of_users(node):
        if state.why_down:
            yield say("drill.unreachable", runtime=state.name, why=state.why_down)
    for ring in turn.rings_of(frozenset(chips)):
        yield from _trouble(turn, ring)
    if drill.what is Exercise.FAULT:
        yield from _incurable(node, drill)


def _trouble(turn: Turn, ring: Ring) -> Iterator[str]:
    node = turn.node
    if ring.in_episode or ring.id in node.reset_orders:
        yield say("drill.in-episode", ring=ring.id)
    for chip in ring.chips:
        report = node.reports.get(chip)
        if chip in node.isolations:
            yield say("drill.chip-isolated", chip=chip)
        if chip in node.down or report is None or report.error or not report.booted or report.unwell:
            yield say("drill.chip-not-well", chip=chip)
        codes = (fault.code for fault in scope.grave_faults(node, chip))
        yield from (say("drill.chip-has-fault", chip=chip, code=code) for code in codes)
    yield from (say("drill.held", name=hold.name) for hold in scope.holds_on(node, ring))
    yield from (
        why
        for c in (*scope.on_ring(node, ring), *scope.unclear_users(node, ring.chips))
        if (why := _unstoppable(node, c))
    )
    policy = node.policy.reset
    if len(resets_within(ring, turn.at, policy.window)) + 1 >= policy.attempts:
        yield say("drill.last-reset", ring=ring.id)


def _unstoppable(node: Node, container: Container) -> str:
    if is_covered(node, container):
        return ""  # Its unit is asked instead.
    if container.kept.wanted and not container.running:
        return say("drill.container-down", name=container.name)
    if container.running and container.owner:
        return say("drill.owner-starts", owner=container.owner, name=container.name)
    spared = container.unclear or not container.enabled or (container.auto_remove and container.strategy is None)
    if container.running and (spared or scope.strategy_of(node, container) is Strategy.NEVER):
        return say("drill.not-stopped", name=container.name)
    return ""


def _incurable(node: Node, drill: Drill) -> Iterator[str]:
    code = normal_code(drill.code)
    if code is None:
        yield say("drill.no-code", code=drill.code)
        return
    level = node.catalog.judge(code, None).handling.level
    policy, windows = node.policy.levels[level], node.policy.window_of(level)
    if policy.observe or not (level.handled and policy.stop and policy.reset):
        yield say("drill.would-stay", code=code, level=level.name)
    elif policy.spares:
        yield say("drill.waits-until-free", code=code, level=level.name, setting=f"levels.{level.name}.reset")
    elif windows and not (windows in node.calendar and node.calendar[windows].open):
        yield say("drill.waits-for-window", code=code, level=level.name, window=windows)


def _begin(turn: Turn, drill: Drill, chips: list[ChipId]) -> None:
    who = say("drill.who", name=drill.name)
    begun: set[RingId] = set()
    for chip in chips:
        ring = turn.ring_of(chip)
        if ring is None or ring.id in begun:
            continue
        begun.add(ring.id)
        if drill.what is Exercise.RESET:
            turn.note(NoteKind.ACTION, say("drill.resets", name=drill.name, chip=chip), ring, chip=chip)
            turn.put_order(ResetOrder(ring.id, chip, turn.at, who, stop=True))
        else:
            text = say("drill.simulates", name=drill.name, chip=chip, code=drill.code)
            turn.note(NoteKind.ACTION, text, ring, chip=chip)
            turn.commands.append(PretendFault(turn.command_id("fault"), who, chip, drill.code, drill.name))


def fault_pretended(turn: Turn, fact: FaultPretended) -> None:
    """Take in the answer: a drill that cannot be held is over."""
    occasion, ring = turn.node.occasions.get(f"{DRILLS}{fact.drill}"), turn.ring_of(fact.chip)
    if not fact.error or occasion is None or ring is None:
        return
    turn.note(NoteKind.WARNING, say("drill.left-out", name=fact.drill, why=fact.error), ring, chip=fact.chip)
    _put(turn, replace(occasion, rings=occasion.rings - {ring.id}))


def report_drills(turn: Turn, ring: Ring, outcome: str) -> None:
    """Say how the drill has ended that the ring's episode was for, in that episode."""
    for occasion in list(turn.node.occasions.values()):
        if ring.id in occasion.rings:
            name = occasion.name.removeprefix(DRILLS)
            kind = NoteKind.RESULT if outcome == "recovered" else NoteKind.WARNING
            turn.note(kind, say("drill.over", name=name, outcome=outcome), ring)
            _put(turn, replace(occasion, rings=occasion.rings - {ring.id}))
