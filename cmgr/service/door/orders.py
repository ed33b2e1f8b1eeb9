"""What a person may order on the service's socket. Each is checked here, so that a refusal says why and what to do."""

import pwd
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cmgr.errors import CmgrError, ConfigError
from cmgr.model.scope import on_ring, why_idle
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.containers import ContainerKey
from cmgr.model.values.facts import (
    ForgetOrdered,
    IsolateOrdered,
    MaintenanceOrdered,
    Ordered,
    ReleaseOrdered,
    ResetOrdered,
    ResumeAllOrdered,
    ResumeOrdered,
)
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING, Ring, resets_within
from cmgr.service.control import Request
from cmgr.view import status as view
from cmgr.view.advice import called, idle_hint, named, unheld

Json = Mapping[str, object]

LONGEST_REASON = 200
LONGEST_MAINTENANCE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Orders:
    """Any thread. `give` returns when the order is in force; `reload` when the configuration was read."""

    node: Callable[[], Node]
    now: Callable[[], datetime]
    give: Callable[[Ordered], None]
    reload: Callable[[str], Json]

    def known(self) -> Mapping[str, Callable[[Request], Json]]:
        """Return what can be ordered, by request. Each raises `CmgrError`."""
        return {
            "release": self._release,
            "isolate": self._isolate,
            "reset": self._reset,
            "resume": self._resume,
            "forget": self._forget,
            "maintenance": self._maintenance,
            "reload": lambda request: self.reload(who(request.uid)),
        }

    def _release(self, request: Request) -> Json:
        chip = chip_of(request, self.node(), also=self.node().isolations)
        if chip not in self.node().isolations:
            raise CmgrError(f"cannot release chip {chip}: it is not isolated", hint="cmgr chips")
        self.give(ReleaseOrdered(chip, who(request.uid)))
        again = self.node().isolations.get(chip)
        return {"chip": chip, "isolated": again is not None, "reason": again.reason if again is not None else ""}

    def _isolate(self, request: Request) -> Json:
        chip, reason = chip_of(request, self.node()), text_of(request, "reason")
        if len(reason) > LONGEST_REASON or not reason.isprintable():
            raise ConfigError(f"cannot isolate: reason must be one line of at most {LONGEST_REASON} characters")
        self.give(IsolateOrdered(chip, reason, who(request.uid)))
        node = self.node()
        users = sorted(called(node, c.key) for c in node.containers.values() if c.running and chip in c.chips)
        return {"chip": chip, "reason": reason, "containers": users}

    def _reset(self, request: Request) -> Json:
        node = self.node()
        chip, stop = chip_of(request, node), flag_of(request, "stop")
        ring = node.rings[node.chips[chip].ring]
        _may_be_reset(node, ring, chip, self.now())
        users = [c for c in on_ring(node, ring) if c.running]
        names = ", ".join(called(node, c.key) for c in users)
        if users and not stop:
            runs = "runs" if len(users) == 1 else "run"
            raise CmgrError(
                f"cannot reset chip {chip}: {names} {runs} on {listed(ring.chips)}, which are reset together",
                hint=f"cmgr reset {chip} --stop stops them, and starts them again afterwards",
            )
        theirs = [called(node, c.key) for c in users if not c.enabled]
        if theirs:
            raise CmgrError(
                f"cannot reset chip {chip}: {theirs[0]} runs on its ring and has the label cmgr.enable=false",
                hint=f"stop {theirs[0]} yourself",
            )
        self.give(ResetOrdered(chip, who(request.uid), stop))
        stopped = [called(node, c.key) for c in users]
        return {"chip": chip, "ring": ring.id, "chips": sorted(ring.chips), "containers": stopped}

    def _resume(self, request: Request) -> Json:
        if flag_of(request, "all"):
            return self._resume_all(request)
        key = held(request, self.node())
        name = called(self.node(), key)
        self.give(ResumeOrdered(key, who(request.uid)))
        return {"container": name}

    def _resume_all(self, request: Request) -> Json:
        node = self.node()
        kept = sorted(node.restraint.kept)
        failed = {key for key, hold in node.holds.items() if hold.failed}
        failed |= {key for key, healing in node.healings.items() if healing.ails and healing.given_up is not None}
        given_up = sorted(called(node, key) for key in failed)
        if not kept and not given_up:
            raise CmgrError("cannot resume: no ring is kept back and no container was given up", hint="cmgr status")
        self.give(ResumeAllOrdered(who(request.uid)))
        return {"rings": kept, "containers": given_up}

    def _forget(self, request: Request) -> Json:
        node = self.node()
        key = held(request, node)
        self.give(ForgetOrdered(key, who(request.uid)))
        known, hold = node.containers.get(key), node.holds.get(key)
        return {
            "container": called(node, key),
            "running": known is not None and known.running,
            "under_way": hold is not None and hold.command is not None,
        }

    def _maintenance(self, request: Request) -> Json:
        on = flag_of(request, "on")
        if not on and self.node().maintenance is None:
            raise CmgrError("cannot end maintenance: there is none", hint="cmgr status")
        length = _length(request) if on else None
        until = self.now() + length if length is not None else None
        self.give(MaintenanceOrdered(on, who(request.uid), until))
        node = self.node()
        down = sorted(str(row["name"]) for row in view.containers(node) if row["held"])
        return {"on": on, "until": None if until is None else view.stamp(until), "held": down}


def _may_be_reset(node: Node, ring: Ring, chip: ChipId, now: datetime) -> None:
    if why := "cmgr is in maintenance" if node.maintenance is not None else why_idle(node):
        raise CmgrError(f"cannot reset chip {chip}: {why}", hint=idle_hint(node))
    if ring.phase in REBOOTING:
        raise CmgrError(f"cannot reset chip {chip}: its ring is just being reset", hint="cmgr status")
    policy = node.policy.reset
    spent = resets_within(ring, now, policy.window)
    if len(spent) >= policy.attempts:
        used_up = f"{policy.attempts} resets of its ring within {view.span(policy.window)} are used up"
        isolated = [c for c in ring.chips if c in node.isolations]
        begin = f", or cmgr release {isolated[0]} to begin anew" if isolated else ""
        raise CmgrError(
            f"cannot reset chip {chip}: {used_up}",
            hint=f"the next may be made in {view.span(spent[0] + policy.window - now)}{begin}",
        )


def who(uid: int) -> str:
    """Return what the timeline calls the person with this user id."""
    try:
        return f"uid {uid} ({pwd.getpwuid(uid).pw_name})"
    except KeyError:
        return f"uid {uid}"


def text_of(request: Request, name: str) -> str:
    value = request.args.get(name)
    if not isinstance(value, str):
        raise ConfigError(f"cannot {request.do}: {name} must be a text")
    if not value.strip():
        raise ConfigError(f"cannot {request.do}: {name} is empty")
    return value.strip()


def flag_of(request: Request, name: str) -> bool:
    value = request.args.get(name, False)
    if not isinstance(value, bool):
        raise ConfigError(f"cannot {request.do}: {name} must be true or false")
    return value


def chip_of(request: Request, node: Node, also: Container[ChipId] = ()) -> ChipId:
    """Return the chip that is meant: one of this machine, or of those that are remembered `also`."""
    value = request.args.get("chip")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"cannot {request.do}: chip must be a number")
    chip = ChipId(value)
    if chip not in node.chips and chip not in also:
        hint = f"this machine has {listed(node.chips)}" if node.chips else "cmgr check says what the driver sees"
        raise CmgrError(f"cannot {request.do}: there is no chip {chip}", hint=hint)
    return chip


def held(request: Request, node: Node) -> ContainerKey:
    """Return the held or ailing container that is meant; an id may be shortened as Docker's users are used to."""
    text = text_of(request, "container")
    found = named(node, text)
    if not found:
        why, hint = _why_not_held(node, text)
        raise CmgrError(f"cannot {request.do} {text[:80]!r}: {why}", hint=hint)
    if len(found) > 1:
        choices = ", ".join(called(node, key) for key in sorted(found))
        raise CmgrError(
            f"cannot {request.do} {text[:80]!r}: it names {len(found)} held containers", hint=f"one of {choices}"
        )
    return found[0]


def _why_not_held(node: Node, text: str) -> tuple[str, str]:
    known = unheld(node, text)
    if not known:
        return "there is no such container", "cmgr status shows those that use chips and run or are held"
    if any(container.running for container in known):
        return "it runs, and cmgr does not hold it", "cmgr holds only what it has stopped, or what died of a fault"
    return "it is down, and cmgr does not hold it", "cmgr starts only what it holds: start it yourself"


def _length(request: Request) -> timedelta | None:
    value = request.args.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError("cannot begin maintenance: seconds must be a number")
    if not 0 < value <= LONGEST_MAINTENANCE.total_seconds():
        raise ConfigError("cannot begin maintenance: it must last longer than nothing and at most a year")
    return timedelta(seconds=value)
