"""The events of a pretended machine in a random walk, and how it is made well again."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from cmgr.model.lost_shares import lost_share
from cmgr.model.own_chips import crowded, given_away
from cmgr.model.recovery.vetoes import to_ask
from cmgr.model.scope import pre_isolating
from cmgr.model.successors import former, successor
from cmgr.model.values.chips import ChipId, Straggler
from cmgr.model.values.faults import Assertion, FaultCode, Handling
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Rules
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import StopContainer
from cmgr.model.values.messages.health_facts import Answered, BusySaid, RulesRead
from cmgr.model.values.messages.piece_facts import StragglersSeen
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, ContainerKey, Exit
from tests.model.machine import Real
from tests.model.walks.engines import (
    a_daemon_restarts,
    a_runtime_comes_or_goes,
    a_unit_never_gets_up,
    all_is_back,
    an_engine_comes_up_on_another_disk,
    starts,
)
from tests.model.world import CODES, LINK_DOWN, OF_MACHINE, REPORTED, World

RULES = Rules(
    {
        FaultCode("80E24E00"): FrequencyRule(timedelta(hours=1), 3, Handling.SeparateNPU, release=timedelta(minutes=5)),
        FaultCode("80C98008"): FrequencyRule(timedelta(hours=1), 2, Handling.SeparateNPU),
        FaultCode("80E20000"): FrequencyRule(timedelta(hours=1), 2, Handling.RestartNPU, release=timedelta(minutes=1)),
        LINK_DOWN: FrequencyRule(timedelta(hours=1), 3, Handling.ManuallySeparateNPU, release=timedelta(minutes=5)),
    },
    {
        LINK_DOWN: DurationRule(timedelta(seconds=20), timedelta(seconds=60), Handling.PreSeparateNPU),
        FaultCode("80E18400"): DurationRule(timedelta(seconds=5), timedelta(seconds=20), Handling.RestartRequest),
        FaultCode("80E20000"): DurationRule(timedelta(seconds=3), timedelta(seconds=20), Handling.SeparateNPU),
    },
)
"""Rules that fire within a walk."""

RESET_FIRST = Rules({code: replace(rule, after_reset=True) for code, rule in RULES.frequency.items()}, RULES.duration)
"""The same, as shipped rules are: a reset is tried before they isolate."""


def _hardware_acts(world: World) -> None:
    chip = world.rng.randrange(world.plan.faulty)
    code = world.rng.choice([*(c for c in CODES if c != REPORTED), "80E24E00", "80E24E00"])
    world.machine.fault(chip, code, world.rng.choice([Assertion.OCCURRED] * 3 + [Assertion.CLEARED, Assertion.ONCE]))


def _somebody_acts(world: World) -> None:
    """Let a person, or a bug, do something to a container."""
    machine = world.machine
    if not machine.truth:
        return
    real = machine.rng.choice(list(machine.truth.values()))
    deed = machine.rng.choice(["stop", "start", "crash", "remove", "freeze"])
    if machine.is_unreachable(real) and deed != "crash":
        return
    if deed == "stop" and real.running:
        real.will = real.wanted = None if world.is_held(real.key) else False
        machine.dies(real, Exit(143, machine.clock(), asked=True))
    elif deed == "start" and not real.running:
        before = real.life
        starts(world, real)
        real.will = True if real.life > before else None
    elif deed == "crash" and real.running:
        real.will, real.ailed = None, real.ailed or real.heal is not None
        machine.dies(real, Exit(1, machine.clock(), asked=False))
        if real.armed and not machine.is_unreachable(real) and machine.rng.random() < 0.5:
            machine.starts(real)
    elif deed == "freeze" and real.running:
        real.frozen = not real.frozen
        machine.hint(facts.ContainerSeen(real.told(machine.now)))
    elif deed == "remove" and not real.running and machine.rng.random() < 0.3:
        del machine.truth[real.key]
        machine.hint(facts.ContainerRemoved(real.key))


def _compose_makes_anew(world: World) -> None:
    """Let compose make a container anew: the new one is there before the old one goes, and is mostly started then."""
    machine = world.machine
    found = [r for r in machine.truth.values() if r.composed is not None and not machine.is_unreachable(r)]
    if not found:
        return
    old = machine.rng.choice(found)
    assert old.composed is not None
    key, machine.made = old.key._replace(id=f"c{machine.made}"), machine.made + 1
    new = replace(
        old,
        key=key,
        job=old.job or old.key.id,
        life=0,
        running=False,
        exit=None,
        starts=0,
        ill=False,
        frozen=False,
        spared=0,
    )
    new.composed, new.armed = replace(old.composed, made=machine.now), old.policy
    # Whether cmgr has heard of its promise in time is moot; so is who starts what compose has only made.
    new.will = new.wanted = None
    machine.truth[key] = new
    machine.ever.append(new)
    machine.hint(facts.ContainerSeen(new.told(machine.now)))
    if old.running:
        machine.dies(old, Exit(143, machine.clock(), asked=True))
    del machine.truth[old.key]
    machine.hint(facts.ContainerRemoved(old.key))
    if machine.rng.random() < 0.6:
        machine.starts(new)


def _a_client_tries_again(world: World) -> None:
    """Let a client whose container was ended make another one of the same job, on the same chips."""
    machine = world.machine
    found = [
        r for r in machine.truth.values() if not r.running and r.will and world.is_held(r.key) and not r.tried_again
    ]
    found = [r for r in found if not (r.composed or r.unit)]
    found = [r for r in found if r.key.runtime != SYSTEMD and not machine.is_unreachable(r)]
    if not found or machine.made > 3 * machine.plan.containers:
        return
    old = machine.rng.choice(found)
    key, machine.made = old.key._replace(id=f"c{machine.made}"), machine.made + 1
    new = replace(old, key=key, job=old.job or old.key.id, life=0, starts=0, frozen=False, spared=0, wanted=None)
    new.armed, new.will, old.tried_again = old.policy, True, True
    machine.truth[key] = new
    machine.ever.append(new)
    machine.starts(new)
    if not new.running:
        del machine.truth[key]  # Its runtime refuses.


def _a_process_comes_or_goes(world: World) -> None:
    world.machine.processes ^= {world.rng.randrange(world.plan.chips)}


def _a_person_resumes_all(world: World) -> None:
    world.step(facts.ResumeAllOrdered("a"))


def _a_person_isolates_or_releases(world: World) -> None:
    chip = ChipId(world.rng.randrange(world.plan.faulty))
    order = facts.ReleaseOrdered(chip, "a") if world.rng.random() < 0.5 else facts.IsolateOrdered(chip, "loud", "a")
    world.step(order)


def _a_person_orders_a_reset(world: World) -> None:
    chip, stop = world.rng.randrange(world.plan.faulty), world.rng.random() < 0.7
    if stop:
        world.machine.emptied.add(chip // world.plan.ring * world.plan.ring)
    test = bool(world.policy.reset.test) and world.rng.random() < 0.5
    world.step(facts.ResetOrdered(ChipId(chip), "a", stop, test=test))


def _a_person_moves_a_slot(world: World) -> None:
    slots = sorted(world.node.slots)
    if slots:
        name = world.rng.choice(slots)
        count = len(world.node.slots[name].chips)
        chips = frozenset(ChipId(chip) for chip in world.rng.sample(range(world.plan.chips), count))
        world.step(facts.SlotOrdered(name, "a", chips, stop=world.rng.random() < 0.5))


def _a_person_moves_a_container(world: World) -> None:
    found = [real for real in world.machine.truth.values() if real.made_for]
    if found:
        real = world.rng.choice(found)
        chips = frozenset(ChipId(chip) for chip in world.rng.sample(range(world.plan.chips), real.full))
        world.step(facts.MoveOrdered(real.key, chips, "a", stop=world.rng.random() < 0.5))


def _a_person_forgets(world: World) -> None:
    if world.node.holds:
        forget(world, world.rng.choice(sorted(world.node.holds)))


def forget(world: World, key: ContainerKey) -> None:
    if key in world.machine.truth:
        real = world.machine.truth[key]
        real.will, real.wanted, real.spared = None, False, real.life
    # A stop under way takes its course, and in the world that is now: not in a life that begins a minute later.
    stops = [c for c in world.under_way if isinstance(c, StopContainer) and c.key == key]
    world.step(facts.ForgetOrdered(key, "a"))
    for stop in [c for c in stops if c in world.under_way]:
        world.under_way.remove(stop)
        world.step(world.machine.carry_out(stop))


def _maintenance(world: World) -> None:
    until = world.machine.clock() + timedelta(seconds=world.rng.choice([1, 20, 300]))
    world.step(facts.MaintenanceOrdered(world.rng.random() < 0.6, "a", world.rng.choice([None, until])))


def _a_window_opens_or_shuts(world: World) -> None:
    if world.windows:
        world.opened ^= {world.rng.choice(world.windows)}
        world.step(facts.CalendarRead(world.openings()))


def _a_container_ails(world: World) -> None:
    """Let one that wishes to be healed crash, or change its health."""
    machine = world.machine
    found = [r for r in machine.truth.values() if r.heal is not None and r.running]
    if not found:
        return
    real = machine.rng.choice(found)
    real.ailed = True
    if machine.rng.random() < 0.5:
        real.will = None
        machine.dies(real, Exit(1, machine.clock(), asked=machine.rng.choice([False, False, None])))
    else:
        real.ill = not real.ill
        machine.hint(facts.ContainerSeen(real.told(machine.now)))


def _a_container_is_asked(world: World) -> None:
    """Let one answer, or not: what is told of it may be of a life that is over."""
    machine = world.machine
    found = [r for r in machine.truth.values() if r.ready is not None and r.running and not r.frozen]
    if not found:
        return
    real = machine.rng.choice(found)
    if machine.rng.random() < 0.1:
        real.mute = not real.mute
    old = machine.rng.random() < 0.1
    silent = machine.rng.choice([STARTING, UNHEALTHY])
    _answers(world, real, HEALTHY if machine.now >= real.answers_at and not real.mute else silent, old=old)


def _answers(world: World, real: Real, answer: str, *, old: bool = False) -> None:
    assert real.ready is not None
    said = "HTTP 200" if answer == HEALTHY else "refused"
    real.ailed = real.ailed or (answer == UNHEALTHY and real.heal is not None)
    world.step(Answered(real.key, f"life {real.life - old}", real.ready, answer, said))


def _one_says_whether_it_is_busy(world: World) -> None:
    """Let one of those that are asked say it, or be mute; now and then it is of a life that is over."""
    rng, asked = world.machine.rng, list(to_ask(world.node, world.machine.clock()).values())
    if asked:
        container, _ = rng.choice(asked)
        run = "life 0" if rng.random() < 0.1 else container.run
        busy, mute = rng.choice([(True, False), (True, False), (False, False), (False, True)])
        world.step(BusySaid(container.key, run, container.busy, busy, "it says so", mute))


def _a_person_restarts_or_resumes_a_group(world: World) -> None:
    if not world.plan.grouped:
        return
    group = world.rng.choice(["tp4", "decode"])
    if world.rng.random() < 0.5:
        world.step(facts.GroupResumeOrdered(group, "a"))
        return
    world.machine.ordered.add(group)
    for real in world.machine.truth.values():
        if real.group == group:
            real.will = None  # It is started unless its own label speaks against that, or cmgr does nothing.
    world.step(facts.GroupRestartOrdered(group, "a"))


def _a_program_reports(world: World) -> None:
    """Let another program report a fault, renew it, or say that it is over."""
    chips = frozenset(ChipId(c) for c in range(world.plan.faulty) if world.rng.random() < 0.2)
    until = world.machine.clock() + timedelta(seconds=world.rng.choice([1, 20, 300]))
    highest = world.rng.choice([None, None, Handling.NotHandleFault, Handling.PreSeparateNPU, Handling.RestartRequest])
    over = world.rng.random() < 0.3
    if over or chips:
        module = world.rng.choice(["storage/disk-7", "server/nan"])
        world.step(facts.ReportOrdered(REPORTED, module, chips, None if over else until, "a program", highest))


def _the_machine_ails(world: World) -> None:
    """Let a source of the machine's faults look: it finds some, or nothing."""
    dice, mark = world.rng, str(world.machine.now)
    found = [
        Symptom(FaultCode(code), dice.choice(["", "md0"]), mark=dice.choice(["", mark]), grave=dice.random() < 0.2)
        for code in OF_MACHINE
        if dice.random() < 0.3
    ]
    slow = [Straggler(chip, world.machine.clock(), "by half") for chip in sorted(world.node.chips)[: len(found) % 3]]
    world.step(facts.MachineTold(dice.choice(["raid", "kernel"]), tuple(found)), StragglersSeen(tuple(slow)))
    told = [c for c in world.node.containers.values() if c.heal is None and c.key.runtime != SYSTEMD]
    for known in [each for each in told if dice.random() < 0.2]:
        run = dice.choice([known.run, known.run, known.kept.former])
        world.step(RulesRead(known.key, run, frozenset(chip for chip in known.kept.chips if dice.random() < 0.7)))


ACTS: tuple[tuple[Callable[[World], None], int, int], ...] = (
    # The event, how often in a walk among people, and how often in one where only the hardware and cmgr fail.
    (World.answer, 60, 80),
    (World.deliver, 40, 40),
    (World.advance_time, 25, 25),
    (_hardware_acts, 8, 4),
    (_somebody_acts, 5, 0),
    (_a_container_ails, 4, 4),
    (_compose_makes_anew, 3, 0),
    (_a_client_tries_again, 4, 2),
    (_a_process_comes_or_goes, 2, 0),
    (a_runtime_comes_or_goes, 1, 0),
    (a_daemon_restarts, 1, 0),
    (an_engine_comes_up_on_another_disk, 2, 1),
    (a_unit_never_gets_up, 4, 3),
    (lambda world: world.step(facts.Resync()), 3, 3),
    (_a_person_resumes_all, 1, 0),
    (_a_person_isolates_or_releases, 2, 1),
    (_a_person_orders_a_reset, 2, 1),
    (_a_person_forgets, 1, 0),
    (_a_person_restarts_or_resumes_a_group, 2, 1),
    (_maintenance, 1, 1),
    (_a_program_reports, 2, 1),
    (_the_machine_ails, 2, 1),
    (_a_window_opens_or_shuts, 4, 4),
    (World.die, 2, 1),
)


ASKED_ACTS = (*ACTS, (_a_container_is_asked, 25, 25), (_one_says_whether_it_is_busy, 25, 25))
"""The same where containers are asked whether they serve, or are busy."""

SLOT_ACTS = (*ACTS, (_a_person_moves_a_slot, 4, 2), (_a_person_moves_a_container, 4, 2))
"""The same where containers can be moved to other chips."""


def _see_to_tested(world: World) -> None:
    """Let a person release those that have failed their test: time does not."""
    for chip in [chip for chip, isolation in world.node.isolations.items() if isolation.by == "test"]:
        world.step(facts.ReleaseOrdered(chip, "a test"))


def heal(world: World) -> None:
    """Make the hardware well, and give cmgr an hour of peace."""
    machine = world.machine
    machine.calm, machine.down, machine.processes, machine.silent = True, set(), set(), set()
    all_is_back(world)
    for chip in machine.faults:
        machine.faults[chip] = set()
    for runtime in world.plan.runtimes:
        world.step(facts.RuntimeUp(runtime))
    world.opened = {*world.policy.windows()}
    world.step(facts.CalendarRead(world.openings()))
    world.step(facts.MaintenanceOrdered(on=False, who="a test"))
    for source in ("raid", "kernel"):
        world.step(facts.MachineTold(source, ()))
    world.step(facts.AcknowledgeOrdered(tuple(f"machine-{code}" for code in OF_MACHINE), "a test"))
    for chip in list(world.node.isolations):
        world.step(facts.ReleaseOrdered(chip, "a test"))
    world.step(*(RulesRead(known.key, known.run, known.kept.chips) for known in world.node.containers.values()))
    end, pause = machine.now + timedelta(hours=1), timedelta(seconds=60)
    while machine.now < end:
        _see_to_tested(world)
        world.step(facts.Resync())
        for _ in range(400):
            if not (world.under_way or machine.hints):
                break
            world.answer()
            world.deliver()
        assert not world.under_way, f"seed {world.seed}: no end of commands: {world.under_way[:3]}"
        for real in machine.truth.values():
            real.mute = False
            if real.ready is not None and real.running and not real.frozen:
                _answers(world, real, HEALTHY if machine.now >= real.answers_at else STARTING)
        _resume(world)
        machine.now += pause
        pause *= 1.15


def _resume(world: World) -> None:
    """Let a person end every wait that is for a person."""
    _clear_for_shares(world)
    _end_beside_units(world)
    end_those_beside_others(world)
    for hold in list(world.node.holds.values()):
        if hold.state is HoldState.FAILED or lost_share(world.node, world.node.containers.get(hold.key)) is not None:
            world.step(facts.ResumeOrdered(hold.key, "a test"))
        elif is_replaced(world, hold):
            forget(world, hold.key)  # Somebody has started another in its place.
    for chip in [c for c, i in world.node.isolations.items() if i.by == "escalation"]:
        world.step(facts.ReleaseOrdered(chip, "a test"))
    world.step(facts.ResumeAllOrdered("a test"))
    for group in [g.name for g in world.node.groups.values() if g.in_round]:
        world.step(facts.GroupResumeOrdered(group, "a test"))


def is_replaced(world: World, hold: Hold) -> bool:
    """Return whether it waits for a person, because another was made in its place."""
    other = (successor(world.node, hold) or former(world.node, hold)) is not None
    return hold.is_held_down and (other or (hold.died and bool(given_away(world.node, hold))))


def _clear_for_shares(world: World) -> None:
    """Let people stop what runs on a chip whose shares could not be made again, because of what they had started."""
    lost = [lost_share(world.node, world.node.containers.get(hold.key)) for hold in world.node.holds.values()]
    reals = world.machine.truth.values()
    chips = {found[0].id for found in lost if found is not None} & {c for r in reals if r.by_others for c in r.chips}
    for real in reals:
        in_episode = any(world.node.rings[world.node.chips[ChipId(c)].ring].in_episode for c in real.chips)
        if real.running and not chips.isdisjoint(real.chips) and not in_episode:
            real.will = real.wanted = False
            world.machine.dies(real, Exit(143, world.machine.clock(), asked=True))


def _end_beside_units(world: World) -> None:
    """Let people end containers that they have had forgotten, and whose names their units need to start again."""
    held = {key.id for key in world.node.holds if key.runtime == SYSTEMD}
    for real in [r for r in world.machine.truth.values() if r.unit in held and r.running and r.spared == r.life]:
        real.will = None
        world.machine.dies(real, Exit(143, world.machine.clock(), asked=True))


def end_those_beside_others(world: World) -> None:
    """Let people stop those that are told as made in the place of others, which run again."""
    for late in {users[0].key for users in crowded(world.node).values() if users[0].kept.instead_of}:
        real = world.machine.truth[late]
        if real.running:
            real.will = real.wanted = False
            world.machine.dies(real, Exit(143, world.machine.clock(), asked=True))


def check_end(world: World) -> None:
    seed = f"seed {world.seed}"
    assert all(r.phase is Phase.HEALTHY for r in world.node.rings.values()), (seed, world.node.rings)
    due = {
        k: h for k, h in world.node.holds.items() if h.state is HoldState.RETURNING and world.machine.truth[k].running
    }
    assert due == world.node.holds, (seed, world.node.holds)
    assert not world.node.isolations, (seed, world.node.isolations)
    assert not [g for g in world.node.groups.values() if g.in_round], (seed, world.node.groups)
    kept_free = {c: dict(pre_isolating(world.node, c)) for c in world.node.chips}
    assert not any(kept_free.values()), (seed, kept_free)
    assert not world.node.reset_orders, (seed, world.node.reset_orders)
    for real in world.machine.truth.values():
        assert real.will is None or real.running is real.will, (seed, real)
        booked = world.node.containers.get(real.key)
        assert (booked is not None and booked.running) is real.running, (seed, booked, real)
        # Of a unit that does not run nobody need know.
        assert booked is not None or real.key.runtime == SYSTEMD, (seed, real)
        # Of one that a person has paused nobody can see how it is.
        ails = real.running and real.ill and not real.frozen and real.heal is not None
        mute = real.running and real.enabled and real.ready is not None and not real.frozen
        assert not (mute and booked is not None and booked.kept.answer != HEALTHY), (seed, "does not answer", booked)
        # A forgotten one is left as it is.
        assert not (ails and real.enabled and real.will is not None), (seed, "is still ill", real)
        if real.will is not None:
            # Of one that runs Docker's policy is not changed: it goes back when it is down.
            armed = due[real.key].restart_policy if real.key in due else real.armed
            assert armed == real.policy, (seed, real)
    _check_budget(world)


def _check_budget(world: World) -> None:
    policy = world.policy.reset
    for ring in world.node.rings:
        times = [t for r, t in world.machine.resets if r == ring]
        for first in times:
            within = [t for t in times if first <= t < first + policy.window]
            assert len(within) <= policy.attempts, (world.seed, ring, within)
