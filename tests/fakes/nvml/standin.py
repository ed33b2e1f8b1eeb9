"""A machine with NVIDIA GPUs behind the stand-in for libnvidia-ml.so.1: set up, and changed while it is in use.

GPUs are named by their index. It may be changed from any process that loads the same library; in a test's own process
that is also the one which the driver loads.
"""

import ctypes
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from cmgr.drivers.nvml.library import abi


class Purpose(IntEnum):
    """The purpose of a call: the enum of libnvidia-ml.c."""

    INIT = 0
    LIST = 1
    HANDLE = 2
    INFO = 3
    FIELD = 4
    HEALTH = 5
    PROCESS = 6
    REGISTER = 7
    WAIT = 8
    GAUGE = 9
    MIG = 10


SILENT = (Purpose.HANDLE, Purpose.FIELD, Purpose.PROCESS)


@dataclass(frozen=True, slots=True)
class FakeLink:
    """An NVLink that is up. `peer`: a GPU's index; None: a switch."""

    peer: int | None = None


@dataclass(frozen=True, slots=True)
class FakeGpu:
    """`group`: GPUs that have to be reset with it."""

    bus: int
    minor: int
    group: int
    name: str
    architecture: int
    links: tuple[FakeLink, ...] = ()
    fields: dict[int, int] = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        return f"GPU-00000000-0000-0000-0000-{self.bus:012x}"

    @property
    def address(self) -> str:
        """Return the bus id as sysfs writes it."""
        return f"0000:{self.bus:02x}:00.0"


@dataclass(frozen=True, slots=True)
class FakeReset:
    gpus: frozenset[int]
    answer: int


class Standin:
    """Open one for a library that `build.Workshop.place` made, then `create` the machine, or find one that was."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.tool = library.with_name("nvidia-smi")
        self.divider = library.with_name("mig-tool")
        self.gpus: tuple[FakeGpu, ...] = ()
        self._log: int | None = None
        self._line = 0
        (library.parent / "world").touch()
        self._c = ctypes.CDLL(str(library))
        assert self._do("open") == 0, library

    def create(self, gpus: tuple[FakeGpu, ...]) -> "Standin":
        self.gpus = gpus
        self._do("create", len(gpus))
        for number, gpu in enumerate(gpus):
            self._do("gpu", number, gpu.bus, gpu.minor, gpu.architecture, gpu.group)
            self._do("name", number, gpu.uuid.encode(), gpu.name.encode(), f"16{gpu.bus:08d}".encode())
            for at, link in enumerate(gpu.links):
                self._do("link", number, at, abi.PEER_SWITCH if link.peer is None else abi.PEER_GPU, link.peer or 0)
            for name, value in gpu.fields.items():
                self.field(number, name, value)
        return self

    def _do(self, name: str, *args: object) -> int:
        answer = getattr(self._c, f"standin_{name}")(*args)
        assert isinstance(answer, int)
        return answer

    def field(self, gpu: int, number: int, value: int, *, link: int = -1) -> None:
        """Let a field of the GPU have this value; of one of its NVLinks, if that is named."""
        assert self._do("field", gpu, link, ctypes.c_uint32(number), ctypes.c_uint64(value)) == 0

    def event(self, gpu: int, kind: int, data: int = 0, instance: int = -1) -> None:
        """Let NVML tell of this."""
        self._do("event", gpu, ctypes.c_uint64(kind), ctypes.c_uint64(data), instance)

    def xid(self, gpu: int, number: int, instance: int = -1) -> None:
        """Let NVML tell of an Xid; the kernel log has nothing of it."""
        self.event(gpu, abi.XID, number, instance)

    def act(self, gpu: int, action: int) -> None:
        """Change the recovery action, and tell that it changed."""
        self.field(gpu, abi.ACTION_FIELD, action)
        self.event(gpu, abi.RECOVERY_ACTION)

    @property
    def kernel_log(self) -> Path:
        """The fake kernel log: a pipe, of which a read has whole records, as of /dev/kmsg."""
        path = self.library.with_name("kmsg")
        if self._log is None:
            os.mkfifo(path)
            self._log = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        return path

    def log(self, text: str, *, at: int = 0) -> None:
        """Write a line into the kernel log, now; `at`: its number, by default the one after the last one's.

        All of the module's begin as if they went on with another one: kernel-open/nvidia/os-interface.c, nv_printf.
        """
        assert self.kernel_log.exists()
        assert self._log is not None
        self._line = at or self._line + 1
        now = int(1e6 * time.clock_gettime(time.CLOCK_MONOTONIC))
        os.write(self._log, f"4,{self._line},{now},c;{text}\n SUBSYSTEM=pci\n".encode())

    def logged(self) -> str:
        """Return what the kernel log has that nobody has read yet."""
        assert self._log is not None
        try:
            return os.read(self._log, 1 << 16).decode()
        except BlockingIOError:
            return ""

    def process(self, gpu: int, pid: int, memory: int = 1 << 20, *, kind: int = 0, instance: int = -1) -> None:
        """Put a process on the GPU; with no memory it ends."""
        self._do("process", gpu, pid, kind, instance, ctypes.c_uint64(memory))

    def swap(self, gpu: int, uuid: str) -> None:
        """Let another GPU be at this one's bus id."""
        known = self.gpus[gpu]
        self._do("name", gpu, uuid.encode(), known.name.encode(), b"16")

    def divide(self, gpu: int, parts: int, *, forgets: bool = False) -> None:
        """Let MIG divide the GPU so; `divider` is a program for `nvml.mig_tool` that does so again.

        `forgets`: a reset takes the parts away.
        """
        self.set("mig", int(parts > 0), gpu)
        self.set("forgets_parts", int(forgets), gpu)
        for name in ("instances", "parts"):
            self.set(name, parts, gpu)

    def answer(self, gpu: int, purpose: Purpose, code: int) -> None:
        """Let calls for that purpose return this code; 0: what they should."""
        self._do("answer", gpu, int(purpose), code)

    def silence(self, gpu: int, *, silent: bool = True) -> None:
        for purpose in SILENT:
            self.answer(gpu, purpose, 999 if silent else 0)

    def crash_gsp(self, gpu: int) -> None:
        """Let the GPU's own processor be dead: it wants a reset, and answers only what the CPU keeps."""
        self.set("gsp_dead", 1, gpu)
        self.act(gpu, 1)

    def emerge(self, gpu: int, code: int) -> None:
        """Let the GPU answer everything with this code when it was reset; 0: it is well then."""
        self.set("emerges", code, gpu)

    def hang(self, gpu: int, purpose: Purpose, *, hangs: bool = True, for_good: bool = False) -> None:
        """Let calls for that purpose not come back until they may; `for_good`: nor their process be ended."""
        self._do("hang", gpu, int(purpose), int(hangs) + int(for_good))

    def hang_resets(self, gpus: int) -> None:
        """Let resets of these GPUs, a bit for each, not come back until they may."""
        self._do("hang_resets", ctypes.c_uint64(gpus))

    def set(self, name: str, value: int, gpu: int = 0) -> None:
        assert self._do("set", gpu, name.encode(), value) == 0, name

    def get(self, name: str, gpu: int = 0) -> int:
        return self._do("get", gpu, name.encode())

    def is_open(self, gpu: int) -> bool:
        """Return whether any process has the GPU open."""
        return bool(self._do("is_open", gpu))

    def opener(self, gpu: int) -> int:
        """Return the number of a process that has the GPU open; 0: none."""
        return self._do("opener", gpu)

    def end_opener(self, gpu: int) -> None:
        """Kill the processes that have the GPU open."""
        while opener := self.opener(gpu):
            with suppress(ProcessLookupError):
                os.kill(opener, signal.SIGKILL)

    def finish_boots(self) -> None:
        self._do("finish_boots")

    def reload(self) -> None:
        """Load the driver anew: what this process had of it is void."""
        self._do("reload")

    @property
    def resets(self) -> tuple[FakeReset, ...]:
        """Every reset that was asked for."""
        found = []
        for number in range(self.get("resets")):
            gpus, answer = ctypes.c_uint64(), ctypes.c_int()
            self._do("reset_at", number, ctypes.byref(gpus), ctypes.byref(answer))
            found.append(FakeReset(frozenset(n for n in range(64) if gpus.value >> n & 1), answer.value))
        return tuple(found)

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None
