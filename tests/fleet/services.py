"""Services of one fleet: real processes on simulated chips with pretended containers, and the engine between them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cmgr.service.door.client import get
from tests.support.service import Service, Setting
from tests.support.waiting import eventually

MEMBERS = ("r0", "r1")
TP = "tp"


class Appliance(Service):
    """One appliance: r0 on chip 0, r1 on chip 4, both of the group over all; x on chip 8, of none."""

    def __init__(self, folder: Path, name: str, size: int, endpoints: Sequence[str]) -> None:
        self.name, self._size = name, size
        folder.mkdir()
        settings: dict[str, Setting] = {
            "strategy": "singleRecover",
            "sim.chips": 12,
            "sim.ring": 4,
            "fleet.engine": "etcd",
            "fleet.name": name,
        }
        super().__init__(folder, {**settings, "fleet.endpoints": list(endpoints)})
        self.more = "\n".join(
            f'[[sim.containers]]\nname = "{container}"\nchips = [{chip}]\nstart_time = "50ms"\nstop_time = "20ms"\n'
            + (f'group = "{TP}"\ngroup_size = {size}\n' if container in MEMBERS else "")
            for container, chip in (("r0", 0), ("r1", 4), ("x", 8))
        )
        self.configure({})

    def group(self) -> dict[str, Any]:
        told: Any = get(self.socket, f"groups/{TP}")
        return dict(told["groups"][0])

    def members(self) -> list[str]:
        return [m["name"] for m in self.group()["members"] if m["running"]]

    def is_whole(self, round_: int = 0) -> bool:
        """Return whether all members here run, after that round of the fleet or a later one."""
        told = self.group()
        fleet, running = told["fleet"], [m["name"] for m in told["members"] if m["running"]]
        agreed = fleet and fleet["known"] == self._size and fleet["phase"] == "running" and fleet["round"] >= round_
        return bool(agreed) and running == list(MEMBERS)


A = TypeVar("A", bound=Appliance)


@contextmanager
def services(folder: Path, names: str, endpoints: Callable[[str], Sequence[str]], kind: type[A]) -> Iterator[list[A]]:
    """Yield services that run and know each other's members. `endpoints`: those that each is to ask, by its name."""
    made = [kind(folder / name, name, 2 * len(names), endpoints(name)) for name in names]
    try:
        for each in made:
            each.start()
        for each in made:
            eventually(each.is_whole, f"{each.name} knows all members")
        yield made
    finally:
        for each in made:
            each.close()
