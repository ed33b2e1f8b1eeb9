"""A few appliances of one fleet to be scripted, with a register between them that is linearizable, as the engine is."""

from typing import Any

from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.values.fleet import FleetGroup
from cmgr.model.values.messages.commands import Action, ReadGroup, WriteGroup
from cmgr.model.values.messages.documents import Document, Outcome, Seen
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupSeen
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.groups import GroupPhase
from tests.model.builders import SINGLE, Cmgr, container
from tests.model.walks.fleet_world import Register

TP = "tp"


class Member(Cmgr):
    """An appliance of a fleet; `reached` says whether it reaches the engine."""

    def __init__(self, engine: Register, name: str, *containers: Container, **more: Any) -> None:
        self.engine, self.reached = engine, True
        super().__init__(*containers, policy=SINGLE, appliance=name, **more)

    def _carry_out(self, command: Action) -> dict[str, Any]:
        match command:
            case ReadGroup():
                return {"seen": self.engine.read(command.group)} if self.reached else {"error": "timed out"}
            case WriteGroup():
                if not self.reached:
                    return {"error": "timed out"}
                revision = self.engine.write(command)
                return {"outcome": Outcome.DONE if revision else Outcome.STALE, "revision": revision}
            case _:
                return super()._carry_out(command)

    def up(self) -> None:
        self.reached = True
        self.tell(FleetUp(str(self.engine.born)))

    def down(self) -> None:
        self.reached = False
        self.tell(FleetDown("a.example does not answer"))

    def hears(self) -> None:
        """Hear of the documents as they are now."""
        if self.reached:
            for group, seen in sorted(self.engine.kept.items()):
                self.tell(GroupSeen(group, seen))

    @property
    def part(self) -> FleetGroup:
        return self.node.fleet_groups[TP]

    def why(self, name: str) -> str:
        return start_blocker(self.node, self.hold(name)).why


class Fleet:
    """Appliances a and b (and c) with two members each: r0 on chip 0, r1 on chip 4. `fields` are those of r0 on a.

    x, on chip 9, is in no group.
    """

    def __init__(self, names: str = "ab", **fields: Any) -> None:
        self.engine = Register()
        size = 2 * len(names)
        self.all = [
            Member(
                self.engine, name,
                container("r0", 0, group=TP, group_size=size, **(fields if name == "a" else {})),
                container("r1", 4, group=TP, group_size=size),
                container("x", 9),
                chips=12,
            )
            for name in names
        ]  # fmt: skip
        for each in self.all:
            each.up()
        self.settle()
        for each in self.all:
            each.log.clear()

    def __getitem__(self, name: str) -> Member:
        return next(each for each in self.all if each.appliance == name)

    def settle(self) -> None:
        """Let everybody answer and hear until nothing happens any more."""
        for _ in range(40):
            before = self.engine.revision, [each.node.serial for each in self.all]
            for each in self.all:
                each.run()
                each.hears()
            if before == (self.engine.revision, [each.node.serial for each in self.all]):
                return
        raise AssertionError(f"they do not come to rest: {self.document}")

    @property
    def document(self) -> Document:
        document = self.engine.read(TP).document
        assert document is not None
        return document

    def puts(self, document: Document | None) -> None:
        """Let somebody else have written it."""
        self.engine.revision += 1
        self.engine.kept[TP] = Seen(document, self.engine.revision, "" if document else "it is no JSON")

    def phase(self) -> tuple[GroupPhase, int]:
        return self.document.phase, self.document.round


def running(each: Cmgr) -> list[str]:
    return sorted(c.name for c in each.truth.values() if c.running)


ALL = ["r0", "r1", "x"]
