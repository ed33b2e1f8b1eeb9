"""Orders of a person that are about groups. Each is checked here, so that a refusal says why and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.model.scope import blocks_its_group, is_coupled, is_held_down, members_of, why_idle
from cmgr.model.values.facts import GroupRestartOrdered, GroupResumeOrdered, Ordered
from cmgr.model.values.node import Node
from cmgr.service.door.routes import Request
from cmgr.view.advice import called, idle_hint
from cmgr.view.groups import names

if TYPE_CHECKING:
    from cmgr.view import group_shapes

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class GroupOrders:
    """Any thread; each raises `CmgrError`. `give` returns when the order is in force; `who` names who asks."""

    node: Callable[[], Node]
    give: Callable[[Ordered], None]
    who: Callable[[Request], str]

    def restart(self, request: Request) -> "group_shapes.GroupRestarted":
        """Stop all members, and start them together."""
        name = there(request, self.node(), "restart")
        why = request.args.get("reason") or ""
        if not isinstance(why, str) or len(why) > LONGEST_REASON or not why.isprintable():
            raise BadRequest(f"cannot restart group: reason must be one line of at most {LONGEST_REASON} characters")
        self._acts("restart", name)
        found = [c for c in members_of(self.node(), name) if is_coupled(self.node(), c) and not blocks_its_group(c)]
        if not found:
            raise CmgrError(f"cannot restart group {name}: cmgr must not stop any of its members", hint="cmgr group")
        self.give(GroupRestartOrdered(name, self.who(request), why.strip()))
        group = self.node().groups.get(name)
        told = [called(self.node(), container.key) for container in found]
        return {"group": name, "round": group.round if group is not None else 0, "containers": told}

    def resume(self, request: Request) -> "group_shapes.GroupResumed":
        """Start what can be started, without waiting for the others."""
        name = there(request, self.node(), "resume")
        self._acts("resume", name)
        if not self._waiting(name):
            raise CmgrError(f"cannot resume group {name}: none of its members is held", hint=f"cmgr group {name}")
        self.give(GroupResumeOrdered(name, self.who(request)))
        group = self.node().groups.get(name)
        out = group.out if group is not None else frozenset()
        return {"group": name, "waiting": sorted(called(self.node(), key) for key in out if key in self.node().holds)}

    def _waiting(self, name: str) -> list[str]:
        holds = self.node().holds
        return [c.name for c in members_of(self.node(), name) if c.key in holds and is_held_down(holds[c.key])]

    def _acts(self, do: str, name: str) -> None:
        if why := why_idle(self.node()):
            raise CmgrError(f"cannot {do} group {name}: {why}", hint=idle_hint(self.node()))


def there(request: Request, node: Node, do: str) -> str:
    """Return the name of the group that is meant. Raises `BadRequest`, `NotThere`."""
    name = request.args.get("group")
    if not isinstance(name, str) or not name:
        raise BadRequest(f"cannot {do} group: group must be a name")
    if name not in names(node):
        raise NotThere(f"cannot {do} group {name[:80]!r}: there is no such group", hint="cmgr group")
    return name
