"""Advice: sentences about waits that are too long, and commands ready to be typed."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.model.faults.isolation import BOOT
from cmgr.model.holds.obstacles import is_starting
from cmgr.model.lost_shares import lost_share
from cmgr.model.scope import (
    handled_faults,
    holds_on,
    is_spared,
    observing,
    on_ring,
    unclear_users,
    users_listed,
    waiting_order,
)
from cmgr.model.values.chips import ChipId, lost_shares
from cmgr.model.values.holds import Hold, HoldState, one_word
from cmgr.model.values.lookup import kept
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.standing import RebootStage
from cmgr.model.wanted import missing
from cmgr.sentences.hints import Order, order
from cmgr.sentences.sentence import Sentence, because, messages, orders_in, parts, say
from cmgr.words import one_line

if TYPE_CHECKING:
    from cmgr.view import shapes

STOPPING_LONG = timedelta(seconds=30)
RECOVERING_LONG = timedelta(seconds=400)
STARTING_LONG = timedelta(seconds=30)
"""After so long a person is told to look: as long as in the reference."""

DRAINS = {
    "swarm": say("hint.drain-swarm"),
    "kubelet": say("hint.drain-kubelet"),
    "nomad": say("hint.drain-nomad"),
    "balena": say("hint.drain-balena"),
    "gpustack": say("hint.drain-gpustack"),
}
"""How a person takes this machine out of an orchestrator's hands, and gives it back."""

RECOVERING = frozenset({Phase.LISTING, Phase.WAITING, Phase.RESETTING, Phase.VERIFYING})


def called(node: Node, key: ContainerKey) -> str:
    """Return what a command line calls this container: what an order calls it, as one word for a shell."""
    return shlex.quote(meant(node, key))


def meant(node: Node, key: ContainerKey) -> str:
    """Return what an order calls this container: as little as tells it from the others.

    A label can be the name, and what cmgr tells to type no shell may take apart: then it is the id.
    """
    name, namesakes = name_of(node, key), _namesakes(node.containers, node.holds)
    if not one_word(name):
        return key.id[:12]
    if namesakes[(name,)] == 1:
        return name
    if key.namespace and namesakes[name, key.namespace] == 1:
        return one_line(f"{key.namespace}/{name}")
    if namesakes[name, key.namespace, key.runtime] == 1:
        return one_line("/".join(filter(None, (key.runtime, key.namespace, name))))
    return key.id


def titled(node: Node, key: ContainerKey) -> str:
    """Return what a sentence calls this container: its name, or more where others have the same."""
    name = name_of(node, key)
    alone = _namesakes(node.containers, node.holds)[(name,)] == 1
    return called(node, key) if name and not alone else one_line(name) or key.id[:12]


def name_of(node: Node, key: ContainerKey) -> str:
    """Return the name that the container has, or had when it was held; nothing where it has none."""
    return _name(node.containers.get(key), node.holds.get(key))


def _name(container: Container | None, hold: Hold | None) -> str:
    return container.name if container is not None and container.name else hold.name if hold is not None else ""


@kept
def _namesakes(
    containers: Mapping[ContainerKey, Container], holds: Mapping[ContainerKey, Hold]
) -> Counter[tuple[str, ...]]:
    """Return how many have each name, each in one namespace, and each in that of one runtime."""
    named = (
        (_name(containers.get(key), holds.get(key)), key.namespace, key.runtime) for key in {**containers, **holds}
    )
    return Counter(who[:count] for who in named for count in (1, 2, 3))


def named(node: Node, text: str) -> list[ContainerKey]:
    """Return the containers, held or ailing, that a person may mean by this name, qualified name, or part of an id."""
    held = [k for k, h in node.holds.items() if h.is_held_down]
    held += [k for k, h in node.healings.items() if h.ails and k not in node.holds]
    return among(node, held, text)


def forgettable(node: Node, text: str) -> list[ContainerKey]:
    """Return those that `named` finds, or else those that settle, that run and were made in another's place, or that
    ought to run, do not, and are not held.
    """
    found = [k for k, h in node.holds.items() if h.state is HoldState.SETTLING]
    found += [k for k in missing(node) if k not in node.holds]
    found += [k for k, c in node.containers.items() if c.running and c.kept.instead_of and k not in node.holds]
    return named(node, text) or among(node, found, text)


def unheld(node: Node, text: str) -> list[Container]:
    """Return the containers that a person may mean of all that are known, whether or not cmgr has to do with them."""
    return [node.containers[key] for key in among(node, list(node.containers), text)]


def among(node: Node, keys: list[ContainerKey], text: str) -> list[ContainerKey]:
    """Return those of these containers that a person may mean by this name, qualified name, or part of an id."""
    found = [k for k in keys if text in _names(node, k)]
    return found or [k for k in keys if text and k.id.startswith(text)]


def _names(node: Node, key: ContainerKey) -> tuple[str, ...]:
    name = name_of(node, key)
    return (
        name,
        f"{key.namespace}/{name}",
        "/".join(filter(None, (key.runtime, key.namespace, name))),
        f"{key.runtime}/{name}",
    )


def overdue(node: Node, now: datetime) -> "list[shapes.Late]":
    """Return a warning for each thing that takes longer than it should, with what to do about it."""
    found = [_stopping(node, hold, now) for _, hold in sorted(node.holds.items())]
    found += [_recovering(node, ring, now) for _, ring in sorted(node.rings.items())]
    found += [_starting(node, ring, now) for _, ring in sorted(node.rings.items())]
    unread = (container for container in node.containers.values() if container.unread)
    found += [_unread(node, container) for container in sorted(unread, key=lambda container: container.key)]
    return [warning for warning in found if warning is not None]


def _unread(node: Node, container: Container) -> "shapes.Late":
    error = one_line(container.unread)
    if not container.running:
        text = say("late.unread-down", error=error)
    elif container.kept.chips:
        text = say("late.unread", error=error, chips=sorted(container.kept.chips))
    else:
        text = say("late.unread-anywhere", error=error)
    what = say("hint.inspect", command=f"{container.key.runtime} inspect {called(node, container.key)}")
    return _late(say("late.container", name=one_line(container.name)), text, what)


def _stopping(node: Node, hold: Hold, now: datetime) -> "shapes.Late | None":
    known = node.containers.get(hold.key)
    # It may have been held for long, and its present life have begun since.
    length = now - max(hold.since, (known.kept.since if known is not None else None) or hold.since)
    if not hold.is_to_end or observing(node) or length <= max(STOPPING_LONG, 2 * hold.grace):
        return None
    name = one_line(hold.name) or hold.key.id[:12]
    what = say("hint.end-by-hand", runtime=hold.key.runtime, name=name, order=forget(node, hold.key))
    why = one_line(hold.attempt.error) or say("late.no-answer")
    return _late(say("late.container", name=name), say("late.stopping", length=length, why=why), what)


def _recovering(node: Node, ring: Ring, now: datetime) -> "shapes.Late | None":
    length = now - (ring.began or now)
    if ring.phase not in RECOVERING or observing(node) or length <= RECOVERING_LONG:
        return None
    text = say("late.recovering", length=length, why=one_line(ring.reason))
    return _late(say("late.ring", ring=ring.id), text, say("hint.end-the-reason", episode=ring.episode))


def _starting(node: Node, ring: Ring, now: datetime) -> "shapes.Late | None":
    length = now - (ring.since or now)
    holds = holds_on(node, ring)
    settles = any(h.state is HoldState.SETTLING for h in holds) and not any(is_starting(node, h) for h in holds)
    if ring.phase is not Phase.RESUMING or settles or length <= STARTING_LONG:
        return None
    text = say("late.resuming", length=length, why=one_line(ring.reason))
    return _late(say("late.ring", ring=ring.id), text, say("hint.look-at-start", episode=ring.episode))


def _late(subject: Sentence, text: Sentence, what: Sentence) -> "shapes.Late":
    return {"subject": subject, "text": text, "hint": what, **advised(what, subject=subject, text=text)}


def advised(hint: str, **texts: str | Sequence[str]) -> "shapes.Advised":
    """Return what stands in a row beside its hint and its other texts for programs: orders and messages."""
    told: shapes.Advised = {"orders": [{"do": each.do, "args": dict(each.args)} for each in orders_in(hint)]}
    if found := messages(**texts, hint=hint):
        told["messages"] = found
    return told


def forget(node: Node, key: ContainerKey) -> Order:
    return order("forget", container=meant(node, key))


def resume_hint(node: Node, key: ContainerKey) -> Sentence:
    """Return what to do about a container that has failed, or was given up."""
    return say("hint.resume", order=order("resume", container=meant(node, key)))


def isolation_hint(node: Node, chips: list[ChipId]) -> str:
    """Return how these isolated chips come back into use."""
    if not chips:
        return ""
    if all(node.catalog.reboots(node.isolations[chip].code) for chip in chips):
        return reboot_hint(node)
    if all(node.isolations[chip].by == BOOT for chip in chips):
        return say("hint.used-when-up", chips=chips, order=order("reset", chip=chips[0]))
    releases = [order("release", chip=chip) for chip in chips]
    if all(node.isolations[chip].by == "operator" for chip in chips):
        return say("hint.work-done", chips=chips, releases=releases)
    if all(node.isolations[chip].by == "budget" for chip in chips):
        return say("hint.replace-or-restart", chips=chips, reboot=_rebooting(node), releases=releases)
    return say("hint.replace", chips=chips, releases=releases)


def _rebooting(node: Node) -> str:
    """Return the command, and why cmgr does not reboot the machine where it may; not where that is open."""
    known = node.reboot
    if known is None or known.stage not in (RebootStage.WAITING, RebootStage.CALLED_OFF):
        return "systemctl reboot"
    return say("hint.reboot-yourself", why=one_line(known.reason))


def reboot_hint(node: Node) -> Sentence:
    """Return what to do where only a restart of the machine helps."""
    return say("hint.restart-machine", reboot=_rebooting(node), length=node.policy.isolation.release_after)


def share_hint(node: Node, container: Container | None) -> str:
    """Return what to do for a container whose share a reset took; nothing where that is not what it lacks."""
    if (lost := lost_share(node, container)) is None:
        return ""
    chip, share = lost
    if share not in lost_shares(chip):
        there = [one_line(other.id) for other in chip.shares if other.there]
        return say("hint.recreate-for-share", chip=chip.id, there=there)
    made = say("hint.make-share", share=one_line(share.title), chip=chip.id)
    return because(made, one_line(share.by_hand))


def ring_hint(node: Node, ring: Ring) -> str:
    """Return what lets the ring's episode go on, and how an order that waits is taken back.

    Nothing where time lets it go on, or what a container's own hint says.
    """
    found, waits = _of_episode(node, ring), waiting_order(node, ring)
    if waits is None:
        return found
    return parts((found, say("hint.cancel", what=waits.what, order=order("cancel", chip=waits.chip))))


def _of_episode(node: Node, ring: Ring) -> str:
    if idle := idle_hint(node):
        return idle if ring.in_episode else ""
    faults = [fault for fault in handled_faults(node, ring) if not fault.momentary]
    if faults and ring.phase is Phase.HEALTHY and ring.reason and ring.id not in node.restraint.kept:
        return say("hint.reset-before", order=order("reset", chip=faults[0].chip, stop=True))
    if ring.phase is not Phase.WAITING:
        return ""
    if ring.blocked is None:
        return _of_process(node, ring)
    return _hint_of_waiting(node, ring, [f.chip for f in faults])


def letting_go(owner: str) -> Sentence:
    """Return what to type so that this orchestrator starts nothing here while chips are reset."""
    return say("hint.drain", owner=owner, how=DRAINS[owner])


def clearing(known: Iterable[str], names: Iterable[str]) -> Sentence:
    """Return what makes clear which chips these use, who can reach all. `known`: what the settings ignore already."""
    return say("hint.clearing", names=json.dumps([*known, *names]))


def _of_process(node: Node, ring: Ring) -> str:
    """Return what to do about a process on the ring for which it waits."""
    for process, container in (user for chip in ring.chips for user in users_listed(node, chip)):
        if f"process {process.pid} " not in ring.reason:
            continue
        if container is not None:
            return say("hint.stop-to-reset", names=[called(node, container.key)])
        manager, _, instance = process.container.rpartition(":")
        if manager == "lxc":
            return say("hint.stop-lxc", name=shlex.quote(instance))
        if manager == "machine":
            return say("hint.stop-machine", name=shlex.quote(instance))
        if process.owner:
            return letting_go(process.owner)
        name, inside = one_line(process.name) or "?", one_line(process.container)
        if inside:
            return say("hint.end-process-inside", pid=process.pid, name=name, inside=inside)
        return say("hint.end-process", pid=process.pid, name=name)
    return say("hint.of-nobody") if "process " in ring.reason else ""


def _hint_of_waiting(node: Node, ring: Ring, faulty: list[ChipId]) -> str:
    users = [c for c in on_ring(node, ring) if c.running and c.key not in ring.theirs]
    spared = [called(node, c.key) for c in users if not c.enabled or is_spared(node, c)]
    if spared:
        return say("hint.stop-to-reset", names=spared)
    if unclear := unclear_users(node, ring.chips):
        stop = say("hint.stop-to-reset", names=[called(node, c.key) for c in unclear])
        return parts((stop, clearing(node.policy.ignore, [c.name for c in unclear])))
    if not users or not faulty:
        return ""
    reset = order("reset", chip=faulty[0], stop=True)
    return say("hint.stop-too", names=[called(node, c.key) for c in users], order=reset)


def runtime_hint(node: Node, name: str) -> Sentence:
    """Return what to do about a runtime that does not answer: nothing is reset until it does or is known to be gone."""
    if is_doubted(node, name):
        return say("hint.doubted", runtime=name, order=forgetting(name))
    others = ", ".join(f'"{other}"' for other in node.runtimes if other != name)
    look = say("hint.look-at-systemd") if name == SYSTEMD else f"systemctl status {name}"
    if others:
        return say("hint.runtime-or-others", look=look, order=forgetting(name), others=others)
    return say("hint.runtime", look=look, order=forgetting(name))


def is_doubted(node: Node, runtime: str) -> bool:
    """Return whether the runtime answers, and is not believed that nobody of those that ran is there."""
    origin = node.origins.get(runtime)
    return origin is not None and origin.doubted is not None


def unmanaged_hint(node: Node, name: str) -> Sentence:
    """Return what to do about a runtime that is not in the list, and of which something is remembered."""
    named = ", ".join(f'"{each}"' for each in (*node.runtimes, name))
    return say("hint.unmanaged", names=named, order=forgetting(name))


def forgetting(runtime: str) -> Order:
    """Return the order by which a runtime is said to be gone for good."""
    return order("forget", runtime=runtime)


def idle_hint(node: Node) -> str:
    """Return how cmgr is made to act again."""
    if node.maintenance is not None:
        return order("maintenance", on=False)
    if node.policy.observe:
        return say("hint.observe")
    return say("hint.driver-updated") if observing(node) else ""
