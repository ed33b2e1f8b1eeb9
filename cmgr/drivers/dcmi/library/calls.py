"""libdcmi.so opened, and its functions as Python's: one method for each question, errors as `Refused`.

Nothing here limits how long a call takes or how many there are at a time: `drivers.caller` does.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import byref, c_int, c_uint8, c_uint32, create_string_buffer
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.processes import Holder
from cmgr.errors import DriverError, DriverMissing
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import because, parts, say


class Refused(DriverError):
    """The library answered with an error. `code` 0: the library has no such function."""

    def __init__(self, what: str, code: int) -> None:
        words = abi.WORDS.get(code, say("code.unknown"))
        if code:
            super().__init__(say("driver.dcmi-refuses", what=what, code=code, words=words))
        else:
            super().__init__(say("driver.library-lacks", what=what))
        self.code = code

    @property
    def unsupported(self) -> bool:
        return self.code in (0, abi.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Location:
    """How the driver's calls name a chip."""

    logical: int
    card: int
    device: int


class Library:
    """The library and its family: 1 when `dcmi_init` works, else 2. Raises `DriverMissing` when neither does."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            # Its own plug-ins look for its symbols, as they do under the vendor's tools.
            self._library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_LAZY)
        except OSError as error:
            hint = say("driver.needs-libraries", variable="LD_LIBRARY_PATH")
            raise DriverMissing(say("driver.not-opened", path=path), hint=hint) from error
        self._lacking: set[tuple[object, ...]] = set()
        # The library locks /etc/vnpu.cfg, which it writes anew, by fcntl: that keeps other processes out, not threads.
        self._dividing = threading.Lock()
        self.family = self._begin()

    def _begin(self) -> int:
        said = []
        for family, symbol in ((1, "dcmi_init"), (2, "dcmiv2_init")):
            try:
                self._run(say("call.begin"), symbol)
                return family
            except Refused as refused:
                said.append(because(symbol, refused.message))
        hint = say("driver.is-loaded", command="npu-smi info")
        raise DriverMissing(because(say("driver.cannot-begin", path=self.path), parts(said)), hint=hint)

    def _run(self, what: str, symbol: str, *args: Any) -> None:
        function = self._function(symbol, abi.ABOUT_MACHINE.get(symbol))
        code = function(*args) if function is not None else 0
        if function is None or code != 0:
            raise Refused(what, code)

    def _function(self, symbol: str, types: abi.Types | None) -> Callable[..., int] | None:
        # Without restype and argtypes ctypes would cut 64-bit values.
        function = getattr(self._library, symbol, None) if symbol else None
        if function is not None:
            function.restype = c_int
            function.argtypes = types
        return function

    def _ask(self, name: str, place: Location, *args: Any) -> None:
        known = abi.ABOUT_CHIP[name]
        one = self.family == 1
        address = (c_int, c_int) if one else (c_int,)
        names, types = (known.one, known.older) if one else (known.two,), (*address, *known.rest)
        function = next(filter(None, (self._function(name, types) for name in names)), None)
        if function is None:
            raise Refused(known.what, 0)
        where = (place.card, place.device) if one else (place.logical,)
        code = function(*where, *args)
        if code != 0:
            raise Refused(known.what, code)

    def cards(self) -> tuple[int, ...]:
        """Return every card, `abi.NOT_THERE` for each that was not up when the library began: that is not renewed."""
        most = abi.MOST_CARDS * abi.MOST_DEVICES_OF_A_CARD
        count, found = c_int(0), (c_int * most)(*[abi.NOT_THERE] * most)
        if self.family == 1:
            self._run(say("call.cards"), "dcmi_get_card_list", byref(count), found, abi.MOST_CARDS)
            return tuple(found[: max(0, count.value)])
        # This family knows no cards: a chip is a card of its own. It leaves out those that are not there.
        every = c_int(0)
        self._run(say("call.count"), "dcmiv2_get_all_device_count", byref(every))
        chips = min(every.value, most)
        try:
            self._run(say("call.list"), "dcmiv2_get_device_list", found, byref(count), most)
        except Refused as refused:
            if refused.code != abi.WRONG_PARAMETER:
                raise
            # One chip without board info fails the whole list. The ids are the first numbers.
            return tuple(range(chips))
        return tuple(found[: max(0, count.value, chips)])

    def on_card(self, card: int) -> tuple[Location, ...]:
        """Return the card's chips."""
        if self.family == 2:
            return (Location(card, card, 0),)
        devices = c_int(0)
        self._run(say("call.on-card"), "dcmi_get_device_num_in_card", card, byref(devices))
        return tuple(self._at(card, device) for device in range(min(devices.value, abi.MOST_DEVICES_OF_A_CARD)))

    def _at(self, card: int, device: int) -> Location:
        logical = c_int(-1)
        what = say("call.logical", device=device)
        self._run(what, "dcmi_get_device_logic_id", byref(logical), card, device)
        return Location(logical.value, card, device)

    def physical(self, place: Location) -> int:
        number = c_uint32(abi.UNREAD)
        symbol = "dcmi_get_device_phyid_from_logicid" if self.family == 1 else "dcmiv2_get_chip_phy_id_by_dev_id"
        self._run(say("call.physical"), symbol, place.logical, byref(number))
        return number.value

    def name(self, place: Location) -> str:
        """Return the chip's name, such as 910B3."""
        info = abi.ChipInfoV2()
        try:
            self._ask("chip info", place, byref(info))
        except Refused:
            if self.family == 2:
                raise
            old = abi.ChipInfo()
            self._ask("old-info", place, byref(old))
            return _text(old.name)
        return _text(info.name)

    def board(self, place: Location) -> int:
        info = abi.BoardInfo()
        self._ask("board", place, byref(info))
        return int(info.board_id)

    def product(self, place: Location) -> str:
        text = create_string_buffer(65)
        self._ask("product", place, text, 65)
        return text.value.decode(errors="replace")

    def brother(self, place: Location) -> int:
        """Return the card that this one is wired to."""
        card = c_int(-1)
        self._ask("brother", place, byref(card))
        return card.value

    def is_linked(self, place: Location, other: Location) -> bool:
        """Return whether HCCS joins the two chips."""
        kind = c_int(-1)
        self._ask("topology", place, other.card, other.device, byref(kind))
        return kind.value == abi.HCCS

    def is_smp(self, place: Location) -> bool:
        """Return whether the work mode of the chip's card is SMP; else it is AMP."""
        mode = c_uint8(0)
        self._run(say("call.work-mode"), "dcmi_get_npu_work_mode", place.card, byref(mode))
        return mode.value != 0

    def bus(self, place: Location) -> str:
        info = abi.PcieInfo()
        self._ask("bus", place, byref(info))
        return f"{info.domain & 0xFFFFFFFF:04x}:{info.bus:02x}:{info.dev:02x}.{info.func:x}"

    def address(self, place: Location) -> str:
        """Return the address of the chip's own network port, IPv4 before IPv6; empty where none is set."""
        if any(found := self._address(place, abi.V4)[:4]):
            return str(IPv4Address(found))
        return str(IPv6Address(found)) if any(found := self._address(place, abi.V6)) else ""

    def _address(self, place: Location, kind: int) -> bytes:
        found = abi.IpAddress(type=kind)
        try:
            self._ask("address", place, abi.ROCE_PORT, abi.FIRST_PORT, byref(found), byref(abi.IpAddress()))
        except Refused as refused:
            if refused.code != abi.NOT_SET:
                raise
            return b""
        return bytes(found.address)

    def pod(self, place: Location) -> tuple[int, int, int]:
        """Return the number of the SuperPod, and those of the machine and the chip in it."""
        found, size = abi.PodInfo(), c_uint32(ctypes.sizeof(abi.PodInfo))
        self._ask("pod", place, abi.ABOUT_POD, abi.OF_POD, byref(found), byref(size))
        return found.super_pod_id, found.server_id, found.sdid

    def die(self, place: Location) -> str:
        """Return what is burnt into the chip; nothing where that is nothing but zeros."""
        info = abi.DieId()
        self._ask("die", place, abi.DIES[self.family], byref(info))
        return "-".join(f"{word:08X}" for word in info.words) if any(info.words) else ""

    def board_serial(self, place: Location) -> str:
        """Return the serial number of the board that carries the chip; nothing where no label is known.

        The answer is a success then, too, and the text one without digits.
        """
        info = abi.Label()
        self._ask("label", place, byref(info))
        serial = _text(info.serial)
        return serial if any(letter in "123456789" for letter in serial) else ""

    def codes(self, place: Location) -> tuple[str, ...]:
        """Return the codes of the faults that the chip has now."""
        count, codes = c_int(0), (c_uint32 * abi.MOST_CODES)()
        self._ask("codes", place, byref(count), codes, abi.MOST_CODES)
        # The count is not to be relied on: the whole list is looked at, as the vendor's own programs do.
        # A code is there once for each part of the chip that has it.
        return tuple(dict.fromkeys(f"{code:08X}" for code in codes if code))

    def present(self, place: Location) -> Mapping[str, int]:
        """Return the severities of the faults that the chip has now, by code, without those of its card's controller.

        Only a 950 has it.
        """
        count, found = c_int(0), (abi.Event * abi.MOST_EVENTS)()
        self._ask("present", place, found, abi.MOST_EVENTS, byref(count))
        events = [event.u.dms for event in found[: max(0, min(count.value, len(found)))]]
        return {f"{dms.event_id:08X}": dms.severity for dms in events if dms.event_id}

    def health(self, place: Location) -> int:
        value = c_uint32(0)
        self._ask("health", place, byref(value))
        return value.value

    def holders(self, place: Location) -> tuple[Holder, ...]:
        """Return the first `abi.MOST_PROCESSES` processes on the chip; one that ends leaves before it lets go of it."""
        count, found = c_int(0), (abi.ProcMemInfo * abi.MOST_PROCESSES)()
        try:
            self._ask("processes", place, found, byref(count))
        except Refused as refused:
            if refused.unsupported:
                raise
            # The library asks for their ids, then for the memory of each: one that ends in between fails it all.
            self._ask("processes", place, found, byref(count))
        there = found[: max(0, min(count.value, len(found)))]
        return tuple(Holder(p.proc_id, p.proc_mem_usage) for p in there)

    def vdevices(self, place: Location) -> tuple[int, ...]:
        """Return the ids of the vNPUs that the chip is divided into."""
        found = abi.Vdevices()
        self._about_vdevices(place, abi.EVERY_VDEVICE, found)
        return tuple(found.vdev_id[: min(found.vdev_num, len(found.vdev_id))])

    def vdevice(self, place: Location, number: int) -> tuple[str, int, bool]:
        """Return the template that the vNPU was made from, its group, and whether a container uses it."""
        found = abi.Vdevice(vdev_id=number)
        self._about_vdevices(place, abi.ONE_VDEVICE, found)
        return _text(found.name), found.vfg_id, bool(found.is_container_used)

    def _about_vdevices(self, place: Location, command: int, into: ctypes.Structure) -> None:
        self.about(abi.ABOUT_VDEVICES, command, place, into)

    def about(self, command: int, part: int, place: Location, into: ctypes.Structure) -> None:
        """Fill `into` with what the command and its sub command, the part, tell of the chip."""
        size = c_uint32(ctypes.sizeof(into))
        with self._once_lacking(abi.ABOUT_CHIP["info"].what, place, command, part):
            self._ask("info", place, command, part, byref(into), byref(size))

    def make_vdevice(self, place: Location, number: int, template: str, group: int | None) -> None:
        """Make a vNPU of that id."""
        wish = abi.VdeviceWish(number, abi.UNREAD if group is None else group, template.encode()[:31])
        with self._dividing:
            self._ask("make vNPU", place, byref(wish), byref(abi.VdeviceMade()))

    @property
    def makes_vdevices(self) -> bool:
        """Whether the library has a function that makes vNPUs."""
        made = abi.ABOUT_CHIP["make vNPU"]
        return self._function(made.one if self.family == 1 else made.two, None) is not None

    def destroy_vdevice(self, place: Location, number: int) -> None:
        with self._dividing:
            self._ask("destroy vNPU", place, number)

    def boot_status(self, place: Location) -> int:
        value = c_int(-1)
        self._ask("boot", place, byref(value))
        return value.value

    def reset(self, place: Location, channel: int) -> None:
        self._ask("reset", place, channel)

    def channel(self, place: Location) -> int:
        value = c_int(0)
        self._ask("channel", place, byref(value))
        return value.value

    def pre_reset(self, place: Location) -> None:
        self._ask("pre-reset", place)

    def rescan(self, place: Location) -> None:
        self._ask("rescan", place)

    def card_power(self, place: Location) -> int:
        """Return what the card's own controller measures, in tenths of a watt."""
        value, what = c_int(-1), say("call.card-power")
        with self._once_lacking(what, place.card):
            self._run(what, "dcmi_mcu_get_power_info", place.card, byref(value))
        return value.value

    def measure(self, name: str, place: Location, into: Any, *before: int) -> None:
        """Fill `into` with what the function of that name measures."""
        with self._once_lacking(abi.ABOUT_CHIP[name].what, place, *before):
            self._ask(name, place, *before, byref(into))

    @contextmanager
    def _once_lacking(self, what: str, *about: object) -> Iterator[None]:
        """Ask no second time for what is not supported: the library writes a line into the maker's log each time."""
        if (what, *about) in self._lacking:
            raise Refused(what, abi.UNSUPPORTED)
        try:
            yield
        except Refused as refused:
            if refused.code == abi.UNSUPPORTED:
                self._lacking.add((what, *about))
            raise

    def subscribe(self, call: Callable[[Any], None]) -> None:
        """Have `call` called with a pointer to each event of every chip, on a thread of the library's own.

        Once in a process: when it was refused the library goes on refusing.
        """
        callback = abi.FaultCallback(call)
        # For ever, even when nobody has the library any more: there is no way to unsubscribe.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))
        everything = abi.EventFilter()
        every = abi.EVERY_DEVICE
        if self.family == 1:
            self._run(say("call.subscribe"), "dcmi_subscribe_fault_event", every, every, everything, callback)
        else:
            self._run(say("call.subscribe"), "dcmiv2_subscribe_fault_event", every, everything, callback)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").strip()
