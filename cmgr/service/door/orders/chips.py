"""Orders of a person on the service's socket. Each is checked here, so that a refusal says why and what to do."""

import pwd
from collections.abc import Callable
from collections.abc import Container as Some
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.config.reporters import Reports
from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass
from cmgr.model.scope import chip_blocker, holds_on, is_spent, on_ring, spent_words, waiting_order, why_idle
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.handling.catalog import is_of_machine, normal_code
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.facts import (
    AcknowledgeOrdered,
    ForgetOrdered,
    IsolateOrdered,
    MaintenanceOrdered,
    Ordered,
    ReleaseOrdered,
    ResetOrdered,
    ResumeAllOrdered,
    ResumeOrdered,
    RuntimeForgetOrdered,
)
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered
from cmgr.model.values.messages.reboot_facts import RebootCancelOrdered
from cmgr.model.values.node import Node, known_runtimes
from cmgr.model.values.rings import REBOOTING, Ring, resets_within
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.ports import ChipDriver, Injector
from cmgr.sentences.sentence import say
from cmgr.service.door import previews
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.declared import CHIP, CONTAINER, Wish, asked, order
from cmgr.service.door.orders.groups import GroupOrders
from cmgr.service.door.orders.reports import ReportOrders
from cmgr.service.door.orders.slots import SlotOrders
from cmgr.service.door.routes import Arg, Request, flag_of
from cmgr.service.work.drilling import Drill, Drills
from cmgr.view import status as view
from cmgr.view.advice import called, forgettable, idle_hint, named, unheld
from cmgr.words import one_line, stamp

if TYPE_CHECKING:
    from cmgr.view import shapes, slot_shapes

LONGEST_REASON = 200
REASON = Arg("reason", "string", "Why: everybody who looks is shown it.", required=True)
STOP = Arg("stop", "boolean", "Stop the containers on its ring, and start them again afterwards.")
WHERE = (
    Arg("chip", "integer", "The chip's physical id; none: the machine around the chips."),
    Arg("part", "string", "The part of the machine that has it."),
    Arg("code", "string", "The fault's code, such as 80E24E00.", required=True),
    Arg("assertion", "string", "occurred, cleared or once.", required=True),
)
DRILL, LONGEST_DRILL = timedelta(seconds=60), timedelta(minutes=10)
LONGEST_MAINTENANCE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Orders:
    """Any thread; each raises `CmgrError`.

    `give` returns when the order is in force; `reload` when the configuration was read.
    """

    node: Callable[[], Node]
    now: Callable[[], datetime]
    give: Callable[[Ordered], None]
    reload: "Callable[[str], shapes.Reloaded]"
    driver: ChipDriver
    drills: Drills
    reports: Callable[[], Reports] = Reports
    pretend: Callable[[FaultCode, str, Assertion], None] = lambda *_: None
    """Has the machine around the chips pretend a fault of a part of it."""

    roles: Roles = field(default_factory=Roles)

    @property
    def reported(self) -> ReportOrders:
        return ReportOrders(self.node, self.now, self.give, self.reports, self.roles)

    @property
    def groups(self) -> GroupOrders:
        return GroupOrders(self.node, self.give, who)

    @property
    def slots(self) -> SlotOrders:
        return SlotOrders(self.node, self.now, self.give, who)

    @order("release", "End a chip's isolation.", CHIP)
    def release(self, request: Request) -> "Wish[shapes.Released]":
        chip = chip_of(request, self.node(), also=self.node().isolations)
        if chip not in self.node().isolations:
            raise CmgrError(say("error.not-isolated", chip=chip), hint="cmgr chips")
        yield previews.release(self.node(), chip), ReleaseOrdered(chip, who(request))
        again = self.node().isolations.get(chip)
        if again is not None:
            return {"chip": chip, "isolated": True, "reason": again.reason, "did": []}
        return {"chip": chip, "isolated": False, "reason": "", "did": [say("order.released", chip=chip)]}

    @order("isolate", "Take a chip out of use.", CHIP, REASON)
    def isolate(self, request: Request) -> "Wish[shapes.Isolated]":
        chip, reason = chip_of(request, self.node()), text_of(request, "reason")
        if len(reason) > LONGEST_REASON or not reason.isprintable():
            raise BadRequest(say("error.isolate-reason", most=LONGEST_REASON))
        does = previews.isolate(self.node(), chip, _on_chip(self.node(), chip))
        yield does, IsolateOrdered(chip, reason, who(request))
        users = _on_chip(self.node(), chip)
        return {"chip": chip, "reason": reason, "containers": users, "did": previews.isolated(chip, users)}

    @order("reset", "Reset the ring of a chip.", CHIP, STOP)
    def reset(self, request: Request) -> "Wish[shapes.ResetOrdered]":
        node = self.node()
        ring = node.rings[node.chips[chip_of(request, node)].ring]
        _may_be_reset(node, ring, request, self.now())
        return (yield from self._emptied(request, ring))

    @order("test", "Test the ring of a chip.", CHIP, STOP)
    def test(self, request: Request) -> "Wish[shapes.ResetOrdered]":
        node = self.node()
        chip = chip_of(request, node)
        ring = node.rings[node.chips[chip].ring]
        _may_be_disturbed(node, ring, request)
        if not node.policy.reset.test:
            raise CmgrError(say("error.no-test", chip=chip), hint=say("error.set-test"))
        if ring.in_episode:
            why = say("error.ring-in-phase", phase=ring.phase)
            raise CmgrError(_cannot(request, why), hint=say("error.tested-by-itself"))
        return (yield from self._emptied(request, ring))

    def _emptied(self, request: Request, ring: Ring) -> "Wish[shapes.ResetOrdered]":
        """Order what the ring has to be empty for: its reset, or its test."""
        node, what = self.node(), request.do
        chip, stop = chip_of(request, node), flag_of(request, "stop")
        users = [c for c in on_ring(node, ring) if c.running]
        if users and not stop:
            stopped = say("error.to-stop-them", command=f"cmgr {what} {chip}")
            raise CmgrError(_cannot(request, _used(node, ring, what, users)), hint=stopped)
        for theirs in (c for c in users if not c.enabled):
            name = called(node, theirs.key)
            why = say("error.has-label-on-ring", name=name, label=theirs.hands_off)
            raise CmgrError(_cannot(request, why), hint=say("error.stop-yourself", name=name))
        again = [called(node, c.key) for c in users if not (c.owner or c.auto_remove)]
        left = [called(node, c.key) for c in users if c.owner or c.auto_remove]
        does = previews.emptied(node, ring, what, (again, left), self.now())
        yield does, ResetOrdered(chip, who(request), stop, test=what == "test")
        did = previews.is_emptied(chip, what, ring, (again, left))
        chips: list[int] = sorted(ring.chips)
        return {"chip": chip, "ring": ring.id, "chips": chips, "containers": again, "left": left, "did": did}

    @order(
        "cancel", "Take back an ordered reset or test, or a reboot.",
        Arg("chip", "integer", "A chip of the ring whose ordered reset or test waits."),
        Arg("reboot", "boolean", "The reboot of this machine that is announced."),
    )  # fmt: skip
    def cancel(self, request: Request) -> "Wish[shapes.ResetOrdered | slot_shapes.RebootCancelled]":
        if flag_of(request, "reboot"):
            return (yield from self._cancel_reboot(request))
        node = self.node()
        chip = chip_of(request, node)
        ring = node.rings[node.chips[chip].ring]
        waits = waiting_order(node, ring)
        if waits is None:
            raise CmgrError(say("error.no-order-waits", chip=chip), hint="cmgr status")
        held = [called(node, hold.key) for hold in holds_on(node, ring)]
        yield previews.cancel(waits, held), ResetOrdered(chip, who(request), back=True)
        did = previews.cancelled(chip, held)
        return {"chip": chip, "ring": ring.id, "chips": sorted(ring.chips), "containers": held, "left": [], "did": did}

    def _cancel_reboot(self, request: Request) -> "Wish[slot_shapes.RebootCancelled]":
        known = self.node().reboot
        if known is None or not known.under_way:
            raise CmgrError(say("error.no-reboot-waits"), hint="cmgr status")
        yield [say("order.no-reboot", what=known.what)], RebootCancelOrdered(who(request))
        return {"reboot": False, "what": known.what, "did": [say("order.reboot-called-off", what=known.what)]}

    @order(
        "drill", "Have the driver raise a real fault that breaks nothing.", CHIP,
        Arg("seconds", "number", "The fault ends by itself after that, or after 60 s; 10 min at most."),
    )  # fmt: skip
    def drill(self, request: Request) -> "Wish[slot_shapes.Drill]":
        node = self.node()
        chip, length = chip_of(request, node), _length(request) or DRILL
        if length > LONGEST_DRILL:
            raise BadRequest(say("error.drill-too-long", most=LONGEST_DRILL))
        ring = node.rings[node.chips[chip].ring]
        _may_be_reset(node, ring, request, self.now())
        if why := chip_blocker(node, chip) or (say("error.ring-in-episode") if ring.in_episode else ""):
            raise CmgrError(_cannot(request, why), hint="cmgr status")
        yield previews.drill(node, chip, self.drills.fault_of(chip).code, length), None
        return _told(self.drills.begin(node.chips[chip], length, who(request)))

    @asked("drill-end", "End the drill that is under way.")
    def end_drill(self, request: Request) -> "slot_shapes.Drill":
        return _told(self.drills.end(who(request)))

    @asked("drilled", "The drill that is under way.", method="GET", path="/v1/drill")
    def drilled(self, _request: Request) -> "slot_shapes.Drill":
        return _told(self.drills.now)

    @order(
        "resume", "Start a container again that was given up, or all.", Arg("container", "string", CONTAINER),
        Arg("all", "boolean", "Every container that was given up, and every ring that is kept back."),
    )  # fmt: skip
    def resume(self, request: Request) -> "Wish[shapes.Resumed | shapes.AllResumed]":
        if flag_of(request, "all"):
            return (yield from self._resume_all(request))
        key = held(request, self.node())
        name = called(self.node(), key)
        yield previews.resume((), (name,)), ResumeOrdered(key, who(request))
        return {"container": name, "did": [say("order.will-start", name=name)]}

    def _resume_all(self, request: Request) -> "Wish[shapes.AllResumed]":
        node = self.node()
        kept: list[int] = sorted(node.restraint.kept)
        failed = {key for key, hold in node.holds.items() if hold.state is HoldState.FAILED}
        failed |= {key for key, healing in node.healings.items() if healing.ails and healing.given_up is not None}
        given_up = sorted(called(node, key) for key in failed)
        if not kept and not given_up:
            raise CmgrError(say("error.nothing-to-resume"), hint="cmgr status")
        yield previews.resume(kept, given_up), ResumeAllOrdered(who(request))
        return {"rings": kept, "containers": given_up, "did": previews.resumed(kept, given_up)}

    @order(
        "forget", "Give a held container back to you, or call a runtime or a missing chip gone.",
        Arg("container", "string", CONTAINER),
        Arg("runtime", "string", "A runtime that is gone for good, with its containers."),
        Arg("chip", "integer", "A chip that is missing, and gone for good."),
    )  # fmt: skip
    def forget(
        self, request: Request
    ) -> "Wish[shapes.Forgotten | shapes.RuntimeForgotten | slot_shapes.ChipForgotten]":
        if request.args.get("runtime") is not None:
            return (yield from self._forget_runtime(request))
        if request.args.get("chip") is not None:
            return (yield from self._forget_chip(request))
        node = self.node()
        key = held(request, node, forgettable)
        yield previews.forget(node, called(node, key), key), ForgetOrdered(key, who(request))
        known, hold, name = node.containers.get(key), node.holds.get(key), called(node, key)
        running, under_way = known is not None and known.running, hold is not None and hold.attempt.command is not None
        did = previews.forgotten(name, running, under_way)
        return {"container": name, "running": running, "under_way": under_way, "did": did}

    def _forget_runtime(self, request: Request) -> "Wish[shapes.RuntimeForgotten]":
        node, runtime = self.node(), text_of(request, "runtime")
        state = node.runtimes.get(runtime)
        if state is None and runtime not in known_runtimes(node):
            raise CmgrError(say("error.unknown-runtime", runtime=repr(runtime[:80])), hint="cmgr status")
        if state is not None and not state.why_down:
            raise CmgrError(say("error.runtime-answers", runtime=runtime), hint="cmgr status")
        held = sorted(h.name for h in (*node.holds.values(), *node.kept_holds.values()) if h.key.runtime == runtime)
        yield previews.forget_runtime(runtime, held), RuntimeForgetOrdered(runtime, who(request))
        return {"runtime": runtime, "containers": held, "did": previews.runtime_forgotten(runtime, held)}

    def _forget_chip(self, request: Request) -> "Wish[slot_shapes.ChipForgotten]":
        node = self.node()
        chip = chip_of(request, node, also=node.missing)
        if chip not in node.missing:
            raise CmgrError(say("error.chip-is-there", chip=chip), hint=say("error.to-isolate", chip=chip))
        slots = sorted(name for name, slot in node.slots.items() if chip in slot.chips)
        yield previews.forget_chip(node.missing[chip].title, slots), ChipForgetOrdered(chip, who(request))
        piece = one_line(node.missing[chip].title)
        return {"chip": chip, "piece": piece, "slots": slots, "did": previews.piece_forgotten(piece, slots)}

    @order(
        "maintenance", "Record recoveries and act on none, or act again.",
        Arg("on", "boolean", "Whether it begins or ends.", required=True),
        Arg("seconds", "number", "It ends by itself after that, or after 4 h."),
    )  # fmt: skip
    def maintenance(self, request: Request) -> "Wish[shapes.MaintenanceOrdered]":
        on = flag_of(request, "on")
        if not on and self.node().maintenance is None:
            raise CmgrError(say("error.no-maintenance"), hint="cmgr status")
        length = _length(request) if on else None
        ends = self.now() + length if length is not None else None
        yield previews.maintenance(on, length, _held_down(self.node())), MaintenanceOrdered(on, who(request), ends)
        known, held = self.node().maintenance, _held_down(self.node())
        until = None if known is None or known.until is None else stamp(known.until)
        return {"on": on, "until": until, "held": held, "did": previews.in_maintenance(until, length, held)}

    @order(
        "acknowledge", "Take notice of a trouble that stays.",
        Arg("trouble", "string", "Its id, as cmgr status -o json has it."),
        Arg("all", "boolean", "Every one that waits for that."),
    )  # fmt: skip
    def acknowledge(self, request: Request) -> "Wish[slot_shapes.Acknowledged]":
        known = {trouble.id: trouble for trouble in previews.acknowledgeable(self.node())}
        if flag_of(request, "all"):
            ids = sorted(id_ for id_, trouble in known.items() if trouble.stays)
            if not ids:
                raise CmgrError(say("error.none-to-acknowledge"), hint="cmgr status")
        else:
            ids = [text_of(request, "trouble")]
        meant = known.get(ids[0])
        if meant is None:
            raise NotThere(say("error.no-trouble", id=repr(ids[0][:80])), hint=say("error.others-end"))
        if not meant.stays:
            raise CmgrError(say("error.ends-by-itself", id=repr(ids[0])), hint=meant.hint)
        yield previews.acknowledge(self.node(), ids), AcknowledgeOrdered(tuple(ids), who(request))
        return {"troubles": ids, "did": [say("order.acknowledged", trouble=id_) for id_ in ids]}

    @asked("reload", "Have the configuration and fault tables read again.")
    def read_anew(self, request: Request) -> "shapes.Reloaded":
        return self.reload(who(request))

    @asked("inject", "Simulate a fault of a chip or the machine, for drills.", *WHERE)
    def inject(self, request: Request) -> "slot_shapes.Injected":
        code = text_of(request, "code")
        chip = chip_of(request, self.node()) if "chip" in request.args else None
        try:
            assertion = Assertion(text_of(request, "assertion"))
        except ValueError as error:
            raise BadRequest(say("error.no-assertion", name="assertion", those=[*Assertion])) from error
        of_machine = is_of_machine(normal_code(code) or "")
        if of_machine and chip is not None:
            raise BadRequest(say("error.is-of-machine", code=code[:40]), hint=f"cmgr inject machine {code[:40]}")
        if chip is None and not of_machine:
            raise BadRequest(say("error.is-of-chip", code=code[:40]), hint="cmgr inject CHIP CODE")
        if of_machine and not self.node().catalog.judge(FaultCode(normal_code(code) or code), None).known:
            # Codes of the machine are cmgr's own words: one that no table has is mistyped.
            raise BadRequest(say("error.in-no-table", code=code[:40]), hint=say("error.codes-of-machine"))
        if not isinstance(self.driver, Injector):
            raise CmgrError(say("error.no-injection"), hint=say("error.allow-injection"))
        part = one_line(str(request.args.get("part") or ""))[:LONGEST_REASON]
        if chip is None:
            self.pretend(FaultCode(normal_code(code) or code), part, assertion)
        else:
            self.driver.inject(chip, code, assertion)
        did = previews.injected(chip, part, code, assertion)
        return {"chip": chip, "part": part, "code": code, "assertion": str(assertion), "did": did}


def _told(drill: Drill | None) -> "slot_shapes.Drill":
    if drill is None:
        return {"chip": None, "code": "", "who": "", "until": None}
    return {"chip": drill.chip.id, "code": drill.code, "who": drill.who, "until": stamp(drill.until)}


def _on_chip(node: Node, chip: ChipId) -> list[str]:
    return sorted(called(node, c.key) for c in node.containers.values() if c.running and chip in c.kept.chips)


def _held_down(node: Node) -> list[str]:
    return sorted(row["name"] for row in view.containers(node) if row["held"] and row["status"] != "settling")


def _may_be_disturbed(node: Node, ring: Ring, request: Request) -> None:
    if why := say("error.in-maintenance") if node.maintenance is not None else why_idle(node):
        raise CmgrError(_cannot(request, why), hint=idle_hint(node))
    if ring.phase in REBOOTING:
        raise CmgrError(_cannot(request, say("error.ring-resets")), hint="cmgr status")


def _may_be_reset(node: Node, ring: Ring, request: Request, now: datetime) -> None:
    _may_be_disturbed(node, ring, request)
    policy = node.policy.reset
    if is_spent(node, ring, now):
        wait = resets_within(ring, now, policy.window)[0] + policy.window - now
        hint = say("error.next-reset", wait=wait)
        if isolated := [c for c in ring.chips if c in node.isolations]:
            hint = say("error.next-reset-or-release", wait=wait, chip=isolated[0])
        raise CmgrError(_cannot(request, spent_words(policy)), hint=hint)


def _cannot(request: Request, why: str) -> str:
    return say("error.cannot-chip", do=request.do, chip=str(request.args["chip"]), why=why)


def _used(node: Node, ring: Ring, what: str, users: list[Container]) -> str:
    used = say("error.is-used", names=[called(node, c.key) for c in users], chips=[*ring.chips])
    if len(ring.chips) == 1:
        return used
    return say("error.tested-together", used=used) if what == "test" else say("error.reset-together", used=used)


def who(request: Request) -> str:
    """Return what the timeline calls the person who asks."""
    user = named_user(request.uid)
    return say("order.on-the-page", user=user) if request.on_page else user


def named_user(uid: int) -> str:
    try:
        return f"uid {uid} ({pwd.getpwuid(uid).pw_name})"
    except KeyError:
        return f"uid {uid}"


def text_of(request: Request, name: str) -> str:
    value = request.args.get(name)
    if not isinstance(value, str):
        raise BadRequest(say("error.must-be-text", do=request.do, name=name))
    if not value.strip():
        raise BadRequest(say("error.is-empty", do=request.do, name=name))
    return value.strip()


def chip_of(request: Request, node: Node, also: Some[ChipId] = ()) -> ChipId:
    """Return the chip that is meant: one of this machine, or of those that are remembered `also`."""
    value = request.args.get("chip")
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(say("error.must-be-number", do=request.do, name="chip"))
    chip = ChipId(value)
    if chip not in node.chips and chip not in also:
        hint = say("error.has-chips", chips=[*node.chips]) if node.chips else say("error.check-driver")
        raise NotThere(say("error.no-chip", do=request.do, chip=chip), hint=hint)
    return chip


Find = Callable[[Node, str], list[ContainerKey]]


def held(request: Request, node: Node, find: Find = named) -> ContainerKey:
    """Return the container that is meant, of those that `find` knows; an id may be shortened as Docker has it."""
    text = text_of(request, "container")
    found = find(node, text)
    if not found:
        raise _not_held(request, node, text)
    if len(found) > 1:
        choices = say("error.one-of", those=[called(node, key) for key in sorted(found)])
        why = say("error.names-several", count=len(found))
        raise CmgrError(say("error.cannot", do=request.do, what=repr(text[:80]), why=why), hint=choices)
    return found[0]


def _not_held(request: Request, node: Node, text: str) -> CmgrError:
    known = unheld(node, text)

    def cannot(why: str) -> str:
        return say("error.cannot", do=request.do, what=repr(text[:80]), why=why)

    if not known:
        return NotThere(cannot(say("error.no-container")), hint=say("error.status-shows-those"))
    if any(container.running for container in known):
        return CmgrError(cannot(say("error.runs-unheld")), hint=say("error.holds-only-what"))
    return CmgrError(cannot(say("error.down-unheld")), hint=say("error.starts-only-what"))


def _length(request: Request) -> timedelta | None:
    value = request.args.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(say("error.length-number", do=request.do, name="seconds"))
    if not 0 < value <= LONGEST_MAINTENANCE.total_seconds():
        raise BadRequest(say("error.length-year", do=request.do))
    return timedelta(seconds=value)
