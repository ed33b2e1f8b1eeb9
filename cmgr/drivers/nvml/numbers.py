"""The numbers that GPUs have in cmgr, remembered until the machine restarts: those of the driver's list move up.

A GPU that is taken out of that list, as in the middle of a reset, leaves its place to the next. A life of cmgr that
began meanwhile would take each for another one, with what is held and isolated on it. Beside them stand those of GPUs
that are reset together, where only a refusal has said so.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cmgr import atomic
from cmgr.drivers.kernel_log import boot_id
from cmgr.model.values.chips import ChipId
from cmgr.words import json_of

NAME = "nvml-numbers.json"

_MODE = 0o640


class Numbers:
    """By UUID, in this file. `together`: which are reset together. One thread at a time."""

    def __init__(self, file: Path, boot: str | None = None) -> None:
        self._file = file
        self._boot = boot_id() if boot is None else boot
        self._known: Mapping[str, ChipId] = {}
        self.together: tuple[tuple[ChipId, ...], ...] = ()
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):  # A broken file is none.
            read = json_of(file.read_text(encoding="utf-8"))
            if read["boot"] == self._boot:
                self._known = {str(uuid): ChipId(int(number)) for uuid, number in read["numbers"].items()}
                self.together = tuple(tuple(ChipId(int(number)) for number in chips) for chips in read["together"])

    def of(self, uuid: str, index: int, taken: Collection[ChipId]) -> ChipId:
        """Return the number of a GPU that is new to this life, at this index, where the others have those."""
        known = self._known.get(uuid)
        if known is not None and known not in taken:
            return known
        given = {*taken, *self._known.values()}
        return ChipId(index if index not in given else max({*given, *range(index)}) + 1)

    def keep(self, numbers: Iterable[tuple[str, ChipId]], together: Sequence[ChipId] = ()) -> None:
        """Remember these beside those that are remembered, and that those are reset `together`."""
        known = {**self._known, **dict(numbers)}
        news = {tuple(together)} - {(), *self.together}
        if known == self._known and not news:
            return
        self._known, self.together = known, (*self.together, *news)
        # At worst the next life numbers anew. Whatever a power cut takes away is over with the boot.
        with suppress(OSError), atomic.written(self._file, _MODE, durable=False) as file:
            said = {"boot": self._boot, "numbers": known, "together": self.together}
            file.write(json.dumps(said).encode() + b"\n")
