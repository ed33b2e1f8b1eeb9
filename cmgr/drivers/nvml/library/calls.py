"""libnvidia-ml.so.1 opened, and its functions as Python's: one method for each question, errors as `Refused`.

Nothing here limits how long a call takes or when it may be made: it is made in a process of `worker`.
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from ctypes import byref, c_uint, c_uint64, c_void_p, create_string_buffer, sizeof
from typing import Any, NewType

from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.load import why_not_loaded
from cmgr.drivers.processes import Holder
from cmgr.errors import DriverError, DriverMissing
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

Handle = NewType("Handle", int)
"""How the library's calls name a GPU, until the library is ended with."""

EventSet = NewType("EventSet", int)


class Refused(DriverError):
    """The library answered with an error."""

    def __init__(self, what: str, code: int) -> None:
        words = abi.WORDS.get(code, say("code.unknown"))
        super().__init__(say("driver.nvml-refuses", what=what, code=code, words=words))
        self.what = what
        self.code = code

    def __reduce__(self) -> tuple[type["Refused"], tuple[str, int]]:
        return Refused, (self.what, self.code)

    @property
    def unsupported(self) -> bool:
        """Return whether this GPU, or this driver, has no such thing."""
        return self.code in abi.ABSENT


@dataclass(frozen=True, slots=True)
class Event:
    """News of the GPU of that handle. `data`: an Xid's number. `instance`: of MIG; None: the whole GPU."""

    handle: Handle
    type: int
    data: int
    instance: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """The other end of an NVLink that is up: a GPU by its bus id, or a switch."""

    bus: str
    is_switch: bool


@dataclass(frozen=True, slots=True)
class Fabric:
    """Whether the GPU has joined its fabric, in the library's numbers. `summary` 0: not told."""

    state: int
    status: int
    summary: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """An instance of MIG: the numbers of its GPU instance and compute instance, and its profile, such as `1g.10gb`."""

    index: int
    uuid: str
    instances: tuple[int, int]
    profile: str


class Library:
    """The library, not yet begun with. Raises `DriverMissing` when it cannot be opened or lacks what is needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise DriverMissing(say("driver.not-opened", path=path), hint=say("driver.other-architecture")) from error
        self._known: dict[str, Callable[..., int] | None] = {}
        lacking = [symbol for symbol in abi.NEEDED if self._function(symbol) is None]
        if lacking:
            why = say("driver.it-lacks", names=lacking)
            raise DriverMissing(say("driver.cannot-use", path=path, why=why), hint=say("driver.newer-driver"))

    def _function(self, symbol: str) -> Callable[..., int] | None:
        if symbol not in self._known:
            function = getattr(self._library, symbol, None)
            if function is not None:
                # Without restype and argtypes ctypes would cut 64-bit values.
                function.restype = ctypes.c_int
                function.argtypes = abi.NEEDED.get(symbol) or abi.OFFERED.get(symbol, ())
            self._known[symbol] = function
        return self._known[symbol]

    def _run(self, what: str, symbol: str, *args: Any) -> None:
        code = self._code(symbol, *args)
        if code != abi.OK:
            raise Refused(what, code)

    def _has(self, what: str, symbol: str, handle: Handle, into: Any) -> bool:
        """Fill `into`, and return whether the GPU and its driver have such a thing at all: most lack some.

        They are asked for it every few seconds, and to word a `Refused` takes as long as all that a sweep asks a GPU.
        """
        code = self._code(symbol, handle, byref(into))
        if code != abi.OK and code not in abi.ABSENT:
            raise Refused(what, code)
        return code == abi.OK

    def _code(self, symbol: str, *args: Any) -> int:
        function = self._function(symbol)
        return abi.FUNCTION_NOT_FOUND if function is None else function(*args)

    def begin(self) -> None:
        """Begin with the library; no GPU is opened yet. Raises `DriverMissing`."""
        try:
            self._run(say("call.begin"), "nvmlInit_v2")
        except Refused as refused:
            hints = {
                abi.DRIVER_NOT_LOADED: why_not_loaded(),
                abi.LIB_RM_VERSION_MISMATCH: say("driver.updated"),
            }
            hint = hints.get(refused.code, say("driver.see-smi", command="nvidia-smi"))
            raise DriverMissing(say("driver.cannot-begin", path=self.path), hint=hint) from refused

    def end(self) -> None:
        """End what was begun: every handle and event set is void, and no GPU is open any more."""
        self._run(say("call.end"), "nvmlShutdown")

    def driver_version(self) -> str:
        text = create_string_buffer(abi.TEXT_ROOM)
        self._run(say("call.version"), "nvmlSystemGetDriverVersion", text, abi.TEXT_ROOM)
        return text.value.decode(errors="replace")

    def count(self) -> int:
        """Return how many GPUs there are, with those that cannot be opened."""
        return self._number(say("call.count-gpus"), "nvmlDeviceGetCount_v2")

    def at(self, index: int) -> Handle:
        """Open the GPU of that index, which no other is touched for."""
        return self._opened(say("call.open-gpu", index=index), "nvmlDeviceGetHandleByIndex_v2", index)

    def by_bus(self, bus: str) -> Handle:
        """Open the GPU at that bus id, which no other is touched for. By UUID all would be, the lost ones too."""
        return self._opened(say("call.open-bus", bus=bus), "nvmlDeviceGetHandleByPciBusId_v2", bus.encode())

    def _opened(self, what: str, symbol: str, *args: Any) -> Handle:
        handle = c_void_p()
        self._run(what, symbol, *args, byref(handle))
        return Handle(handle.value or 0)

    def uuid(self, handle: Handle) -> str:
        return self._text(say("call.uuid"), "nvmlDeviceGetUUID", handle)

    def name(self, handle: Handle) -> str:
        return self._text(say("call.name"), "nvmlDeviceGetName", handle)

    def minor(self, handle: Handle) -> int:
        """Return N of /dev/nvidiaN."""
        return self._number(say("call.minor"), "nvmlDeviceGetMinorNumber", handle)

    def architecture(self, handle: Handle) -> int:
        return self._number(say("call.architecture"), "nvmlDeviceGetArchitecture", handle)

    def is_persistent(self, handle: Handle) -> bool:
        return self._number(say("call.persistence"), "nvmlDeviceGetPersistenceMode", handle) == 1

    def settings(self, handle: Handle) -> tuple[str, ...]:
        """Return what is set otherwise than after a reset, as the words by which nvidia-smi sets it.

        Clocks that are locked NVML does not tell.
        """
        asked = (
            ("-pm", "nvmlDeviceGetPersistenceMode", "", 1),
            ("-pl", "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetPowerManagementDefaultLimit", 1000),
            ("-c", "nvmlDeviceGetComputeMode", "", 1),
            ("-am", "nvmlDeviceGetAccountingMode", "", 1),
        )
        found = []
        for option, symbol, usual, unit in asked:
            try:
                now = self._number(say("call.set"), symbol, handle)
                if now != (self._number(say("call.usual"), usual, handle) if usual else 0):
                    found.append(f"{option} {now // unit}")
            except Refused as refused:
                if not refused.unsupported:
                    raise
        return tuple(found)

    def virtual_mode(self, handle: Handle) -> int:
        """Return how the GPU is virtual: `abi.PASSED_THROUGH`, `abi.VIRTUAL_GPU`, or another number."""
        return self._number(say("call.virtual"), "nvmlDeviceGetVirtualizationMode", handle)

    def bus(self, handle: Handle) -> str:
        """Return the bus id as sysfs writes it."""
        info = abi.PciInfo()
        self._run(say("call.bus"), "nvmlDeviceGetPciInfo_v3", handle, byref(info))
        return _bus(info)

    def links(self, handle: Handle) -> tuple[Link, ...]:
        """Return the other ends of the NVLinks that are up; none where the GPU has no NVLink."""
        found = []
        for number in range(abi.MOST_LINKS):
            try:
                state = self._number(say("call.links"), "nvmlDeviceGetNvLinkState", handle, number)
                if state == abi.LINK_ACTIVE:
                    found.append(self._link(handle, number))
            except Refused as refused:
                if not refused.unsupported and refused.code not in (abi.INVALID_ARGUMENT, abi.NOT_FOUND):
                    raise
        return tuple(found)

    def _link(self, handle: Handle, number: int) -> Link:
        what = say("call.peers")
        kind, info = self._number(what, "nvmlDeviceGetNvLinkRemoteDeviceType", handle, number), abi.PciInfo()
        self._run(what, "nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, number, byref(info))
        return Link(_bus(info), kind == abi.PEER_SWITCH)

    def fields(self, handle: Handle, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the values of the fields that this GPU and this driver have."""
        return dict(self._fields(handle, [(number, 0) for number in ids]))

    def link_fields(self, handle: Handle, ids: Sequence[int]) -> Mapping[int, Sequence[float]]:
        """Return the values of fields that each NVLink has: for each field one of each link that tells it."""
        links = int(self.fields(handle, (abi.LINK_COUNT_FIELD,)).get(abi.LINK_COUNT_FIELD, 0))
        asked = [(number, link) for number in ids for link in range(min(links, abi.MOST_LINKS))]
        found: dict[int, list[float]] = {number: [] for number in ids}
        for number, value in self._fields(handle, asked) if asked else ():
            found[number].append(value)
        return found

    def _fields(self, handle: Handle, wanted: Sequence[tuple[int, int]]) -> Iterator[tuple[int, float]]:
        """Yield number and value of each field that is there. `wanted`: their numbers and scopes."""
        asked = (abi.FieldValue * len(wanted))()
        for field, (number, scope) in zip(asked, wanted, strict=True):
            field.fieldId, field.scopeId = number, scope
        self._run(say("call.fields"), "nvmlDeviceGetFieldValues", handle, len(wanted), asked)
        for field in asked:
            if field.nvmlReturn == abi.OK and field.valueType < len(abi.VALUES):
                yield field.fieldId, getattr(field.value, abi.VALUES[field.valueType])

    def sram_worn(self, handle: Handle) -> bool:
        status = abi.versioned(abi.SramStatus)
        there = self._has(say("call.sram"), "nvmlDeviceGetSramEccErrorStatus", handle, status)
        return there and bool(status.bThresholdExceeded)

    def repair_pending(self, handle: Handle) -> bool:
        status = abi.versioned(abi.RepairStatus)
        there = self._has(say("call.repairs"), "nvmlDeviceGetRepairStatus", handle, status)
        return there and bool(status.bChannelRepairPending or status.bTpcRepairPending)

    def unrepairable(self, handle: Handle) -> bool:
        status = abi.versioned(abi.UnrepairableMemory)
        version, symbol = status.version, "nvmlDeviceGetUnrepairableMemoryFlag_v1"
        there = self._has(say("call.beyond-repair"), symbol, handle, status)
        return there and bool(status.flag if status.version == version else status.version)

    def fabric(self, handle: Handle) -> Fabric | None:
        """Return the fabric's state in the newest words that this driver knows; None where there is no fabric."""
        what = say("call.fabric")
        for structure in (abi.FabricInfoV3, abi.FabricInfoV2):
            info = abi.versioned(structure)
            if self._has(what, "nvmlDeviceGetGpuFabricInfoV", handle, info):
                return Fabric(info.state, info.status, getattr(info, "healthSummary", 0))
        old = abi.FabricInfo()
        return Fabric(old.state, old.status) if self._has(what, "nvmlDeviceGetGpuFabricInfo", handle, old) else None

    def holders(self, handle: Handle) -> tuple[Holder, ...]:
        """Return the processes with a context on the GPU: of compute, of graphics, and clients of MPS."""
        opened: tuple[tuple[Handle, Part], ...] | None = None
        with suppress(Refused):  # The CPU keeps the list, and the GPU's own processor, which may be dead, its parts.
            opened = self._opened_parts(handle)
        names = {part.instances: part.uuid for _, part in opened or ()}
        try:
            found = self._users(handle, names)
        except Refused as refused:
            # A divided GPU tells of all its parts to whoever has MIG's right to monitor, which root alone is not.
            if refused.code != abi.NO_PERMISSION or opened is None or not self.is_divided(handle):
                raise
            found = {}
        for part, _ in opened or ():
            found = {**self._users(part, names), **found}
        return tuple(found[pid] for pid in sorted(found))

    def _users(self, handle: Handle, names: Mapping[tuple[int, int], str]) -> dict[int, Holder]:
        found: dict[int, Holder] = {}
        for kind in ("Compute", "Graphics", "MPSCompute"):
            for holder in self._listed(kind, handle, names):
                found.setdefault(holder.pid, holder)
        return found

    def _listed(self, kind: str, handle: Handle, names: Mapping[tuple[int, int], str]) -> tuple[Holder, ...]:
        try:
            found = self._records(f"nvmlDeviceGet{kind}RunningProcesses_v3", handle, names)
            if any(holder.pid in (0, abi.WHOLE_GPU) for holder in found):
                # Early R535 writes records of another size there; the older function is right.
                found = self._records(f"nvmlDeviceGet{kind}RunningProcesses_v2", handle, names)
        except Refused as refused:
            if refused.code == abi.NOT_SUPPORTED and kind != "Compute":
                return ()  # A GPU without graphics, or without MPS, has no users of that kind.
            raise
        return found

    def _records(self, symbol: str, handle: Handle, names: Mapping[tuple[int, int], str]) -> tuple[Holder, ...]:
        room = 32
        while True:
            # Their number may grow between two calls.
            count, records = c_uint(room), create_string_buffer(room * abi.RECORD_ROOM)
            try:
                self._run(say("call.users"), symbol, handle, byref(count), records)
            except Refused as refused:
                if refused.code != abi.INSUFFICIENT_SIZE or room > abi.WHOLE_GPU >> 16:
                    raise
                room = 2 * max(count.value, room) + 8
                continue
            size = sizeof(abi.ProcessInfo)
            infos = (abi.ProcessInfo.from_buffer_copy(records, n * size) for n in range(min(count.value, room)))
            return tuple(_holder(info, names) for info in infos)

    def is_divided(self, handle: Handle) -> bool:
        """Return whether MIG is on: the GPU is used in parts."""
        current, pending = c_uint(), c_uint()
        try:
            self._run("read the MIG mode", "nvmlDeviceGetMigMode", handle, byref(current), byref(pending))
        except Refused as refused:
            if refused.unsupported:
                return False
            raise
        return bool(current.value)

    def parts(self, handle: Handle) -> tuple[Part, ...]:
        """Return the parts that MIG divides the GPU into; none where it is not divided, or cannot be."""
        return tuple(part for _, part in self._opened_parts(handle))

    def _opened_parts(self, handle: Handle) -> tuple[tuple[Handle, Part], ...]:
        if not self.is_divided(handle):
            return ()
        what = say("call.parts")
        places = range(self._number(what, "nvmlDeviceGetMaxMigDeviceCount", handle))
        found = ((index, self._opened_part(handle, index)) for index in places)
        return tuple((part, self._part(part, index)) for index, part in found if part is not None)

    def _opened_part(self, handle: Handle, index: int) -> Handle | None:
        try:
            return self._opened(say("call.parts"), "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        except Refused as refused:
            if refused.code in (abi.NOT_FOUND, abi.INVALID_ARGUMENT):
                return None  # An empty place.
            raise

    def _part(self, part: Handle, index: int) -> Part:
        what = say("call.part-numbers")
        numbers = (
            self._number(what, "nvmlDeviceGetGpuInstanceId", part),
            self._number(what, "nvmlDeviceGetComputeInstanceId", part),
        )
        return Part(index, self.uuid(part), numbers, self._profile(part))

    def _profile(self, part: Handle) -> str:
        said = abi.Attributes()
        try:
            self._run(say("call.part"), "nvmlDeviceGetAttributes_v2", part, byref(said))
        except Refused as refused:
            if not refused.unsupported:
                raise
            return ""
        gpu, compute = said.gpuInstanceSliceCount, said.computeInstanceSliceCount
        return f"{f'{compute}c.' if compute != gpu else ''}{gpu}g.{math.ceil(said.memorySizeMB / 1024)}gb"

    def measure(self, symbol: str, handle: Handle, into: Any, *before: int) -> None:
        """Fill `into` with what the function of that name measures."""
        self._run(say("call.measure"), symbol, handle, *before, byref(into))

    def new_set(self) -> EventSet:
        made = c_void_p()
        self._run(say("call.new-set"), "nvmlEventSetCreate", byref(made))
        return EventSet(made.value or 0)

    def register(self, handle: Handle, types: int, events: EventSet) -> None:
        """Have those of the events told that the GPU knows: one that it does not know would refuse them all."""
        supported = c_uint64()
        what = say("call.register")
        self._run(what, "nvmlDeviceGetSupportedEventTypes", handle, byref(supported))
        self._run(what, "nvmlDeviceRegisterEvents", handle, types & supported.value, events)

    def wait(self, events: EventSet, milliseconds: int) -> Event | None:
        """Return the next event; None when none came for so long, or something cut the wait short."""
        data = abi.EventData()
        code = self._code("nvmlEventSetWait_v2", events, byref(data), milliseconds)
        if code == abi.TIMEOUT:
            return None
        if code != abi.OK:
            raise Refused(say("call.wait"), code)
        instance = None if data.gpuInstanceId == abi.WHOLE_GPU else data.gpuInstanceId
        return Event(Handle(data.device or 0), data.eventType, data.eventData, instance)

    def free(self, events: EventSet) -> None:
        self._run(say("call.free-set"), "nvmlEventSetFree", events)

    def _text(self, what: str, symbol: str, handle: Handle) -> str:
        text = create_string_buffer(abi.TEXT_ROOM)
        self._run(what, symbol, handle, text, abi.TEXT_ROOM)
        return text.value.decode(errors="replace").strip()

    def _number(self, what: str, symbol: str, *args: Any) -> int:
        value = c_uint()
        self._run(what, symbol, *args, byref(value))
        return value.value


def _holder(info: abi.ProcessInfo, names: Mapping[tuple[int, int], str]) -> Holder:
    memory = 0 if info.usedGpuMemory == abi.UNKNOWN_MEMORY else info.usedGpuMemory
    return Holder(info.pid, memory, names.get((info.gpuInstanceId, info.computeInstanceId), ""))


def _bus(info: abi.PciInfo) -> str:
    return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}.0"
