"""Everything that is wrong now, as one list: what `cmgr status` begins with, what its exit code, the metrics and the
alarms go by. "All is well" is said when it is empty, and only then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.model.holds.restarters import is_fought_for
from cmgr.model.holds.tries import has_failed
from cmgr.model.recovery.reboots import cured_by_reboot
from cmgr.model.scope import (
    all_unclear,
    grave_faults,
    handled_faults,
    hang_of,
    holds_on,
    is_spared,
    on_ring,
    over_for,
    pre_isolating,
    unclear_users,
    users_listed,
)
from cmgr.model.successors import successor
from cmgr.model.units import unit_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultClass, FaultCode
from cmgr.model.values.holds import HoldState
from cmgr.model.values.lookup import kept
from cmgr.model.values.node import Node, unmanaged
from cmgr.model.values.rings import REBOOTING, Phase, Ring
from cmgr.model.values.services.containers import Container, ContainerKey, full_name
from cmgr.model.values.services.healing import Healing, ailment, worded
from cmgr.model.values.troubles import OF_A_SERVICE_DOWN, OF_SERVICE, Trouble, TroubleKind
from cmgr.model.wanted import idle, why_not_serving
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import because, parts, say
from cmgr.view.advice import (
    advised,
    clearing,
    forget,
    is_doubted,
    isolation_hint,
    reboot_hint,
    resume_hint,
    ring_hint,
    runtime_hint,
    titled,
    unmanaged_hint,
)
from cmgr.view.containers import SPARED, Down, down, started_again, stop_the_owner, to_rejoin
from cmgr.view.groups import troubles as of_groups
from cmgr.view.heals import hurried
from cmgr.view.heals import troubles as of_checks
from cmgr.view.machine import troubles as of_machine
from cmgr.view.presence import engine_troubles
from cmgr.view.slots import troubles as of_slots
from cmgr.words import one_line, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes

_REFUSED_FOR_LONG = timedelta(minutes=10)
"""How long the driver may refuse to begin a reset before a person is told: none of that counts, or isolates."""


def troubles(node: Node, own: Iterable[Trouble] = ()) -> list[Trouble]:
    """Return what is wrong, the worst first. `own`: what is wrong with the service beside the node."""
    return sorted([*own, *_of(node)], key=lambda trouble: trouble.kind.rank)


def once(found: Iterable[Trouble]) -> list[Trouble]:
    """Return them as they are shown: of several that say of one container that it does not serve, the worst."""
    shown, down = list[Trouble](), set[str]()
    for trouble in found:
        if trouble.kind in OF_A_SERVICE_DOWN:
            if trouble.about in down:
                continue
            down.add(trouble.about)
        shown.append(trouble)
    return shown


@kept
def _of(node: Node) -> Sequence[Trouble]:
    return (
        *(trouble for _, trouble in sorted(node.troubles.items())),
        *_kept_back(node),
        *(found for _, ring in sorted(node.rings.items()) for found in _ring(node, ring)),
        *_chips(node),
        *_pre_isolated(node),
        *_slow(node),
        *of_machine(node),
        *of_groups(node),
        *of_slots(node),
        *_failed(node),
        *_ailing(node),
        *_hanging(node),
        *of_checks(node),
        *_down(node),
        *_idle(node),
        *_runtimes(node),
        *engine_troubles(node),
    )


def row(trouble: Trouble) -> "shapes.Trouble":
    """Return the trouble as programs read it."""
    what: str = trouble.hint
    if trouble.stays:
        what = parts((what, say("hint.acknowledge", order=order("acknowledge", trouble=trouble.id))))
    told: shapes.Trouble = {
        "id": trouble.id,
        "kind": str(trouble.kind),
        "about": one_line(trouble.about),
        "severity": str(trouble.kind.severity),
        "since": stamp_or_none(trouble.since),
        "text": one_line(trouble.text),
        "why": one_line(trouble.why),
        "hint": what,
        **advised(what, text=trouble.text, why=trouble.why),  # type: ignore[typeddict-item]  # `lines` come later.
        "stays": trouble.stays,
    }
    if trouble.lines:
        told["lines"] = [*map(one_line, trouble.lines)]
    return told


def in_few_words(found: "Sequence[shapes.Trouble]") -> list[str]:
    """Return these in a few words each; of many that are down one line says enough, at the place of the first."""
    down = sum(t["kind"] == "down" for t in found)
    many = say("label.many-down", count=down)
    return list(dict.fromkeys(many if t["kind"] == "down" and down > 1 else t["text"] for t in found))


def of_service(found: Iterable[Trouble]) -> list[str]:
    """Return, a sentence each, those that keep the service itself from working as it should."""
    return [one_line(trouble.words) for trouble in found if trouble.kind in OF_SERVICE]


def unheard(node: Node) -> list[str]:
    """Return who has told nothing yet in this life, but for those that are known not to answer.

    Until then the books are those of an earlier life: what is down now may stand there as running.
    """
    runtimes = [name for name, state in sorted(node.runtimes.items()) if state.listed is None and not state.why_down]
    engine = node.engine
    runtimes += [say("trouble.engine")] if engine.name and not engine.up and not engine.why_down else []
    chips = sorted(set(node.chips) - set(node.reports))
    return [*runtimes, *([say("ring.chips", chips=chips)] if chips else [])]


def not_ready(state: str, node: Node) -> Iterator[Trouble]:
    """Yield that the service does not serve, or does not know enough yet, if its state or the books say that."""
    if state == "stopped":
        yield Trouble(TroubleKind.SERVICE, "", say("trouble.stopped"), hint=say("hint.start-service"))
    elif state not in ("ready", "degraded", "hangs", "not to be reached"):  # Whoever has found these two says so.
        text, silent = say("trouble.not-ready", state=state), unheard(node)
        if silent:
            text = say("word.because", what=text, why=say("trouble.unheard", who=silent))
        yield Trouble(TroubleKind.SERVICE, "", text)


def unfit(node: Node, chip: ChipId) -> str:
    """Return why the chip is no good; nothing where nothing known speaks against it.

    A runtime that was not asked yet in this life is judged by what is stored.
    """
    isolation, report = node.isolations.get(chip), node.reports.get(chip)
    if isolation is not None:
        return one_line(isolation.reason) or say("trouble.unfit-isolated")
    if report is not None and report.error:
        return say("word.because", what=say("trouble.unfit-silent"), why=one_line(report.error))
    if report is not None and not report.booted:
        boots = say("trouble.unfit-not-booted")
        return because(boots, one_line(report.unwell))
    if report is not None and report.unwell:
        return one_line(report.unwell)
    grave = grave_faults(node, chip)
    return say("trouble.unfit-fault", code=grave[0].code, level=grave[0].level.name) if grave else ""


def _kept_back(node: Node) -> Iterator[Trouble]:
    kept = node.restraint.kept
    if kept:
        text, why = say("trouble.kept-back", count=len(kept)), node.restraint.reason
        what = say("hint.let-begin", order=order("resume", all=True))
        chips = tuple(chip for ring in sorted(kept) if ring in node.rings for chip in node.rings[ring].chips)
        yield Trouble(TroubleKind.KEPT_BACK, "", text, why, what, node.restraint.since, chips=chips)


def _ring(node: Node, ring: Ring) -> Iterator[Trouble]:
    if ring.in_episode:
        faults = handled_faults(node, ring)
        yield Trouble(
            TroubleKind.EPISODE, str(ring.episode), say("trouble.episode", ring=ring.id, phase=ring.phase),
            ring.reason, since=ring.began, ring=ring.id, episode=ring.episode, chips=ring.chips,
            codes=tuple(dict.fromkeys(f.code for f in faults)), containers=tuple(h.name for h in holds_on(node, ring)),
        )  # fmt: skip
    yield from _in_the_way(node, ring)
    yield from _ignored_on(node, ring)
    yield from _unclear(node, ring)
    if _refused_for_long(node, ring):
        text = say("trouble.refused", ring=ring.id)
        why = say("trouble.refused-times", count=ring.refusals, reason=ring.reason)
        yield Trouble(
            TroubleKind.REFUSED, f"ring {ring.id}", text, why, say("hint.goes-on-asking"), ring.refused, ring=ring.id,
            episode=ring.episode, chips=ring.chips, containers=tuple(h.name for h in holds_on(node, ring)),
        )  # fmt: skip
    if ring.widened:
        names = tuple(h.name for h in holds_on(node, ring))
        yield Trouble(
            TroubleKind.WIDENED, f"ring {ring.id}", say("trouble.widened", ring=ring.id),
            say("trouble.widened-because"), say("hint.keep-waiting"),
            ring=ring.id, episode=ring.episode, chips=ring.chips, containers=names,
        )  # fmt: skip
    yield from hurried(node, ring)
    if ring.silent is not None and ring.phase not in REBOOTING:
        errors = [
            say("trouble.silent-chip", chip=c, error=node.reports[c].error)
            for c in ring.chips
            if c in node.reports and node.reports[c].error
        ]
        text, why = say("trouble.silent", ring=ring.id), next(iter(errors), say("trouble.silent-some"))
        yield Trouble(
            TroubleKind.SILENT, f"ring {ring.id}", text, why, "cmgr check", ring.silent, ring=ring.id, chips=ring.chips
        )


def _refused_for_long(node: Node, ring: Ring) -> bool:
    """Return whether the driver has begun no reset for so long, by its last answer, which brought it to this phase."""
    if ring.refused is None or ring.since is None or ring.phase not in (Phase.WAITING, Phase.RESETTING):
        return False
    return ring.since - ring.refused >= _REFUSED_FOR_LONG


def _in_the_way(node: Node, ring: Ring) -> Iterator[Trouble]:
    """Yield the containers for which a ring waits until a person does something about them."""
    blocked, hint = (TroubleKind.BLOCKED, ring_hint(node, ring)) if ring.blocked is not None else (None, "")
    for container in [*on_ring(node, ring), *unclear_users(node, ring.chips)] if ring.in_episode else ():
        kind, why, what = blocked, SPARED, hint
        if container.running and container.key in ring.theirs and is_fought_for(ring, container):
            kind, why, what = TroubleKind.OWNER, started_again(container), stop_the_owner(container)
        elif container.unclear:
            why = say("container.unclear-user")
        elif not container.running or not is_spared(node, container):
            continue
        if kind is not None:
            text = say("trouble.in-the-way", name=titled(node, container.key), ring=ring.id)
            yield Trouble(
                kind, "/".join(container.key), text, why, what, since=ring.blocked, ring=ring.id,
                chips=tuple(sorted(container.kept.chips)), containers=(container.name,),
            )  # fmt: skip


def _ignored_on(node: Node, ring: Ring) -> Iterator[Trouble]:
    """Yield the containers that are ignored and whose processes a ring waits for: nothing is reset under a process."""
    found = {
        container.key: (container, say("trouble.ignored", pid=process.pid, chip=chip))
        for chip in (ring.chips if ring.phase is Phase.WAITING else ())
        for process, container in users_listed(node, chip)
        if container is not None and container.ignored
    }
    for key, (container, why) in sorted(found.items()):
        text, what = say("trouble.in-the-way", name=titled(node, key), ring=ring.id), ring_hint(node, ring)
        yield Trouble(
            TroubleKind.BLOCKED, "/".join(key), text, why, what, since=ring.since, ring=ring.id,
            chips=ring.chips, containers=(container.name,),
        )  # fmt: skip


def _unclear(node: Node, ring: Ring) -> Iterator[Trouble]:
    """Yield the containers that may be on the ring in an episode, for all that their definitions say."""
    if not ring.in_episode or unclear_users(node, ring.chips):
        return  # Where those are in the way that is told.
    for container in all_unclear(node.containers):
        text = say("trouble.unclear", name=titled(node, container.key))
        what = clearing(node.policy.ignore, [container.name])
        yield Trouble(
            TroubleKind.UNCLEAR, f"{'/'.join(container.key)}/ring {ring.id}", text, say("trouble.unclear-passed"), what,
            ring.began, ring=ring.id, containers=(container.name,),
        )  # fmt: skip


def _chips(node: Node) -> Iterator[Trouble]:
    cured = cured_by_reboot(node)
    yield from _reboot(node, cured)
    yield from _missing(node)
    for chip in sorted({*node.chips, *node.isolations} - cured.keys() - node.missing.keys()):
        if why := unfit(node, chip):
            yield _chip(node, chip, why)


def _reboot(node: Node, cured: Mapping[ChipId, FaultCode]) -> Iterator[Trouble]:
    """Yield each such fault: once, however many chips have it, for its cause is mostly one."""
    for code in sorted(set(cured.values())):
        chips = tuple(chip for chip in cured if cured[chip] == code)
        since = min((node.isolations[chip].since for chip in chips if chip in node.isolations), default=None)
        text = say("trouble.reboot", chips=chips)
        verdict = node.catalog.judge(code, None)
        why = say("word.because", what=code, why=one_line(verdict.words)) if verdict.meaning else code
        yield Trouble(TroubleKind.REBOOT, code, text, why, reboot_hint(node), since, chips=chips, codes=(code,))


def _missing(node: Node) -> Iterator[Trouble]:
    for id_, lost in sorted(node.missing.items()):
        isolation = node.isolations.get(id_)
        isolated = say("trouble.missing-isolated", reason=one_line(isolation.reason)) if isolation is not None else ""
        slots = (say("trouble.missing-slot", slot=name) for name, s in sorted(node.slots.items()) if id_ in s.chips)
        kept = say("trouble.missing-kept", chip=id_) if id_ != lost.number else ""
        why = parts((say("trouble.missing-listed"), isolated, *slots, kept))
        what = say("hint.missing", order=order("forget", chip=id_))
        about = lost.chip.piece or f"chip {lost.number}"
        yield Trouble(
            TroubleKind.MISSING, about, say("trouble.missing", title=one_line(lost.title)), why, what, lost.since,
            chips=(id_,),
        )  # fmt: skip


def _chip(node: Node, chip: ChipId, why: str) -> Trouble:
    about, known, isolation = f"chip {chip}", node.chips.get(chip), node.isolations.get(chip)
    ring = known.ring if known is not None else None
    if isolation is None:
        return Trouble(TroubleKind.UNHEALTHY, about, say("trouble.unhealthy", chip=chip), why, ring=ring, chips=(chip,))
    codes, what = (isolation.code,) if isolation.code else (), isolation_hint(node, [chip])
    return Trouble(
        TroubleKind.ISOLATED, about, say("trouble.isolated", chip=chip), why, what, isolation.since, ring=ring,
        chips=(chip,), codes=codes,
    )  # fmt: skip


def _pre_isolated(node: Node) -> Iterator[Trouble]:
    """Yield each fault that keeps new work away: once, however many chips have it, for its cause is mostly one."""
    chips: dict[FaultCode, list[ChipId]] = {}
    since: dict[FaultCode, datetime] = {}
    for chip in sorted(node.chips):
        for code, began in pre_isolating(node, chip).items():
            if node.catalog.class_of(code) is FaultClass.MACHINE:
                continue  # It is told once, of the machine.
            chips.setdefault(code, []).append(chip)
            since[code] = min(since.get(code, began), began)
    for code, found in sorted(chips.items()):
        over = {chip: words for chip in found if (words := over_for(node, chip, code))}
        still, why = [chip for chip in found if chip not in over], pre_isolated_words(node, code)
        if over:
            why = parts((why, say("trouble.over-on", chips=[*over], over=next(iter(over.values())))))
        kind, text = TroubleKind.PRE_ISOLATED, say("trouble.pre-isolated", code=code, chips=found)
        what = f"cmgr explain {code}" if still else say("hint.wait-for-work")
        if node.catalog.class_of(code) is FaultClass.NETWORK:
            kind, text = TroubleKind.NETWORK, say("trouble.link-up", chips=found)
            if still:
                text, what = say("trouble.network", code=code, chips=still), _link_hint(still)
        yield Trouble(kind, code, text, why, what, since[code], chips=tuple(found), codes=(code,))


def pre_isolated_words(node: Node, code: FaultCode) -> str:
    """Return in words what the fault is, and what follows for the chip."""
    return parts((one_line(node.catalog.judge(code, None).words), say("trouble.nothing-new")))


def _link_hint(chips: list[ChipId]) -> str:
    return say("hint.look-at-switch", chips=chips) if len(chips) > 1 else say("hint.look-at-cable", chips=chips)


def _failed(node: Node) -> Iterator[Trouble]:
    for key, hold in sorted(node.holds.items()):
        if has_failed(node, hold):
            text, what = say("trouble.failed", name=titled(node, key)), resume_hint(node, key)
            tries, why = hold.attempt.tries, hold.attempt.error
            if tries:
                failed = say("trouble.starts-failed", count=tries)
                why = because(failed, why)
            yield Trouble(
                TroubleKind.FAILED, "/".join(key), text, why, what, chips=tuple(sorted(hold.chips)),
                containers=(hold.name,),
            )  # fmt: skip
        elif hold.state is HoldState.RETURNING and hold.attempt.error:
            text = say("trouble.policy", name=titled(node, key), policy=hold.restart_policy)
            what = say("hint.policy")
            yield Trouble(TroubleKind.POLICY, "/".join(key), text, hold.attempt.error, what, containers=(hold.name,))


def _ailing(node: Node) -> Iterator[Trouble]:
    for key, healing in sorted(node.healings.items()):
        container, hold = node.containers.get(key), node.holds.get(key)
        if not healing.ails or container is None:
            continue
        if hold.state is HoldState.FAILED if hold is not None else not container.running:
            continue
        ill = ailment(container, Healing(key), hangs=hang_of(node, container) is not None)
        text = say("trouble.ails", name=titled(node, key), how=worded(ill) or say("trouble.to-be-restarted"))
        about, chips, names = "/".join(key), tuple(sorted(container.kept.chips)), (container.name,)
        if healing.given_up is None:
            yield Trouble(TroubleKind.AILING, about, text, since=healing.since, chips=chips, containers=names)
            continue
        why, what = say("trouble.given-up"), resume_hint(node, key)
        yield Trouble(
            TroubleKind.GIVEN_UP, about, text, why, what, healing.given_up, chips=chips, containers=names,
        )  # fmt: skip


def _slow(node: Node) -> Iterator[Trouble]:
    for chip, lag in sorted(node.stragglers.items()):
        names = tuple(sorted(c.name for c in node.containers.values() if c.running and chip in c.kept.chips))
        text = say("trouble.slow", chip=chip)
        what = say("hint.slow")
        yield Trouble(
            TroubleKind.SLOW, f"chip {chip}", text, lag.words, what, lag.since, chips=(chip,), containers=names
        )


def _hanging(node: Node) -> Iterator[Trouble]:
    for key in sorted(node.hangs.keys() & node.containers.keys()):
        container = node.containers[key]
        hang, unit = hang_of(node, container), unit_of(node, container)
        healing = node.healings.get(unit.key if unit is not None else key)
        if hang is not None and hang.key == key and not (healing is not None and healing.ails):
            text, about = say("trouble.hangs", name=titled(node, key)), "/".join(key)
            what = say("hint.hangs")
            yield Trouble(
                TroubleKind.HANGING, about, text, hang.words, what, hang.since,
                chips=tuple(sorted(container.kept.chips)), containers=(container.name,),
            )  # fmt: skip


def _down(node: Node) -> Iterator[Trouble]:
    left: dict[ContainerKey, list[Down]] = {}
    for each in down(node):
        if (hold := node.holds.get(each.key)) is not None and (taker := successor(node, hold)) is not None:
            left.setdefault(taker.key, []).append(each)
            continue
        about, text = "/".join(each.key), say("trouble.down", name=titled(node, each.key))
        yield Trouble(
            TroubleKind.DOWN, about, text, each.reason, each.hint, each.since, chips=each.chips,
            containers=(each.name,),
        )  # fmt: skip

    for key, those in sorted(left.items()):
        yield _superseded(node, key, sorted(those, key=lambda each: (str(each.since), each.name)))


def _superseded(node: Node, taker: ContainerKey, those: Sequence[Down]) -> Trouble:
    """Return that these are not started, for one was made in their place: a client may have made a dozen."""
    name, names = titled(node, taker), [titled(node, each.key) for each in those]
    text = say("trouble.superseded", names=names)
    why = say("trouble.superseded-by", name=name, names=names)
    what = say("hint.superseded", name=name, names=names, forgets=[forget(node, each.key) for each in those])
    return Trouble(
        TroubleKind.DOWN, f"before {'/'.join(taker)}", text, why, what,
        min((each.since for each in those if each.since is not None), default=None),
        chips=tuple(sorted({chip for each in those for chip in each.chips})),
        containers=tuple(each.name for each in those),
    )  # fmt: skip


def _idle(node: Node) -> Iterator[Trouble]:
    for key in idle(node):
        container = node.containers[key]
        told = (healing := node.healings.get(key)) is not None and healing.ails and not container.frozen
        lost = (TroubleKind.LOST, full_name(key, container.name)) in node.troubles
        if not told and not lost:
            text, what = say("trouble.idle", name=titled(node, key)), _to_serve(container)
            left = min((container.kept.lost[chip] for chip in container.kept.barred), default=None)
            since = container.kept.unsteady or container.kept.paused or left or container.kept.mute
            yield Trouble(
                TroubleKind.IDLE, "/".join(key), text, why_not_serving(container), what, since,
                chips=tuple(sorted(container.kept.chips)), containers=(container.name,),
            )  # fmt: skip


def _to_serve(container: Container) -> str:
    if container.frozen:
        return say("hint.go-on")
    return say("hint.give-back") if container.kept.barred else to_rejoin(container) or say("hint.look-at-it")


def _runtimes(node: Node) -> Iterator[Trouble]:
    for name, state in sorted(node.runtimes.items()):
        if state.why_down:
            text = say("trouble.unreachable", runtime=name)
            if is_doubted(node, name):
                text = say("trouble.lists-nobody", runtime=name)
            what = runtime_hint(node, name)
            yield Trouble(TroubleKind.RUNTIME, name, text, state.why_down, what)
    for name, wanted in unmanaged(node).items():
        why = say("trouble.unmanaged-because", names=[one_line(c.name) for c in wanted])
        what = unmanaged_hint(node, name)
        text = say("trouble.unmanaged", runtime=name)
        yield Trouble(TroubleKind.RUNTIME, name, text, why, what)
