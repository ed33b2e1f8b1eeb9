"""The vNPUs of an Ascend chip: which there are, as shares of the chip, and making them again."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.notation import NOTATION
from cmgr.drivers.processes import Holder, opened
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, Share
from cmgr.sentences.sentence import parts, say
from cmgr.words import runs

_FIRST, _APART = 100, 16
"""The ids of a chip's vNPUs begin with 100 + 16 times its physical id: the vendor's pages about npu-smi."""

_ANY_GROUP = 0xFFFFFFFF


def usual_numbers(chip: ChipId) -> range:
    """Return the ids of the vNPUs that the chip can have, whether or not it has them now."""
    first = _FIRST + _APART * chip
    return range(first, first + _APART)


def usual_names(chip: ChipId) -> frozenset[str]:
    """Return their device files."""
    return frozenset(f"{NOTATION.parts}{number}" for number in usual_numbers(chip))


def shares(library: Library, place: Location, chip: ChipId) -> tuple[Share, ...] | None:
    """Return the vNPUs of the chip at this place; None where it does not say which it has."""
    try:
        return tuple(_share(library, place, chip, number) for number in there(library, place))
    except Refused:
        return None


def _share(library: Library, place: Location, chip: ChipId, number: int) -> Share:
    # The number alone is what the device file of a vNPU says in the definitions of containerd's containers.
    aliases = frozenset({f"{NOTATION.parts}{number}", f"{chip}:{number}", str(number)})
    try:
        template, group, _ = library.vdevice(place, number)
    except Refused:
        return Share(str(number), aliases=aliases)  # That it is there is known all the same.
    words = f"npu-smi set -t create-vnpu -i {place.card} -c {place.device} -f {template} -v {number}"
    if group == _ANY_GROUP:
        return Share(str(number), template, None, aliases, words)
    return Share(str(number), template, group, aliases, f"{words} -g {group}")


def make(library: Library, place: Location, wanted: Iterable[Share]) -> None:
    """Make those of these that the chip lacks, under their ids. Raises `DriverError`."""
    made, failed = set(library.vdevices(place)), []
    for share in wanted:
        if int(share.id) in made:
            continue
        try:
            library.make_vdevice(place, int(share.id), share.template, share.group)
        except Refused as refused:
            failed.append(say("driver.share-not-made", share=share.title, why=refused.message))
    if failed:
        raise DriverError(parts(failed))


def used(library: Library, place: Location) -> tuple[str, Sequence[int]]:
    """Return which vNPUs of the chip containers use, in words, and all it has. Raises `Refused` where it says neither.

    The list of a chip's processes is no answer: it has those of the first vNPU at the most.
    """
    numbers = there(library, place)
    return named(number for number in numbers if library.vdevice(place, number)[2]), numbers


def there(library: Library, place: Location) -> tuple[int, ...]:
    """Return the vNPUs of the chip at this place. Raises `Refused` where it does not say which it has."""
    try:
        return library.vdevices(place)
    except Refused as refused:
        if refused.unsupported:
            return ()
        raise


def holders(devices: Path, numbers: Iterable[int]) -> tuple[Holder, ...]:
    """Return the other processes that have these vNPUs open, whose files are in this directory."""
    files = {str(devices / f"vdavinci{number}"): str(number) for number in numbers}
    if not files:
        return ()
    found = {pid: files.keys() & names.values() for pid, names in opened() if pid != os.getpid()}
    return tuple(Holder(pid, 0, files[name]) for pid, held in found.items() for name in sorted(held)[:1])


def destroy(library: Library, place: Location) -> str:
    """Destroy all vNPUs of the chip, and return which those were, in words; none where one is used.

    Raises `ResetRefused` where one is used, and `Refused`.
    """
    on, numbers = used(library, place)
    if on:
        raise ResetRefused(say("driver.vnpus-used", vnpus=on))
    for number in numbers:
        library.destroy_vdevice(place, number)
    return named(numbers)


def named(numbers: Iterable[int]) -> str:
    """Return vNPUs as a person reads them; nothing for none."""
    found = list(numbers)
    return f"vNPU {runs(found)}" if found else ""
