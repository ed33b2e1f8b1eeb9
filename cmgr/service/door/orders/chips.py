"""Orders of a person on the service's socket. Each is checked here, so that a refusal says why and what to do."""

import pwd
from collections.abc import Callable, Container
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.config.reporters import Reports
from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass
from cmgr.model.scope import chip_blocker, holds_on, is_spent, on_ring, spent_words, waiting_order, why_idle
from cmgr.model.values.chips import ChipId, listed
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
from cmgr.model.values.services.containers import ContainerKey
from cmgr.ports import ChipDriver, Injector
from cmgr.service.door import previews
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.groups import GroupOrders
from cmgr.service.door.orders.reports import ReportOrders
from cmgr.service.door.orders.slots import SlotOrders
from cmgr.service.door.routes import Request, flag_of
from cmgr.service.work.drilling import Drill, Drills
from cmgr.view import status as view
from cmgr.view.advice import called, forgettable, idle_hint, named, unheld
from cmgr.words import one_line, span, stamp

if TYPE_CHECKING:
    from cmgr.view import shapes, slot_shapes

LONGEST_REASON = 200
DRILL, LONGEST_DRILL = timedelta(seconds=60), timedelta(minutes=10)
LONGEST_MAINTENANCE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Orders:
    """Any thread; each raises `CmgrError`.

    With `preview` each says what would happen, and gives no order.
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

    def release(self, request: Request) -> "shapes.Released | shapes.Preview":
        chip = chip_of(request, self.node(), also=self.node().isolations)
        if chip not in self.node().isolations:
            raise CmgrError(f"cannot release chip {chip}: it is not isolated", hint="cmgr chips")
        if flag_of(request, "preview"):
            return previews.release(self.node(), chip)
        self.give(ReleaseOrdered(chip, who(request)))
        again = self.node().isolations.get(chip)
        return {"chip": chip, "isolated": again is not None, "reason": again.reason if again is not None else ""}

    def isolate(self, request: Request) -> "shapes.Isolated | shapes.Preview":
        chip, reason = chip_of(request, self.node()), text_of(request, "reason")
        if len(reason) > LONGEST_REASON or not reason.isprintable():
            raise BadRequest(f"cannot isolate: reason must be one line of at most {LONGEST_REASON} characters")
        if flag_of(request, "preview"):
            return previews.isolate(self.node(), chip, _on_chip(self.node(), chip))
        self.give(IsolateOrdered(chip, reason, who(request)))
        return {"chip": chip, "reason": reason, "containers": _on_chip(self.node(), chip)}

    def reset(self, request: Request) -> "shapes.ResetOrdered | shapes.Preview":
        node = self.node()
        ring = node.rings[node.chips[chip_of(request, node)].ring]
        _may_be_reset(node, ring, request, self.now())
        return self._emptied(request, ring)

    def test(self, request: Request) -> "shapes.ResetOrdered | shapes.Preview":
        node = self.node()
        chip = chip_of(request, node)
        ring = node.rings[node.chips[chip].ring]
        _may_be_disturbed(node, ring, request)
        if not node.policy.reset.test:
            hint = "reset.test in the configuration is the program that tests a chip; then cmgr reload"
            raise CmgrError(f"cannot test chip {chip}: there is no test", hint=hint)
        if ring.in_episode:
            raise CmgrError(
                f"cannot test chip {chip}: its ring is in an episode ({ring.phase})",
                hint="cmgr status; after a reset it is tested by itself",
            )
        return self._emptied(request, ring)

    def _emptied(self, request: Request, ring: Ring) -> "shapes.ResetOrdered | shapes.Preview":
        """Order what the ring has to be empty for: its reset, or its test."""
        node, what = self.node(), request.do
        chip, stop = chip_of(request, node), flag_of(request, "stop")
        users = [c for c in on_ring(node, ring) if c.running]
        names = ", ".join(called(node, c.key) for c in users)
        if users and not stop:
            runs = "runs" if len(users) == 1 else "run"
            done = "tested" if what == "test" else what
            mates = f", which are {done} together" if len(ring.chips) > 1 else ""
            raise CmgrError(
                f"cannot {what} chip {chip}: {names} {runs} on {listed(ring.chips)}{mates}",
                hint=f"cmgr {what} {chip} --stop stops them, and starts them again afterwards",
            )
        for theirs in (c for c in users if not c.enabled):
            name = called(node, theirs.key)
            raise CmgrError(
                f"cannot {what} chip {chip}: {name} runs on its ring and has the label {theirs.hands_off}",
                hint=f"stop {name} yourself",
            )
        again = [called(node, c.key) for c in users if not (c.owner or c.auto_remove)]
        left = [called(node, c.key) for c in users if c.owner or c.auto_remove]
        if flag_of(request, "preview"):
            return previews.emptied(node, ring, what, (again, left), self.now())
        self.give(ResetOrdered(chip, who(request), stop, test=what == "test"))
        return {"chip": chip, "ring": ring.id, "chips": sorted(ring.chips), "containers": again, "left": left}

    def cancel(self, request: Request) -> "shapes.ResetOrdered | slot_shapes.RebootCancelled | shapes.Preview":
        if flag_of(request, "reboot"):
            return self._cancel_reboot(request)
        node = self.node()
        chip = chip_of(request, node)
        ring = node.rings[node.chips[chip].ring]
        order = waiting_order(node, ring)
        if order is None:
            raise CmgrError(f"cannot cancel: no ordered reset or test of chip {chip} waits", hint="cmgr status")
        held = [called(node, hold.key) for hold in holds_on(node, ring)]
        if flag_of(request, "preview"):
            starts = [f"{', '.join(held)}: started again where its chips are well"] if held else []
            return {"does": [f"the {order.what} of chip {order.chip} that {order.who} ordered is not made", *starts]}
        self.give(ResetOrdered(chip, who(request), back=True))
        return {"chip": chip, "ring": ring.id, "chips": sorted(ring.chips), "containers": held, "left": []}

    def _cancel_reboot(self, request: Request) -> "slot_shapes.RebootCancelled | shapes.Preview":
        known = self.node().reboot
        if known is None or not known.under_way:
            raise CmgrError("cannot cancel: cmgr is not about to reboot this machine", hint="cmgr status")
        if flag_of(request, "preview"):
            return {"does": [f"the machine is not rebooted for {known.what}, and not before a day is over"]}
        self.give(RebootCancelOrdered(who(request)))
        return {"reboot": False, "what": known.what}

    def drill(self, request: Request) -> "slot_shapes.Drill | shapes.Preview":
        node = self.node()
        chip, length = chip_of(request, node), _length(request) or DRILL
        if length > LONGEST_DRILL:
            raise BadRequest(f"cannot drill: it must not last longer than {span(LONGEST_DRILL)}")
        ring = node.rings[node.chips[chip].ring]
        _may_be_reset(node, ring, request, self.now())
        if why := chip_blocker(node, chip) or ("its ring is in an episode" if ring.in_episode else ""):
            raise CmgrError(f"cannot drill chip {chip}: {why}", hint="cmgr status")
        code = self.drills.fault_of(chip).code
        if flag_of(request, "preview"):
            return previews.drill(node, chip, code, length)
        return _told(self.drills.begin(node.chips[chip], length, who(request)))

    def end_drill(self, request: Request) -> "slot_shapes.Drill":
        return _told(self.drills.end(who(request)))

    def drilled(self, _request: Request) -> "slot_shapes.Drill":
        return _told(self.drills.now)

    def resume(self, request: Request) -> "shapes.Resumed | shapes.AllResumed | shapes.Preview":
        if flag_of(request, "all"):
            return self._resume_all(request)
        key = held(request, self.node())
        name = called(self.node(), key)
        if flag_of(request, "preview"):
            return previews.resume((), (name,))
        self.give(ResumeOrdered(key, who(request)))
        return {"container": name}

    def _resume_all(self, request: Request) -> "shapes.AllResumed | shapes.Preview":
        node = self.node()
        kept: list[int] = sorted(node.restraint.kept)
        failed = {key for key, hold in node.holds.items() if hold.state is HoldState.FAILED}
        failed |= {key for key, healing in node.healings.items() if healing.ails and healing.given_up is not None}
        given_up = sorted(called(node, key) for key in failed)
        if not kept and not given_up:
            raise CmgrError("cannot resume: no ring is kept back and no container was given up", hint="cmgr status")
        if flag_of(request, "preview"):
            return previews.resume(kept, given_up)
        self.give(ResumeAllOrdered(who(request)))
        return {"rings": kept, "containers": given_up}

    def forget(
        self, request: Request
    ) -> "shapes.Forgotten | shapes.RuntimeForgotten | slot_shapes.ChipForgotten | shapes.Preview":
        if request.args.get("runtime") is not None:
            return self._forget_runtime(request)
        if request.args.get("chip") is not None:
            return self._forget_chip(request)
        node = self.node()
        key = held(request, node, forgettable)
        if flag_of(request, "preview"):
            return previews.forget(node, called(node, key), key)
        self.give(ForgetOrdered(key, who(request)))
        known, hold = node.containers.get(key), node.holds.get(key)
        return {
            "container": called(node, key),
            "running": known is not None and known.running,
            "under_way": hold is not None and hold.attempt.command is not None,
        }

    def _forget_runtime(self, request: Request) -> "shapes.RuntimeForgotten | shapes.Preview":
        node, runtime = self.node(), text_of(request, "runtime")
        state = node.runtimes.get(runtime)
        if state is None and runtime not in known_runtimes(node):
            raise CmgrError(f"cannot forget runtime {runtime[:80]!r}: it is not known", hint="cmgr status")
        if state is not None and not state.why_down:
            raise CmgrError(f"cannot forget runtime {runtime}: it answers, or has just been asked", hint="cmgr status")
        held = sorted(h.name for h in (*node.holds.values(), *node.kept_holds.values()) if h.key.runtime == runtime)
        if flag_of(request, "preview"):
            return previews.forget_runtime(runtime, held)
        self.give(RuntimeForgetOrdered(runtime, who(request)))
        return {"runtime": runtime, "containers": held}

    def _forget_chip(self, request: Request) -> "slot_shapes.ChipForgotten | shapes.Preview":
        node = self.node()
        chip = chip_of(request, node, also=node.missing)
        if chip not in node.missing:
            raise CmgrError(f"cannot forget chip {chip}: it is there", hint=f"cmgr isolate {chip} takes it out of use")
        slots = sorted(name for name, slot in node.slots.items() if chip in slot.chips)
        if flag_of(request, "preview"):
            return previews.forget_chip(node.missing[chip].title, slots)
        self.give(ChipForgetOrdered(chip, who(request)))
        return {"chip": chip, "piece": one_line(node.missing[chip].title), "slots": slots}

    def maintenance(self, request: Request) -> "shapes.MaintenanceOrdered | shapes.Preview":
        on = flag_of(request, "on")
        if not on and self.node().maintenance is None:
            raise CmgrError("cannot end maintenance: there is none", hint="cmgr status")
        length = _length(request) if on else None
        if flag_of(request, "preview"):
            return previews.maintenance(on, length, _held_down(self.node()))
        self.give(MaintenanceOrdered(on, who(request), self.now() + length if length is not None else None))
        node = self.node()
        until = node.maintenance.until if node.maintenance is not None else None
        return {"on": on, "until": None if until is None else stamp(until), "held": _held_down(node)}

    def acknowledge(self, request: Request) -> "shapes.Acknowledged | shapes.Preview":
        known = {trouble.id: trouble for trouble in previews.acknowledgeable(self.node())}
        if flag_of(request, "all"):
            ids = sorted(id_ for id_, trouble in known.items() if trouble.stays)
            if not ids:
                raise CmgrError("cannot acknowledge: no trouble waits for that", hint="cmgr status")
        else:
            ids = [text_of(request, "trouble")]
        meant = known.get(ids[0])
        if meant is None:
            hint = "others than those of cmgr status -o json that stay end by themselves, when they are over"
            raise NotThere(f"cannot acknowledge {ids[0][:80]!r}: there is no such trouble", hint=hint)
        if not meant.stays:
            raise CmgrError(f"cannot acknowledge {ids[0]!r}: it ends by itself when it is over", hint=meant.hint)
        if flag_of(request, "preview"):
            return previews.acknowledge(self.node(), ids)
        self.give(AcknowledgeOrdered(tuple(ids), who(request)))
        return {"troubles": ids}

    def read_anew(self, request: Request) -> "shapes.Reloaded":
        return self.reload(who(request))

    def inject(self, request: Request) -> "slot_shapes.Injected":
        code = text_of(request, "code")
        chip = chip_of(request, self.node()) if "chip" in request.args else None
        try:
            assertion = Assertion(text_of(request, "assertion"))
        except ValueError as error:
            raise BadRequest(f"cannot simulate a fault: assertion is none of {', '.join(Assertion)}") from error
        of_machine = is_of_machine(normal_code(code) or "")
        if of_machine and chip is not None:
            hint = f"cmgr inject machine {code[:40]}"
            raise BadRequest(f"cannot simulate {code[:40]}: it is no fault of a chip, but of the machine", hint=hint)
        if chip is None and not of_machine:
            hint = "cmgr inject CHIP CODE"
            raise BadRequest(f"cannot simulate {code[:40]}: it is no fault of the machine", hint=hint)
        if of_machine and not self.node().catalog.judge(FaultCode(normal_code(code) or code), None).known:
            # Codes of the machine are cmgr's own words: one that no table has is mistyped.
            raise BadRequest(f"cannot simulate {code[:40]}: no table has it", hint="docs/machine.md lists the codes")
        if not isinstance(self.driver, Injector):
            raise CmgrError(
                "cannot simulate a fault on real chips: allow_injection = false",
                hint="set allow_injection = true for the drill, then type: systemctl restart cmgr",
            )
        part = one_line(str(request.args.get("part") or ""))[:LONGEST_REASON]
        if chip is None:
            self.pretend(FaultCode(normal_code(code) or code), part, assertion)
        else:
            self.driver.inject(chip, code, assertion)
        return {"chip": chip, "part": part, "code": code, "assertion": str(assertion)}


def _told(drill: Drill | None) -> "slot_shapes.Drill":
    if drill is None:
        return {"chip": None, "code": "", "who": "", "until": None}
    return {"chip": drill.chip.id, "code": drill.code, "who": drill.who, "until": stamp(drill.until)}


def _on_chip(node: Node, chip: ChipId) -> list[str]:
    return sorted(called(node, c.key) for c in node.containers.values() if c.running and chip in c.chips)


def _held_down(node: Node) -> list[str]:
    return sorted(row["name"] for row in view.containers(node) if row["held"] and row["status"] != "settling")


def _may_be_disturbed(node: Node, ring: Ring, request: Request) -> None:
    cannot = f"cannot {request.do} chip {request.args['chip']}"
    if why := "cmgr is in maintenance" if node.maintenance is not None else why_idle(node):
        raise CmgrError(f"{cannot}: {why}", hint=str(idle_hint(node)))
    if ring.phase in REBOOTING:
        raise CmgrError(f"{cannot}: its ring is just being reset", hint="cmgr status")


def _may_be_reset(node: Node, ring: Ring, request: Request, now: datetime) -> None:
    _may_be_disturbed(node, ring, request)
    cannot = f"cannot {request.do} chip {request.args['chip']}"
    policy = node.policy.reset
    if is_spent(node, ring, now):
        oldest = resets_within(ring, now, policy.window)[0]
        isolated = [c for c in ring.chips if c in node.isolations]
        begin = f", or cmgr release {isolated[0]} to begin again" if isolated else ""
        raise CmgrError(
            f"{cannot}: {spent_words(policy)}",
            hint=f"the next may be made in {span(oldest + policy.window - now)}{begin}",
        )


def who(request: Request) -> str:
    """Return what the timeline calls the person who asks."""
    return f"{named_user(request.uid)}, on the page" if request.on_page else named_user(request.uid)


def named_user(uid: int) -> str:
    try:
        return f"uid {uid} ({pwd.getpwuid(uid).pw_name})"
    except KeyError:
        return f"uid {uid}"


def text_of(request: Request, name: str) -> str:
    value = request.args.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"cannot {request.do}: {name} must be a text")
    if not value.strip():
        raise BadRequest(f"cannot {request.do}: {name} is empty")
    return value.strip()


def chip_of(request: Request, node: Node, also: Container[ChipId] = ()) -> ChipId:
    """Return the chip that is meant: one of this machine, or of those that are remembered `also`."""
    value = request.args.get("chip")
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"cannot {request.do}: chip must be a number")
    chip = ChipId(value)
    if chip not in node.chips and chip not in also:
        hint = f"this machine has {listed(node.chips)}" if node.chips else "cmgr check says what the driver sees"
        raise NotThere(f"cannot {request.do}: there is no chip {chip}", hint=hint)
    return chip


Find = Callable[[Node, str], list[ContainerKey]]


def held(request: Request, node: Node, find: Find = named) -> ContainerKey:
    """Return the container that is meant, of those that `find` knows; an id may be shortened as Docker has it."""
    text = text_of(request, "container")
    found = find(node, text)
    if not found:
        raise _not_held(request, node, text)
    if len(found) > 1:
        choices = ", ".join(called(node, key) for key in sorted(found))
        raise CmgrError(
            f"cannot {request.do} {text[:80]!r}: it names {len(found)} held containers", hint=f"one of {choices}"
        )
    return found[0]


def _not_held(request: Request, node: Node, text: str) -> CmgrError:
    cannot, known = f"cannot {request.do} {text[:80]!r}", unheld(node, text)
    if not known:
        hint = "cmgr status shows those that use chips and run or are held"
        return NotThere(f"{cannot}: there is no such container", hint=hint)
    if any(container.running for container in known):
        hint = "cmgr holds only what it has stopped, or what died of a fault"
        return CmgrError(f"{cannot}: it runs, and cmgr does not hold it", hint=hint)
    hint = "cmgr starts only what it holds: start it yourself"
    return CmgrError(f"{cannot}: it is down, and cmgr does not hold it", hint=hint)


def _length(request: Request) -> timedelta | None:
    value = request.args.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"cannot begin {request.do}: seconds must be a number")
    if not 0 < value <= LONGEST_MAINTENANCE.total_seconds():
        raise BadRequest(f"cannot begin {request.do}: it must last longer than nothing and at most a year")
    return timedelta(seconds=value)
