"""A machine with Ascend chips behind the stand-in for libdcmi.so: set up, and changed while it is in use.

Chips are named by logical id. It may be changed from any process that loads the same library; in a test's own process
that is also the one which the driver loads.
"""

import ctypes
import shutil
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from cmgr.model.values.faults import Assertion

ASSERTIONS = {Assertion.CLEARED: 0, Assertion.OCCURRED: 1, Assertion.ONCE: 2}
BY_HAND = -1
ALWAYS = -1


class Purpose(IntEnum):
    """The purpose of a call: the enum of libdcmi.c."""

    INIT = 0
    LIST = 1
    IDS = 2
    INFO = 3
    BOARD = 4
    PRODUCT = 5
    BROTHER = 6
    CODES = 7
    HEALTH = 8
    PROCESS = 9
    RESET = 10
    BOOT = 11
    SUBSCRIBE = 12
    GAUGE = 13
    CHANNEL = 14
    PRE_RESET = 15
    RESCAN = 16
    VDEVICE = 17
    MAKE_VDEVICE = 18
    ADDRESS = 19
    NETWORK = 20
    CONTROLLER = 21
    PRESENT = 22
    TOPOLOGY = 23
    DESTROY_VDEVICE = 24


SILENT = (Purpose.CODES, Purpose.HEALTH, Purpose.PROCESS, Purpose.BOOT)


@dataclass(frozen=True, slots=True)
class FakeChip:
    """`group`: chips that are wired to it, and so reset with it."""

    card: int
    device: int
    physical: int
    group: int
    name: str
    board: int = 0
    product: str = ""
    brother: int = -1


@dataclass(frozen=True, slots=True)
class FakeReset:
    chip: int
    channel: int
    answer: int


class Standin:
    """Open one for a library that `build.Workshop.place` made, then `create` the machine, or find one that was."""

    def __init__(self, library: Path) -> None:
        self.library = library
        (library.parent / "world").touch()
        self._c = ctypes.CDLL(str(library))
        assert self._do("open") == 0, library

    def create(self, chips: tuple[FakeChip, ...]) -> "Standin":
        self._do("create", len(chips))
        for number, chip in enumerate(chips):
            where = (chip.card, chip.device, chip.physical, chip.group, chip.brother)
            self._do("chip", number, *where)
            texts = (b"Ascend", chip.name.encode(), chip.product.encode())
            self._do("name", number, *texts, ctypes.c_uint(chip.board), ctypes.c_uint(0))
        self.devices.mkdir(exist_ok=True)
        self._numbers = [n if chip.name.startswith("Ascend950") else chip.physical for n, chip in enumerate(chips)]
        for number in self._numbers:
            self._device(number).touch()
        return self

    def let_go(self) -> None:
        """Close the chips' device files, which a library that has begun in this process holds to its end."""
        self._do("let_go")

    @property
    def devices(self) -> Path:
        """Return the folder that stands for /dev."""
        return self.library.parent / "dev"

    def _device(self, number: int) -> Path:
        return self.devices / f"davinci{number}"

    def _do(self, name: str, *args: object) -> int:
        answer = getattr(self._c, f"standin_{name}")(*args)
        assert isinstance(answer, int)
        return answer

    def fault(
        self,
        chip: int,
        code: str,
        assertion: Assertion = Assertion.OCCURRED,
        *,
        module: str = "1.2.3.4",
        severity: int = 2,
        incurable: bool = False,
    ) -> None:
        """Let this happen to a fault, and tell it."""
        parts = [int(part) & 0xFF for part in module.split(".")]
        packed = parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3]
        number = ctypes.c_uint(int(code, 16))
        self._do("fault", chip, number, severity, ctypes.c_uint(packed), ASSERTIONS[assertion], int(incurable))

    def clear(self, chip: int, code: str) -> None:
        self.fault(chip, code, Assertion.CLEARED)

    def process(self, chip: int, pid: int, memory: int = 1 << 20) -> None:
        """Put a process on the chip; with no memory it ends."""
        self._do("process", chip, pid, ctypes.c_ulong(memory))

    def end_process(self, chip: int, pid: int, *, lingers: bool = False) -> None:
        """Let it end in the midst of the next list; or leave the list now and hold the chip on, when it lingers."""
        self._do("end_process", chip, pid, int(lingers))

    @property
    def custom_processes(self) -> Path:
        """Return the path that stands for /etc/custom_process.cfg."""
        return self.library.parent / "custom_process.cfg"

    def divide(self, chip: int, **templates: str) -> None:
        """Make vNPUs: `v100="vir04"`."""
        for name, template in templates.items():
            number = ctypes.c_uint(int(name.removeprefix("v")))
            assert self._do("vdevice", chip, number, ctypes.c_uint(0), template.encode()) == 0, name

    def use(self, chip: int, number: int, *, used: bool = True) -> None:
        """Let a container use a vNPU, or none any more."""
        assert self._do("use", chip, ctypes.c_uint(number), int(used)) == 0, number

    def destroy(self, chip: int, number: int) -> None:
        """Destroy a vNPU."""
        self._do("vdevice", chip, ctypes.c_uint(number), ctypes.c_uint(0), b"")

    def vdevices(self, chip: int) -> dict[int, str]:
        """Return the template of each vNPU that the chip has."""
        found: dict[int, str] = {}
        number, template = ctypes.c_uint(), ctypes.create_string_buffer(16)
        while self._do("vdevice_at", chip, len(found), ctypes.byref(number), template) == 0:
            found[number.value] = template.value.decode()
        return dict(sorted(found.items()))

    def answer(self, chip: int, purpose: Purpose, code: int) -> None:
        """Let calls for that purpose return this code; 0: what they should."""
        self._do("answer", chip, int(purpose), code)

    def asked(self, chip: int, *, of_controller: bool = False) -> int:
        """Return how often the chip, or its card's controller on the way, was asked something."""
        return self._do("asked", chip, int(of_controller))

    def gauge(self, chip: int, **values: int) -> None:
        """Let the chip measure these, in the units of the library."""
        for name, value in values.items():
            assert self._do("gauge", chip, name.encode(), value) == 0, name

    def silence(self, chip: int, *, silent: bool = True) -> None:
        for purpose in (*SILENT, Purpose.PRESENT):
            self.answer(chip, purpose, -8005 if silent else 0)

    def hang(self, chip: int, purpose: Purpose, *, hangs: bool = True) -> None:
        """Let calls for that purpose not come back until they may."""
        self._do("hang", chip, int(purpose), int(hangs))

    def another_process(self) -> "Standin":
        """Return this machine as a process that begins now would have it: what a library remembers is its own."""
        copy = self.library.with_name(f"{len([*self.library.parent.iterdir()])}-{self.library.name}")
        return Standin(Path(shutil.copy(self.library, copy)))

    def list(self, chip: int, *, listed: bool) -> None:
        """Let the chip be on the machine: a process knows those that were when it began."""
        self._do("list", chip, int(listed))
        device = self._device(self._numbers[chip])
        device.touch() if listed else device.unlink(missing_ok=True)

    def drop(self, chip: int, *, dropped: bool = True, removed: bool = False) -> None:
        """Let the chip leave the bus, and the kernel's tables, too, when it is `removed`."""
        self._do("drop", chip, 2 if removed else int(dropped))

    def reset_by_other(self, chip: int, *, under_way: bool = True) -> None:
        """Let another program be resetting the chip, and what goes with it."""
        self._do("reset_by_other", chip, int(under_way))

    def finish_boots(self, *, but: int = -1) -> None:
        """Let all chips have booted, but for one."""
        self._do("finish_boots", but)

    def storm(self, chip: int, events: int, per_second: int, distinct: int) -> None:
        """Tell so many events of so many distinct faults, from the library's own thread."""
        self._do("storm", chip, events, per_second, distinct)

    def burst(self, chip: int, events: int) -> None:
        """Tell so many events of as many codes at the same instant."""
        self._do("burst", chip, events)

    def end_tellers(self) -> None:
        """Let the threads end by which the library tells of events."""
        self.set("tellers_end", self.get("tellers_end") + 1)

    def set(self, name: str, value: int) -> None:
        assert self._do("set", name.encode(), value) == 0, name

    def get(self, name: str) -> int:
        return self._do("get", name.encode())

    @property
    def told_at(self) -> float:
        """When the subscriber was last called, on the monotonic clock. For one subscriber."""
        return self.get("told_s") + self.get("told_us") / 1e6

    @property
    def resets(self) -> tuple[FakeReset, ...]:
        """Every reset that the library was asked for."""
        found = []
        for number in range(self.get("resets")):
            values = (ctypes.c_int(), ctypes.c_int(), ctypes.c_int())
            assert self._do("reset", number, *map(ctypes.byref, values)) == 0
            found.append(FakeReset(*(value.value for value in values)))
        return tuple(found)
