"""Advice: sentences about waits that are too long, and commands ready to be typed."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
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
from cmgr.model.values.chips import ChipId, listed, lost_shares
from cmgr.model.values.holds import Hold, HoldState, one_word
from cmgr.model.values.lookup import kept
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.standing import RebootStage
from cmgr.model.wanted import missing
from cmgr.sentences.hints import NO_HINT, Hint, Order, hint, order
from cmgr.words import one_line, span

if TYPE_CHECKING:
    from cmgr.view import shapes

STOPPING_LONG = timedelta(seconds=30)
RECOVERING_LONG = timedelta(seconds=400)
STARTING_LONG = timedelta(seconds=30)
"""After so long a person is told to look: as long as in the reference."""

STOPS = {"lxc": "incus stop {0}, or lxc-stop -n {0}", "machine": "machinectl poweroff {0}"}
"""How a person stops an instance that is no container of a runtime."""

DRAINS = {
    "swarm": "on a manager: docker node update --availability drain {0}; afterwards: --availability active",
    "kubelet": "kubectl drain {0} --ignore-daemonsets; afterwards: kubectl uncordon {0}",
    "nomad": "nomad node drain -enable -self; afterwards: nomad node drain -disable -self",
    "balena": "balena device stop-service UUID SERVICE; afterwards: balena device start-service UUID SERVICE",
    "gpustack": "on its page, Deployments: Replicas 0; afterwards: as many as before",
}
"""How a person takes this machine out of an orchestrator's hands, and gives it back."""

OF_NOBODY = "it is asked again by itself; ps -fp PID shows what the process is, and fuser -v who has the device open"

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
    found += [k for k, c in node.containers.items() if c.running and c.instead_of and k not in node.holds]
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
    found += [_unread(node, container) for _, container in sorted(node.containers.items())]
    return [warning for warning in found if warning is not None]


def _unread(node: Node, container: Container) -> "shapes.Late | None":
    if not container.unread:
        return None
    name = called(node, container.key)
    chips = listed(container.chips) if container.chips else "chips that nobody knows"
    counts = f"as running on {chips}" if container.running else "as down, for its runtime lists it so"
    free = "" if container.running and container.chips else ", and no reset waits for it"
    return {
        "subject": f"container {one_line(container.name)}",
        "text": f"cannot be read: {one_line(container.unread)}; it counts {counts}{free}",
        "hint": f"look what it hangs in, and end it by hand: {container.key.runtime} inspect {name}",
        "orders": [],
    }


def _stopping(node: Node, hold: Hold, now: datetime) -> "shapes.Late | None":
    known = node.containers.get(hold.key)
    # It may have been held for long, and its present life have begun since.
    length = now - max(hold.since, (known.since if known is not None else None) or hold.since)
    if not hold.is_to_end or observing(node) or length <= max(STOPPING_LONG, 2 * hold.grace):
        return None
    name = one_line(hold.name) or hold.key.id[:12]
    look = f"look whether {hold.key.runtime} works and what {name} hangs in, end it by hand, or: "
    what, why = hint(look, forget(node, hold.key)), one_line(hold.attempt.error) or "its runtime has not answered"
    return {
        "subject": f"container {name}",
        "text": f"has been stopping for {span(length)}: {why}",
        "hint": str(what),
        "orders": rows(what.orders),
    }


def _recovering(node: Node, ring: Ring, now: datetime) -> "shapes.Late | None":
    length = now - (ring.began or now)
    if ring.phase not in RECOVERING or observing(node) or length <= RECOVERING_LONG:
        return None
    return {
        "subject": f"ring {ring.id}",
        "text": f"has been in its episode for {span(length)} and is not reset or well yet: {one_line(ring.reason)}",
        "hint": f"end what the reason names; or take the faulty chip out of use: cmgr isolate CHIP --reason WHY; "
        f"every step: cmgr history {ring.episode}",
        "orders": [],
    }


def _starting(node: Node, ring: Ring, now: datetime) -> "shapes.Late | None":
    length = now - (ring.since or now)
    holds = holds_on(node, ring)
    settles = any(h.state is HoldState.SETTLING for h in holds) and not any(is_starting(node, h) for h in holds)
    if ring.phase is not Phase.RESUMING or settles or length <= STARTING_LONG:
        return None
    return {
        "subject": f"ring {ring.id}",
        "text": f"has been resuming for {span(length)}: {one_line(ring.reason)}",
        "hint": f"look whether the runtime works and why the container does not start: cmgr history {ring.episode}",
        "orders": [],
    }


def rows(orders: Iterable[Order]) -> "list[shapes.Order]":
    """Return the orders as programs read them."""
    return [{"do": each.do, "args": dict(each.args)} for each in orders]


def forget(node: Node, key: ContainerKey) -> Order:
    return order("forget", container=meant(node, key))


def resume_hint(node: Node, key: ContainerKey) -> Hint:
    """Return what to do about a container that has failed, or was given up."""
    return hint("fix the cause, then type: ", order("resume", container=meant(node, key)))


def isolation_hint(node: Node, chips: list[ChipId]) -> Hint:
    """Return how these isolated chips come back into use."""
    if not chips:
        return NO_HINT
    if all(node.catalog.reboots(node.isolations[chip].code) for chip in chips):
        return reboot_hint(node)
    if all(node.isolations[chip].by == BOOT for chip in chips):
        return hint(f"{listed(chips)} is used as soon as it is up; if it stays down: ", order("reset", chip=chips[0]))
    # As a list in a sentence has it: a comma between each two.
    releases = [part for chip in chips for part in (", ", order("release", chip=chip))][1:]
    if all(node.isolations[chip].by == "operator" for chip in chips):
        return hint(f"when the work on {listed(chips)} is done, type: ", *releases)
    if all(node.isolations[chip].by == "budget" for chip in chips):
        instead = f"or restart the machine (systemctl reboot{_not_by_cmgr(node)})"
        return hint(f"replace or repair {listed(chips)}, {instead}, then type: ", *releases)
    return hint(f"replace or repair {listed(chips)}, then type: ", *releases)


def _not_by_cmgr(node: Node) -> str:
    """Return, to follow the command, why cmgr does not reboot the machine where it may; nothing where that is open."""
    known = node.reboot
    silent = known is None or known.stage not in (RebootStage.WAITING, RebootStage.CALLED_OFF)
    return "" if silent or known is None else f"; cmgr does not: {one_line(known.reason)}"


def reboot_hint(node: Node) -> Hint:
    """Return what to do where only a restart of the machine helps."""
    well = span(node.policy.isolation.release_after)
    then = f"chips are used again when they have been well for {well} after it"
    return hint(f"restart the machine (systemctl reboot{_not_by_cmgr(node)}); {then}")


def share_hint(node: Node, container: Container | None) -> Hint:
    """Return what to do for a container whose share a reset took; nothing where that is not what it lacks."""
    if (lost := lost_share(node, container)) is None:
        return NO_HINT
    chip, share = lost
    if share not in lost_shares(chip):
        there = ", ".join(one_line(other.id) for other in chip.shares if other.there)
        return hint(f"recreate the container: chip {chip.id} has {there} now")
    how = f": {one_line(share.by_hand)}" if share.by_hand else ""
    return hint(f"make {one_line(share.title)} of chip {chip.id} again, and it starts by itself{how}")


def ring_hint(node: Node, ring: Ring) -> Hint:
    """Return what lets the ring's episode go on, and how an order that waits is taken back.

    Nothing where time lets it go on, or what a container's own hint says.
    """
    found, waits = _of_episode(node, ring), waiting_order(node, ring)
    if waits is None:
        return found
    back = order("cancel", chip=waits.chip)
    return hint(*found.parts, *["; "] * bool(found), f"to take the ordered {waits.what} back: ", back)


def _of_episode(node: Node, ring: Ring) -> Hint:
    if idle := idle_hint(node):
        return idle if ring.in_episode else NO_HINT
    faults = [fault for fault in handled_faults(node, ring) if not fault.momentary]
    if faults and ring.phase is Phase.HEALTHY and ring.reason and ring.id not in node.restraint.kept:
        reset = order("reset", chip=faults[0].chip, stop=True)
        return hint("to stop the containers of the ring and have it reset before that: ", reset)
    if ring.phase is not Phase.WAITING:
        return NO_HINT
    if ring.blocked is None:
        return _of_process(node, ring)
    return _hint_of_waiting(node, ring, [f.chip for f in faults])


def letting_go(owner: str) -> str:
    """Return what to type so that this orchestrator starts nothing here while chips are reset."""
    return f"have {owner} leave this machine alone: {DRAINS[owner].format('$(hostname)')}"


def clearing(known: Iterable[str], names: Iterable[str]) -> str:
    """Return what makes clear which chips these use, who can reach all. `known`: what the settings ignore already."""
    line = f"[containers] ignore = {json.dumps([*known, *names])}"
    return f"give it the chips that it uses; or, where it uses none: {line}, then cmgr reload"


def _of_process(node: Node, ring: Ring) -> Hint:
    """Return what to do about a process on the ring for which it waits."""
    for process, container in (user for chip in ring.chips for user in users_listed(node, chip)):
        if f"process {process.pid} " not in ring.reason:
            continue
        if container is not None:
            return hint(f"to have it reset, stop {called(node, container.key)} yourself")
        manager, _, instance = process.container.rpartition(":")
        if manager in STOPS:
            return hint(f"to have it reset, stop its instance yourself: {STOPS[manager].format(shlex.quote(instance))}")
        if process.owner:
            return hint(letting_go(process.owner))
        inside = f", in a container that cmgr does not know: {one_line(process.container)}" if process.container else ""
        name = one_line(process.name) or "?"
        return hint(f"to have it reset, end process {process.pid} ({name}) yourself{inside}")
    return hint(OF_NOBODY) if "process " in ring.reason else NO_HINT


def _hint_of_waiting(node: Node, ring: Ring, faulty: list[ChipId]) -> Hint:
    users = [c for c in on_ring(node, ring) if c.running and c.key not in ring.theirs]
    spared = [called(node, c.key) for c in users if not c.enabled or is_spared(node, c)]
    if spared:
        return hint(f"to have it reset, stop {', '.join(spared)} yourself")
    if unclear := unclear_users(node, ring.chips):
        who = ", ".join(called(node, c.key) for c in unclear)
        clear = clearing(node.policy.ignore, [c.name for c in unclear])
        return hint(f"to have it reset, stop {who} yourself; {clear}")
    if not users or not faulty:
        return NO_HINT
    names = ", ".join(called(node, c.key) for c in users)
    reset = order("reset", chip=faulty[0], stop=True)
    return hint(f"to stop {names} too, and start it all again after the reset: ", reset)


def runtime_hint(node: Node, name: str) -> Hint:
    """Return what to do about a runtime that does not answer: nothing is reset until it does or is known to be gone."""
    if is_doubted(node, name):
        look = f"see that its disk is mounted and that the right engine answers, and restart {name}; nothing is reset "
        return hint(look + "before that; if they are gone for good: ", forgetting(name))
    others = ", ".join(f'"{other}"' for other in node.runtimes if other != name)
    named = f", or name the others: runtimes = [{others}]" if others else ""
    look = "systemctl is-system-running, and systemd.bus in the configuration"
    look = f"{look if name == SYSTEMD else f'systemctl status {name}'}; nothing is reset without it; "
    return hint(f"{look}if it is gone for good: ", forgetting(name), named)


def is_doubted(node: Node, runtime: str) -> bool:
    """Return whether the runtime answers, and is not believed that nobody of those that ran is there."""
    origin = node.origins.get(runtime)
    return origin is not None and origin.doubted is not None


def unmanaged_hint(node: Node, name: str) -> Hint:
    """Return what to do about a runtime that is not in the list, and of which something is remembered."""
    named = ", ".join(f'"{each}"' for each in (*node.runtimes, name))
    return hint(f"runtimes = [{named}], and systemctl restart cmgr; if it is gone for good: ", forgetting(name))


def forgetting(runtime: str) -> Order:
    """Return the order by which a runtime is said to be gone for good."""
    return order("forget", runtime=runtime)


def idle_hint(node: Node) -> Hint:
    """Return how cmgr is made to act again."""
    if node.maintenance is not None:
        return hint(order("maintenance", on=False))
    if node.policy.observe:
        return hint("set observe = false, then type: cmgr reload")
    replaced = "restart the machine, or load the driver's new modules once nobody uses a chip"
    return hint(replaced) if observing(node) else NO_HINT
