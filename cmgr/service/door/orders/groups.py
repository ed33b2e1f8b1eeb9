"""Orders of a person that are about groups. Each is checked here, so that a refusal says why and what to do."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass
from cmgr.model.containers.together.groups import can_start
from cmgr.model.scope import blocks_its_group, is_coupled, members_of, why_idle
from cmgr.model.values.fleet import unheard
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages.facts import GroupRestartOrdered, GroupResumeOrdered, Ordered
from cmgr.model.values.node import Node
from cmgr.model.values.services.groups import GroupPhase
from cmgr.sentences.sentence import say
from cmgr.service.door import previews
from cmgr.service.door.orders.declared import Wish, order
from cmgr.service.door.routes import Arg, Request, flag_of
from cmgr.view.advice import called, idle_hint
from cmgr.view.groups import names

if TYPE_CHECKING:
    from cmgr.view import group_shapes

LONGEST_REASON = 200
GROUP = Arg("group", "string", "The group's name.", required=True)


@dataclass(frozen=True, slots=True)
class GroupOrders:
    """Any thread; each raises `CmgrError`. `give` returns when the order is in force; `who` names who asks."""

    node: Callable[[], Node]
    give: Callable[[Ordered], None]
    who: Callable[[Request], str]

    @order(
        "group-restart", "Stop all members of a group, and start them together.",
        GROUP, Arg("reason", "string", "Why; a line."),
    )  # fmt: skip
    def restart(self, request: Request) -> "Wish[group_shapes.GroupRestarted]":
        name = there(request, self.node(), "restart")
        why = request.args.get("reason") or ""
        if not isinstance(why, str) or len(why) > LONGEST_REASON or not why.isprintable():
            raise BadRequest(say("error.restart-reason", most=LONGEST_REASON))
        self._acts("restart", name)
        found = [c for c in members_of(self.node(), name) if is_coupled(self.node(), c) and not blocks_its_group(c)]
        if not found:
            raise CmgrError(_cannot("restart", name, say("error.must-stop-none")), hint="cmgr group")
        run = [called(self.node(), c.key) for c in found if c.running]
        down = [called(self.node(), c.key) for c in found if not c.running]
        yield previews.group_restart(run, down), GroupRestartOrdered(name, self.who(request), why.strip())
        group = self.node().groups.get(name)
        told = [called(self.node(), container.key) for container in found]
        number = group.round if group is not None else 0
        did = [say("order.round-begins", group=name, round=number, names=told)]
        return {"group": name, "round": number, "containers": told, "did": [*did]}

    @order("group-cancel", "Take back the restart of a group that waits.", GROUP)
    def cancel(self, request: Request) -> "Wish[group_shapes.GroupResumed]":
        node, name = self.node(), there(request, self.node(), "cancel")
        group = node.groups.get(name)
        if group is None or not group.can_be_taken_back:
            known = node.fleet_groups.get(name)
            of_all = known is not None and known.in_round
            hint = say("error.to-start-members-here", group=name) if of_all else f"cmgr group {name}"
            raise CmgrError(say("error.no-restart-waits", group=name), hint=hint)
        down = [h for h in self._held(name) if h.cause is Cause.GROUP and h.state is not HoldState.TO_STOP]
        told = sorted(called(node, hold.key) for hold in down if hold.key not in group.taken)
        yield (
            previews.group_cancel(group.ordered, told, sorted(called(node, key) for key in group.taken)),
            GroupRestartOrdered(name, self.who(request), back=True),
        )
        did = [say("order.started-again-soon", names=told)] if told else []
        return {"group": name, "waiting": told, "did": [say("order.restart-taken-back", group=name), *did]}

    @order(
        "group-resume", "Start what can be started of a group, without the rest.", GROUP,
        Arg("alone", "boolean", "Where it spans appliances: without waiting for the others."),
        Arg("without", "string", "Or: without these appliances, by name: b,c."),
    )  # fmt: skip
    def resume(self, request: Request) -> "Wish[group_shapes.GroupResumed]":
        name = there(request, self.node(), "resume")
        self._acts("resume", name)
        alone, without = flag_of(request, "alone"), self._without(request, name)
        held = self._held(name)
        if without:
            yield previews.group_without(sorted(without)), GroupResumeOrdered(name, self.who(request), without=without)
            did = say("order.others-go-on", group=name, names=str(request.args["without"]))
            return {"group": name, "waiting": [], "did": [did]}
        if not held:
            raise CmgrError(_cannot("resume", name, say("error.no-member-held")), hint=f"cmgr group {name}")
        self._may_resume(name, held)
        ready = sorted(called(self.node(), h.key) for h in held if can_start(self.node(), h))
        rest = sorted({called(self.node(), h.key) for h in held if h.is_down} - {*ready})
        yield previews.group_resume(ready, rest), GroupResumeOrdered(name, self.who(request), alone=alone)
        group = self.node().groups.get(name)
        out = group.out if group is not None else frozenset()
        left = sorted(called(self.node(), key) for key in out if key in self.node().holds)
        soon = [say("order.started-soon", names=left)] if left else []
        return {"group": name, "waiting": left, "did": [say("order.what-can-is-started", group=name), *soon]}

    def _without(self, request: Request, name: str) -> frozenset[str]:
        """Return the appliances that are to be left out. Raises `BadRequest`, `CmgrError`."""
        told = request.args.get("without") or ""
        if not isinstance(told, str):
            raise BadRequest(say("error.without-names", name="without"))
        without = frozenset(filter(None, (part.strip() for part in told.split(","))))
        if not without:
            return without
        if flag_of(request, "alone"):
            raise BadRequest(say("error.alone-or-without", names=["alone", "without"]))
        known, engine = self.node().fleet_groups.get(name), self.node().engine
        document = known.document if known is not None else None
        if known is None or document is None or not engine.up:
            why = engine.why_down or say("error.members-unknown")
            raise CmgrError(_cannot("resume", name, why), hint=f"cmgr group resume {name} --alone")
        forgotten = unheard(known)
        others = sorted({*document.members, *forgotten} - {engine.name})
        if strangers := sorted(without - set(others)):
            why = say("error.none-of-others", names=repr(", ".join(strangers)[:80]))
            hint = say("error.others-are", names=others) if others else say("error.there-is-none")
            raise BadRequest(_cannot("resume", name, why), hint=hint)
        if document.phase is GroupPhase.RUNNING and not forgotten:
            raise CmgrError(_cannot("resume", name, say("error.no-round-waits")), hint=f"cmgr group {name}")
        return without

    def _held(self, name: str) -> list[Hold]:
        holds = self.node().holds
        found = [holds[c.key] for c in members_of(self.node(), name) if c.key in holds]
        return [hold for hold in found if hold.is_held_down]

    def _may_resume(self, name: str, held: list[Hold]) -> None:
        """Refuse it while members are being stopped: they would be left behind. One whose stop has failed may be."""
        group = self.node().groups.get(name)
        busy = [h for h in held if h.is_to_end and not h.attempt.error]
        if group is None or group.phase is not GroupPhase.HALTING or not busy:
            return
        why = say("error.left-behind", names=[called(self.node(), h.key) for h in busy])
        raise CmgrError(_cannot("resume", name, why), hint=say("error.when-all-are-down", group=name))

    def _acts(self, do: str, name: str) -> None:
        if why := why_idle(self.node()):
            raise CmgrError(_cannot(do, name, why), hint=idle_hint(self.node()))


def _cannot(do: str, group: str, why: str) -> str:
    return say("error.cannot-group", do=do, group=group, why=why)


def there(request: Request, node: Node, do: str) -> str:
    """Return the name of the group that is meant. Raises `BadRequest`, `NotThere`."""
    name = request.args.get("group")
    if not isinstance(name, str) or not name:
        raise BadRequest(say("error.group-name", do=do, name="group"))
    if name not in names(node):
        raise NotThere(_cannot(do, repr(name[:80]), say("error.no-group")), hint="cmgr group")
    return name
