"""How many jobs a chip has had: after a recovery it has no more users than before."""

from collections import Counter
from collections.abc import Mapping

from cmgr.model.own_chips import crowded
from cmgr.model.values.messages.commands import Action, StartContainer
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from tests.model.machine import Real

Truth = Mapping[ContainerKey, Real]


class Users:
    """`most`: how many jobs a chip has had at most while one is held: a client's other try is the same job, unless both
    ran before anything was held.

    Which job a newcomer is another try of, cmgr does not know where two are down on its chips: one that it has taken
    for another's try counts as that from then on, so that both places are filled, and no third.
    """

    def __init__(self) -> None:
        self.most: dict[int, int] = {}
        self._taken_for: dict[ContainerKey, str] = {}
        self._ran: dict[tuple[int, str], int] = {}

    def count(self, node: Node, truth: Truth) -> None:
        """Take in how many there are now."""
        for container in node.containers.values():
            jobs = {self._job(truth[key]) for key in container.kept.instead_of if key in truth}
            if jobs and container.key in truth and self._job(truth[container.key]) not in jobs:
                self._taken_for[container.key] = min(jobs)
        held = {c for key in node.holds if key in truth for c in truth[key].chips}
        wanted = [
            r for r in truth.values()
            if r.enabled and (r.running or r.wanted is not False or r.key in node.holds)
        ]  # fmt: skip
        free = Counter((chip, self._job(r)) for r in wanted if r.running for chip in {*r.chips} - held)
        self._ran = {**{at: count for at, count in self._ran.items() if at[0] in held}, **free}
        there = {chip: {self._job(r) for r in wanted if chip in r.chips} for chip in held}
        users = {chip: sum(max(1, self._ran.get((chip, job), 0)) for job in jobs) for chip, jobs in there.items()}
        self.most = {chip: max(self.most.get(chip, 0), count) for chip, count in users.items()}

    def _job(self, real: Real) -> str:
        return self._taken_for.get(real.key) or real.unit or real.job or real.key.id

    def too_many(self, node: Node, truth: Truth, action: Action) -> str:
        """Return which chip is given one more user than there were jobs, but for those that are told; else nothing."""
        real = truth.get(action.key) if isinstance(action, StartContainer) else None
        if real is None or real.slot or real.made_for:
            return ""
        told = {c.key for both in crowded(node).values() for c in both if c.kept.instead_of}
        known = {key for key, booked in node.containers.items() if booked.running} - told - {real.key}
        users = [r for key, r in truth.items() if key in known and r.running and r.enabled and not r.unit]
        for chip in real.chips:
            there = [r for r in users if chip in r.chips and r.share == real.share and not r.spared]
            if len(there) >= self.most[chip]:
                return f"{action} on chip {chip} beside {there}"
        return ""
