"""The NVIDIA GPUs of this machine: which there are, and what is reset together.

GPUs that were once seen stay known for the life of the process, under the number that they had (`numbers`): a GPU that
the driver lists no more is one that does not answer, and the numbers of the others may then be other ones. A GPU's ring
stays what it was, too. Its minor number does not: the driver gives a GPU that was removed and found again, as for a
reset, the lowest one that is free.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from cmgr.drivers.nvml.library import abi, topology
from cmgr.drivers.nvml.library.calls import Handle, Library, Part, Refused
from cmgr.drivers.nvml.library.session import OPENS, InReset, Opening, Session
from cmgr.drivers.nvml.library.topology import Wired
from cmgr.drivers.nvml.notation import NOTATION
from cmgr.drivers.nvml.numbers import Numbers
from cmgr.errors import DriverError
from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import Chip, ChipId, RingId, Share
from cmgr.sentences.sentence import say

T = TypeVar("T")

_FABRIC_MANAGER = "nv-fabricmanage"
"""The name of its process, of which the kernel keeps 15 letters."""

_NOT_LISTED = frozenset({abi.NOT_FOUND, abi.INVALID_ARGUMENT, abi.GPU_NOT_FOUND})
"""Answers for a bus id at which the driver knows no GPU."""


@dataclass(frozen=True, slots=True)
class Known:
    """A GPU as it was seen first. `minor`: N of /dev/nvidiaN now.

    `here`: the driver lists it now. `parts`: those that MIG divides it into now. `settings`: what is set, in the words
    of `Library.settings`; both as it has said last.
    """

    wired: Wired
    uuid: str
    name: str
    minor: int
    here: bool = True
    parts: tuple[Part, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def bus(self) -> str:
        return self.wired.bus

    @property
    def aliases(self) -> frozenset[str]:
        """Return what containers call it besides its number, UUID and bus id: one that is gone has no device file."""
        return frozenset({f"{NOTATION.file}{self.minor}"} if self.here else ())

    def shares(self, parts: Iterable[Part]) -> tuple[Share, ...]:
        """Return these parts of it as shares."""
        return tuple(
            Share(
                part.uuid,
                part.profile,
                part.instances[0],
                frozenset({part.uuid, f"{self.wired.chip}:{part.index}"}),
                f"nvidia-smi mig -i {self.bus} -cgi {part.profile} -C" if part.profile else "",
            )
            for part in parts
        )


def fabric_is_managed(proc: Path = Path("/proc")) -> bool:
    """Return whether the Fabric Manager runs."""
    for comm in proc.glob("[0-9]*/comm"):
        try:
            if comm.read_text(errors="replace").strip() == _FABRIC_MANAGER:
                return True
        except OSError:
            continue
    return False


def renumbered(before: Iterable[Chip], now: Iterable[Chip]) -> Iterator[str]:
    """Yield for each GPU whose device file is another one than before that it is, in words."""
    minors = {chip.id: chip.logical for chip in before}
    for chip in now:
        old, new = (f"{NOTATION.file}{n}" for n in (minors.get(chip.id, chip.logical), chip.logical))
        if old != new:
            yield say("driver.renumbered", chip=chip.id, new=new, old=old)


class Machine:
    """Any thread."""

    def __init__(
        self,
        session: Session,
        seconds: float,
        managed: Callable[[], bool],
        hushed: Callable[[str], bool],
        numbers: Numbers,
    ) -> None:
        self._session = session
        self._seconds = seconds
        self._managed = managed
        self._hushed = hushed
        self._numbers = numbers
        self._looking = threading.Lock()
        self._known: Mapping[ChipId, Known] = {}
        self._places: dict[int, str] = {}
        self._rings: Mapping[ChipId, RingId] = {}
        self._chips: tuple[Chip, ...] = ()
        self.troubles: tuple[str, ...] = ()
        self.opens = False

    def look(self) -> tuple[Chip, ...]:
        """List the GPUs anew and return all that are known, ordered. Raises `DriverError` when no list can be had."""
        with self._looking:
            troubles: list[str] = []
            fresh: dict[ChipId, Known] = {}
            unseen: dict[int, DriverError] = {}
            self.opens = False
            count = self._session.ask_library(self._seconds, Library.count)
            if len(self._places) != count:
                self._places = {}  # Others have moved up.
            for index in range(count):
                try:
                    seen = self._seen(index, fresh)
                except InReset:
                    return self.chips()  # Nothing can be said of which there are meanwhile.
                except DriverError as error:
                    self._places.pop(index, None)
                    self.opens = self.opens or isinstance(error, Opening)
                    unseen[index] = error
                else:
                    fresh[seen.wired.chip] = seen
            self._keep_silent(unseen, fresh, troubles)
            if not count:
                troubles.append(say("driver.lists-no-gpus"))
            self._settle(fresh, troubles)
            return self.chips()

    def chips(self) -> tuple[Chip, ...]:
        """Return the GPUs that are known. Their serial is the UUID, by which containers name them."""
        return self._chips

    def _know(self, known: Mapping[ChipId, Known], rings: Mapping[ChipId, RingId]) -> None:
        self._known, self._rings = known, rings
        self._chips = tuple(
            Chip(
                chip,
                rings[chip],
                known[chip].minor,
                model=known[chip].name,
                bus=known[chip].bus,
                serial=known[chip].uuid,
                aliases=known[chip].aliases,
                counted=True,
                shares=known[chip].shares(known[chip].parts),
            )
            for chip in sorted(known)
        )

    def find(self, chip: ChipId) -> Known | None:
        return self._known.get(chip)

    def here(self, chip: ChipId) -> Known | None:
        """Return the GPU if the driver lists it now."""
        known = self._known.get(chip)
        return known if known is not None and known.here else None

    def at(self, bus: str) -> ChipId | None:
        """Return the GPU at that bus id; one that is not there any more only where no other has come there."""
        there = [chip for chip, known in self._known.items() if known.bus == bus]
        return next((chip for chip in there if self._known[chip].here), next(iter(there), None))

    def lacks_manager(self, ring: Iterable[Known]) -> bool:
        """Return whether no Fabric Manager runs here whom GPUs of these need. A rack has it elsewhere."""
        return any(topology.is_switched(known.wired) for known in ring) and not self._managed()

    def parts(self, chip: ChipId) -> tuple[Part, ...]:
        """Return the parts that MIG divides a GPU into."""
        known = self._known.get(chip)
        return () if known is None else known.parts

    def is_divided(self) -> bool:
        """Return whether MIG has made parts of a GPU."""
        return any(known.parts for known in self._known.values())

    def modes(self) -> tuple[int, ...]:
        """Return how each GPU is virtual, in the library's numbers; those that do not say are left out."""
        found = []
        for bus in self.buses():
            with suppress(DriverError):
                found.append(self._session.ask(bus, self._seconds, Library.virtual_mode))
        return tuple(found)

    def whole_ring(self, chips: Collection[ChipId]) -> dict[ChipId, Known]:
        """Return these and whoever else that is there has to be reset with them."""
        rings, known = {self._rings[chip] for chip in chips}, self._known
        return {c: known[c] for c in sorted(known) if c in chips or (known[c].here and self._rings[c] in rings)}

    def learn_peers(self, said: str, ring: Collection[ChipId]) -> frozenset[ChipId]:
        """Learn from these words of nvidia-smi which GPUs have to be reset with this ring, and return those."""
        with self._looking:
            known = self._known
            found = topology.named_peers(said, [known[chip].wired for chip in ring], [k.wired for k in known.values()])
            if found:
                self._numbers.keep((), tuple(sorted({*ring, *found})))
                self._know(known, topology.joined(self._rings, self._numbers.together))
            return found

    def transient(self) -> tuple[ChipId, ...]:
        """Return the GPUs without persistence mode; those that do not say are left out."""
        found = []
        for chip, known in sorted(self._known.items()):
            with suppress(DriverError):
                if not self._session.ask(known.bus, self._seconds, Library.is_persistent):
                    found.append(chip)
        return tuple(found)

    def buses(self) -> tuple[str, ...]:
        return tuple(known.bus for known in self._known.values() if known.here)

    def _seen(self, index: int, taken: Collection[ChipId]) -> Known:
        bus, described = self._places.get(index), None
        if bus is None:
            bus, described = self._session.at(index, self._seconds if self._known else OPENS, _described)
            self._places[index] = bus
        chip = self.at(bus)
        again = None
        if chip is not None and self._hushed(bus):
            again = replace(self._known[chip], here=True)
        elif chip is not None:
            again = self._session.ask(bus, self._seconds, partial(_again, known=self._known[chip]))
        if again is not None:
            return again
        described = described or self._session.ask(bus, self._seconds, _described)
        number = self._numbers.of(described.uuid, index, {*self._known, *taken})
        return replace(described, wired=replace(described.wired, chip=number))

    def look_at(self, chip: ChipId) -> tuple[Chip, ...]:
        """Look at one that was reset, and return all chips that are known. Raises `DriverError`."""
        with self._looking:
            known = self._known[chip]
            again = self._session.ask(known.bus, self._seconds, partial(_again, known=known))
            self._know({**self._known, chip: again or known}, self._rings)
            return self.chips()

    def _keep_silent(self, unseen: Mapping[int, DriverError], fresh: dict[ChipId, Known], troubles: list[str]) -> None:
        """Have those go on that are listed and do not answer. Nobody can say which of them an index is of.

        A GPU that fell off the bus goes on being counted, one that was taken out of the machine does not.
        """
        missing = [known for chip, known in sorted(self._known.items()) if chip not in fresh]
        if unseen and len(missing) > len(unseen):
            missing = [known for known in missing if self._is_listed(known.bus)]
        silent = {known.wired.chip: replace(known, here=True) for known in missing[: len(unseen)]}
        fresh.update(silent)
        left_out = [index for index in unseen if index not in silent][: len(unseen) - len(silent)]
        troubles += [say("driver.gpu-left-out", index=index, why=unseen[index].message) for index in left_out]

    def _is_listed(self, bus: str) -> bool:
        try:
            self._session.judge(bus, self._seconds, partial(_found, bus=bus))
        except Refused as refused:
            return refused.code not in _NOT_LISTED
        except DriverError:
            return True
        return True

    def _settle(self, fresh: Mapping[ChipId, Known], troubles: list[str]) -> None:
        gone = {chip: replace(known, here=False) for chip, known in self._known.items() if chip not in fresh}
        known = {**gone, **fresh}
        if gone:
            troubles.append(say("driver.lists-no-more", chips=list(gone)))
        managed = not any(topology.needs_fabric_manager(k.wired) for k in known.values()) or self._managed()
        if not managed:
            troubles.append(say("driver.no-manager"))
        rings = topology.rings([k.wired for k in known.values()], fabric_managed=managed)
        kept = {chip: self._rings.get(chip, ring) for chip, ring in rings.items()}
        self._know(known, topology.joined(kept, self._numbers.together))
        self._numbers.keep((k.uuid, chip) for chip, k in known.items())
        self.troubles = tuple(troubles)


def _found(library: Library, _: Callable[[], Handle], bus: str) -> None:
    """Open the GPU once more: the handle that there may be is of the GPU as it was."""
    library.by_bus(bus)


def _again(library: Library, handle: Handle, known: Known) -> Known | None:
    """Return the GPU as it is now, where it does not say that as it was; nothing for another one at that bus id."""
    if _said(library.uuid, handle, known.uuid) != known.uuid:
        return None
    minor, settings = _said(library.minor, handle, known.minor), _said(library.settings, handle, known.settings)
    return replace(known, here=True, minor=minor, parts=_said(library.parts, handle, known.parts), settings=settings)


def _said(question: Callable[[Handle], T], handle: Handle, before: T) -> T:
    """Return what it says; where it does not, what it said before: a GPU that wants a reset says little."""
    try:
        return question(handle)
    except Refused:
        return before


def _described(library: Library, handle: Handle) -> Known:
    """Return the GPU as a chip whose number is not known yet."""
    try:
        architecture = library.architecture(handle)
    except Refused as refused:
        if not refused.unsupported:
            raise
        architecture = 0
    wired = Wired(ChipId(0), library.bus(handle), architecture, library.links(handle))
    minor, parts = library.minor(handle), _said(library.parts, handle, tuple[Part, ...]())
    settings = _said(library.settings, handle, tuple[str, ...]())
    return Known(wired, library.uuid(handle), library.name(handle), minor, parts=parts, settings=settings)
