"""The worlds that a service dies in: pretended or real containers, simulated chips or the stand-in's.

Several trials go on side by side in one world, each in a place of its own: rings and containers that no other has.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from cmgr.errors import CmgrError
from cmgr.runtimes.sim import world as sim_world
from tests.fakes.clock.wallclock import WallClock
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Standin
from tests.fakes.nvml import hosts as nvidia_hosts
from tests.fakes.nvml.fixtures import Make as MakeGpus
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import Dockerd
from tests.support.service import NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.containers import Containers, Happening, Spec
from tests.system.tasks import POLICY, Tasks

PLACES = 3
"""How many trials go on side by side."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rings of a place and who is on them. `held`: who is stopped by a fault of the first chip, and their chips.

    `group`: they are stopped because they are members of it, a group of each place's own. `rings`: how many of them
    there are. `unit`: how the name of the unit ends that each of them is run by. `divided`: each is on a share of its
    chip, of which every place's first has one for each. `by_place`: shares are called by their places on the chip.
    `ready`: how each of them is asked whether it answers.
    """

    name: str
    ring: int
    strategy: str
    held: Mapping[str, int]
    group: str = ""
    rings: int = 1
    unit: str = ""
    divided: bool = False
    by_place: bool = False
    ready: str = ""

    def chip(self, place: int, offset: int = 0) -> int:
        return place * self.rings * self.ring + offset

    @property
    def chips(self) -> int:
        """One ring more than the places have, for the containers that no fault concerns."""
        return (PLACES * self.rings + 1) * self.ring

    @property
    def of_the_ring(self) -> list[str]:
        """The held ones on the ring that is reset."""
        return [name for name, chip in self.held.items() if chip < self.ring]

    def specs(self, place: int) -> tuple[Spec, ...]:
        labels = {"cmgr.group": f"{self.group}-{place}" if self.group else "", "cmgr.ready": self.ready}
        short = {"cmgr.stop-timeout": "3", **{label: value for label, value in labels.items() if value}}
        held = (
            Spec(f"{name}-{place}", self._asked(place, name, chip), policy=policy_of(name), labels=short)
            for name, chip in self.held.items()
        )
        return (*held, Spec(f"beside-{place}", str(self.chip(PLACES))))

    def _asked(self, place: int, name: str, chip: int) -> str:
        number = self.chip(place, chip)
        return f"{number}:{self.shares(place)[list(self.held).index(name)]}" if self.divided else str(number)

    def shares(self, place: int) -> range:
        """The ids of the shares of its first chip; Ascend's and simulated chips give them alike."""
        first = 0 if self.by_place else 100 + 16 * self.chip(place)
        return range(first, first + len(self.held) * self.divided)


def policy_of(name: str) -> str:
    return "always" if name.startswith("keen") else "no"


SINGLE = Layout("single", 1, "singleRecover", {"keen": 0})
GROUP = Layout("group", 2, "singleRecover", {"keen": 0, "near": 1, "mate": 2}, group="tp", rings=2)
RING = Layout("ring", 4, "ringRecover", {"quick": 0, "calm": 1, "keen": 2})
SHARES = Layout("shares", 1, "singleRecover", {"calm": 0, "keen": 0}, divided=True)
PARTS = Layout("parts", 1, "singleRecover", {"calm": 0, "keen": 0}, divided=True, by_place=True)
ASKED = Layout("asked", 2, "ringRecover", {"calm": 0, "keen": 1}, ready="exec true")
UNITS = Layout("units", 2, "ringRecover", {"calm": 0, "keen": 1}, unit=".service")


class Stock(Protocol):
    """The containers of one place. `meddles`: the runtime itself may start one that ended, for its restart policy."""

    settings: Mapping[str, Setting]
    meddles: bool

    def furnish(self, service: Service) -> None:
        """Make the containers run, if they do not, before the service starts; what happens from now on is counted."""

    def happenings(self, service: Service) -> list[Happening]:
        """Return every start and death of these containers, as the runtime's own record has them."""

    def running(self, service: Service) -> Mapping[str, bool]: ...

    def is_armed(self, service: Service, name: str) -> bool:
        """Return whether the restart policy is the one that the container was made with."""

    def close(self) -> None: ...


class Pretended:
    """Pretended containers: the service makes them, their world lies in its folder."""

    settings: Mapping[str, Setting] = {"runtimes": ["sim"]}
    meddles = False

    def __init__(self, layout: Layout, place: int) -> None:
        self._specs = layout.specs(place)

    def furnish(self, service: Service) -> None:
        service.more = "\n".join(
            f'[[sim.containers]]\nname = "{spec.name}"\n{_used(spec)}\n'
            f'restart_policy = "{spec.policy if spec.policy != "no" else ""}"\n'
            f'group = "{spec.labels.get("cmgr.group", "")}"\nstop_time = "10ms"\nstart_time = "10ms"'
            for spec in self._specs
        )
        service.configure({})

    def happenings(self, service: Service) -> list[Happening]:
        seen = [w for w in witnessed(service) if w["action"] in ("start", "die")]
        return [Happening(float(str(w["at"])), str(w["name"]), str(w["action"]), "") for w in seen]

    def running(self, service: Service) -> Mapping[str, bool]:
        return {life.like.name: life.running for life in _lives(service)}

    def is_armed(self, service: Service, name: str) -> bool:
        (life,) = (life for life in _lives(service) if life.like.name == name)
        return life.restart_policy == life.like.restart_policy

    def close(self) -> None:
        pass


def _used(spec: Spec) -> str:
    return f'shares = ["{spec.chips}"]' if ":" in spec.chips else f"chips = [{spec.chips}]"


def _lives(service: Service) -> tuple[sim_world.Life, ...]:
    return sim_world.read((service.folder / "world.containers").read_text())[0]


class Docker:
    """Containers of a private Docker daemon, which are made once and used again."""

    meddles = False

    def __init__(self, dockerd: Dockerd, layout: Layout, place: int) -> None:
        self.settings: Mapping[str, Setting] = {"runtimes": ["docker"], "docker.socket": dockerd.socket}
        self.containers = Containers(dockerd)
        self._specs = layout.specs(place)

    def furnish(self, service: Service) -> None:
        if not self.containers.names:
            self.containers.run(*self._specs)
            self.containers.follow()
        self.containers.mark()

    def happenings(self, service: Service) -> list[Happening]:
        names = {spec.name for spec in self._specs}
        return [h for h in self.containers.happenings() if h.name in names and h.action in ("die", "start")]

    def running(self, service: Service) -> Mapping[str, bool]:
        return {spec.name: self.containers.is_running(spec.name) for spec in self._specs}

    def is_armed(self, service: Service, name: str) -> bool:
        return self.containers.policy(name) == policy_of(name)

    def close(self) -> None:
        self.containers.close()


class Containerds:
    """The same on a private containerd."""

    meddles = True

    def __init__(self, containerd: Containerd, layout: Layout, place: int) -> None:
        self.settings: Mapping[str, Setting] = {
            "runtimes": ["containerd"],
            "containerd.address": containerd.socket,
        }
        self.tasks = Tasks(containerd)
        self._specs = layout.specs(place)

    def furnish(self, service: Service) -> None:
        if not self.tasks.keys:
            self.tasks.run(*self._specs)
        self.tasks.mark()

    def happenings(self, service: Service) -> list[Happening]:
        return [h for h in self.tasks.happenings() if h.name in self.tasks.keys]

    def running(self, service: Service) -> Mapping[str, bool]:
        return {name: self.tasks.is_running(name) for name in self.tasks.keys}

    def is_armed(self, service: Service, name: str) -> bool:
        on = f'"{POLICY}": "running"' in self.tasks.world.labels(self.tasks.keys[name])
        return on == (policy_of(name) == "always")

    def close(self) -> None:
        self.tasks.close()


class Chips(Protocol):
    """The chips of one place."""

    settings: Mapping[str, Setting]
    environment: Mapping[str, str]
    """Variables that the service is started with."""

    expected: list[str]
    """The outcomes that the resets of one episode must have."""

    told: Sequence[str]
    """Texts that the timeline must have once, beside those of every episode."""

    def furnish(self, service: Service, stock: Stock) -> None:
        """Make them ready for a service."""

    def fault(self, service: Service) -> None:
        """Have the first ring recovered: mostly by a fault of its first chip, which a reset cures."""

    def resets(self, service: Service) -> list[str]:
        """Return what became of each reset that was ordered of them, as their own record has it."""

    def lost(self, service: Service) -> Sequence[str]:
        """Return the shares that a reset took and nobody has made again."""


class Simulated:
    """Simulated chips, which outlive the service in a file. The first resets fail, if so many are to."""

    environment: Mapping[str, str] = {}
    told: Sequence[str] = ()

    def __init__(self, layout: Layout, place: int, failing: int = 0) -> None:
        self.expected = ["failed"] * failing + ["taken"]
        self.settings: Mapping[str, Setting] = {
            "driver": "sim",
            "sim.chips": layout.chips,
            "sim.ring": layout.ring,
            "sim.reset_time": "20ms",
            "sim.boot_time": "60ms",
            "sim.fail_resets": failing,
        }
        count = len(layout.shares(place))
        self._divided = f"\n[[sim.divided]]\nchip = {layout.chip(place)}\nshares = {count}\n" if count else ""
        self._chip = layout.chip(place)

    def furnish(self, service: Service, stock: Stock) -> None:
        service.more += self._divided
        service.configure({})

    def fault(self, service: Service) -> None:
        service.inject(self._chip)

    def resets(self, service: Service) -> list[str]:
        return [reset.outcome for reset in service.resets()]

    def lost(self, service: Service) -> Sequence[str]:
        world = json.loads((service.folder / "world").read_text())
        return [share for chip in world["chips"].values() for share in chip["lost"]]


class Windowed(Simulated):
    """Simulated chips whose fault waits for its window, which opens once that has been said, or cmgr has died."""

    def __init__(self, clock: WallClock, layout: Layout, place: int) -> None:
        super().__init__(layout, place)
        self._clock = clock
        self.environment = clock.environment
        self.settings = {**self.settings, "time_zone": "UTC", "levels.RestartNPU.window": ["03:00-04:00"]}

    def furnish(self, service: Service, stock: Stock) -> None:
        # A clock that is set ahead in one life has orders of that life lapse in the next, if by 10 min or more.
        self._shows("02:57:00")

    def fault(self, service: Service) -> None:
        with suppress(CmgrError):
            super().fault(service)
        eventually(lambda: not service.running() or self._waits(service), why="it waits for its window")
        self._shows("02:59:59")

    def _waits(self, service: Service) -> bool:
        with suppress(CmgrError):
            return any("waits for its window" in ring["reason"] for ring in service.status()["rings"])
        return False

    def _shows(self, time: str) -> None:
        now = datetime.now(UTC)
        hours, minutes, seconds = map(int, time.split(":"))
        self._clock.set(now.replace(hour=hours, minute=minutes, second=seconds) - now)


class Drilled(Windowed):
    """Simulated chips on which a drill is held as soon as its time has come."""

    told = ("drill practice is over: recovered",)

    def __init__(self, clock: WallClock, layout: Layout, place: int) -> None:
        super().__init__(clock, layout, place)
        self.settings = {name: value for name, value in self.settings.items() if not name.startswith("levels.")}

    def furnish(self, service: Service, stock: Stock) -> None:
        super().furnish(service, stock)
        drill = f'name = "practice"\nwhen = "03:00"\nwhat = "fault"\ncode = "{NOW}"\nchips = [{self._chip}]'
        service.more += f"\n[[drills]]\n{drill}"
        service.configure({})

    def fault(self, service: Service) -> None:
        self._shows("03:00:00")


class Ascend:
    """Chips behind the stand-in for libdcmi.so. A container's process is on its chip while it lives."""

    environment: Mapping[str, str] = {}
    told: Sequence[str] = ()

    def __init__(self, ascend: Make, layout: Layout, place: int) -> None:
        make = hosts.host_910a if layout.ring == 4 else hosts.host_910b_infer
        self._machine: Standin = ascend(
            hosts.host_single("310P3", layout.chips) if layout.divided else make(layout.chips)
        )
        self._layout, self._place = layout, place
        self._before = 0
        self.expected = ["taken"]
        for name, value in {"reset_ms": 20, "boot_ms": 60, "mortal": 1, "by_board": 1}.items():
            self._machine.set(name, value)
        self._shares = dict.fromkeys(layout.shares(place), "vir02")
        self._machine.divide(layout.chip(place), **{f"v{number}": name for number, name in self._shares.items()})
        self.settings: Mapping[str, Setting] = {
            "driver": "dcmi",
            "dcmi.library": str(self._machine.library),
            "dcmi.poll": "100ms",
        }

    def furnish(self, service: Service, stock: Stock) -> None:
        self._before = len(self._machine.resets)
        if isinstance(stock, Docker):
            for name, chip in self._layout.held.items():
                pid = stock.containers.pid(f"{name}-{self._place}")
                self._machine.process(self._layout.chip(self._place, chip), pid)

    def fault(self, service: Service) -> None:
        self._machine.fault(self._layout.chip(self._place), NOW)

    def resets(self, service: Service) -> list[str]:
        return ["failed" if r.answer else "taken" for r in self._machine.resets[self._before :]]

    def lost(self, service: Service) -> Sequence[str]:
        there = self._machine.vdevices(self._layout.chip(self._place))
        return [str(number) for number, template in self._shares.items() if there.get(number) != template]


class Nvidia:
    """GPUs behind the stand-in for libnvidia-ml.so.1, and its nvidia-smi. A container's process is on its GPU."""

    environment: Mapping[str, str] = {}
    told: Sequence[str] = ()

    def __init__(self, nvidia: MakeGpus, layout: Layout, place: int) -> None:
        gpus = (
            nvidia_hosts.host_v100(layout.chips, layout.ring)
            if layout.ring > 1
            else nvidia_hosts.host_h100(layout.chips)
        )
        self._machine = nvidia(gpus)
        self._layout, self._place = layout, place
        self._before = 0
        self.expected = ["taken"]
        self._machine.set("mortal", 1)
        self._parts = len(layout.shares(place))
        self._machine.divide(layout.chip(place), self._parts, forgets=True)
        self.settings: Mapping[str, Setting] = {
            "driver": "nvml",
            "nvml.library": str(self._machine.library),
            "nvml.tool": str(self._machine.tool),
            "nvml.kernel_log": str(self._machine.kernel_log),
            "nvml.mig_tool": str(self._machine.divider) if self._parts else "",
        }

    def furnish(self, service: Service, stock: Stock) -> None:
        self._before = len(self._machine.resets)
        if isinstance(stock, Docker):
            for number, (name, chip) in enumerate(self._layout.held.items()):
                pid, part = stock.containers.pid(f"{name}-{self._place}"), number if self._parts else -1
                self._machine.process(self._layout.chip(self._place, chip), pid, instance=part)

    def fault(self, service: Service) -> None:
        self._machine.act(self._layout.chip(self._place), 1)

    def resets(self, service: Service) -> list[str]:
        return ["failed" if r.answer else "taken" for r in self._machine.resets[self._before :]]

    def lost(self, service: Service) -> Sequence[str]:
        there = self._machine.get("instances", self._layout.chip(self._place))
        return [str(part) for part in range(there, self._parts)]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one trial at a time goes on."""

    number: int
    layout: Layout
    stock: Stock
    chips: Chips

    @property
    def settings(self) -> Mapping[str, Setting]:
        return {"strategy": self.layout.strategy, **self.chips.settings, **self.stock.settings}

    @property
    def held(self) -> list[str]:
        return sorted(map(self._named, self.layout.held))

    @property
    def beside(self) -> str:
        return self._named("beside")

    @property
    def on_the_ring(self) -> list[str]:
        return list(map(self._named, self.layout.of_the_ring))

    def _named(self, name: str) -> str:
        return f"{name}-{self.number}{self.layout.unit}"


def witnessed(service: Service) -> list[Mapping[str, object]]:
    """Return what the witness beside the service saw the world do, and each reset before it was ordered."""
    path = service.folder / "witness"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
