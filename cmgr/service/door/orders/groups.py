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
from cmgr.service.door import previews
from cmgr.service.door.routes import Request, flag_of
from cmgr.view.advice import called, idle_hint
from cmgr.view.groups import names

if TYPE_CHECKING:
    from cmgr.view import group_shapes, shapes

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class GroupOrders:
    """Any thread; each raises `CmgrError`. `give` returns when the order is in force; `who` names who asks."""

    node: Callable[[], Node]
    give: Callable[[Ordered], None]
    who: Callable[[Request], str]

    def restart(self, request: Request) -> "group_shapes.GroupRestarted | shapes.Preview":
        """Stop all members, and start them together."""
        name = there(request, self.node(), "restart")
        why = request.args.get("reason") or ""
        if not isinstance(why, str) or len(why) > LONGEST_REASON or not why.isprintable():
            raise BadRequest(f"cannot restart group: reason must be one line of at most {LONGEST_REASON} characters")
        self._acts("restart", name)
        found = [c for c in members_of(self.node(), name) if is_coupled(self.node(), c) and not blocks_its_group(c)]
        if not found:
            raise CmgrError(f"cannot restart group {name}: cmgr must not stop any of its members", hint="cmgr group")
        if flag_of(request, "preview"):
            run = [called(self.node(), c.key) for c in found if c.running]
            return previews.group_restart(run, [called(self.node(), c.key) for c in found if not c.running])
        self.give(GroupRestartOrdered(name, self.who(request), why.strip()))
        group = self.node().groups.get(name)
        told = [called(self.node(), container.key) for container in found]
        return {"group": name, "round": group.round if group is not None else 0, "containers": told}

    def cancel(self, request: Request) -> "group_shapes.GroupResumed | shapes.Preview":
        """Take back the restart that waits."""
        node, name = self.node(), there(request, self.node(), "cancel")
        group = node.groups.get(name)
        if group is None or not group.can_be_taken_back:
            known = node.fleet_groups.get(name)
            of_all = known is not None and known.in_round
            hint = f"cmgr group resume {name} --alone starts the members here" if of_all else f"cmgr group {name}"
            raise CmgrError(f"cannot cancel: no ordered restart of group {name} waits on this appliance", hint=hint)
        down = [h for h in self._held(name) if h.cause is Cause.GROUP and h.state is not HoldState.TO_STOP]
        told = sorted(called(node, hold.key) for hold in down if hold.key not in group.taken)
        if flag_of(request, "preview"):
            return previews.group_cancel(group.ordered, told, sorted(called(node, key) for key in group.taken))
        self.give(GroupRestartOrdered(name, self.who(request), back=True))
        return {"group": name, "waiting": told}

    def resume(self, request: Request) -> "group_shapes.GroupResumed | shapes.Preview":
        """Start what can be started, without waiting for the others."""
        name = there(request, self.node(), "resume")
        self._acts("resume", name)
        alone, without = flag_of(request, "alone"), self._without(request, name)
        held = self._held(name)
        if without:
            if flag_of(request, "preview"):
                return previews.group_without(sorted(without))
            self.give(GroupResumeOrdered(name, self.who(request), without=without))
            return {"group": name, "waiting": []}
        if not held:
            raise CmgrError(f"cannot resume group {name}: none of its members is held", hint=f"cmgr group {name}")
        self._may_resume(name, held)
        if flag_of(request, "preview"):
            ready = sorted(called(self.node(), h.key) for h in held if can_start(self.node(), h))
            rest = sorted(called(self.node(), h.key) for h in held if h.is_down)
            return previews.group_resume(ready, [member for member in rest if member not in ready])
        self.give(GroupResumeOrdered(name, self.who(request), alone=alone))
        group = self.node().groups.get(name)
        out = group.out if group is not None else frozenset()
        return {"group": name, "waiting": sorted(called(self.node(), key) for key in out if key in self.node().holds)}

    def _without(self, request: Request, name: str) -> frozenset[str]:
        """Return the appliances that are to be left out. Raises `BadRequest`, `CmgrError`."""
        told = request.args.get("without") or ""
        if not isinstance(told, str):
            raise BadRequest("cannot resume group: without must be names of appliances with commas in between")
        without = frozenset(filter(None, (part.strip() for part in told.split(","))))
        if not without:
            return without
        if flag_of(request, "alone"):
            raise BadRequest("cannot resume group: give either alone or without")
        known, engine = self.node().fleet_groups.get(name), self.node().engine
        document = known.document if known is not None else None
        if known is None or document is None or not engine.up:
            why = engine.why_down or "it is not known which appliances have members"
            raise CmgrError(f"cannot resume group {name}: {why}", hint=f"cmgr group resume {name} --alone")
        forgotten = unheard(known)
        others = sorted({*document.members, *forgotten} - {engine.name})
        if strangers := sorted(without - set(others)):
            raise BadRequest(
                f"cannot resume group {name}: {', '.join(strangers)[:80]!r} is none of its other appliances",
                hint=f"they are {', '.join(others)}" if others else "there is none",
            )
        if document.phase is GroupPhase.RUNNING and not forgotten:
            raise CmgrError(f"cannot resume group {name}: no round is on that waits for any", hint=f"cmgr group {name}")
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
        names, are = ", ".join(called(self.node(), h.key) for h in busy), "is" if len(busy) == 1 else "are"
        raise CmgrError(
            f"cannot resume group {name}: {names} {are} being stopped, and would be left behind",
            hint=f"order it again when all are down; cmgr group {name} shows that",
        )

    def _acts(self, do: str, name: str) -> None:
        if why := why_idle(self.node()):
            raise CmgrError(f"cannot {do} group {name}: {why}", hint=str(idle_hint(self.node())))


def there(request: Request, node: Node, do: str) -> str:
    """Return the name of the group that is meant. Raises `BadRequest`, `NotThere`."""
    name = request.args.get("group")
    if not isinstance(name, str) or not name:
        raise BadRequest(f"cannot {do} group: group must be a name")
    if name not in names(node):
        raise NotThere(f"cannot {do} group {name[:80]!r}: there is no such group", hint="cmgr group")
    return name
