"""A machine that stands still, for pictures: a door that tells every document of which the page is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cmgr.frozen import replace
from cmgr.service.door.control import ControlServer
from cmgr.service.door.lanes import lanes
from cmgr.service.door.routes import LANG, LINES, SVG, Answer, Arg, Page, Request, Route, Stream
from cmgr.view.text.drawing import drawing
from cmgr.view.troubles import in_few_words
from cmgr.words import stamp

Doc = dict[str, Any]

AT = datetime(2026, 3, 2, 3, 0, 12, tzinfo=UTC)
FAULT = {"code": "80E24E00", "level": "RestartNPU", "count": 1, "module": "1.0.0.0", "severity": "major"}
BUDGET = "3 resets in 6 h did not cure it"
SERVICES: tuple[tuple[str, tuple[int, ...], Mapping[str, str]], ...] = (
    ("llm-chat", (0, 1), {"project": "assistant"}),
    ("llm-code", (2, 3), {"project": "assistant"}),
    ("vision-ocr", (4, 5), {}),
    ("embedding", (6, 7), {}),
)
NOTHING: Mapping[str, str] = {}


def ago(**length: float) -> str:
    return stamp(AT - timedelta(**length))


def _share(number: int, template: str, *users: str, there: bool = True) -> Doc:
    why = "" if there else "the driver is busy"
    return {"id": str(number), "template": template, "there": there, "containers": list(users), "why": why, "hint": ""}


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment: all is `well`, a recovery is `busy`, there is `trouble`; or trouble in a `full` machine."""

    name: str

    @property
    def full(self) -> bool:
        return self.name == "full"

    @property
    def busy(self) -> bool:
        return self.name == "busy"

    @property
    def trouble(self) -> bool:
        return self.name == "trouble"

    def chips(self) -> list[Doc]:
        return [self._chip(n) for n in range(64 if self.full else 8)]

    def _chip(self, n: int) -> Doc:
        faulty, isolated = self.busy and n == 1, (self.trouble or self.full) and n == 6
        fault = {**FAULT, "since": ago(seconds=6.2), "momentary": False, "raised": ""}
        return {
            "id": n, "number": n, "tool_name": f"NPU {n} chip 0", "bus": f"0000:8{n}:00.0", "serial": "",
            "logical": n, "ring": n // self.mates * self.mates, "model": "Ascend910B4",
            "healthy": not (faulty or isolated), "isolated": isolated, "isolated_by": "budget" if isolated else None,
            "isolated_since": ago(minutes=41) if isolated else None, "release_at": None,
            "reason": "fault 80E24E00 (RestartNPU)" if faulty else BUDGET if isolated else "",
            "faults": [fault] if faulty else [],
            "processes": [{"pid": 4211 + n, "name": "python3", "memory": 20 << 30}],
            "shares": self.shares() if n == 7 else [],
            "containers": [name for name, chips, _ in self.services() if n in chips], "available": False, "hint": "",
            "measured": {"temperature_celsius": 48 + 3 * (n % 16), "aicore_percent": 35 + 8 * (n % 8),
                         "power_watts": 170 + 9 * (n % 8), "hbm_megabytes": 65536,
                         "hbm_used_megabytes": 20000 + 3000 * (n % 8)},
        }  # fmt: skip

    @property
    def mates(self) -> int:
        """How many chips a ring has."""
        return 8 if self.full else 4

    def services(self) -> tuple[tuple[str, tuple[int, ...], Mapping[str, str]], ...]:
        """Return each with its chips; the chip 6 of a full machine has the last of 200, whose name comes last, too."""
        many = tuple((f"service-{n:03}", (0 if n % 64 == 6 else n % 64,), NOTHING) for n in range(199))
        return (*many, ("zulu", (6,), NOTHING)) if self.full else SERVICES

    def shares(self) -> list[Doc]:
        return [_share(212, "vir04", "embedding"), _share(213, "vir02", there=not self.trouble)]

    def rings(self) -> list[Doc]:
        idle = {"phase": "healthy", "reason": "", "episode": None, "since": None, "deadline": None, "began": None,
                "resets": 0, "ordered_by": None, "hint": ""}  # fmt: skip
        under_way = {
            "phase": "verifying", "reason": "chips 0, 2 have booted; it waits for chips 1, 3", "episode": 17,
            "since": ago(seconds=2), "deadline": stamp(AT + timedelta(seconds=58)), "resets": 1,
            "began": ago(seconds=6.2),
        }  # fmt: skip
        first = {**idle, **(under_way if self.busy else {})}
        starts = range(0, len(self.chips()), self.mates)
        return [{"id": n, "chips": list(range(n, n + self.mates)), **(idle if n else first)} for n in starts]

    def containers(self) -> list[Doc]:
        return [self._container(name, chips, more) for name, chips, more in self.services()]

    def _container(self, name: str, chips: tuple[int, ...], more: Mapping[str, str]) -> Doc:
        held = self.busy and chips[0] < 4
        failed = (self.trouble and name == "embedding") or name == "zulu"
        status = "paused" if held else "failed" if failed else "running"
        reason = "ring 0 is in an episode (verifying)" if held else "chip 6 is isolated" if failed else ""
        return {
            "runtime": "docker", "namespace": "", "id": f"{name}-0123456789ab", "name": name, "called": name,
            "chips": list(chips), "status": status, "since": ago(hours=30), "strategy": "ringRecover",
            "held": held or failed, "serves": status == "running",
            "health": "", "heal": None, "spared": False, "unclear": False, "reason": reason,
            "hint": f"cmgr resume {name}" if failed else "",
            "orders": [{"do": "resume", "args": {"container": name}}] if failed else [], "warnings": [], **more,
        }  # fmt: skip

    def troubles(self) -> list[Doc]:
        def row(kind: str, about: str, severity: str, text: str, why: str) -> Doc:
            since = ago(seconds=6) if self.busy else ago(minutes=41)
            return {"id": f"{kind} {about}", "kind": kind, "about": about, "severity": severity, "since": since,
                    "text": text, "why": why, "hint": "", "orders": [], "stays": False}  # fmt: skip

        if self.trouble or self.full:
            name = "zulu" if self.full else "embedding"
            return [
                row("failed", f"docker//{name}-0123456789ab", "critical", f"container {name} was given up",
                    "5 starts failed: no such device: /dev/davinci6")
                | {"hint": f"cmgr resume {name}", "orders": [{"do": "resume", "args": {"container": name}}]},
                row("isolated", "chip 6", "warning", "chip 6 is isolated", BUDGET)
                | {"hint": "have the chip looked at, then type: cmgr release 6",
                   "orders": [{"do": "release", "args": {"chip": 6}}]},
            ]  # fmt: skip
        if not self.busy:
            return []
        down = [row("down", f"docker//{n}-0123456789ab", "critical", f"container {n} is down", "")
                for n in ("llm-chat", "llm-code")]  # fmt: skip
        return [*down, row("episode", "ring 0", "warning", "ring 0 is in an episode (verifying)", ""),
                row("unhealthy", "chip 1", "warning", "chip 1 is not healthy", "")]  # fmt: skip

    def status(self) -> Doc:
        own = {
            "name": "appliance7", "state": "ready", "version": "0.2.0", "pid": 812, "since": ago(days=12),
            "driver": "dcmi", "runtimes": ["docker"], "strategy": "ringRecover", "observe": False, "maintenance": False,
            "maintenance_until": None, "maintenance_by": None, "troubles": [],
        }  # fmt: skip
        runtime = {"name": "docker", "why_down": "", "listed": ago(seconds=20), "hint": ""}
        troubles: Any = self.troubles()
        return {
            "at": stamp(AT), "service": own, "headline": in_few_words(troubles), "troubles": troubles,
            "restraint": None, "warnings": [],
            "rings": self.rings(), "containers": self.containers(), "down": [], "chips": self.chips(),
            "runtimes": [runtime],
        }  # fmt: skip

    def episodes(self) -> list[Doc]:
        lengths = (41.2, 38.9, 44.0, 39.5, 61.8, 40.3, 37.7, 42.1)
        rows = [
            {"number": 16 - n, "ring": n % 2 * 4, "began": ago(days=1 + 4 * n), "seconds": length,
             "ended": stamp(AT - timedelta(days=1 + 4 * n) + timedelta(seconds=length)),
             "outcome": "isolated" if n == 4 else "recovered", "cause": f"80E24E00 (RestartNPU) on chip {n}"}
            for n, length in enumerate(lengths)
        ]  # fmt: skip
        return [self.episode()["episode"], *rows] if self.busy else rows

    def episode(self) -> Doc:
        began = {"number": 17, "ring": 0, "began": ago(seconds=6.2), "cause": "80E24E00 (RestartNPU) on chip 1"}
        ended = {"ended": None, "seconds": 6.2, "outcome": "under way"}
        notes: Any = [self._note(*line) for line in LINES_OF_17]
        return {"episode": began | ended, "notes": notes, "lanes": lanes(notes)}

    @staticmethod
    def _note(offset: float, kind: str, text: str, chip: int | None = None, container: str = "") -> Doc:
        key = {"runtime": "docker", "namespace": "", "id": f"{container}-0123456789ab"} if container else None
        at = stamp(AT - timedelta(seconds=6.2) + timedelta(seconds=offset))
        return {"at": at, "offset": offset, "kind": kind, "text": text, "chip": chip, "container": key,
                "code": None, "assertion": None}  # fmt: skip

    def slots(self) -> list[Doc]:
        def row(name: str, chips: list[int], home: list[int], reason: str) -> Doc:
            return {"name": name, "device": f"cmgr.io/slot={name}", "chips": chips, "home": home, "ordered": [],
                    "since": ago(hours=5), "containers": [f"llm-{name}"], "reason": reason}  # fmt: skip

        return [row("chat", [0, 1], [0, 1], "a person has chosen them"),
                row("code", [2, 7], [2, 6], f"chip 6 is isolated: {BUDGET}")]  # fmt: skip

    def groups(self) -> list[Doc]:
        def member(rank: int) -> Doc:
            return {"name": f"rank{rank}", "called": f"rank{rank}", "chips": [rank], "order": rank,
                    "running": not self.busy, "held": self.busy, "since": ago(seconds=6),
                    "reason": "rank1 cannot start yet" if self.busy else ""}  # fmt: skip

        past = {"number": 4, "began": ago(days=3), "ended": stamp(AT - timedelta(days=3) + timedelta(seconds=41)),
                "cause": "80E24E00 (RestartNPU) on chip 2", "outcome": "recovered"}  # fmt: skip
        waits = {"phase": "halting", "reason": "rank1 waits: ring 0 is verifying", "down": 4, "round": 5}
        entries = [
            {"name": name, "round": 5, "state": state, "waited_for": True, "containers": [f"rank{rank}"],
             "since": ago(seconds=5), "reason": reason}
            for rank, (name, state, reason) in enumerate((("a", "halted", "ring 0 is verifying"), ("b", "ready", "")))
        ]  # fmt: skip
        agreed = {"phase": "halting", "round": 5, "by": "a", "cause": past["cause"], "size": 4, "known": 4,
                  "appliances": entries}  # fmt: skip
        return [{"name": "tp4", "phase": "running", "round": 4, "began": ago(seconds=6), "cause": past["cause"],
                 "since": ago(seconds=6), "size": 4, "down": 0, "reason": "", "hint": "cmgr group tp4", "remarks": [],
                 "fleet": agreed if self.busy else None, **(waits if self.busy else {}),
                 "members": [member(rank) for rank in range(4)], "history": [past]}]  # fmt: skip

    def fleet(self) -> Doc:
        if not self.busy:
            return {"name": "", "engine": None, "appliances": [], "remarks": []}
        engine = {"up": False, "since": ago(seconds=40), "heard": ago(seconds=41), "why": "no node answers",
                  "hint": "systemctl status etcd", "leader_since": None, "nodes": []}  # fmt: skip
        wrong = [{"text": "chip 3 is isolated", "hint": "cmgr release 3"}]
        told = {"gone": None, "version": "0.2.0", "life": 3, "episodes": 0, "isolated": 0, "more": 0, "ahead": None}
        rows = [
            {**told, "name": "a", "here": True, "state": "degraded", "since": ago(days=12), "wrong": []},
            {**told, "name": "b", "here": False, "state": "unknown", "since": ago(days=3), "wrong": wrong},
        ]
        return {"name": "a", "engine": engine, "appliances": rows, "remarks": []}

    def downtime(self) -> Doc:
        def spent(minutes: float, outages: int, recoveries: int, **what: object) -> Doc:
            ended = {"recoveries": recoveries, "recovery_minutes": minutes if recoveries else 0.0}
            return {"minutes": minutes, "outages": outages, **ended, **what}

        down = {"service": "docker//embedding", "cause": "itself", "since": ago(minutes=31), "minutes": 31.0}
        return {
            **spent(43.5, 9, 6), "recovery_minutes": 12.5, "period": "2026-Q4", "begins": ago(days=59), "ends": ago(),
            "counted_since": ago(days=40), "known_until": ago(), "unseen_minutes": 4.0, "reaction_minutes": 45.0,
            "by_hand_minutes": 282.5, "now": [down], "silent": [{"runtime": "containerd", "since": ago(minutes=3)}],
            "causes": [spent(31.0, 3, 0, cause="itself"), spent(12.5, 6, 6, cause="fault")],
            "services": [spent(31.0, 3, 0, service="docker//embedding", unseen_minutes=4.0),
                         spent(12.5, 6, 6, service="docker//llm-chat", unseen_minutes=0.0)],
        }  # fmt: skip

    def faults(self) -> list[Doc]:
        def row(n: int) -> Doc:
            since = AT - timedelta(days=(n * n) % 83 + 1, hours=n)
            return {**FAULT, "chip": n % 8, "since": stamp(since), "changed": stamp(since), "momentary": False,
                    "raised": "", "cleared": stamp(since + timedelta(seconds=40))}  # fmt: skip

        return [row(n) for n in range(1, 24)]


LINES_OF_17 = (
    (0.0, "fault", "chip 1 reports 80E24E00 now: level RestartNPU (built-in table ascend)", 1),
    (0.0, "opened", "80E24E00 (RestartNPU) on chip 1"),
    (0.0, "phase", "healthy → listing: 80E24E00 (RestartNPU) on chip 1"),
    (0.0, "hold", "llm-chat will be stopped, and started again when the fault is over", None, "llm-chat"),
    (0.0, "hold", "llm-code will be stopped, and started again when the fault is over", None, "llm-code"),
    (0.001, "action", "stop llm-chat (grace 10 s)", None, "llm-chat"),
    (0.001, "action", "stop llm-code (grace 10 s)", None, "llm-code"),
    (0.015, "hold", "group tp4: appliance b is halting: rank2 is stopping"),
    (0.02, "phase", "listing → draining: every runtime has said who uses it"),
    (0.9, "result", "llm-code is stopped", None, "llm-code"),
    (1.2, "hold", "group tp4: appliance b is halted: ring 4 is resetting"),
    (1.6, "result", "llm-chat is stopped", None, "llm-chat"),
    (1.6, "phase", "draining → waiting: every stop was answered"),
    (1.9, "phase", "waiting → resetting: reset 1 of 3: 80E24E00 (RestartNPU) on chip 1; nobody is on chips 0-3"),
    (4.2, "phase", "resetting → verifying: the driver took the reset"),
    (5.1, "hold", "group tp4: appliance b is ready"),
)


def door(path: Path, scene: Scene) -> ControlServer:
    """Return a door behind which nothing happens. It lets everybody in."""

    def said(value: Mapping[str, object] | Page) -> Any:
        return lambda _request: value

    def stream(_request: Request) -> Answer:
        return Stream()

    secret, any_ = Arg("session", "string", "", required=True), tuple(Arg(n, "string", "") for n in ("limit", "since"))
    own = {"who": "uid 1000 (operator)", "ends": stamp(AT + timedelta(hours=12)), "orders": True}
    again = "chip 6 is used again: what waits for it is started"
    does = {"does": [again, "the resets of its ring are counted from zero"]}
    explained = {"code": "80E24E00", "level": "RestartNPU", "meaning": "", "does": ["resets the chip's ring"]}
    order = (secret, Arg("chip", "integer", ""), Arg("preview", "boolean", ""))
    told: Any = scene.episode()
    drawn = Page(drawing(told, "appliance7").encode())
    lines = [{**note, "ring": 0, "episode": 17} for note in scene.episode()["notes"]]
    table = (
        Route("POST", "/v1/enter", "enter", said({**own, "session": "still"}), "", (Arg("ticket", "string", ""),)),
        Route("POST", "/v1/session", "session", said(own), "", (secret,)),
        Route("POST", "/v1/orders/release", "release", said(does), "", order),
        Route("GET", "/v1/status", "status", said(scene.status()), "", tag=lambda: scene.name),
        Route("GET", "/v1/chips", "chips", said({"chips": scene.chips()}), ""),
        Route("GET", "/v1/episodes", "episodes", said({"episodes": scene.episodes()}), "", any_),
        Route("GET", "/v1/episodes/{n}", "episode", said(scene.episode()), "", (Arg("n", "integer", ""),)),
        Route("GET", "/v1/episodes/{n}/picture", "picture", said(drawn), "", (Arg("n", "integer", ""),), kind=SVG),
        Route("GET", "/v1/faults", "faults", said({"faults": scene.faults()}), "", any_),
        Route("GET", "/v1/slots", "slots", said({"slots": scene.slots()}), ""),
        Route("GET", "/v1/groups", "groups", said({"groups": scene.groups()}), ""),
        Route("GET", "/v1/fleet", "fleet", said(scene.fleet()), ""),
        Route("GET", "/v1/history", "history", said({"notes": lines}), "", any_),
        Route("GET", "/v1/downtime", "downtime", said(scene.downtime()), ""),
        Route("GET", "/v1/explain/{code}", "explain", said(explained), "", (Arg("code", "string", ""),)),
        Route("GET", "/v1/events", "events", stream, "", kind=LINES),
    )
    spoken = [replace(route, args=(*(route.args or ()), LANG)) if route.method == "GET" else route for route in table]
    return ControlServer(path, spoken, group="no-such-group-of-cmgr")
